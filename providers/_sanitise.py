"""The one boundary that every value from outside passes on its way to a model, a log or a terminal.

`sanitise` takes what a provider returned. The pure functions beside it are for the worker processes, which clean what
they have extracted before they send it, and for texts of the service. What happens to the characters is in
`_clean.py`; here it is spread over the fields of the value types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar, cast

from ._clean import clean, clean_characters, clean_line
from ._contract import Evidence, Found, Hit, Image, Page, Signals

__all__ = [
    "clean",
    "clean_address",
    "clean_hits",
    "clean_images",
    "clean_line",
    "clean_page",
    "sanitise",
]

T = TypeVar("T")

INLINE_CHARS = 100_000
"""Up to here cleaning takes about a millisecond and is done in place; above it in a worker process."""

_MAX_ADDRESS_CHARS = 8_192
_MAX_SNIPPET_CHARS = 4_000
_MAX_CODE_CHARS = 40


async def sanitise(value: T) -> T:
    """Clean what a provider returned: a `Page`, a `Found` or a text. Other values (bool, ranks) carry no text.

    A page of over 100,000 characters is cleaned in a worker process, whose pool must then be open.
    """
    cleaner: Callable[[Any], Any] | None = None
    if isinstance(value, Page):
        return cast("T", await _sanitise_page(value))
    if isinstance(value, Found):
        cleaner, size = clean_found, sum(map(_size_of_item, value.items))
    elif isinstance(value, str):
        cleaner, size = clean, len(value)
    if cleaner is None:
        return value
    return cast("T", await _apply(cleaner, value, size))


async def _sanitise_page(page: Page) -> Page:
    """As `clean_page`; the fetched body, which no reader sees, does not travel to the worker and back."""
    if page.sanitised:
        return page
    cleaned = await _apply(clean_page, replace(page, evidence=None), len(page.markdown))
    return replace(cleaned, evidence=clean_evidence(page.evidence))


async def _apply(cleaner: Callable[[T], T], value: T, size: int) -> T:
    if size <= INLINE_CHARS:
        return cleaner(value)
    from . import _workers  # not at the top: worker processes import this file, and trio is no use to them

    return await _workers.run(cleaner, value)


def clean_found(found: Found[Any]) -> Found[Any]:
    """Clean hits or pictures; those without an http address are dropped."""
    items = (clean_hit(item) if isinstance(item, Hit) else clean_image(item) for item in found.items)
    detail = None if found.detail is None else clean_line(found.detail)
    return Found(tuple(item for item in items if item is not None), detail)


def clean_hits(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Clean hits; those without an http address are dropped."""
    return tuple(hit for hit in map(clean_hit, hits) if hit is not None)


def clean_images(images: Iterable[Image]) -> tuple[Image, ...]:
    """Clean pictures; those without an http address are dropped."""
    return tuple(image for image in map(clean_image, images) if image is not None)


def clean_hit(hit: Hit) -> Hit | None:
    """One hit, title and snippet on one line each; None when its address is none of http or https."""
    url = clean_address(hit.url)
    if url is None:
        return None
    snippet = clean_line(hit.snippet, _MAX_SNIPPET_CHARS)
    return Hit(url, clean_line(hit.title), snippet, _code(hit.published))


def clean_image(image: Image) -> Image | None:
    """One picture; None when its address is none of http or https."""
    url = clean_address(image.image_url)
    if url is None:
        return None
    return replace(
        image,
        image_url=url,
        page_url=clean_address(image.page_url) or "",
        title=clean_line(image.title),
        thumbnail_url=clean_address(image.thumbnail_url),
    )


def clean_page(page: Page) -> Page:
    """Clean every text of a page and mark it as sanitised. Pure; linear in the length of the page."""
    return replace(
        page,
        url=clean_address(page.url) or "",
        final_url=clean_address(page.final_url) or "",
        markdown=clean(page.markdown),
        title=clean_line(page.title),
        byline=clean_line(page.byline),
        site_name=clean_line(page.site_name),
        published=_code(page.published),
        language=_code(page.language),
        content_type=clean_line(page.content_type, 100),
        excerpt=clean_line(page.excerpt, 1_000),
        main_image=clean_address(page.main_image),
        images=tuple(address for address in map(clean_address, page.images) if address is not None),
        favicon=clean_address(page.favicon),
        signals=_clean_signals(page.signals),
        evidence=clean_evidence(page.evidence),
        sanitised=True,
    )


def clean_evidence(evidence: Evidence | None) -> Evidence | None:
    """The fetch's record with clean texts; its body stays as it came, bytes for another extractor."""
    if evidence is None:
        return None
    return replace(evidence, content_type=clean_line(evidence.content_type, 100))


def clean_address(address: str | None) -> str | None:
    """An http or https address without invisible characters, blanks escaped; None for any other."""
    if address is None:
        return None
    address = "%20".join(clean_characters(address[:_MAX_ADDRESS_CHARS]).split())
    return address if address[:8].lower().startswith(("http://", "https://")) else None


def _clean_signals(signals: Signals) -> Signals:
    wall = None if signals.wall is None else clean_line(signals.wall, 100)
    return replace(signals, wall=wall, headline=clean_line(signals.headline))


def _code(text: str | None) -> str | None:
    """A date or language code, or None."""
    return clean_line(text, _MAX_CODE_CHARS) or None if text is not None else None


def _size_of_item(item: Hit | Image) -> int:
    return len(item.title) + (len(item.snippet) if isinstance(item, Hit) else 0)
