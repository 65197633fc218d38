"""What several search vendors need to make their parameters out of a query, and hits out of their results. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from providers._contract import Freshness

# Days that a freshness stands for where a vendor wants the first day itself.
_DAYS = MappingProxyType({"d": 1, "w": 7, "m": 31, "y": 365})


def shortened(text: str, chars: int, words: int | None = None) -> tuple[str, list[str]]:
    """`text` cut on a word's end to what the vendor takes, and what the report has to say about that."""
    short = text
    pieces = text.split()
    if words is not None and len(pieces) > words:
        short = " ".join(pieces[:words])
    if len(short) > chars:
        head = short[: chars + 1].rpartition(" ")[0]
        short = (head if len(head) > chars // 2 else short[:chars]).rstrip()
    return short, ([] if short == text else [f"query cut to {len(short)} characters"])


def joined(details: list[str]) -> str | None:
    """The details of a report as one text, None where there are none."""
    return "; ".join(details) or None


def region(tag: str | None) -> str | None:
    """The country that a BCP 47 tag names, in upper case; None where it names none."""
    parts = (tag or "").replace("_", "-").split("-")[1:]
    return next((part.upper() for part in parts if len(part) == 2 and part.isascii() and part.isalpha()), None)


def first_day(date: Freshness, now: datetime) -> datetime:
    """The moment before which a page is older than `date` allows, seen from `now`."""
    return now - timedelta(days=_DAYS[date])


def is_web_address(value: Any) -> TypeGuard[str]:
    """Whether a vendor's `value` is an absolute http(s) address."""
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def pixels(value: Any) -> int | None:
    """A width or height as a vendor gives it; None for anything but a positive whole number."""
    return value if type(value) is int and 0 < value < 1_000_000 else None
