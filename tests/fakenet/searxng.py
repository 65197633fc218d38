"""A SearXNG instance with `json` among its formats, as vendors/searxng.md describes it (sections 1 to 5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import ImageQuery, Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_html, as_json, as_text
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

LANGUAGE = re.compile(r"^[a-z]{2,3}(-[a-zA-Z]{2})?$")  # section 1
TIME_RANGES = ("", "day", "week", "month", "year")
REFUSED_AGENTS = ("curl", "Wget", "python-requests", "Python", "Go-http-client", "Java", "okhttp", "Scrapy")
START_PAGE = (
    "<!doctype html><html><head><title>SearXNG</title></head><body><form action='/search'></form></body></html>"
)


class Searxng:
    """Handler of one instance.

    json_enabled: `json` stands in the operator's `search.formats`. limiter: requests that do not look like a
    browser's are refused. unresponsive: pairs of engine and message; with `engines_fail` nothing else comes back.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.json_enabled = True
        self.limiter = True
        self.unresponsive: list[tuple[str, str]] = []
        self.engines_fail = False

    def __call__(self, request: Request) -> Answer:
        fields = request.form if request.method == "POST" else request.query
        if request.path == "/":
            # Section 1, "Not this".
            return (
                Answer(308, headers=(("location", f"/search?{request.target.partition('?')[2]}"),))
                if "q" in fields
                else as_html(START_PAGE)
            )
        if request.path != "/search":
            return as_text("not found", 404)
        return self._limited(request) or self._refused(fields) or self._search(fields)

    def _limited(self, request: Request) -> Answer | None:
        """Section 4; the cap of 4 requests per hour is left to a fault."""
        agent = request.header("user-agent") or ""
        encodings = request.header("accept-encoding") or ""
        refused = (
            "text/html" not in (request.header("accept") or "")
            or not ("gzip" in encodings or "deflate" in encodings)
            or not request.header("accept-language")
            or not agent
            or agent.startswith(REFUSED_AGENTS)
        )
        if self.limiter and refused:
            return as_text("Too Many Requests", 429)
        if self.limiter and request.header("sec-fetch-mode") not in ("navigate", "cors"):
            return Answer(302, headers=(("location", "/"),))
        return None

    def _refused(self, fields: Mapping[str, str]) -> Answer | None:
        """Section 3. The check of the format comes first, as in the source."""
        if fields.get("format") != "json":
            return as_html(START_PAGE)
        if not self.json_enabled:
            return as_html(
                "<h1>Forbidden</h1><p>You don't have the permission to access the requested resource.</p>", 403
            )
        if not fields.get("q"):
            return as_json({"error": "No query"}, 400)
        if not re.fullmatch(r"[1-9]\d*", fields.get("pageno", "1")):
            return as_json({"error": "Invalid pageno"}, 400)
        language = fields.get("language", "auto")
        if language != "auto" and not LANGUAGE.match(language):
            return as_json({"error": "Invalid language"}, 400)
        if fields.get("time_range", "") not in TIME_RANGES:
            return as_json({"error": "Invalid time_range"}, 400)
        if fields.get("safesearch", "0") not in ("0", "1", "2"):
            return as_json({"error": "Invalid safesearch"}, 400)
        return None

    def _search(self, fields: Mapping[str, str]) -> Answer:
        tokens = fields["q"].split()
        if any(token.startswith("!!") for token in tokens):  # section 3: external bang
            return Answer(302, headers=(("location", "https://elsewhere.example/"),))
        text = " ".join(token for token in tokens if token[0] not in "!:<")  # section 5: read and removed
        start = (int(fields.get("pageno", "1")) - 1) * 10
        entries = [] if self.engines_fail else self._world.search(text, start=start, count=10)
        row = _image if "images" in fields.get("categories", "").split(",") else _result
        return as_json(
            {
                "query": text,
                "results": [row(entry, start + place) for place, entry in enumerate(entries, start=1)],
                "answers": [],
                "corrections": [],
                "infoboxes": [],
                "suggestions": [],
                "unresponsive_engines": self.unresponsive,
            }
        )


def _result(entry: Entry, place: int) -> dict[str, Any]:
    """Section 2."""
    return {
        "url": entry.url, "title": entry.title, "content": entry.snippet, "engine": "duckduckgo",
        "engines": ["duckduckgo", "bing"], "positions": [place], "score": 1 / place, "category": "general",
        "template": "default.html", "publishedDate": f"{entry.published}T00:00:00", "pubdate": entry.published,
        "parsed_url": ["http", "127.0.0.1", "/", "", "", ""], "img_src": "", "thumbnail": "", "priority": "",
        "author": "",
    }  # fmt: skip


def _image(entry: Entry, place: int) -> dict[str, Any]:
    return _result(entry, place) | {
        "img_src": entry.image_url, "thumbnail_src": entry.image_url, "resolution": "1280 x 720",
        "category": "images", "template": "images.html", "source": "fake",
    }  # fmt: skip


REMOTES = {"searxng": Searxng}


def build(urls: Mapping[str, str], canary: str) -> Any:
    # The one secret of this type is a password in the operator's own URL.
    return lookup("searxng")(url=urls["searxng"].replace("://", f"://operator:{canary}@"))


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"SEARXNG_URL": urls["searxng"]}


CASES = (
    Case(Role.SEARCH, "searxng", lambda urls: Query("thermocouple type k range"), good="ok.json", empty="empty.json"),
    Case(Role.IMAGES, "searxng", lambda urls: ImageQuery("thermocouple"), good="images.json", empty="empty.json"),
)
