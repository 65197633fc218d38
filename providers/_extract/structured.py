"""Machine-readable statements of a page: JSON-LD, data blobs of scripts, and `<meta>`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from lxml.html import HtmlElement

MAX_SCRIPT_CHARS = 3_000_000
MAX_NODES = 5_000
Json = Any
Node = dict[str, Any]

_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def linked_data(root: HtmlElement) -> list[Node]:
    """All JSON-LD objects of the page, those inside `@graph`, lists and properties too, outer ones first."""
    nodes: list[Node] = []
    for script in root.iter("script"):
        if "ld+json" in (script.get("type") or "").lower():
            for node in walk(parse_json(script.text or "")):
                nodes.append(node)
                if len(nodes) >= MAX_NODES:
                    return nodes
    return nodes


def walk(value: Json) -> Iterator[Node]:
    """Every object inside a JSON value, breadth first."""
    queue = [value]
    for seen, item in enumerate(queue):
        if seen > 4 * MAX_NODES:
            return
        if isinstance(item, dict):
            yield item
            queue.extend(part for part in item.values() if isinstance(part, dict | list))
        elif isinstance(item, list):
            queue.extend(part for part in item if isinstance(part, dict | list))


def parse_json(text: str) -> Json:
    """The value of a script, forgiving what pages do to JSON (comments around it, raw line ends, late commas)."""
    text = text.strip()[:MAX_SCRIPT_CHARS]
    text = (
        text.removeprefix("<!--").removeprefix("//<![CDATA[").removesuffix("-->").removesuffix("//]]>").strip(" ;\n\t")
    )
    for attempt in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            return json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def types_of(node: Node) -> frozenset[str]:
    """The last parts of the node's `@type`s."""
    declared = node.get("@type")
    names = declared if isinstance(declared, list) else [declared]
    return frozenset(re.split(r"[/#:]", name)[-1] for name in names if isinstance(name, str))


def string(value: Json) -> str:
    """The text of a JSON-LD value: of its first entry, its name or its `@value`; empty for anything else."""
    for _ in range(4):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict):
            value = value.get("name") or value.get("@value") or value.get("url") or ""
        else:
            break
    if isinstance(value, bool):
        return ""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def meta_values(root: HtmlElement) -> dict[str, str]:
    """Contents of `<meta>` elements by name, property or itemprop in lower case; the first one with content counts."""
    values: dict[str, str] = {}
    for index, element in enumerate(root.iter("meta")):
        if index > 500:
            break
        name = element.get("property") or element.get("name") or element.get("itemprop") or element.get("http-equiv")
        content = " ".join((element.get("content") or "")[:5_000].split())
        if name and content:
            values.setdefault(name.strip().lower(), content)
    return values
