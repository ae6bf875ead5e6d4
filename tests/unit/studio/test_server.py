"""Something is answered before the page is loaded, and nothing without the token."""

import asyncio
import threading

import pytest

from tightrope.studio.server import CALL, Guard, Opening


async def page(scope, receive, send):
    """Stands for the studio: takes part in the life of the server and answers every request."""
    if scope["type"] == "lifespan":
        assert (await receive())["type"] == "lifespan.startup"
        await send({"type": "lifespan.startup.complete"})
        assert (await receive())["type"] == "lifespan.shutdown"
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the studio"})


async def asked(app, path="/", query=b"token=secret"):
    """Send one request; return the messages as they come."""
    said = asyncio.Queue()
    scope = {"type": "http", "path": path, "query_string": query, "headers": []}
    return said, asyncio.create_task(app(scope, None, said.put))


async def body(said):
    message = await asyncio.wait_for(said.get(), 30)
    return message.get("body", b"").decode()


def test_the_first_visitor_sees_a_page_at_once_and_then_the_studio():
    may_load = threading.Event()

    def load():
        assert may_load.wait(30)
        return page

    async def visit():
        app, life, said = Guard(Opening(load), "secret"), asyncio.Queue(), asyncio.Queue()
        server = asyncio.create_task(app({"type": "lifespan"}, life.get, said.put))
        await life.put({"type": "lifespan.startup"})
        assert (await said.get())["type"] == "lifespan.startup.complete"

        early, waiting = await asked(app)
        start = await early.get()
        assert start["status"] == 200
        assert b"content-security-policy" in dict(start["headers"])
        assert "is starting" in await body(early)
        other, patient = await asked(app, "/_nicegui/file.js")
        stranger, _ = await asked(app, query=b"token=guess")
        assert (await stranger.get())["status"] == 403
        assert other.empty()
        assert not waiting.done()

        may_load.set()
        assert await body(early) == CALL
        await patient
        assert [await body(other), await body(other)] == ["", "the studio"]
        late, _ = await asked(app)
        assert [await body(late), await body(late)] == ["", "the studio"]
        await life.put({"type": "lifespan.shutdown"})
        assert (await said.get())["type"] == "lifespan.shutdown.complete"
        await server

    asyncio.run(visit())


def test_a_page_that_cannot_be_loaded_says_so():
    def load():
        raise OSError("no room")

    async def visit():
        app, life, said = Opening(load), asyncio.Queue(), asyncio.Queue()
        early, _ = await asked(app)
        await life.put({"type": "lifespan.startup"})
        with pytest.raises(OSError, match="no room"):
            await app({"type": "lifespan"}, life.get, said.put)
        assert [await body(early) for _ in range(3)][-1].startswith("<p>It could not start")

    asyncio.run(visit())
