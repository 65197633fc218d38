"""What the retrieval tools answer: the shapes of SPEC section 10, as JSON Schema 2020-12 and filled in.

`status` is `success`, `timeout`, or the sentence that says why the item failed.
"""

from __future__ import annotations

from uuid import uuid4

from actors.results import MergedHit, MergedImage, ReadResult, SearchResult
from providers._contract import Kind
from service.answers import Data, Frame, Read, Searched, milliseconds
from service.schemas import object_of

_TEXT: Data = {"type": "string"}
_MAYBE_TEXT: Data = {"type": ["string", "null"]}
_COUNT: Data = {"type": "integer", "minimum": 0}
_STATUS: Data = {"type": "string", "description": "success, timeout, or why the item failed"}


def _list(items: Data) -> Data:
    return {"type": "array", "items": items}


_DATED = object_of(total_request_time_ms=_COUNT, date={"enum": ["d", "w", "m", "y", None]})
_SNIPPET = object_of(
    id=_TEXT,
    link=_TEXT,
    title=_TEXT,
    rank={"type": "integer", "minimum": 1},
    source=_TEXT,
    snippet=_TEXT,
    favicon=_MAYBE_TEXT,
)
_IMAGE = object_of(id=_TEXT, url=_TEXT, page_url=_TEXT, description=_TEXT)
_SCRAPED = object_of(
    id=_TEXT,
    title=_TEXT,
    byline=_TEXT,
    markdown=_TEXT,
    length=_COUNT,
    excerpt=_TEXT,
    site_name=_TEXT,
    main_image=_MAYBE_TEXT,
    all_images=_list(_TEXT),
    favicon=_MAYBE_TEXT,
    language=_MAYBE_TEXT,
    truncated={"type": "boolean"},
)

WEB_SEARCH = object_of(
    results=_list(object_of(query=_TEXT, status=_STATUS, count=_COUNT, snippets=_list(_SNIPPET), total_time_ms=_COUNT)),
    metadata=_DATED,
)
WEB_SEARCH_IMAGES = object_of(
    results=_list(object_of(query=_TEXT, status=_STATUS, count=_COUNT, images=_list(_IMAGE), total_time_ms=_COUNT)),
    metadata=_DATED,
)
WEB_SCRAPE = object_of(
    results=_list(
        object_of(
            url=_TEXT,
            status=_STATUS,
            scraped_data={"anyOf": [_SCRAPED, {"type": "null"}]},
            total_time_ms=_COUNT,
        )
    ),
    metadata=object_of(total_request_time_ms=_COUNT),
)


def hits_data(searched: Searched[MergedHit], frame: Frame) -> Data:
    hits = searched.result.hits
    return _query_data(searched, frame, "snippets", [_snippet(rank, hit) for rank, hit in enumerate(hits, 1)])


def _snippet(rank: int, merged: MergedHit) -> Data:
    hit = merged.hit
    return {
        "id": str(uuid4()),
        "link": hit.url,
        "title": hit.title,
        "rank": rank,
        "source": ", ".join(merged.sources),
        "snippet": hit.snippet,
        # No provider tells it, and asking every site for it would be a request that nobody ordered.
        "favicon": None,
    }


def images_data(searched: Searched[MergedImage], frame: Frame) -> Data:
    return _query_data(searched, frame, "images", [_image(merged) for merged in searched.result.hits])


def _image(merged: MergedImage) -> Data:
    image = merged.image
    return {"id": str(uuid4()), "url": image.image_url, "page_url": image.page_url, "description": image.title}


def _query_data(
    searched: Searched[MergedHit] | Searched[MergedImage], frame: Frame, name: str, items: list[Data]
) -> Data:
    result: SearchResult[MergedHit] | SearchResult[MergedImage] = searched.result
    return {
        "query": result.query,
        "status": _status(result.status, searched.failure(frame)),
        "count": len(items),
        name: items,
        "total_time_ms": milliseconds(result.elapsed),
    }


def scraped_data(read: Read, frame: Frame) -> Data:
    result = read.result
    failure = frame.texts.say("robots_denied") if is_denied(result) else read.failure(frame)
    return {
        "url": read.url,
        "status": _status(result.status, failure),
        "scraped_data": _scraped(read),
        "total_time_ms": milliseconds(result.elapsed),
    }


def _scraped(read: Read) -> Data | None:
    page = read.result.page
    if page is None:
        return None
    return {
        "id": str(uuid4()),
        "title": page.title,
        "byline": page.byline,
        "markdown": read.piece.text,
        "length": read.piece.length,
        "excerpt": page.excerpt,
        "site_name": page.site_name,
        "main_image": page.main_image,
        "all_images": list(page.images),
        "favicon": page.favicon,
        "language": page.language,
        "truncated": read.piece.is_cut,
    }


def _status(status: str, failure: str | None) -> str:
    return status if status != "failed" or failure is None else failure


def is_denied(result: ReadResult) -> bool:
    """Whether the site's robots.txt forbids the page."""
    return result.reason is Kind.REFUSED and "robots.txt" in (result.detail or "")
