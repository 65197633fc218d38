"""The research toolset: the five tools, what each takes, and how they read in `tools/list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types

from service import arguments as take
from service import reading, schemas, searching
from service.arguments import MAX_PAGE_CHARS, Limits, Parameter
from service.calling import Tool
from service.texts import Texts

SEARCH_SECONDS = 15.0
READ_SECONDS = 55.0
_FAR = 10**12

_STRING: Mapping[str, Any] = {"type": "string"}
_INTEGER: Mapping[str, Any] = {"type": "integer"}
_MAYBE_INTEGER: Mapping[str, Any] = {"type": ["integer", "null"]}
_MAYBE_STRING: Mapping[str, Any] = {"type": ["string", "null"]}
_BOOLEAN: Mapping[str, Any] = {"type": "boolean"}
_LIST: Mapping[str, Any] = {"type": "array", "items": _STRING}
_ONE_OR_LIST: Mapping[str, Any] = {"anyOf": [_STRING, _LIST]}
_DATE: Mapping[str, Any] = {"enum": ["d", "w", "m", "y", None]}

_QUERY = Parameter("query", "query", _STRING, take.query, allowed="query")
_QUERIES = Parameter("query", "queries", _ONE_OR_LIST, take.queries, allowed="queries")
_LANGUAGE = Parameter("language", "language", _MAYBE_STRING, take.language, None)
_DATED = Parameter("date", "date", _DATE, take.date, None)
_MAX_CHARS = Parameter("max_chars", "max_chars", _MAYBE_INTEGER, take.integer(0, MAX_PAGE_CHARS), None)
_TIMEOUT = Parameter("timeout_ms", "timeout_ms", _MAYBE_INTEGER, take.timeout_ms, None)
_URL = Parameter("url", "url", _STRING, take.url, allowed="url")
_URLS = Parameter("urls", "urls", _LIST, take.urls, allowed="urls")
_REMOVE_LINKS = Parameter("remove_links", "remove_links", _BOOLEAN, take.boolean, False)
_ROBOTS_TXT = Parameter("robots_txt", "robots_txt", _BOOLEAN, take.boolean, False)


def _count(text: str, default: int, most: int) -> Parameter:
    return Parameter("num_results", text, _INTEGER, take.integer(1, most), default)


def research_tools(*, has_images: bool) -> tuple[Tool, ...]:
    """The toolset; the image search is in it only where an instance can do it."""
    tools = (
        Tool(
            "search_and_read",
            "tool.search_and_read",
            "search_and_read",
            (_QUERY, _count("pages_read", 5, 10), _LANGUAGE, _DATED, _MAX_CHARS, _TIMEOUT),
            schemas.SEARCH_AND_READ,
            READ_SECONDS,
            reading.search_and_read,
        ),
        Tool(
            "web_search",
            "tool.web_search" if has_images else "tool.web_search.no_images",
            "web_search",
            (
                _QUERIES,
                _count("num_results", 8, 50),
                Parameter("page", "page", _INTEGER, take.integer(1, 100), 1),
                _LANGUAGE,
                _DATED,
                _TIMEOUT,
            ),
            schemas.WEB_SEARCH,
            SEARCH_SECONDS,
            searching.web_search,
        ),
        Tool(
            "web_search_images",
            "tool.web_search_images",
            "web_search_images",
            (_QUERIES, _count("num_images", 5, 20), _LANGUAGE, _DATED, _TIMEOUT),
            schemas.WEB_SEARCH_IMAGES,
            SEARCH_SECONDS,
            searching.web_search_images,
        ),
        Tool(
            "read_page",
            "tool.read_page",
            "read",
            (
                _URL,
                Parameter("offset", "offset", _INTEGER, take.integer(0, _FAR), 0),
                _MAX_CHARS,
                _REMOVE_LINKS,
                _ROBOTS_TXT,
                _TIMEOUT,
            ),
            schemas.PAGE,
            READ_SECONDS,
            reading.read_page,
        ),
        Tool(
            "read_pages",
            "tool.read_pages",
            "read_pages",
            (_URLS, _MAX_CHARS, _REMOVE_LINKS, _ROBOTS_TXT, _TIMEOUT),
            schemas.READ_PAGES,
            READ_SECONDS,
            reading.read_pages,
        ),
    )
    return tools if has_images else tuple(tool for tool in tools if tool.name != "web_search_images")


def listing(tools: Sequence[Tool], texts: Texts, limits: Limits) -> list[mcp_types.Tool]:
    """The tools as `tools/list` shows them, always in the same order."""
    return [_listed(tool, texts, limits) for tool in tools]


def _listed(tool: Tool, texts: Texts, limits: Limits) -> mcp_types.Tool:
    title = texts.say(tool.title or f"tool.{tool.name}.title")
    facts = {
        "most_queries": limits.max_queries,
        "most": limits.max_timeout_ms,
        "least": limits.min_timeout_ms,
        "default": limits.default_timeout_ms or round(tool.seconds * 1000),
    }
    return mcp_types.Tool(
        name=tool.name,
        title=title,
        description=texts.say(tool.text),
        input_schema=take.input_schema(tool.parameters, texts, facts),
        output_schema=tool.output_schema,
        annotations=mcp_types.ToolAnnotations(
            title=title,
            read_only_hint=True,
            open_world_hint=True,
            idempotent_hint=True,
            destructive_hint=False,
        ),
    )
