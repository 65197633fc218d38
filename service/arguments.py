"""What the tools take: one table per tool, from which come the input schema, the checks and the defaults.

Ranges stand in the descriptions and not as schema bounds, so that a client does not refuse what is clamped here.
Everything wrong raises `BadArgument`, which carries a finished sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from providers._address import MAX_URL_CHARS, InvalidUrl, NotAllowed, parse_url
from providers._clean import clean_line
from service.texts import Texts

MAX_QUERY_CHARS = 512
MAX_URLS = 20
MAX_PAGE_CHARS = 1_000_000

# Well-formed tags of RFC 5646, section 2.1, without the grandfathered ones: language, extended language, script,
# region, variants, extensions, private use.
_BCP47 = re.compile(
    r"[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(?:-[A-WY-Za-wy-z0-9](?:-[A-Za-z0-9]{2,8})+)*"
    r"(?:-[xX](?:-[A-Za-z0-9]{1,8})+)?"
)
_MAX_LANGUAGE_CHARS = 35
_NUMERIC = re.compile(r"[+-]?[0-9]{1,30}(?:\.0{1,30})?")


class BadArgument(Exception):
    """The call is refused before any work; the text is the whole sentence for the caller."""


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list: `text` as the caller gave it, cleaned, and `problem` where it cannot be worked on.

    `target` is the normalised address of a URL; for a query it is the text itself.
    """

    text: str
    target: str = ""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What of the settings the argument checks need. Times in milliseconds; `default_timeout_ms` None: by tool."""

    max_queries: int = 10
    min_timeout_ms: int = 1000
    max_timeout_ms: int = 120_000
    default_timeout_ms: int | None = None
    allow_private: bool = False


Check = Callable[[str, Any, Texts, Limits], Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument. `schema` lacks the description, which is `arg.<text>` of the catalogue.

    `default` stands in the schema and is taken when the argument is absent or null; `...` makes it required. `facts`
    fill placeholders of the description, beside those of the tool.
    """

    name: str
    text: str
    schema: Mapping[str, Any]
    check: Check
    default: Any = field(default=...)
    allowed: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_required(self) -> bool:
        return self.default is ...


# --- checks ---------------------------------------------------------------------------------------------------------


def _wrong(name: str, allowed: str, texts: Texts, **fields: object) -> BadArgument:
    return BadArgument(texts.say("wrong_kind", name=name, allowed=texts.say(f"allowed.{allowed}", **fields)))


def integer(least: int, most: int) -> Check:
    """A whole number, clamped into `least`..`most`; a numeric string counts as its number, a boolean does not."""

    def check(name: str, value: Any, texts: Texts, _limits: Limits) -> int:
        number = whole_number(value)
        if number is None:
            raise _wrong(name, "integer", texts, least=least, most=most)
        return min(max(number, least), most)

    return check


def whole_number(value: Any) -> int | None:
    """The whole number that a caller wrote, in digits or as a float; None where it is none. A boolean is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and _NUMERIC.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    return None


def timeout_ms(name: str, value: Any, texts: Texts, limits: Limits) -> int:
    """Clamped into the operator's range; where the least exceeds the most, the most wins."""
    number = whole_number(value)
    if number is None:
        raise _wrong(name, "integer", texts, least=limits.min_timeout_ms, most=limits.max_timeout_ms)
    return clamp_timeout(number, limits)


def clamp_timeout(number: int, limits: Limits) -> int:
    return min(max(number, limits.min_timeout_ms), limits.max_timeout_ms)


def boolean(name: str, value: Any, texts: Texts, _limits: Limits) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, "boolean", texts)
    return value


def language(name: str, value: Any, texts: Texts, _limits: Limits) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if len(text) > _MAX_LANGUAGE_CHARS or not _BCP47.fullmatch(text):
        raise _wrong(name, "language", texts)
    return text


def date(name: str, value: Any, texts: Texts, _limits: Limits) -> str:
    if value not in ("d", "w", "m", "y"):
        raise _wrong(name, "date", texts)
    return str(value)


def query(name: str, value: Any, texts: Texts, _limits: Limits) -> Item:
    """One query; an empty or too long one refuses the call."""
    if not isinstance(value, str):
        raise _wrong(name, "query", texts)
    item = query_item(value, texts, _limits)
    if item.problem is not None:
        raise BadArgument(item.problem)
    return item


