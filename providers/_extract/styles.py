"""What declarations of CSS make invisible, whatever the element stands on."""

from __future__ import annotations

import re

from .colours import is_invisible

FAR_PIXELS = 900.0
"""From this distance on, a negative offset counts as off-screen."""
TINY_PIXELS = 2.0

Style = dict[str, str]
"""Property and value, both in lower case."""

MATTERS = re.compile(
    r"display\s*:\s*none|visibility|opacity|color|background|font|clip|overflow|transform|scale|zoom|-\d|-\.|/\*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(-?\d*\.?\d+)\s*(px|em|rem|%|vw|vh|pt|in|cm)?")
_PIXELS = {"": 1.0, "px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "vw": 12.0, "vh": 8.0, "in": 96.0, "cm": 38.0}
_OFFSETS: tuple[str, ...] = (
    "left",
    "top",
    "right",
    "bottom",
    "margin-left",
    "margin-top",
    "margin-right",
    "inset",
    "margin",
)
_OFFSETS += ("inset-inline-start", "text-indent", "translate")


def declarations(css: str) -> Style:
    """`property: value` pairs in lower case; later ones win."""
    style: Style = {}
    for part in without_comments(css[:20_000]).lower().split(";"):
        name, colon, value = part.partition(":")
        if colon:
            style[name.strip()] = value.replace("!important", "").strip()
    return style


def hides(style: Style) -> bool:
    """Whether these declarations alone make an element invisible, whatever it stands on."""
    return bool(style) and (_switched_off(style) or _without_size(style) or _off_screen(style))


def _switched_off(style: Style) -> bool:
    get = style.get
    return (
        get("display") == "none"
        or get("visibility") in ("hidden", "collapse")
        or get("content-visibility") == "hidden"
        or _at_most(get("opacity"), 0.05)
        or "opacity(0" in get("filter", "")
        or is_invisible(get("color", ""))
        or is_invisible(get("-webkit-text-fill-color", ""))
    )


def _without_size(style: Style) -> bool:
    get = style.get
    if _at_most(get("font-size"), TINY_PIXELS) or re.match(r"(?:[\w ]+ )?0(?:px|pt|em)?[ /]", get("font", "")):
        return True
    if (
        re.search(r"scale(?:3d|x|y)?\(\s*0*\.?0*\s*[,)]", get("transform", ""))
        or get("scale") == "0"
        or get("zoom") == "0"
    ):
        return True
    clipped = "hidden" in get("overflow", "") or "clip" in get("overflow", "")
    clipped = clipped or any("hidden" in get(name, "") for name in ("overflow-x", "overflow-y"))
    if clipped and any(
        _at_most(get(name), TINY_PIXELS) for name in ("height", "width", "max-height", "max-width", "line-height")
    ):
        return True
    return bool(re.match(r"rect\(\s*(?:0|1px|auto)", get("clip", "")) and "auto, auto" not in get("clip", "")) or bool(
        re.match(
            r"(?:inset\(\s*(?:50|100)%|circle\(\s*0|polygon\(\s*0(?:px|%)?\s+0(?:px|%)?\s*\))", get("clip-path", "")
        )
    )


def _off_screen(style: Style) -> bool:
    if any(_is_far(style[name]) for name in _OFFSETS if name in style):
        return True
    transform = style.get("transform", "")
    return "translate" in transform and _is_far(transform)


def _is_far(value: str) -> bool:
    if "%" in value and "px" not in value:
        return False
    return any(float(number) * _PIXELS.get(unit, 1.0) <= -FAR_PIXELS for number, unit in _NUMBER.findall(value))


def _at_most(value: str | None, limit: float) -> bool:
    found = _NUMBER.match(value) if value else None
    if found is None:
        return False
    number = abs(float(found[1]))
    if found[2] == "%":
        return number < 1.0
    return number * _PIXELS.get(found[2] or "", 1.0) <= limit


def without_comments(css: str) -> str:
    """The sheet with a space for each comment; one that nothing closes lasts to the end."""
    first, *others = css.split("/*")
    closed = (part.partition("*/") for part in others)
    return first + "".join(f" {after}" for _, end, after in closed if end)
