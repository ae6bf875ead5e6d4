"""Nothing is answered without the token, and nothing too large is taken."""

import asyncio

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tightrope.studio.server import Guard


async def length(request):
    return PlainTextResponse(str(len(await request.body())))


def send(guard, body, query=b"token=secret"):
    """Send one request in pieces of four bytes; return its status and headers."""
    pieces = [body[k : k + 4] for k in range(0, len(body), 4)] or [b""]
    waiting = [{"type": "http.request", "body": one, "more_body": True} for one in pieces]
    waiting[-1]["more_body"] = False
    said = []

    async def receive():
        return waiting.pop(0)

    async def tell(message):
        said.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": query, "headers": []}
    asyncio.run(guard(scope, receive, tell))
    return said[0]["status"], dict(said[0]["headers"])


def test_what_is_too_large_is_refused_before_it_is_read_whole():
    guard = Guard(Starlette(routes=[Route("/", length, methods=["POST"])]), "secret", largest=8)
    status, headers = send(guard, b"12345678")
    assert status == 200
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert b"HttpOnly; SameSite=Strict" in headers[b"set-cookie"]
    assert send(guard, b"123456789" * 9)[0] == 413
    assert send(guard, b"", query=b"token=guess")[0] == 403
