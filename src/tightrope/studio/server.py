"""The studio's server: its door, and the page behind it.

Without the token nothing answers, neither page nor socket.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from tightrope.errors import InputError

#: Everything the page needs comes from the page's own server.
POLICY = (
    # The page library compiles templates in the browser, hence eval; no other origin is allowed.
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'self'; "
    "form-action 'self'"
)


_refusal = PlainTextResponse("open the address with its token\n", 403)


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
    largest
        The largest body of a request, in bytes: an uploaded file.

    Examples
    --------
    >>> guard = Guard(lambda scope, receive, send: None, "secret")
    >>> scope = {"type": "http", "path": "/", "headers": []}
    >>> guard.knows({**scope, "query_string": b"token=secret"})
    True
    >>> guard.knows({**scope, "query_string": b"token=guess"})
    False
    """

    def __init__(self, app: ASGIApp, token: str, largest: int = 64 * 2**20) -> None:
        self._app = app
        self._token = token
        # A secret of its own: a stolen cookie does not reveal the token, nor the other way round.
        self._session = secrets.token_urlsafe(32)
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":  # the server's own start and end
            await self._app(scope, receive, send)
        elif self.knows(scope) and _own_page(scope):
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            # 1008 is the code of a policy violation.
            await WebSocketClose(1008)(scope, receive, send)
        else:
            await _refusal(scope, receive, send)

    def knows(self, scope: Scope) -> bool:
        """Whether a request carries the token in its address, or the cookie of the session."""
        asked = HTTPConnection(scope)
        given = asked.query_params.get("token")
        wanted = self._token
        if not given:
            if scope["path"] == "/":
                return False  # a cookie that was sent to another port must open no page
            given = asked.cookies.get(_cookie_name(scope), "")
            wanted = self._session
        # Constant time: the time of a comparison must not tell how much of a guess is right.
        return hmac.compare_digest(given.encode(), wanted.encode())

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken = 0
        has_token = bool(HTTPConnection(scope).query_params.get("token"))
        is_refused = False

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            # Counted while it streams: a declared length may be false or missing.
            taken += len(message.get("body", b""))
            if scope["type"] == "http" and taken > self._largest:
                raise HTTPException(413, "this file is too large")
            return message

        async def dressed(message: Message) -> None:
            nonlocal is_refused
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # An unknown path has a page too, which shows the frame of the studio.
                is_page = headers.get("content-type", "").startswith("text/html")
                is_refused = is_page and not has_token
                # The refusal is sent in place of the page; the rest of that response is dropped.
                if is_refused:
                    await _refusal(scope, receive, send)
                headers["content-security-policy"] = POLICY
                # The token is in the address, which a link to another site would send along.
                headers["referrer-policy"] = "no-referrer"
                headers["x-content-type-options"] = "nosniff"
                if has_token:
                    cookie = f"{_cookie_name(scope)}={self._session}"
                    # HttpOnly: scripts cannot read it. Strict: no other site's page can send it.
                    headers.append(
                        "set-cookie", f"{cookie}; HttpOnly; SameSite=Strict; Path=/"
                    )
            if not is_refused:
                await send(message)

        await self._app(scope, bounded, dressed)


def _cookie_name(scope: Scope) -> str:
    # Cookies do not know ports: two studios on one machine must not share one.
    server = scope.get("server") or ("", 0)
    return f"tightrope_{server[1]}"


def _own_page(scope: Scope) -> bool:
    """Whether the request does not come from a page of another origin."""
    headers = HTTPConnection(scope).headers
    origins = headers.getlist("origin")
    hosts = headers.getlist("host")
    # Threat: a page of another site that opens our socket with the user's cookie.
    return not origins or hosts == [origins[0].partition("://")[2]]


#: Addresses of this machine alone.
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class StudioSettings:
    """Where the studio listens, and what the command line gave it.

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
    >>> StudioSettings(port=8080, token="secret").url
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


def application(settings: StudioSettings) -> ASGIApp:
    """Return the studio as an ASGI application behind its guard. This loads most of the library."""
    from fastapi import FastAPI
    from nicegui import app as nicegui_app, ui

    from tightrope.studio.page import register

    # Whoever asks for a path that is not there is no news on the terminal.
    is_news = lambda record: not record.getMessage().endswith(" not found")  # noqa: E731
    logging.getLogger("nicegui").addFilter(is_news)
    # No pages about the interface: nobody else is meant to call it.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    register(settings)
    # Panels say what they are doing; a bar without a name beside that is noise to a screen reader.
    nicegui_app.config.quasar_config["loadingBar"]["skipHijack"] = True
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
    return Guard(app, settings.token)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address, or say why not.

    >>> with listen("127.0.0.1", 0) as bound:
    ...     bound.getsockname()[0]
    '127.0.0.1'
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Bound before the library loads, so that the address can be printed and opened at once.
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError) as refused:
        reason = getattr(refused, "strerror", None) or refused
        raise InputError(f"{host}:{port} cannot be listened on: {reason}") from None


def serve(settings: StudioSettings, bound: socket.socket) -> None:
    """Serve the page until interrupted; who comes before it is loaded waits at the socket."""
    app = application(settings)
    import uvicorn

    from tightrope.studio.jobs import warm_up

    # The first job would otherwise wait seconds for its imports.
    warm_up()
    # Bounds a message of the socket, as the guard bounds the body of a request.
    config = uvicorn.Config(app, log_level="warning", ws_max_size=2**24, lifespan="on")
    uvicorn.Server(config).run(sockets=[bound])