def queries(name: str, value: Any, texts: Texts, limits: Limits) -> tuple[Item, ...]:
    """One string or a list of strings. A bad entry is an item with a problem, unless every entry is bad."""
    most = limits.max_queries
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise _wrong(name, "queries", texts, most_queries=most)
    if not entries:
        raise BadArgument(texts.say("query_empty"))
    if len(entries) > most:
        raise BadArgument(texts.say("too_many_queries"))
    return unless_all_bad([query_item(entry, texts, limits) for entry in entries])


def query_item(value: str, texts: Texts, _limits: Limits) -> Item:
    """One query, cleaned, and what is wrong with it."""
    # Cut before cleaning: cleaning is linear, but a megabyte of it has no place on the event loop.
    text = clean_line(value.strip()[: MAX_QUERY_CHARS * 4], limit=MAX_QUERY_CHARS * 4)
    if not text:
        return Item("", problem=texts.say("query_empty"))
    if len(value.strip()) > MAX_QUERY_CHARS:
        return Item(text[:MAX_QUERY_CHARS], problem=texts.say("query_too_long"))
    return Item(text, text)


def url(name: str, value: Any, texts: Texts, limits: Limits) -> Item:
    """One address; one that is invalid or not allowed refuses the call."""
    if not isinstance(value, str):
        raise _wrong(name, "url", texts)
    item = url_item(value, texts, limits)
    if item.problem is not None:
        raise BadArgument(item.problem)
    return item


def urls(name: str, value: Any, texts: Texts, limits: Limits) -> tuple[Item, ...]:
    """A list of addresses. A bad entry is an item with a problem, unless every entry is bad."""
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise _wrong(name, "urls", texts)
    if not value:
        raise BadArgument(texts.say("urls_empty"))
    if len(value) > MAX_URLS:
        raise BadArgument(texts.say("too_many_urls"))
    return unless_all_bad([url_item(entry, texts, limits) for entry in value])


def url_item(value: str, texts: Texts, limits: Limits) -> Item:
    """One address, normalised, and what is wrong with it."""
    shown = clean_line(value.strip()[:MAX_URL_CHARS], limit=MAX_URL_CHARS)
    try:
        target = str(parse_url(value, allow_private=limits.allow_private))
    except InvalidUrl:
        return Item(shown, problem=texts.say("invalid_url"))
    except NotAllowed:
        return Item(shown, problem=texts.say("not_allowed"))
    return Item(shown, target)


def unless_all_bad(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items; raises BadArgument with what is wrong where nothing can be done with any of them."""
    problems = [item.problem for item in items if item.problem is not None]
    if len(problems) == len(items):
        raise BadArgument("; ".join(dict.fromkeys(problems)))
    return tuple(items)


# --- schema and parsing ---------------------------------------------------------------------------------------------


def input_schema(parameters: Sequence[Parameter], texts: Texts, facts: Mapping[str, object]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments; `facts` fill the placeholders of the descriptions."""
    properties: dict[str, Any] = {}
    for parameter in parameters:
        entry = dict(parameter.schema)
        if not parameter.is_required:
            entry["default"] = parameter.default
        entry["description"] = texts.say(f"arg.{parameter.text}", **{**facts, **parameter.facts})
        properties[parameter.name] = entry
    return {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }


def parse_arguments(
    tool: str, parameters: Sequence[Parameter], given: Mapping[str, Any], texts: Texts, limits: Limits
) -> dict[str, Any]:
    """Check what the caller sent and fill in the defaults.

    Raises:
        BadArgument: with a sentence that names the argument and what is allowed.
    """
    known = [parameter.name for parameter in parameters]
    for name in given:
        if name not in known:
            shown = clean_line(name, limit=60)
            raise BadArgument(texts.say("unknown_argument", name=shown, tool=tool, known=", ".join(known)))
    values: dict[str, Any] = {}
    for parameter in parameters:
        value = given.get(parameter.name)
        if value is not None:
            values[parameter.name] = parameter.check(parameter.name, value, texts, limits)
        elif parameter.is_required:
            allowed = texts.say(f"allowed.{parameter.allowed}", most_queries=limits.max_queries)
            raise BadArgument(texts.say("missing", name=parameter.name, allowed=allowed))
        else:
            values[parameter.name] = parameter.default
    return values
