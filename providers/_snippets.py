"""Titles, snippets and dates as vendors write them, made plain. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from html import unescape

MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 500
# Nothing beyond this is looked at: an excerpt of a whole page is a snippet only at its beginning.
_LOOKED_AT_CHARS = 20_000

# Only tags that vendors highlight or break lines with, so that `vector<int>` and `x < y` stay what they are.
_TAG = re.compile(
    r"</?(?:b|strong|em|i|u|s|mark|span|font|small|big|code|pre|sub|sup|a|p|br|hr|div|li|ul|ol|h[1-6]|wbr|hlword"
    r"|highlight|table|tr|td|th|tbody|thead|img|script|style|q|cite|time)(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
_INLINE = re.compile(r"</?(?:b|strong|em|i|u|s|mark|span|font|small|big|code|sub|sup|a|wbr|hlword|highlight)\b", re.I)
_SENTENCE_END = re.compile(r"[.!?…]['\"”’»)\]]*(?=\s)|[。！？]")
ELLIPSIS = "…"


def title(text: object) -> str:
    """A title on one line: no markup, entities decoded, at most 200 characters. "" for anything but text."""
    return cut(plain(text), MAX_TITLE_CHARS)


def snippet(text: object) -> str:
    """A snippet on one line: no markup, entities decoded, at most 500 characters. "" for anything but text."""
    return cut(plain(text), MAX_SNIPPET_CHARS)


def plain(text: object) -> str:
    """`text` without highlighting tags, its entities decoded once and its white space folded."""
    if not isinstance(text, str):
        return ""
    bare = _TAG.sub(_gap, text[:_LOOKED_AT_CHARS])
    return " ".join(unescape(bare).split())


def _gap(tag: re.Match[str]) -> str:
    return "" if _INLINE.match(tag[0]) else " "


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of `text`: up to the last sentence end in its later half, else to a word's end.

    A cut within a sentence is marked with an ellipsis. Scripts without spaces are cut anywhere.
    """
    if len(text) <= limit:
        return text
    head = text[: limit + 1]
    ends = [match.end() for match in _SENTENCE_END.finditer(head) if limit // 2 <= match.end() <= limit]
    if ends:
        return head[: ends[-1]]
    head = text[: limit - 1]
    if not text[limit - 1].isspace():
        before, space, _ = head.rpartition(" ")
        head = before if space and len(before) >= limit // 2 else head
    return head.rstrip() + ELLIPSIS


# --- dates ------------------------------------------------------------------------------------------------------------

_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T?\d{4,6}Z?)?")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_SLASHED = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?!\d)")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)? ([A-Za-z]{3,9})\.?,? (\d{4})")
_AGO = re.compile(r"(an?|\d{1,4}) (second|sec|minute|min|hour|hr|day|week|month|year)s? ago", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = {"second": 0.0, "sec": 0.0, "minute": 0.0, "min": 0.0, "hour": 1 / 24, "hr": 1 / 24, "day": 1.0, "week": 7.0}
_DAYS |= {"month": 30.44, "year": 365.25}
_EARLIEST, _MILLISECONDS = 1900, 100_000_000_000


def published(value: object, *, now: datetime | None = None) -> str | None:
    """The ISO date (`2026-03-02`) that a vendor's `value` stands for, None where it names no day.

    Understood: ISO 8601 with any number of fractional digits, RFC 2822, `20260302`, `2026/03/02`, `02.03.2026`,
    `Mar 2, 2026`, `2 March 2026`, `3 days ago`, `yesterday`, and Unix time in seconds or milliseconds. A year or a
    month alone is no day. `now` is what relative dates are counted from. Days before 1900, or more than a day ahead,
    are taken for mistakes.
    """
    today = now or datetime.now(UTC)
    try:
        day = _day(value, today)
    except (ValueError, OverflowError, TypeError, IndexError, OSError):
        return None
    if day is None or day.year < _EARLIEST or day > today.date() + timedelta(days=1):
        return None
    return day.isoformat()


def _day(value: object, now: datetime) -> date | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_epoch(float(value))
    if not isinstance(value, str):
        return None
    text = " ".join(value.split())[:100]
    if text.isdecimal() and len(text) in (10, 13):
        return _from_epoch(float(text))
    return _numeric(text) or _named(text) or _relative(text, now) or _rfc2822(text)


def _from_epoch(number: float) -> date | None:
    if number <= 0:
        return None
    return datetime.fromtimestamp(number / 1000 if number >= _MILLISECONDS else number, UTC).date()


def _numeric(text: str) -> date | None:
    if found := _ISO.match(text) or _SLASHED.match(text) or _COMPACT.fullmatch(text):
        return date(int(found[1]), int(found[2]), int(found[3]))
    if found := _DOTTED.match(text):
        return date(int(found[3]), int(found[2]), int(found[1]))
    return None


def _named(text: str) -> date | None:
    if found := _MONTH_FIRST.search(text):
        return _of_month(found[3], found[1], found[2])
    if found := _DAY_FIRST.search(text):
        return _of_month(found[3], found[2], found[1])
    return None


def _of_month(year: str, month: str, day: str) -> date | None:
    name = month[:3].lower()
    return date(int(year), _MONTHS.index(name) + 1, int(day)) if name in _MONTHS else None


def _relative(text: str, now: datetime) -> date | None:
    if found := _AGO.search(text):
        count = 1 if found[1].lower() in ("a", "an") else int(found[1])
        return (now - timedelta(days=count * _DAYS[found[2].lower()])).date()
    return {"today": now.date(), "yesterday": (now - timedelta(days=1)).date()}.get(text.lower())


def _rfc2822(text: str) -> date | None:
    return parsedate_to_datetime(text).date()
