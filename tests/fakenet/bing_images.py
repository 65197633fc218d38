"""Bing's image fragment, as vendors/bing-images.md describes it (sections "Request", "Parsing", "Not a result set")."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from providers._contract import ImageQuery, Kind, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_html, as_text
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

PAGE_SIZE = 35  # "Request": count
CAPTCHA = '<!doctype html><html><body><div id="b_captcha"><iframe src="/captcha"></iframe></div></body></html>'
SHELL = "<!doctype html><html><head><title>Bing</title></head><body></body></html>"
AGE = re.compile(r" filterui:age-lt\d+")


class BingImages:
    """Handler of the fragment. blocking: everybody is taken for a robot. empty: the empty pages of good queries."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.blocking = False
        self.empty = False

    def __call__(self, request: Request) -> Answer:
        if request.path != "/images/async":
            return as_text("not found", 404)
        if self.blocking or not _looks_like_a_browser(request):
            return as_html(CAPTCHA)
        fields = request.query
        if not fields.get("q") or not AGE.fullmatch(fields.get("qft", " filterui:age-lt1")):
            return as_html(SHELL)
        start, count = int(fields.get("first", "1")) - 1, int(fields.get("count", PAGE_SIZE))
        entries = [] if self.empty else self._world.search(fields["q"], start=start, count=count)
        rows = "".join(_row(entry, place) for place, entry in enumerate(entries, start=1))
        return as_html(f'<div class="dgControl hover"><ul class="dgControl_list">{rows}</ul></div>{_strip(entries)}')


def _looks_like_a_browser(request: Request) -> bool:
    """ "Request", headers."""
    return (
        (request.header("user-agent") or "").startswith("Mozilla/")
        and "text/html" in (request.header("accept") or "")
        and bool(request.header("accept-language"))
        and bool(request.header("sec-fetch-mode"))
        and (request.header("referer") or "").startswith("https://www.bing.com/")
    )


def _row(entry: Entry, place: int) -> str:
    facts = {
        "murl": entry.image_url, "purl": entry.url, "turl": f"https://ts2.mm.bing.net/th?id=OIP.{place}&pid=15.1",
        "t": entry.title, "desc": entry.snippet, "md5": "0f", "mid": "AA",
    }  # fmt: skip
    return (
        f'<li data-idx="{place}"><div class="iuscp"><div class="imgpt"><a class="iusc" '
        f'href="/images/search?view=detailV2&amp;expw=1280&amp;exph=720" m="{escape(json.dumps(facts))}">x</a>'
        f'<div class="img_info"><span class="nowrap">1280×720 · png</span></div></div></div></li>'
    )


def _strip(entries: list[Entry]) -> str:
    """ "Parsing": related strips have no title."""
    facts = [json.dumps({"murl": entry.image_url + "?strip", "purl": entry.url}) for entry in entries[:2]]
    return "".join(f'<a class="iusc" href="/images/search" m="{escape(text)}">x</a>' for text in facts)


IMPERSONATES = True
REMOTES = {"bing-images": BingImages}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("bing-images")(url=urls["bing-images"] + "/images/async")


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"BING_IMAGES_BASE_URL": urls["bing-images"]}


CASES = (
    Case(
        Role.IMAGES,
        "bing-images",
        lambda urls: ImageQuery("thermocouple"),
        good="ok.html",
        empty="none.html",
        content_type="text/html; charset=utf-8",
        # There is no account behind this remote: a refusal is a block of our address.
        expected={"403": Kind.BLOCKED, "403 challenge": Kind.BLOCKED},
    ),
)
