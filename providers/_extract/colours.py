"""CSS colours, as far as telling hidden text needs them."""

from __future__ import annotations

import re

ALIKE = 12
"""Two colours whose channels differ by no more than this cannot be told apart by eye."""

_NAMES = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "whitesmoke": (245, 245, 245),
    "ghostwhite": (248, 248, 255),
}
_HEX = re.compile(r"#([0-9a-f]{3,8})\b")
_FUNCTION = re.compile(r"(?:rgb|hsl)a?\(([^()]*)\)")


def is_invisible(colour: str) -> bool:
    """Whether this colour shows nothing at all."""
    if colour == "transparent":
        return True
    parsed = _parse(colour) if "(" in colour or "#" in colour else None
    return parsed is not None and parsed[3] <= 0.05


def same_colour(colour: str, background: str | None) -> bool:
    """Whether text of this colour cannot be seen on that background; False when either is not known."""
    if background is None:
        return False
    front, back = _parse(colour.lower()), _parse(background.lower())
    if front is None or back is None or back[3] < 0.5:
        return False
    return all(abs(a - b) <= ALIKE for a, b in zip(front[:3], back[:3], strict=True))


def _parse(text: str) -> tuple[float, float, float, float] | None:
    """Red, green, blue (0..255) and opacity (0..1); None for gradients, pictures, variables and unknown names."""
    if "url(" in text or "gradient" in text or "var(" in text:
        return None
    found = _HEX.search(text)
    if found:
        return _from_hex(found[1])
    found = _FUNCTION.search(text)
    if found:
        return _from_function(found[0][:3], found[1])
    for word in text.split():
        if word in _NAMES:
            return (*_NAMES[word], 1.0)
    return None


def _from_hex(digits: str) -> tuple[float, float, float, float] | None:
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) not in (6, 8):
        return None
    channels = [int(digits[i : i + 2], 16) for i in range(0, len(digits), 2)]
    return channels[0], channels[1], channels[2], channels[3] / 255 if len(channels) == 4 else 1.0


def _from_function(kind: str, arguments: str) -> tuple[float, float, float, float] | None:
    parts = re.split(r"[\s,/]+", arguments.strip())
    try:
        values = [float(part.rstrip("%dega")) * (2.55 if part.endswith("%") and kind == "rgb" else 1) for part in parts]
    except ValueError:
        return None
    if len(values) < 3:
        return None
    opacity = values[3] if len(values) > 3 else 1.0
    if len(values) > 3 and parts[3].endswith("%"):
        opacity = float(parts[3][:-1]) / 100
    if kind == "rgb":
        return values[0], values[1], values[2], opacity
    if values[2] >= 99:
        return 255, 255, 255, opacity
    return (0, 0, 0, opacity) if values[2] <= 1 else None
