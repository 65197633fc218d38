"""XMLRiver's Yandex search as vendors/xmlriver.md describes it ("Endpoint", "Parameters", "Response", "Errors")."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from providers._contract import Query, Role
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_text
from tests.fakenet._vendor import Case
from tests.fakenet._world import Entry, World

KEYS = {"user", "key", "query", "page", "lang", "lr", "domain", "within", "device", "highlights", "filter"}
PATH = "/search_yandex/xml"
XML = "application/xml; charset=utf-8"


def as_xml(inner: str, status: int = 200) -> Answer:
    """The section "Response": the layout around results or an error."""
    head = '<?xml version="1.0" encoding="utf-8"?>\n<yandexsearch version="1.0"><response date="20260801T101500">'
    return Answer(status, f"{head}{inner}</response></yandexsearch>".encode(), XML)


def failure(code: int, text: str = "a sentence", status: int = 200) -> Answer:
    """The section "Errors": inside a 200."""
    return as_xml(f'<error code="{code}">{escape(text)}</error>', status)


class Xmlriver:
    """Handler.

    user, key: those that are good, None for any. money: calls that are paid for. broken: how many of the next answers
    carry code 500. streams: whether one is free.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.user: str | None = None
        self.key: str | None = None
        self.money = 1_000_000
        self.broken = 0
        self.has_streams = True

    def __call__(self, request: Request) -> Answer:
        fields = request.query
        if request.path != PATH:
            return as_text("not found", 404)
        if (refused := self._refusal(fields)) is not None:
            return failure(refused)
        self.money -= 1
        entries = self._world.search(fields["query"], start=int(fields["page"]) * 10, count=10)
        if not entries:
            return failure(15, "Искомая комбинация слов нигде не встречается")
        page = f'<page first="1" last="10">{fields["page"]}</page>'
        groups = "".join(map(_group, entries))
        found = '<found priority="all">48200</found>'
        return as_xml(f"{found}<results><grouping>{page}{groups}</grouping></results>")

    def _refusal(self, fields: Mapping[str, str]) -> int | None:
        """The code of the refusal, None where all is well."""
        if "user" not in fields or self.user not in (None, fields["user"]):
            return 31
        if "key" not in fields or self.key not in (None, fields["key"]):
            return 42
        if self.money <= 0:
            return 200
        if not self.has_streams:
            return 110
        if self.broken > 0:
            self.broken -= 1
            return 500
        if "groupby" in fields:
            return 102
        good = (
            not set(fields) - KEYS
            and bool(fields.get("query"))
            and fields.get("page", "").isdecimal()
            and fields.get("within", "0") in ("77", "1", "2", "0")
            and fields.get("lang", "ru") in ("ru", "uk", "be", "kk", "tr", "en")
        )
        return None if good else 120


def _group(entry: Entry) -> str:
    first, _, rest = escape(entry.title).partition(" ")
    return (
        f"<group><doccount>1</doccount><doc><url>{escape(entry.url)}</url>"
        f"<title><hlword>{first}</hlword> {rest}</title>"
        f"<pubDate>{entry.published}T09:00:00</pubDate>"
        f"<passages><passage>{escape(entry.snippet)}</passage></passages></doc></group>"
    )


REMOTES = {"xmlriver": Xmlriver}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("xmlriver")(user=canary, key=canary, url=urls["xmlriver"] + PATH)


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"XMLRIVER_USER_ID": "100500", "XMLRIVER_API_KEY": key, "XMLRIVER_BASE_URL": urls["xmlriver"]}


CASES = (
    Case(
        Role.SEARCH,
        "xmlriver",
        lambda urls: Query("термопары"),
        good="ok.xml",
        empty="empty.xml",
        content_type="application/xml",
    ),
)
