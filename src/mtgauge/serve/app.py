"""The application: REST interface and pages behind one guard.

app = create(ServerSettings(state=Path("runs")))       an ASGI application, for any server
serve(settings, port=8765)                       opens the port and stays
"""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from mtgauge._version import __version__
from mtgauge.errors import InputError, MtgaugeError, UsageError
from mtgauge.serve import pages, rest
from mtgauge.serve.guard import Guard
from mtgauge.serve.refusals import status_of
from mtgauge.serve.settings import ServerSettings
from mtgauge.serve.state import State

_STATIC = Path(__file__).parent / "static"


def create(settings: ServerSettings) -> FastAPI:
    """The application for these settings; wrong ones, and a folder in use, are refused now."""
    settings.check()
    app = FastAPI(
        title="mtgauge",
        version=__version__,
        description="Machine translation quality, measured on this machine.",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.mtgauge = State(settings)
    app.add_middleware(Guard, settings=settings)
    app.add_exception_handler(MtgaugeError, _tell)
    app.add_exception_handler(HTTPException, _tell_http)
    app.add_exception_handler(RequestValidationError, _tell_shape)
    app.mount("/static", StaticFiles(directory=_STATIC))
    app.include_router(rest.router)
    app.include_router(pages.router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state: State = app.state.mtgauge
    state.quick.start()
    state.jobs.start()
    try:
        yield
    finally:
        state.close()


def _tell(request: Request, error: Exception) -> Response:
    assert isinstance(error, MtgaugeError)
    return _answer(request, status_of(error), str(error))


def _tell_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, str(error.detail))


def _tell_shape(request: Request, error: Exception) -> Response:
    """What is wrong with a request's fields, without repeating what was sent."""
    assert isinstance(error, RequestValidationError)
    told = dict.fromkeys(map(_fault_of_field, error.errors()))  # of one field there may be several
    return _answer(request, 422, " ".join([*told][:3]))


def _fault_of_field(fault: dict[str, Any]) -> str:
    kind, place = fault["type"], fault["loc"]
    if kind == "json_invalid":
        return f"The body is no JSON: see character {place[-1]}."
    if len(place) < 2:
        return "The body must be a JSON object with fields."
    name = str(place[1])
    if name not in rest.Texts.model_fields:
        return f"There is no field {name!r}: see /docs."
    if kind == "missing":
        return f"The field {name} is missing."
    return f"The field {name} has a wrong type: {rest.Texts.model_fields[name].description}."


def _answer(request: Request, status: int, message: str) -> Response:
    """A page for people, JSON for programs."""
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        return pages.show(request, "error.html", status, message=message)
    headers = {"Retry-After": "10"} if status in (429, 503) else {}
    return JSONResponse({"error": message}, status, headers)


def serve(settings: ServerSettings, port: int, ready: Callable[[str], Any] | None = None) -> None:
    """Listen until interrupted; `ready` is called with the address once the port is open."""
    import uvicorn

    app = create(settings)
    bound = _bind(settings.host, port)
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{name}:{bound.getsockname()[1]}/"
    print(f"mtgauge serves {address} and keeps runs in {settings.state}", file=sys.stderr)
    print("Ctrl-C ends it.", file=sys.stderr)
    if ready is not None:
        ready(address)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[bound])


def _bind(host: str, port: int) -> socket.socket:
    if not 0 <= port < 1 << 16:
        raise UsageError(f"--port is between 0 and 65535, not {port}.")
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(*info[:3])  # named TCP: asyncio sends small answers without delay
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(info[4])
        bound.listen()  # who comes early waits until the server answers
    except (OSError, OverflowError) as error:
        raise InputError(
            f"{host}, port {port} cannot be opened ({getattr(error, 'strerror', None) or error})",
            remedy="Choose another with --port.",
        ) from None
    return bound
