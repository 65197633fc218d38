"""Bright Data's Web Unlocker as vendors/brightdata.md describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_text
from tests.fakenet._reading import as_markdown
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

ZONE = "unlocker1"
DATA_FORMATS = ("markdown", "screenshot")


class Brightdata:
    """Handler of `/request`. key: the one that is good, None for any. is_active: whether the account has funds."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.key: str | None = None
        self.is_active = True

    def __call__(self, request: Request) -> Answer:
        given = request.header("authorization") or ""
        if not given.startswith("Bearer ") or self.key not in (None, given.removeprefix("Bearer ")):
            return as_text("Invalid credentials", 401)
        if request.method != "POST" or request.path != "/request":
            return as_text("Not found", 404)
        if not self.is_active:
            return as_text("Customer is not active", 400)
        return self._unlock(request.json)

    def _unlock(self, body: Mapping[str, Any]) -> Answer:
        if body.get("zone") != ZONE:
            return as_text(f'zone "{body.get("zone")}" not found', 400)
        url = body.get("url")
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            return as_text("url is not valid", 400)
        if body.get("format") not in ("raw", "json") or body.get("data_format", "markdown") not in DATA_FORMATS:
            return as_text("format is not valid", 400)
        page = as_markdown(self._world, url)
        text = page[1] if page else "# Not found\n\nThere is nothing here."
        status = ("x-brd-status-code", "200" if page else "404")
        return Answer(200, text.encode(), "text/markdown; charset=utf-8", (status, ("x-brd-req-id", "r1")))


REMOTES = {"brightdata": Brightdata}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("brightdata")(key=canary, zone=ZONE, url=urls["brightdata"] + "/request")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"BRIGHTDATA_API_KEY": key, "BRIGHTDATA_ZONE": ZONE, "BRIGHTDATA_BASE_URL": urls["brightdata"]}


CASES = (
    Case(
        Role.READ,
        "brightdata",
        lambda urls: Target(f"{urls['web']}/article/type-k/1"),
        good="read.md",
        content_type="text/markdown",
    ),
)
