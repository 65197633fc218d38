"""Fusion: one address once, families once, order exact, and only hits known to be older removed."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from actors.merge import Listing, drop_older, merge_hits, merge_images
from providers._contract import Hit, Image

CASES = json.loads((Path(__file__).parent / "fusion_cases.json").read_text("utf-8"))


def _listing(instance: str, *urls: str, family: str = "") -> Listing[Hit]:
    return Listing(instance, tuple(Hit(url, f"{instance} says") for url in urls), family)


def _order(merged) -> list[str]:
    return [entry.hit.url for entry in merged]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_frozen_lists_come_out_in_the_order_written_by_hand(case):
    listings = [_listing(one["instance"], *one["urls"], family=one.get("family", "")) for one in case["lists"]]

    merged = merge_hits(listings, case.get("fusion", "rrf"))

    assert _order(merged) == case["expected"]
    if "sources" in case:
        assert [list(entry.sources) for entry in merged] == case["sources"]


def test_hits_of_three_vendors_rank_above_hits_of_one_at_every_equal_rank():
    shared = [f"https://shared{rank}.example/" for rank in range(10)]
    listings = []
    for name in ("a", "b", "c", "d"):
        own = [f"https://{name}{rank}.example/" for rank in range(10)]
        # d holds nothing in common; the others alternate a shared hit with one of their own.
        urls = own if name == "d" else [url for pair in zip(shared, own, strict=True) for url in pair]
        listings.append(_listing(name, *urls))

    merged = merge_hits(listings)

    for rank in range(10):
        alone = next(index for index, entry in enumerate(merged) if entry.hit.url == f"https://d{rank}.example/")
        together = next(index for index, entry in enumerate(merged) if entry.hit.url == shared[rank // 2])
        assert together < alone


def test_the_earlier_copy_is_kept_with_all_sources_and_its_wrapper_opened():
    listings = [
        _listing("searxng", "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx"),
        _listing("brave", "http://www.a.example/x/?utm_source=b", "https://a.example/x"),
    ]

    merged = merge_hits(listings)

    assert len(merged) == 1
    assert merged[0].hit == Hit("https://a.example/x", "searxng says")
    assert merged[0].sources == ("searxng", "brave")


def test_images_merge_by_the_address_of_the_picture():
    listings = [
        Listing("brave", (Image("https://i.example/1.png", "https://p.example/"), Image("https://i.example/2.png"))),
        Listing(
            "bing-images", (Image("http://i.example/2.png", "https://q.example/"), Image("https://i.example/3.png"))
        ),
    ]

    merged = merge_images(listings)

    assert [(entry.image.image_url, entry.source) for entry in merged] == [
        ("https://i.example/2.png", "brave"),
        ("https://i.example/1.png", "brave"),
        ("https://i.example/3.png", "bing-images"),
    ]


@pytest.mark.parametrize(
    ("freshness", "oldest_kept", "newest_dropped"),
    [
        ("d", "2026-03-01", "2026-02-28"),
        ("w", "2026-02-23", "2026-02-22"),
        ("m", "2026-01-30", "2026-01-29"),
        ("y", "2025-03-01", "2025-02-28"),
    ],
)
def test_hits_known_to_be_older_are_removed(freshness, oldest_kept, newest_dropped):
    kept = Hit("https://a.example/", "a", published=oldest_kept)
    dropped = Hit("https://b.example/", "b", published=f"{newest_dropped}T23:59:59Z")

    assert drop_older((dropped, kept), freshness, date(2026, 3, 2)) == (kept,)
    assert drop_older((dropped, kept), None, date(2026, 3, 2)) == (dropped, kept)


@pytest.mark.parametrize("published", [None, "", "last week", "2026-13-45", "٢٠٢٦"])
def test_hits_without_a_readable_date_stay(published):
    hit = Hit("https://a.example/", "a", published=published)

    assert drop_older((hit,), "d", date(2026, 3, 2)) == (hit,)


def test_nothing_merges_to_nothing():
    assert merge_hits([]) == ()
    assert merge_hits([_listing("brave")], "pipeline") == ()
