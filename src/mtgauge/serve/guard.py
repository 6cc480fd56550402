"""The door of the server: every request passes here before anything reads it.

In this order: the Host header must be ours (DNS rebinding), the token must be right where there is
one, a request that changes something must not come from another site, and no body may be larger
than the limit. Every answer carries headers that forbid scripts, frames and fonts from elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mtgauge.serve.settings import ServerSettings

COOKIE = "mtgauge_session"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a form's Origin is null, as a stranger's
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_OPEN = ("/login", "/static/")  # reached without the token
_SAFE = ("GET", "HEAD", "OPTIONS")


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # lifespan; there are no web sockets
            await self.app(scope, receive, send)
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refuse(scope)
        if refused is not None:
            await refused(scope, receive, protected)
        else:
            await self.app(scope, self._counted(receive), protected)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self.settings.answers_to(host):
            return _no(
                421, "This server does not answer to that name. Its owner can add it: --name."
            )
        if scope["method"] not in _SAFE and not _same_site(headers, host):
            return _no(403, "The request comes from another site.")
        path = scope["path"]
        if not path.startswith(_OPEN) and not self.is_known(headers):
            if "text/html" in headers.get("accept", "") and scope["method"] == "GET":
                return RedirectResponse("/login", status_code=303)
            return _no(401, "Give the server's token: Authorization: Bearer TOKEN.", bearer=True)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            return _no(400, "The header Content-Length is not a number.")
        return too_large(self.settings) if int(length) > self.settings.limits.upload else None

    def is_known(self, headers: Headers) -> bool:
        """Whether a request carries the token, or the cookie that /login gave for it."""
        token = self.settings.token
        if token is None:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and is_token(given.strip(), token):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), _mark(token))

    def _counted(self, receive: Receive) -> Receive:
        """Bodies without a stated length are counted as they come."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.settings.limits.upload:
                raise HTTPException(413, _size_text(self.settings))
            return message

        return counted


def is_token(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def session(token: str) -> str:
    """What the cookie holds: proof of the token, not the token."""
    return _mark(token).decode()


def _mark(token: str) -> bytes:
    return hmac.new(token.encode(), b"mtgauge session", hashlib.sha256).hexdigest().encode()


def _same_site(headers: Headers, host: str) -> bool:
    """Browsers say where a request comes from; other programs say nothing."""
    origin = headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc == host
    return headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _size_text(settings: ServerSettings) -> str:
    return (
        f"The upload is larger than {settings.limits.upload / (1 << 20):.4g} MB. Send less, or ask "
        "the server's owner to raise --max-upload."
    )


def too_large(settings: ServerSettings) -> Response:
    return _no(413, _size_text(settings))


def _no(status: int, message: str, *, bearer: bool = False) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if bearer else {}
    return JSONResponse({"error": message}, status, headers)
