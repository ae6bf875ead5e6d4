"""What is answered while the page is loaded, so that a browser shows something at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

from tightrope.studio.guard import Application, Receive, Scope, Send

#: The page until the studio is loaded. It stays open, and its last line calls the studio.
WAITING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tightrope studio</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<style>
body { margin: 0; font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif }
header { background: #0f766e; color: #fff; font-weight: 700; font-size: 17px; padding: 11px 16px }
p { margin: 24px 16px }
</style></head><body><header>Tightrope</header>
<p role="status">The studio is starting: it loads its solvers once, which takes a few seconds.</p>
"""
FAILED = "<p>It could not start.</p></body></html>\n"
CALL = "<script>location.reload()</script></body></html>\n"


class Opening:
    """An application that loads another and lets it answer as soon as it can.

    Until then its page says so; every other request waits.

    Parameters
    ----------
    load
        Returns the application; called in a thread.

    Examples
    --------
    >>> Opening(lambda: None).is_open
    False
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
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": WAITING.encode(), "more_body": True})
        await self._open.wait()
        words = CALL if self.is_open else FAILED
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
