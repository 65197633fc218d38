"""Serper as vendors/serper.md describes it (sections 1 to 4); its pictures as public clients read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import ImageQuery, Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

KEYS = {"q", "num", "page", "hl", "gl", "location", "tbs", "autocorrect"}  # section 1
OPERATORS = re.compile(r'"|(?<!\S)-?(site|intitle|filetype):|(?<!\S)(OR|-\w)')  # section 3


def failure(status: int, message: str) -> Answer:
    """Section 3: a flat body."""
    return as_json({"message": message, "statusCode": status}, status)


class Serper:
    """Handler of both endpoints.

    key: the one that is good, None for any. credits: what is left. is_trial: the account may use no operators.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.credits = 2500
        self.is_trial = False

    def __call__(self, request: Request) -> Answer:
        given = request.header("x-api-key")
        if given is None or self.key not in (None, given):
            return failure(403, "Unauthorized.")
        if request.method != "POST" or request.path not in ("/search", "/images"):
            return failure(404, "Not Found")
        if self.credits <= 0:
            return failure(400, "Not enough credits")
        body = request.json
        if not body.get("q"):
            return failure(400, "Missing query parameter")
        if set(body) - KEYS or not re.fullmatch(r"qdr:[hdwmy]", body.get("tbs", "qdr:d")) or body.get("page", 1) < 1:
            return failure(400, "Invalid parameter")
        if self.is_trial and OPERATORS.search(body["q"]):
            return failure(400, "Query pattern not allowed for free accounts")
        return self._answer(request.path, body)

    def _answer(self, path: str, body: Mapping[str, Any]) -> Answer:
        count = body.get("num", 10)
        cost = 1 if count <= 10 else 2  # section 4
        self.credits -= cost
        entries = self._world.search(body["q"], start=(body.get("page", 1) - 1) * count, count=count)
        reply: dict[str, Any] = {"searchParameters": {"q": body["q"], "type": path[1:], "engine": "google"}}
        if entries:
            name, row = ("organic", _result) if path == "/search" else ("images", _picture)
            reply[name] = [row(entry, place) for place, entry in enumerate(entries, start=1)]
        return as_json(reply | {"credits": cost})


def _result(entry: Entry, place: int) -> dict[str, Any]:
    """Section 2."""
    return {"title": entry.title, "link": entry.url, "snippet": entry.snippet, "date": "Mar 2, 2026", "position": place}


def _picture(entry: Entry, place: int) -> dict[str, Any]:
    return {
        "title": entry.title, "imageUrl": entry.image_url, "imageWidth": 1280, "imageHeight": 720,
        "thumbnailUrl": entry.image_url, "source": "Fake", "domain": "127.0.0.1", "link": entry.url, "position": place,
    }  # fmt: skip


REMOTES = {"serper": Serper}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("serper")(key=canary, url=urls["serper"])


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"SERPER_API_KEY": key, "SERPER_BASE_URL": urls["serper"]}


CASES = (
    Case(Role.SEARCH, "serper", lambda urls: Query("type k range"), good="ok.json", empty="empty.json"),
    Case(Role.IMAGES, "serper", lambda urls: ImageQuery("type k"), good="images.json", empty="empty.json"),
)
