"""Nothing is answered without the token, and nothing too large is taken."""

import asyncio

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route

from tightrope.studio.server import Guard


async def length(request):
    return PlainTextResponse(str(len(await request.body())))


def send(guard, body, query=b"token=secret", path="/", cookie=b""):
    """Send one request in pieces of four bytes; return its status and headers."""
    pieces = [body[k : k + 4] for k in range(0, len(body), 4)] or [b""]
    waiting = [
        {"type": "http.request", "body": one, "more_body": True} for one in pieces
    ]
    waiting[-1]["more_body"] = False
    said = []

    async def receive():
        return waiting.pop(0)

    async def tell(message):
        said.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": query,
        "headers": [(b"cookie", cookie)],
    }
    asyncio.run(guard(scope, receive, tell))
    return said[0]["status"], dict(said[0]["headers"])


def test_what_is_too_large_is_refused_before_it_is_read_whole():
    guard = Guard(
        Starlette(routes=[Route("/", length, methods=["POST"])]), "secret", largest=8
    )
    status, headers = send(guard, b"12345678")
    assert status == 200
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert b"HttpOnly; SameSite=Strict" in headers[b"set-cookie"]
    assert send(guard, b"123456789" * 9)[0] == 413
    assert send(guard, b"", query=b"token=guess")[0] == 403


def test_a_cookie_opens_files_and_no_page():
    """An unknown path has a page too; a cookie reaches every port of a host."""

    async def page(request):
        return HTMLResponse("the frame", 404)

    names = ("/", "/x", "/_nicegui/x")
    pages = [Route(name, page, methods=["POST"]) for name in names]
    guard = Guard(
        Starlette(routes=[*pages, Route("/file", length, methods=["POST"])]), "secret"
    )
    cookie = send(guard, b"")[1][b"set-cookie"].partition(b";")[0]
    for path in names:
        assert send(guard, b"", path=path)[0] == 404
        assert send(guard, b"", b"", path, cookie)[0] == 403
    assert send(guard, b"", b"", "/file", cookie)[0] == 200
    assert send(guard, b"", b"", "/file", b"tightrope_0=guess")[0] == 403


def test_the_start_of_the_server_reaches_the_application():
    reached = []

    async def app(scope, receive, send):
        reached.append(scope["type"])

    asyncio.run(Guard(app, "secret")({"type": "lifespan"}, None, None))
    assert reached == ["lifespan"]
