"""How the toolset reads in `tools/list`."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from service.arguments import Limits
from service.texts import Texts
from service.tools import listing, research_tools

MAX_TOKENS = 1700
CHARS_PER_TOKEN = 4


@pytest.mark.parametrize("language", ["en", "ru"])
def test_all_five_tools_fit_into_their_budget(language: Any) -> None:
    tools = listing(research_tools(has_images=True), Texts(language), Limits())
    shown = [{"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema} for tool in tools]

    assert len(tools) == 5
    assert len(json.dumps(shown, ensure_ascii=False)) < MAX_TOKENS * CHARS_PER_TOKEN


def test_the_image_search_is_there_only_where_something_can_do_it() -> None:
    with_images = listing(research_tools(has_images=True), Texts(), Limits())
    without = listing(research_tools(has_images=False), Texts(), Limits())

    assert [tool.name for tool in with_images] == [
        "search_and_read",
        "web_search",
        "web_search_images",
        "read_page",
        "read_pages",
    ]
    assert [tool.name for tool in without] == ["search_and_read", "web_search", "read_page", "read_pages"]
    assert not any("web_search_images" in (tool.description or "") for tool in without)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_tool_is_read_only_and_fully_described(language: Any) -> None:
    for tool in listing(research_tools(has_images=True), Texts(language), Limits()):
        assert tool.title
        assert tool.annotations is not None
        assert tool.annotations.model_dump() == {
            "title": tool.title,
            "read_only_hint": True,
            "destructive_hint": False,
            "idempotent_hint": True,
            "open_world_hint": True,
        }
        assert tool.input_schema["additionalProperties"] is False
        assert all(entry["description"] for entry in tool.input_schema["properties"].values())
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is not None
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)


def test_descriptions_name_the_other_tools() -> None:
    told = {tool.name: tool.description or "" for tool in listing(research_tools(has_images=True), Texts(), Limits())}

    assert "web_search" in told["search_and_read"]
    assert "search_and_read" in told["web_search"]
    assert "read_pages" in told["read_page"]
    assert "read_page" in told["read_pages"]


def test_ranges_stand_in_descriptions_and_not_in_schemas() -> None:
    limits = Limits(max_queries=4, min_timeout_ms=500, max_timeout_ms=9000, default_timeout_ms=8000)
    for tool in listing(research_tools(has_images=True), Texts(), limits):
        schema = json.dumps(tool.input_schema)
        assert not any(f'"{bound}"' in schema for bound in ("minimum", "maximum", "minItems", "maxItems", "maxLength"))
        assert "500..9000; default 8000" in tool.input_schema["properties"]["timeout_ms"]["description"]
    search = research_tools(has_images=True)[1]
    [shown] = listing([search], Texts(), limits)
    assert "a list of 1..4" in shown.input_schema["properties"]["query"]["description"]


def test_defaults_stand_in_the_schema() -> None:
    [read] = [tool for tool in listing(research_tools(has_images=True), Texts(), Limits()) if tool.name == "read_page"]

    defaults = {name: entry.get("default", ...) for name, entry in read.input_schema["properties"].items()}

    assert read.input_schema["required"] == ["url"]
    assert defaults == {
        "url": ...,
        "offset": 0,
        "max_chars": None,
        "remove_links": False,
        "robots_txt": False,
        "timeout_ms": None,
    }
