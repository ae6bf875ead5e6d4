"""``tightrope studio``: the page in a browser."""

from __future__ import annotations

from tightrope.cli.output import json_wanted
from tightrope.errors import InputError


def studio(
    *,
    host: str = "127.0.0.1",
    port: int = 8642,
    token: str | None = None,
    browser: bool = True,
    data: str = "",
    facts: str = "",
    ledger: str = "",
) -> None:
    """Publish and study in the browser.

    The page is served to this machine alone, works without a network, and answers only to its
    own address with the token in it. It runs until interrupted.

    Parameters
    ----------
    host : HOST
        The address to listen on; other machines reach the page only if this is changed.
    port : PORT
        The port to listen on; 0 takes a free one.
    token : TEXT
        The secret in the address; a new one by default.
    browser
        Open the page in the browser.
    data : URL
        The table that the first panel starts with.
    facts : FILE
        The public facts that fill the form of the first panel.
    ledger : URL
        The ledger that the first panel starts with.

    Examples:
      tightrope studio
      tightrope studio --port 9000 --no-browser
      tightrope studio --facts tightrope.toml --ledger ledger.db

    >>> studio(port=70000)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a port must lie between 0 and 65535, got 70000
    """
    import json
    import re

    from tightrope.studio.server import LOOPBACK, StudioSettings, listen, serve

    if not 0 <= port <= 65535:
        raise InputError(f"a port must lie between 0 and 65535, got {port}")
    # Short tokens can be guessed; other characters would need escaping in the address.
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{8,200}", token):
        raise InputError("a token must have 8 or more letters, digits, - or _")
    secret = {} if token is None else {"token": token}
    # Bound first: a port in use is reported before seconds of loading.
    with listen(host, port) as bound:
        port = bound.getsockname()[1]
        settings = StudioSettings(
            host, port, data=data, facts=facts, ledger=ledger, **secret
        )
        if json_wanted.get():
            print(json.dumps({"url": settings.url}), flush=True)
        else:
            print(f"Tightrope studio: {settings.url}", flush=True)
            # The token then is the only protection, and it travels unencrypted.
            if host not in LOOPBACK:
                print(
                    "Everybody who reaches this machine and has the address can use the page."
                )
        if browser and not json_wanted.get():
            import webbrowser

            webbrowser.open(settings.url)
        serve(settings, bound)
