"""The studio's server: one page, a token, and the process that jobs are copies of."""

from __future__ import annotations

import functools
import importlib.util
import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tightrope.errors import InputError
from tightrope.studio.guard import Application, Guard
from tightrope.studio.opening import Opening

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
        The table, the public facts and the ledger that the release panel starts with.

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


def application(settings: Settings) -> Application:
    """Return the studio as an ASGI application behind its guard; the page is loaded when it runs.

    >>> type(application(Settings(token="secret"))).__name__
    'Guard'
    """
    if importlib.util.find_spec("nicegui") is None:
        raise InputError("the studio needs NiceGUI: pip install 'tightrope[studio]'")
    return Guard(Opening(functools.partial(_load, settings)), settings.token)


def _load(settings: Settings) -> Application:
    """Return the page as an application. This loads most of the library."""
    from fastapi import FastAPI
    from nicegui import ui

    import tightrope.studio.panels  # noqa: F401  (now, and not in front of the first visitor)
    from tightrope.studio.page import register

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    register(settings)
    ui.run_with(
        app,
        title="Tightrope studio",
        favicon=Path(__file__).with_name("favicon.svg"),
        dark=None,
        reconnect_timeout=10.0,
        # The style sheet needs one of its rules: compiling them in the browser takes long.
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
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(128)
    except (OSError, OverflowError) as refused:
        bound.close()
        reason = getattr(refused, "strerror", None) or refused
        raise InputError(f"{host}:{port} cannot be listened on: {reason}") from None
    return bound


def serve(settings: Settings, bound: socket.socket) -> None:
    """Serve the page until interrupted.

    >>> serve  # doctest: +ELLIPSIS
    <function serve at ...>
    """
    app = application(settings)
    import uvicorn

    from tightrope.studio.jobs import warm_up

    warm_up()
    options: dict[str, Any] = {"log_level": "warning", "ws_max_size": 2**24, "lifespan": "on"}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    server.run(sockets=[bound])
