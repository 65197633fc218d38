"""Many lists of hits become one: duplicates folded by canonical URL, order by reciprocal rank fusion. Pure.

Reciprocal rank fusion: Cormack, Clarke and Buettcher, SIGIR 2009; a hit scores the sum of 1 / (60 + rank) over the
lists that hold it. Two instances that resell the same index would count it twice, so each index family votes once,
with the best rank that any of its instances gave the hit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Generic, Literal

from actors.canonical import canonical, unwrap
from actors.results import MergedHit, MergedImage
from providers._contract import Freshness, Hit, Image, Item

Fusion = Literal["rrf", "pipeline"]

RANK_OFFSET = 60

# A month and a year are taken at their longest, since only what is known to be older may be removed.
MAX_AGE_DAYS: Mapping[Freshness, int] = {"d": 1, "w": 7, "m": 31, "y": 366}


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """What one instance found, in its own order. `family` names the index it reads; empty: its own."""

    instance: str
    items: tuple[Item, ...]
    family: str = ""


@dataclass(slots=True)
class _Entry(Generic[Item]):
    """One address in the making: the first copy, who found it, and the best rank in each family."""

    item: Item
    place: tuple[int, int]
    sources: list[str] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)

    @property
    def score(self) -> float:
        # Exact summation: the order in which families are added must not decide a tie.
        return math.fsum(1 / (RANK_OFFSET + rank) for rank in self.ranks.values())


def merge_hits(listings: Sequence[Listing[Hit]], fusion: Fusion = "rrf") -> tuple[MergedHit, ...]:
    """All hits, each address once, best first. `listings` stand in instance order.

    The earliest instance's copy is kept, with the address freed from redirect wrappers; `sources` names all that
    found it, in instance order. Ties keep instance order, and so does `fusion="pipeline"` throughout.
    """
    entries = _fold(listings, lambda hit: replace(hit, url=unwrap(hit.url)), lambda hit: canonical(hit.url))
    return tuple(MergedHit(entry.item, tuple(entry.sources)) for entry in _ordered(entries, fusion))


def merge_images(listings: Sequence[Listing[Image]], fusion: Fusion = "rrf") -> tuple[MergedImage, ...]:
    """As `merge_hits`, by the address of the picture; the same picture on two pages is one."""
    entries = _fold(listings, lambda image: image, lambda image: canonical(image.image_url))
    return tuple(MergedImage(entry.item, entry.sources[0]) for entry in _ordered(entries, fusion))


def drop_older(items: Sequence[Hit], freshness: Freshness | None, today: date) -> tuple[Hit, ...]:
    """The hits that are not known to be older than asked; one without a readable date is not known to be."""
    if freshness is None:
        return tuple(items)
    oldest = today - timedelta(days=MAX_AGE_DAYS[freshness])
    return tuple(hit for hit in items if (_published(hit) or today) >= oldest)


def _published(hit: Hit) -> date | None:
    try:
        return date.fromisoformat((hit.published or "")[:10])
    except ValueError:
        return None


def _fold(
    listings: Sequence[Listing[Item]], cleaned: Callable[[Item], Item], key_of: Callable[[Item], str]
) -> list[_Entry[Item]]:
    entries: dict[str, _Entry[Item]] = {}
    for position, listing in enumerate(listings):
        family = listing.family or listing.instance
        for rank, raw in enumerate(listing.items, start=1):
            item = cleaned(raw)
            entry = entries.setdefault(key_of(item), _Entry(item, (position, rank)))
            entry.ranks[family] = min(rank, entry.ranks.get(family, rank))
            if listing.instance not in entry.sources:
                entry.sources.append(listing.instance)
    return list(entries.values())


def _ordered(entries: list[_Entry[Item]], fusion: Fusion) -> list[_Entry[Item]]:
    if fusion == "pipeline":
        return sorted(entries, key=lambda entry: entry.place)
    return sorted(entries, key=lambda entry: (-entry.score, entry.place))
