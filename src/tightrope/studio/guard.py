"""The door of the studio: without the token nothing answers, neither page nor socket."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

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
    """A request whose body is larger than the limit.

    >>> issubclass(TooMuch, Exception)
    True
    """


class Guard:
    """Lets requests through that carry the token, in the address or in a cookie.

    A page that was opened with the token gets the cookie, which its socket and its files then
    carry. Requests that another site's page sends are refused, cookie or not.

    Parameters
    ----------
    app
        The application behind the door.
    token
        The secret.

    Examples
    --------
    >>> guard = Guard(lambda scope, receive, send: None, "secret")
    >>> guard.knows({"query_string": b"token=secret", "headers": []})
    True
    >>> guard.knows({"query_string": b"token=guess", "headers": []})
    False
    """

    def __init__(self, app: Application, token: str) -> None:
        self._app = app
        self._token = token

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
        """Whether a request carries the token."""
        given = _from_address(scope) or _header_cookie(scope, _cookie_name(scope))
        return hmac.compare_digest(given.encode(), self._token.encode())

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
        if _from_address(scope):
            cookie = f"{_cookie_name(scope)}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            headers.append((b"set-cookie", cookie.encode()))
        return headers


def _headers_of(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _from_address(scope: Scope) -> str:
    text: str = scope.get("query_string", b"").decode("latin-1")
    query = parse_qs(text)
    return query.get("token", [""])[0]


def _cookie_name(scope: Scope) -> str:
    # Cookies do not know ports: two studios on one machine must not share one.
    server = scope.get("server") or ("", 0)
    return f"tightrope_{server[1]}"


def _header_cookie(scope: Scope, name: str) -> str:
    for line in _headers_of(scope, b"cookie"):
        try:
            found = SimpleCookie(line).get(name)
        except CookieError:
            continue
        if found is not None:
            return str(found.value)
    return ""


def _own_page(scope: Scope) -> bool:
    """Whether the request does not come from a page of another origin."""
    origins, hosts = _headers_of(scope, b"origin"), _headers_of(scope, b"host")
    return not origins or [f"{host}" for host in hosts] == [origins[0].partition("://")[2]]


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    words = {403: b"open the address with its token", 413: b"this file is too large"}[status]
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": words + b"\n"})
