"""Remove what no person sees, before anything is extracted: the usual carrier of injected instructions.

Looked at are attributes (`hidden`, `aria-hidden`), inline styles, and rules of the page's own `<style>` elements whose
selector is one simple compound (`.a`, `#b`, `div.a`). External style sheets are not fetched, and scripts not run, so
this cuts the cheap attacks only (security/FACTS.md E3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement

from .colours import is_invisible, same_colour
from .edit import remove

MAX_CSS_CHARS = 400_000
FAR_PIXELS = 900.0
"""From this distance on, a negative offset counts as off-screen."""
TINY_PIXELS = 2.0

Style = dict[str, str]

_NEVER_SEEN = "//template[not(@shadowrootmode)] | //noscript | //noembed | //noframes | //datalist | //rp"
_CANDIDATES = "//*[@hidden or @aria-hidden or @style or (@width='0' and @height='0') or self::dialog[not(@open)]]"
_ADVERTISED = ("html", "body", "main")

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]*+)\{([^{}]*+)\}")
_SELECTOR = re.compile(r"([a-z][a-z0-9]*|\*)?((?:[.#][\w-]+)*)(\[hidden\])?", re.IGNORECASE)
_NUMBER = re.compile(r"(-?\d*\.?\d+)\s*(px|em|rem|%|vw|vh|pt|in|cm)?")
_PIXELS = {"": 1.0, "px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "vw": 12.0, "vh": 8.0, "in": 96.0, "cm": 38.0}
_OFFSETS = ("left", "top", "right", "bottom", "margin-left", "margin-top", "margin-right", "inset", "margin")
_OFFSETS += ("inset-inline-start", "text-indent", "translate")


def remove_hidden(root: HtmlElement) -> None:
    """Take hidden elements out of the tree; declarative shadow roots, which browsers show, become plain content."""
    for template in root.xpath("//template[@shadowrootmode]"):
        template.drop_tag()
    for element in root.xpath(_NEVER_SEEN):
        remove(element)
    rules = list(_sheet_rules(root))
    panels = _panels(root)
    background = _page_background(root, rules)
    for element, style in _styled(root, rules):
        if element.getparent() is None or element.tag in _ADVERTISED or element.get("id") in panels:
            continue
        if _is_hidden(element, style, background) and not _holds_page(element, style):
            remove(element)


def _styled(root: HtmlElement, rules: list[tuple[str, Style]]) -> Iterator[tuple[HtmlElement, Style]]:
    """Elements that may be hidden, with what is known of their style: sheet rules first, inline declarations last."""
    styles: dict[HtmlElement, Style] = {element: {} for element in root.xpath(_CANDIDATES)}
    for path, style in rules:
        if hides(style):
            for element in root.xpath(path):
                styles.setdefault(element, {}).update(style)
    for element in root.xpath("//*[self::font or self::span or self::p or self::div][@color]"):
        styles.setdefault(element, {}).setdefault("color", element.get("color"))
    for element, style in styles.items():
        style.update(declarations(element.get("style") or ""))
        yield element, style


def declarations(css: str) -> Style:
    """`property: value` pairs in lower case; later ones win."""
    style: Style = {}
    for part in _COMMENT.sub(" ", css[:20_000]).lower().split(";"):
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


def _is_hidden(element: HtmlElement, style: Style, background: str | None) -> bool:
    attributes = element.attrib
    if "hidden" in attributes and attributes["hidden"].lower() != "until-found":
        return True
    if (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if element.tag == "dialog" and "open" not in attributes:
        return True
    if hides(style):
        return True
    colour = style.get("color")
    return colour is not None and same_colour(colour, _background(element, style) or background)


def _background(element: HtmlElement, style: Style) -> str | None:
    """The nearest declared background of the element or of what it stands in."""
    own = style.get("background-color") or style.get("background") or element.get("bgcolor")
    if own:
        return own
    for ancestor in element.iterancestors():
        inline = ancestor.get("style") or ""
        if "background" in inline:
            declared = declarations(inline)
            return declared.get("background-color") or declared.get("background")
        if ancestor.get("bgcolor"):
            return str(ancestor.get("bgcolor"))
    return None


def _page_background(root: HtmlElement, rules: list[tuple[str, Style]]) -> str | None:
    """White where nothing on the page could have set another background, else what a rule says of the body."""
    for path, style in rules:
        if path in ("//body", "//html"):
            declared = style.get("background-color") or style.get("background")
            if declared:
                return declared
    has_rules = any("background" in name for _, style in rules for name in style)
    return None if has_rules or root.xpath("boolean(//link[contains(@rel, 'stylesheet')])") else "white"


def _holds_page(element: HtmlElement, style: Style) -> bool:
    """Whether this is the page itself, which a script shows once it has loaded, and not a part that stays hidden."""
    if "hidden" in element.attrib or not hides(style):
        return False
    return bool(element.xpath("boolean(.//main | .//h1)")) and len(element.text_content()) > 0.5 * len(
        element.getroottree().getroot().text_content()
    )


def _panels(root: HtmlElement) -> frozenset[str]:
    """Ids of panels that a tab names as its own: a click shows them."""
    tabs = root.xpath("//*[@role='tab' and not(@hidden)][@aria-controls or starts-with(@href, '#')]")
    return frozenset(tab.get("aria-controls") or tab.get("href", "")[1:] for tab in tabs)


def _sheet_rules(root: HtmlElement) -> Iterator[tuple[str, Style]]:
    """XPath and declarations of every simple rule outside at-rules, in order."""
    css = "\n".join(sheet.text or "" for sheet in root.iter("style") if _is_for_screen(sheet))[:MAX_CSS_CHARS]
    for selectors, body in _RULE.findall(_without_at_rules(_COMMENT.sub(" ", css))):
        if ":" not in body:
            continue
        style = None
        for selector in selectors.split(","):
            path = _path(selector.strip())
            if path is not None:
                style = style or declarations(body)
                yield path, style


def _is_for_screen(sheet: HtmlElement) -> bool:
    return (sheet.get("media") or "all").strip().lower() in ("all", "screen", "")


def _without_at_rules(css: str) -> str:
    """The sheet without `@media` and other blocks: when they hold is not known here."""
    pieces = []
    depth = skipped = 0
    position = 0
    for mark in re.finditer(r"@[a-z-]+[^{};]*+[{;]|[{}]", css, re.IGNORECASE):
        token = mark[0]
        if skipped:
            depth += token.endswith("{") - (token == "}")
            if depth < skipped:
                skipped, position = 0, mark.end()
        elif token.startswith("@"):
            pieces.append(css[position : mark.start()])
            position = mark.end()
            if token.endswith("{"):
                depth += 1
                skipped = depth
        else:
            depth += 1 if token == "{" else -1
    if not skipped:
        pieces.append(css[position:])
    return "".join(pieces)


def _path(selector: str) -> str | None:
    """An XPath for one compound selector, or None for anything that needs more than the element itself."""
    found = _SELECTOR.fullmatch(selector)
    if not selector or found is None or selector == "*":
        return None
    tests = []
    for mark, name in re.findall(r"([.#])([\w-]+)", found[2]):
        tests.append(
            f"[@id='{name}']" if mark == "#" else f"[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]"
        )
    return f"//{(found[1] or '*').lower()}" + "".join(tests) + ("[@hidden]" if found[3] else "")


def text_chars(root: etree._Element) -> int:
    """How much text a tree holds, for tests and for the guard above."""
    return sum(len(piece) for piece in root.itertext())
