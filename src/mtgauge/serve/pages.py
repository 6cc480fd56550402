"""The pages: what people see. All they do goes through the REST interface."""

from __future__ import annotations

import asyncio
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from mtgauge import registry
from mtgauge._version import __version__
from mtgauge.serve.guard import COOKIE, is_token, session
from mtgauge.serve.rest import state_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_EXAMPLE = resources.files("mtgauge") / "data" / "example" / "de-en.tsv"
_templates = Jinja2Templates(Path(__file__).parent / "templates")
_templates.env.globals["version"] = __version__


def show(request: Request, name: str, status: int = 200, **values: Any) -> Response:
    return _templates.TemplateResponse(request, name, values, status_code=status)


@router.get("/")
def home(request: Request) -> Response:
    """The form, and earlier runs."""
    state = state_of(request)
    return show(
        request,
        "home.html",
        limits=state.settings.limits,
        languages=sorted(registry.load("kobe").languages or ()),
        runs=[run.public() for run in state.store.all()],
    )


@router.get("/run/{run_id}")
def run(request: Request, run_id: str) -> Response:
    """One run: its progress, then its report."""
    return show(request, "run.html", run=state_of(request).store.get(run_id).public())


@router.get("/example.tsv")
def example() -> Response:
    """Three systems from German into English, to try the form with."""
    return Response(_EXAMPLE.read_bytes(), media_type="text/tab-separated-values")


@router.get("/docs")
def interface(request: Request) -> Response:
    """The REST interface, from its OpenAPI description; nothing is loaded from elsewhere."""
    return show(request, "interface.html", openapi=request.app.openapi())


@router.get("/login")
def ask_token(request: Request) -> Response:
    return show(request, "login.html", wrong=False)


@router.post("/login")
async def login(request: Request) -> Response:
    """A cookie for the token; a wrong one takes a while, so that guessing does."""
    token = state_of(request).settings.token
    async with request.form(max_files=0, max_fields=5) as form:
        given = str(form.get("token", "")).strip()
    if token is None:
        return RedirectResponse("/", 303)
    if not is_token(given, token):
        await asyncio.sleep(1)
        return show(request, "login.html", 401, wrong=True)
    answer = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, session(token), httponly=True, samesite="strict", secure=secure)
    return answer
