"""The studio's server: its door, what is answered while the page loads, and the page.

Without the token nothing answers, neither page nor socket.
"""

from __future__ import annotations

import asyncio
import functools
import hmac
import importlib.util
import secrets
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightrope.errors import InputError

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

#: Largest body of a request, in bytes: an uploaded file.
BODY_LIMIT = 64 * 2**20
#: Everything the page needs comes from the page's own server.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'self'; "
    "form-action 'self'"
)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class TooMuch(Exception):
    """A request whose body is larger than the limit."""


class Guard:
    """Lets requests through that carry the token in the address, or a session's cookie.

    A page is opened with the token and gets the cookie, which its socket and its files then
    carry. The cookie is another secret than the token and opens no page, as browsers send cookies
    to every port of a host; it ends with the server. Requests that another site's page sends are
    refused, cookie or not.

    Parameters
    ----------
    app
        The application behind the door.
    token
        The secret.

    Examples
    --------
    >>> guard = Guard(lambda scope, receive, send: None, "secret")
    >>> scope = {"type": "http", "path": "/", "headers": []}
    >>> guard.knows({**scope, "query_string": b"token=secret"})
    True
    >>> guard.knows({**scope, "query_string": b"token=guess"})
    False
    """

    def __init__(self, app: Application, token: str) -> None:
        self._app = app
        self._token = token
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif not self.knows(scope) or not _own_page(scope):
            await _refuse(scope, receive, send, 403)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    def knows(self, scope: Scope) -> bool:
        """Whether a request carries the token in its address, or the cookie of the session."""
        asked = _connection(scope)
        given, wanted = asked.query_params.get("token"), self._token
        if not given:
            if scope["path"] == "/":
                return False  # a cookie that was sent to another port must open no page
            given, wanted = asked.cookies.get(_cookie_name(scope), ""), self._session
        return hmac.compare_digest(given.encode(), wanted.encode())

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken = 0
        started = False

        async def bounded() -> MutableMapping[str, Any]:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > BODY_LIMIT:
                raise TooMuch
            return message

        async def dressed(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *self._headers(scope)]
            await send(message)

        try:
            await self._app(scope, bounded, dressed)
        except TooMuch:
            if not started:
                await _refuse(scope, receive, send, 413)

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"content-security-policy", POLICY.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
        ]
        if _connection(scope).query_params.get("token"):
            cookie = f"{_cookie_name(scope)}={self._session}; HttpOnly; SameSite=Strict; Path=/"
            headers.append((b"set-cookie", cookie.encode()))
        return headers


def _connection(scope: Scope) -> HTTPConnection:
    """Return a request as Starlette reads it, which the page needs too."""
    from starlette.requests import HTTPConnection

    return HTTPConnection(scope)


def _cookie_name(scope: Scope) -> str:
    # Cookies do not know ports: two studios on one machine must not share one.
    server = scope.get("server") or ("", 0)
    return f"tightrope_{server[1]}"


def _own_page(scope: Scope) -> bool:
    """Whether the request does not come from a page of another origin."""
    headers = _connection(scope).headers
    origins, hosts = headers.getlist("origin"), headers.getlist("host")
    return not origins or hosts == [origins[0].partition("://")[2]]


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    from starlette.responses import PlainTextResponse

    words = {403: "open the address with its token", 413: "this file is too large"}[status]
    await PlainTextResponse(f"{words}\n", status)(scope, receive, send)


#: What ends the page that waits, and calls the studio.
CALL = "<script>location.reload()</script></body></html>\n"


class Opening:
    """An application that loads another and lets it answer as soon as it can.

    Until then its page says so; every other request waits.

    Parameters
    ----------
    load
        Returns the application; called in a thread.
    """

    def __init__(self, load: Callable[[], Application]) -> None:
        self._load = load
        self._app: Application | None = None
        self._open = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether the other application answers."""
        return self._app is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live as long as the server."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif self._app is None and scope["type"] == "http" and scope["path"] == "/":
            await self._wait(send)
        else:
            await self._open.wait()
            if self._app is not None:
                await self._app(scope, receive, send)

    async def _wait(self, send: Send) -> None:
        waiting = Path(__file__).with_name("waiting.html").read_bytes()
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": waiting, "more_body": True})
        await self._open.wait()
        words = CALL if self.is_open else "<p>It could not start.</p></body></html>\n"
        await send({"type": "http.response.body", "body": words.encode()})

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell the server that it may begin, then load, then pass on when it ends."""
        started = await receive()
        await send({"type": "lifespan.startup.complete"})

        async def ask() -> MutableMapping[str, Any]:
            return await receive() if self.is_open else started

        async def tell(message: MutableMapping[str, Any]) -> None:
            if message["type"] != "lifespan.startup.complete":
                await send(message)
                return
            self._app = app
            self._open.set()

        try:
            app = await asyncio.to_thread(self._load)
            await app(scope, ask, tell)
        finally:
            self._open.set()


#: Addresses of this machine alone.
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """Where the studio listens and what it was told on the command line.

    Attributes
    ----------
    host, port
        The address; port 0 takes a free one.
    token
        The secret in the address; a new one by default.
    data, facts, ledger
        The table, the public facts and the ledger that the first panel starts with.

    Examples
    --------
    >>> Settings(port=8080, token="secret").url
    'http://127.0.0.1:8080/?token=secret'
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    data: str = ""
    facts: str = ""
    ledger: str = ""

    @property
    def url(self) -> str:
        """The address to open."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?token={self.token}"


def check_installed() -> None:
    """Refuse to start without what the page is made with."""
    if importlib.util.find_spec("nicegui") is None:
        raise InputError("the studio needs NiceGUI: pip install 'tightrope[studio]'")


def application(settings: Settings) -> Application:
    """Return the studio as an ASGI application behind its guard; the page is loaded as it runs."""
    check_installed()
    return Guard(Opening(functools.partial(_load, settings)), settings.token)


def _load(settings: Settings) -> Application:
    """Return the page as an application. This loads most of the library."""
    from fastapi import FastAPI
    from nicegui import ui

    from tightrope.studio.page import register

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    register(settings)
    ui.run_with(
        app,
        title="Tightrope studio",
        favicon=Path(__file__).with_name("favicon.svg"),
        dark=None,
        reconnect_timeout=10.0,
        # Compiling Tailwind in the browser takes seconds, and style.css uses none of it.
        tailwind=False,
        show_welcome_message=False,
    )
    return app


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address, or say why not.

    >>> with listen("127.0.0.1", 0) as bound:
    ...     bound.getsockname()[0]
    '127.0.0.1'
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as refused:
        reason = getattr(refused, "strerror", None) or refused
        raise InputError(f"{host}:{port} cannot be listened on: {reason}") from None


def serve(settings: Settings, bound: socket.socket) -> None:
    """Serve the page until interrupted."""
    app = application(settings)
    import uvicorn

    from tightrope.studio.jobs import warm_up

    warm_up()
    options: dict[str, Any] = {"log_level": "warning", "ws_max_size": 2**24, "lifespan": "on"}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    server.run(sockets=[bound])
