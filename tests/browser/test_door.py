"""Without the token nothing answers; hostile files and links do no harm."""

import base64
import http.client
import json
import os
import zlib
from urllib.parse import parse_qs, urlsplit

import pytest

from tightrope.studio.state import PageState

#: What a browser sends to open a socket.
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def ask(studio, path, method="GET", body=None, **headers):
    """Send one request; return the status and the headers."""
    place = urlsplit(studio)
    line = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    line.request(method, path, body=body, headers=headers)
    answer = line.getresponse()
    found = answer.status, dict(answer.getheaders())
    line.close()
    return found


def token(studio):
    return parse_qs(urlsplit(studio).query)["token"][0]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?token=",
        "/?token=guess",
        "/_nicegui/client/x/upload/1",
        "/docs",
        "/openapi.json",
    ],
)
def test_pages_are_refused_without_the_token(studio, path):
    assert ask(studio, path)[0] == 403
    assert ask(studio, path, "POST", b"x" * 1000)[0] == 403


def test_static_files_are_refused_without_the_token(tab, studio):
    tab.page.goto(studio)
    found = tab.page.evaluate(
        "performance.getEntriesByType('resource').map(e => new URL(e.name).pathname)"
    )
    assert len(found) > 5
    assert {ask(studio, path)[0] for path in found[:20]} == {403}


def test_socket_is_refused_without_the_token(studio):
    assert ask(studio, SOCKET, **UPGRADE)[0] == 403
    cookie = ask(studio, f"/?token={token(studio)}")[1]["set-cookie"].partition(";")[0]
    assert cookie.startswith(f"tightrope_{urlsplit(studio).port}=")
    assert ask(studio, SOCKET, Cookie=f"{cookie}x", **UPGRADE)[0] == 403
    # Cookies reach every port of a host: the token must not be one, nor the other way round.
    assert token(studio) not in cookie
    as_cookie = f"{cookie.partition('=')[0]}={token(studio)}"
    assert ask(studio, SOCKET, Cookie=as_cookie, **UPGRADE)[0] == 403
    assert ask(studio, f"/?token={cookie.partition('=')[2]}")[0] == 403
    for path in ("/", "/x", "/table/y", "/_nicegui/x"):
        assert ask(studio, path, Cookie=cookie)[0] == 403
    assert ask(studio, SOCKET, Cookie=cookie, **UPGRADE)[0] == 101
    # A page of another site has the cookie in its hands, but not its own origin.
    wrong = {"Cookie": cookie, "Origin": "http://127.0.0.1:1", **UPGRADE}
    assert ask(studio, SOCKET, **wrong)[0] == 403


def test_token_opens_and_gives_a_cookie_for_this_page_alone(studio):
    status, headers = ask(studio, f"/?token={token(studio)}")
    assert status == 200
    assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]
    assert "default-src 'self'" in headers["content-security-policy"]


def test_bound_to_this_machine_alone(studio):
    assert urlsplit(studio).hostname == "127.0.0.1"


# -- hostile input ------------------------------------------------------------------------

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    "<graphml><graph><node id='&b;'/></graph></graphml>"
)
HOSTILE = {
    "laughs.graphml": LAUGHS.encode(),
    "nul.csv": b"a,b\n\0,1\n",
    "binary.csv": os.urandom(2_000),
    "deep.json": b"[" * 100_000,
    "apart.csv": b"0,1\n2,3\n",
}


def test_hostile_graphs_are_refused_beside_the_field(tab, tmp_path):
    tab.open()
    tab.press("Upload")
    upload = tab.page.locator("[data-upload=graph] input[type=file]")
    seen = set()
    for name, data in HOSTILE.items():
        (tmp_path / name).write_bytes(data)
        upload.set_input_files(tmp_path / name)
        tab.wait(f"[data-error=question] >> text=/{name}|connected/")
        seen.add(tab.text("[data-error=question]"))
    assert len(seen) == len(HOSTILE)
    assert not any("/tmp" in line or "Traceback" in line for line in seen)
    # The page is as it was, and labels that look like mark-up are text.
    bad = "<img src=x onerror=alert(1)>"
    graph = {
        "nodes": [bad, "b"],
        "edges": [[bad, "b"]],
        "name": "<script>alert(2)</script>",
    }
    (tmp_path / "marks.json").write_text(json.dumps(graph))
    upload.set_input_files(tmp_path / "marks.json")
    tab.wait("text=<script>alert(2)</script>: 2 answers")
    tab.design()
    assert tab.page.locator("img[src=x]").count() == 0


def test_hostile_mechanism_file_is_not_trusted(tab, tmp_path):
    from tightrope.studio.work import make

    good = make(PageState()).mechanism
    upload = "[data-upload=mechanism] input[type=file]"
    tab.open(panel=6)
    for number, data in enumerate(
        [b"", b"PK\3\4" * 99, good[:-1], good[:-9] + b"\xff" * 9]
    ):
        path = tmp_path / f"bad{number}.tightrope"
        path.write_bytes(data)
        tab.page.locator(upload).set_input_files(path)
        tab.wait(f"[data-error=verify] >> text=bad{number}.tightrope")
        assert "NOT to be trusted" in tab.text("[data-verified]")
    path = tmp_path / "good.tightrope"
    path.write_bytes(good)
    tab.page.locator(upload).set_input_files(path)
    tab.wait("[data-verified] >> text=good.tightrope: everything holds")


def test_hostile_link_opens_an_ordinary_page(tab, studio):
    bomb = (
        base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000, 9))
        .decode()
        .rstrip("=")
    )
    tab.page.goto(f"{studio}&state={bomb[:60_000]}")
    tab.wait("text=the link holds no state")
    tab.turn(2)
    tab.holds("Query", "count(5)")
