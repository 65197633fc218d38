"""Output schemas of the tools: SPEC section 1, "Answers", as JSON Schema 2020-12. `service/answers.py` fills them."""

from __future__ import annotations

from typing import Any

from providers._contract import Kind, Note

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_STATUS: Schema = {"enum": ["success", "failed", "timeout"]}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_MAYBE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
_REASON: Schema = {"enum": [*(kind.value for kind in Kind), None]}


def object_of(**properties: Schema) -> Schema:
    """An object that has exactly these fields."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_HIT: dict[str, Schema] = {
    "rank": {"type": "integer", "minimum": 1},
    "title": _TEXT,
    "url": _TEXT,
    "snippet": _TEXT,
    "published": _MAYBE_TEXT,
    "sources": _list(_TEXT),
}
_REPORT = object_of(
    instance=_TEXT,
    status={"enum": ["ok", "empty", "skipped", "failed", "late"]},
    reason=_REASON,
    detail=_MAYBE_TEXT,
    count=_COUNT,
    elapsed_ms=_COUNT,
)
_IMAGE = object_of(
    rank={"type": "integer", "minimum": 1},
    title=_TEXT,
    image_url=_TEXT,
    page_url=_MAYBE_TEXT,
    thumbnail_url=_MAYBE_TEXT,
    width=_MAYBE_COUNT,
    height=_MAYBE_COUNT,
    source=_TEXT,
)
_STEP = object_of(
    instance=_TEXT,
    status={"enum": ["ok", "skipped", "failed"]},
    reason=_REASON,
    detail=_MAYBE_TEXT,
    elapsed_ms=_COUNT,
    billed=_COUNT,
)
PAGE = object_of(
    url=_TEXT,
    final_url=_MAYBE_TEXT,
    status=_STATUS,
    provider=_MAYBE_TEXT,
    title=_MAYBE_TEXT,
    byline=_MAYBE_TEXT,
    site_name=_MAYBE_TEXT,
    published=_MAYBE_TEXT,
    language=_MAYBE_TEXT,
    content_type=_MAYBE_TEXT,
    markdown=_TEXT,
    length=_COUNT,
    offset=_COUNT,
    next_offset=_MAYBE_COUNT,
    truncated=_FLAG,
    notes=_list({"enum": [note.value for note in Note]}),
    error=_MAYBE_TEXT,
    trace=_list(_STEP),
    elapsed_ms=_COUNT,
)


def _results(name: str, item: Schema) -> Schema:
    entry = object_of(
        query=_TEXT,
        status=_STATUS,
        count=_COUNT,
        **{name: _list(item)},
        providers=_list(_REPORT),
        error=_MAYBE_TEXT,
        elapsed_ms=_COUNT,
    )
    return object_of(results=_list(entry))


WEB_SEARCH = _results("hits", object_of(**_HIT))
WEB_SEARCH_IMAGES = _results("images", _IMAGE)
READ_PAGES = object_of(pages=_list(PAGE), count=_COUNT, ok=_COUNT, elapsed_ms=_COUNT)
SEARCH_AND_READ = object_of(
    query=_TEXT,
    status=_STATUS,
    results=_list(object_of(**_HIT, page=PAGE)),
    providers=_list(_REPORT),
    error=_MAYBE_TEXT,
    elapsed_ms=_COUNT,
)
