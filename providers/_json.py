"""Strict reading of JSON that came from outside. Light on imports: it runs in worker processes too."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

from providers._contract import Hit, Image, Malformed
from providers._errors import parsing

MAX_JSON_BYTES = 5 * 1024 * 1024
MAX_ITEMS = 200
"""Most hits of one large answer. Nobody asks for so many, and each costs the event loop 13 microseconds to receive."""

T = TypeVar("T")


def digest_now(body: bytes, parse: Callable[[Any], T]) -> T:
    """What `parse` makes of a JSON body. Raises Malformed where it is no strict JSON or has another shape."""
    value = read_json(body)
    with parsing():
        return parse(value)


def digest_apart(body: bytes, parse: Callable[[Any], T]) -> T:
    """`digest_now` in a worker process: of hits and pictures only the first MAX_ITEMS make the way back."""
    value = digest_now(body, parse)
    if isinstance(value, tuple) and isinstance(next(iter(value), None), Hit | Image):
        return cast("T", value[:MAX_ITEMS])
    return value


def read_json(body: bytes) -> Any:
    """The value of a JSON body in UTF-8; a byte-order mark is skipped, halves of surrogate pairs are replaced.

    Raises Malformed for anything else, NaN, Infinity and numbers beyond a float among it, deep nesting and numbers
    of thousands of digits too.
    """
    try:
        value = json.loads(body.decode("utf-8-sig", "replace"), parse_constant=_refuse, parse_float=_finite)
        return _without_surrogates(value) if b"\\ud" in body.lower() else value
    except (ValueError, RecursionError):
        # Without the cause: the parser's error holds the whole body.
        raise Malformed("answer is no JSON") from None


def _refuse(constant: str) -> None:
    raise ValueError("NaN and Infinity are no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("number out of range")
    return number


def _without_surrogates(value: Any) -> Any:
    """No text with half a surrogate pair can be sent on as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
