"""DuckDuckGo's no-JS result page, as vendors/duckduckgo.md describes it (sections 1 to 3 and 6)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from providers._contract import Kind, Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_html, as_text
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

MAX_QUERY_CHARS = 499  # section 1: "max 499 characters (longer is refused)"
FIRST_PAGE, LATER_PAGE = 10, 15  # section 1: about 10 hits on page 1, about 15 on each later one

# Section 3, item 1.
CHALLENGE = """<!doctype html><html><head><title>DuckDuckGo</title></head><body>
<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&amp;cc=botnet" method="POST">
<div class="anomaly-modal__mask"><div class="anomaly-modal__modal">
<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>
<div class="anomaly-modal__description">Please complete the following challenge.</div>
<div class="anomaly-modal__puzzle">Select all squares containing a duck:</div>
</div></div></form></body></html>"""

# Section 2: an ad row, dropped by class token and by its y.js address.
AD = """<div class="result results_links results_links_deep result--ad result--ad--small">
<h2 class="result__title"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy</a></h2>
<a class="result__snippet" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Cheap</a></div>"""


class Duckduckgo:
    """Handler of the html endpoint. Remembers who has fetched a first page: (query, user agent)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._first_pages: set[tuple[str, str]] = set()
        self.blocking = False

    def __call__(self, request: Request) -> Answer:
        if request.path == "/html":  # section 1: "Keep the trailing slash"
            return Answer(301, headers=(("location", "/html/"),))
        if request.path != "/html/":
            return as_text("not found", 404)
        fields = request.form if request.method == "POST" else request.query
        if self.blocking or not _looks_like_a_browser(request):
            return as_html(CHALLENGE, 202)
        text, agent = fields.get("q", ""), request.header("user-agent") or ""
        if len(text) > MAX_QUERY_CHARS:
            return as_text("query too long", 400)
        if re.search(r"(?<!\S)!\w", text):  # section 6: a bang leaves for another site
            return Answer(302, headers=(("location", "https://elsewhere.example/?q=x"),))
        return self._page(fields, text, agent)

    def _page(self, fields: Mapping[str, str], text: str, agent: str) -> Answer:
        start, count = 0, FIRST_PAGE
        if "s" in fields:
            # Section 1: page 2 without a vqd, or without page 1 by the same User-Agent, is taken for a bot.
            if fields.get("vqd") != _vqd(text, agent) or (text, agent) not in self._first_pages:
                return as_html(CHALLENGE, 202)
            if not all(name in fields for name in ("dc", "nextParams", "v", "o", "api")):
                return as_html(CHALLENGE, 202)
            start, count = int(fields["s"]), LATER_PAGE
        self._first_pages.add((text, agent))
        entries = self._world.search(text, start=start, count=count)
        more = bool(self._world.search(text, start=start + count, count=1))
        rows = AD + "".join(map(_row, entries)) if entries else _no_results(text)
        region = fields.get("kl", "wt-wt")
        form = _next_form(text, agent, start + count, region, fields.get("df", "")) if more else ""
        return as_html(
            f"<!doctype html><html><head><title>{escape(text)} at DuckDuckGo</title></head><body>"
            f'<form action="/html/" method="post"><input name="q" value="{escape(text)}"></form>'
            f'<div id="links" class="results">{rows}{form}</div></body></html>'
        )


def _looks_like_a_browser(request: Request) -> bool:
    """Section 1, "Headers that matter"."""
    agent = request.header("user-agent") or ""
    return (
        agent.startswith("Mozilla/5.0")
        and (request.header("referer") or "").startswith("https://html.duckduckgo.com/")
        and request.header("sec-fetch-mode") == "navigate"
        and request.header("sec-fetch-dest") == "document"
        and request.header("sec-fetch-site") == "same-origin"
        and "text/html" in (request.header("accept") or "")
        and bool(request.header("accept-language"))
    )


def _vqd(text: str, agent: str) -> str:
    """Section 6: tied to the query and the User-Agent."""
    return "4-" + str(int(hashlib.sha256(f"{text}\n{agent}".encode()).hexdigest()[:24], 16))


def _row(entry: Entry) -> str:
    href = f"//duckduckgo.com/l/?uddg={quote(entry.url, safe='')}&amp;rut=0f"
    shown = escape(entry.url.partition("://")[2])
    first, _, rest = escape(entry.snippet).partition(" ")
    return f"""<div class="result results_links results_links_deep web-result">
<div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="{href}">{escape(entry.title)}</a></h2>
<div class="result__extras"><div class="result__extras__url"><a class="result__url" href="{href}">{shown}</a>
<span>{entry.published}T00:00:00.0000000</span></div></div>
<a class="result__snippet" href="{href}"><b>{first}</b> {rest}</a></div></div>"""


def _no_results(text: str) -> str:
    """Section 3, item 4."""
    return (
        '<div class="result results_links results_links_deep web-result result--no-result"><div class="links_main">'
        '<div class="no-results"><h2 class="no-results__message">No results found for '
        f"<b>{escape(text)}</b>.</h2></div></div></div>"
    )


def _next_form(text: str, agent: str, start: int, region: str, freshness: str) -> str:
    fields = {
        "q": text, "s": str(start), "nextParams": "", "v": "l", "o": "json", "dc": str(start + 1), "api": "d.js",
        "vqd": _vqd(text, agent), "kl": region,
    }  # fmt: skip
    if freshness:
        fields["df"] = freshness
    inputs = "".join(f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in fields.items())
    submit = '<input type="submit" value="Next">'
    return f'<div class="nav-link"><form action="/html/" method="post">{submit}{inputs}</form></div>'


IMPERSONATES = True
REMOTES = {"duckduckgo": Duckduckgo}
PATH = "/html/"


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("duckduckgo")(url=urls["duckduckgo"] + PATH)


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"DUCKDUCKGO_BASE_URL": urls["duckduckgo"]}


CASES = (
    Case(
        Role.SEARCH,
        "duckduckgo",
        lambda urls: Query("type k thermocouple range"),
        good="ok.html",
        empty="none.html",
        content_type="text/html; charset=utf-8",
        # There is no account behind this remote: a refusal is a block of our address (section 3, item 1).
        expected={"403": Kind.BLOCKED, "403 challenge": Kind.BLOCKED},
    ),
)
