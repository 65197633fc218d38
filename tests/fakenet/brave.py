"""Brave's search as vendors/brave.md describes it (sections 1 to 3); its pictures as public clients read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import ImageQuery, Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

# Section 1: a part of the closed lists.
LANGUAGES = ("en", "en-gb", "ru", "de", "fr", "es", "jp", "pt-br", "pt-pt", "zh-hans", "zh-hant", "nb", "uk")
COUNTRIES = ("US", "GB", "RU", "DE", "AT", "CH", "FR", "ES", "BR", "PT", "JP", "CN", "TW", "HK", "NO", "ALL")
WEB_KEYS = {
    "q", "count", "offset", "search_lang", "ui_lang", "country", "freshness", "safesearch", "text_decorations",
    "result_filter", "spellcheck", "extra_snippets", "goggles",
}  # fmt: skip
IMAGE_KEYS = {"q", "count", "search_lang", "country", "safesearch", "spellcheck"}


def failure(status: int, code: str, **meta: Any) -> Answer:
    """Section 3, the envelope."""
    error = {"id": "0199", "status": status, "code": code, "detail": "a sentence", "meta": meta}
    return as_json({"type": "ErrorResponse", "error": error, "time": 1773685964}, status)


class Brave:
    """Handler of both endpoints.

    key: the one that is good, None for any. quota: calls left this month. pause: seconds that must lie between two
    requests (section 4: a second on the legacy free plan). trips: how many came sooner.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.quota = 2000
        self.pause = 0.0
        self.trips = 0
        self._asked_at = float("-inf")

    def __call__(self, request: Request) -> Answer:
        given = request.header("x-subscription-token")
        if given is None or self.key not in (None, given):
            return failure(422, "SUBSCRIPTION_TOKEN_INVALID")
        if request.method != "GET" or request.path not in ("/res/v1/web/search", "/res/v1/images/search"):
            return failure(404, "NOT_FOUND")
        if self.quota <= 0:
            return failure(429, "RATE_LIMITED", plan="Free", rate_limit=1, quota_limit=2000, quota_current=2000)
        if self._is_too_fast(request.at):
            return failure(429, "RATE_LIMITED", plan="Free", rate_limit=1, quota_limit=2000, quota_current=20)
        is_web, fields = "/web/" in request.path, request.query
        if (wrong := _wrong(fields, is_web)) is not None:
            return failure(422, "VALIDATION", errors=[{"loc": ["query", wrong], "msg": "not allowed"}])
        self.quota -= 1
        return self._web(fields) if is_web else self._images(fields)

    def _is_too_fast(self, now: float) -> bool:
        is_too_fast = now - self._asked_at < self.pause
        self.trips += is_too_fast
        self._asked_at = now
        return is_too_fast

    def _web(self, fields: Mapping[str, str]) -> Answer:
        """Section 2: `web` is missing where nothing matched."""
        count = int(fields.get("count", "20"))
        entries = self._world.search(fields["q"], start=int(fields.get("offset", "0")) * count, count=count)
        reply: dict[str, Any] = {"type": "search", "query": {"original": fields["q"], "altered": None}}
        if entries:
            reply["web"] = {"type": "search", "family_friendly": True, "results": [_result(entry) for entry in entries]}
        return as_json(reply)

    def _images(self, fields: Mapping[str, str]) -> Answer:
        entries = self._world.search(fields["q"], count=int(fields.get("count", "50")))
        return as_json(
            {"type": "images", "query": {"original": fields["q"]}, "results": [_picture(entry) for entry in entries]}
        )


def _wrong(fields: Mapping[str, str], is_web: bool) -> str | None:
    """The name of a parameter that is refused (section 1), None where all are good."""
    checks = {
        "q": 0 < len(fields.get("q", "")) <= 400 and len(fields["q"].split()) <= 50,
        "count": 1 <= int(fields.get("count", "20")) <= (20 if is_web else 100),
        "offset": 0 <= int(fields.get("offset", "0")) <= 9,
        "search_lang": fields.get("search_lang", "en") in LANGUAGES,
        "country": fields.get("country", "US") in COUNTRIES,
        "freshness": fields.get("freshness", "pd") in ("pd", "pw", "pm", "py"),
        "safesearch": fields.get("safesearch", "strict") in ("off", "strict", *(("moderate",) if is_web else ())),
    }
    unknown = set(fields) - (WEB_KEYS if is_web else IMAGE_KEYS)
    return next((name for name, good in checks.items() if not good), None) or next(iter(unknown), None)


def _result(entry: Entry) -> dict[str, Any]:
    return {
        "url": entry.url, "title": entry.title, "description": entry.snippet, "page_age": f"{entry.published}T10:00:00",
        "language": "en", "family_friendly": True, "meta_url": {"hostname": "127.0.0.1"}, "profile": {"name": "Fake"},
    }  # fmt: skip


def _picture(entry: Entry) -> dict[str, Any]:
    return {
        "type": "image_result", "title": entry.title, "url": entry.url, "source": "127.0.0.1",
        "thumbnail": {"src": entry.image_url, "width": 500, "height": 281},
        "properties": {"url": entry.image_url, "placeholder": entry.image_url, "width": 1280, "height": 720},
    }  # fmt: skip


REMOTES = {"brave": Brave}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("brave")(key=canary, url=urls["brave"] + "/res/v1")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"BRAVE_API_KEY": key, "BRAVE_BASE_URL": urls["brave"]}


CASES = (
    Case(Role.SEARCH, "brave", lambda urls: Query("type k range"), good="ok.json", empty="empty.json"),
    Case(Role.IMAGES, "brave", lambda urls: ImageQuery("type k"), good="images.json", empty="images-empty.json"),
)
