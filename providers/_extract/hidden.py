"""Remove what no person sees, before anything is extracted: the usual carrier of injected instructions.

Looked at are attributes (`hidden`, `aria-hidden`), inline styles, and rules of the page's own `<style>` elements whose
selector is one simple compound (`.a`, `#b`, `div.a`). External style sheets are not fetched, and scripts not run, so
this cuts the cheap attacks only (security/FACTS.md E3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml.html import HtmlElement

from .colours import is_invisible, same_colour
from .edit import remove, replace

MAX_CSS_CHARS = 400_000
FAR_PIXELS = 900.0
"""From this distance on, a negative offset counts as off-screen."""
TINY_PIXELS = 2.0
FALLBACK_CHARS = 400
FALLBACK_FACTOR = 3
"""A `<noscript>` with so much more text than all the rest is the page as it is served to those without scripts."""

Style = dict[str, str]

_NEVER_SEEN = "//template[not(@shadowrootmode)] | //noscript | //noembed | //noframes | //datalist | //rp"
_CANDIDATES = "//*[@hidden or @aria-hidden or @style or (@width='0' and @height='0') or self::dialog[not(@open)]]"
_ALWAYS_SEEN = ("html", "body", "main")
_BY_TAG = "color by tag"
"""Marks a style whose colour comes from a rule for all elements of that name, as `h1 {}`."""
_CONTROLS = "//*[@aria-controls and not(@hidden)]"
_ANCHORS = "//a[starts-with(@href, '#') and string-length(@href) > 1 and not(@hidden)]"

_CSS_MARK = re.compile(r"@[a-z-]++[^{};]*+(?:[{;]|(?=\})|\Z)|[{}]", re.IGNORECASE)
"""At-rules and braces. Whatever begins to match does match, so that no stretch is looked at twice."""
_MATTERS = re.compile(
    r"display\s*:\s*none|visibility|opacity|color|background|font|clip|overflow|transform|scale|zoom|-\d|-\.|/\*",
    re.IGNORECASE,
)
_SELECTOR = re.compile(r"([a-z][a-z0-9-]*|\*)?((?:[.#][\w-]+)*)(\[hidden\])?", re.IGNORECASE)
_LAST = re.compile(r"[^\s,>+~]{1,200}\Z")
_CLASS_MARK = re.compile(r"[.#]")
_MISSING = re.compile(r":not\([^()]*\)")
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


def remove_hidden(root: HtmlElement) -> None:
    """Take hidden elements out of the tree; declarative shadow roots, which browsers show, become plain content."""
    for template in root.xpath("//template[@shadowrootmode]"):
        template.drop_tag()
    _place_streamed(root)
    _open_fallback(root)
    for element in root.xpath(_NEVER_SEEN):
        remove(element)
    rules = _sheet_rules(root)
    panels = _panels(root)
    background = _page_background(root, rules)
    styles = _styled(root, rules)
    for element, style in styles.items():
        if element.getparent() is None or element.tag in _ALWAYS_SEEN or _is_panel(element, panels):
            continue
        if _is_hidden(element, styles, background) and not _holds_page(element, style):
            _keep_numbers_apart(element)
            remove(element)


def _styled(root: HtmlElement, rules: list[tuple[_Compound, Style]]) -> dict[HtmlElement, Style]:
    """Elements that may be hidden, with what is known of their style: sheet rules first, inline declarations last."""
    styles: dict[HtmlElement, Style] = {element: {} for element in root.xpath(_CANDIDATES)}
    for element, compound, style in _matches(root, rules):
        known = styles.setdefault(element, {})
        known.update(style)
        if "color" in style:
            _mark_colour(known, by_tag=not compound.classes and not compound.identifier)
    for element in root.xpath("//font[@color]"):
        styles.setdefault(element, {}).setdefault("color", element.get("color"))
    for element, style in styles.items():
        inline = element.get("style")
        if inline and _MATTERS.search(inline):
            declared = declarations(inline)
            style.update(declared)
            if "color" in declared:
                _mark_colour(style, by_tag=False)
    return styles


def _mark_colour(style: Style, *, by_tag: bool) -> None:
    style.pop(_BY_TAG, None)
    if by_tag:
        style[_BY_TAG] = "yes"


def declarations(css: str) -> Style:
    """`property: value` pairs in lower case; later ones win."""
    style: Style = {}
    for part in _without_comments(css[:20_000]).lower().split(";"):
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


def _is_hidden(element: HtmlElement, styles: dict[HtmlElement, Style], background: str | None) -> bool:
    attributes, style = element.attrib, styles[element]
    if "hidden" in attributes and attributes["hidden"].lower() != "until-found":
        return True
    if (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if element.tag == "dialog" and "open" not in attributes:
        return True
    if hides(style):
        return True
    colour = style.get("color")
    if colour is not None and next(element.iterancestors("pre"), None) is not None and "background" not in str(style):
        return False  # a highlighter's theme sets the background of its block elsewhere
    return colour is not None and same_colour(colour, _background(element, styles, background))


def _background(element: HtmlElement, styles: dict[HtmlElement, Style], page: str | None) -> str | None:
    """The nearest background that a rule, a style or an attribute gives the element or what it stands in.

    None where only guesses are left: a sheet that makes a part dark gives the headings in it another colour than its
    `h1 {}` does, by rules that are not looked at.
    """
    for part in (element, *element.iterancestors()):
        style = styles.get(part, {})
        own = style.get("background-color") or style.get("background") or part.get("bgcolor")
        if own:
            by_rule = part is not element and part.tag not in _ALWAYS_SEEN and not part.get("bgcolor")
            by_rule = by_rule and "background" not in (part.get("style") or "")
            return None if by_rule and _BY_TAG in styles[element] else str(own)
    return page


def _keep_numbers_apart(element: HtmlElement) -> None:
    """Leave a space where a sign that the browser draws (an icon, a dot) stands between two numbers."""
    if "aria-hidden" not in element.attrib or not (element.tail or "")[:1].isdigit():
        return
    before = next(iter(element.xpath("preceding-sibling::node()[1][self::text()]")), "")
    if before[-1:].isdigit():
        element.tail = f" {element.tail}"


def _page_background(root: HtmlElement, rules: list[tuple[_Compound, Style]]) -> str | None:
    """White where nothing on the page could have set another background, else what a rule says of the body."""
    for compound, style in rules:
        if compound.tag in ("body", "html"):
            declared = style.get("background-color") or style.get("background")
            if declared:
                return declared
    has_rules = any("background" in name for _, style in rules for name in style)
    return None if has_rules or root.xpath("boolean(//link[contains(@rel, 'stylesheet')])") else "white"


def _holds_page(element: HtmlElement, style: Style) -> bool:
    """Whether this is the page itself, which a script shows once it has loaded, and not a part that stays hidden."""
    if "hidden" in element.attrib or not hides(style):
        return False
    if not element.xpath("boolean(.//main | .//h1)"):
        return False
    return _text_length(element) > 0.5 * _text_length(element.getroottree().getroot())


def _text_length(element: HtmlElement) -> int:
    """Characters of text in the element, without those of scripts and style sheets in it."""
    code = sum(len(part.text or "") for part in element.iter("script", "style"))
    return len(element.text_content()) - code


def _panels(root: HtmlElement) -> frozenset[str]:
    """Ids of panels that a tab (or the button of a folding part) which can be seen names as its own."""
    controls = (control.get("aria-controls") for control in root.xpath(_CONTROLS) if _is_tab(control))
    anchors = (anchor.get("href")[1:] for anchor in root.xpath(_ANCHORS) if _is_among_tabs(anchor))
    return frozenset((*controls, *anchors))


def _is_panel(element: HtmlElement, panels: frozenset[str]) -> bool:
    """Whether a tab names this element, or the one part that it wraps (libraries fold the wrapper, not the panel)."""
    for _ in range(4):
        if element.get("id") in panels:
            return True
        parts = [child for child in element if child.tag not in ("style", "script")]
        if len(parts) != 1 or (element.text or "").strip():
            return False
        element = parts[0]
    return False


def _is_tab(control: HtmlElement) -> bool:
    if control.get("role") == "tab" or "tab" in (control.get("class") or ""):
        return True
    return control.get("aria-expanded") is not None and (
        control.tag in ("button", "a") or control.get("role") == "button"
    )


def _is_among_tabs(anchor: HtmlElement) -> bool:
    around = (anchor, *(ancestor for ancestor, _ in zip(anchor.iterancestors(), range(3), strict=False)))
    return any(element.get("role") == "tab" or "tab" in (element.get("class") or "") for element in around)


def _place_streamed(root: HtmlElement) -> None:
    """Put parts that the server sent late into their places, as the page's own script does at once (React)."""
    for place in root.xpath("//template[starts-with(@id, 'B:')]"):
        part = root.xpath("//div[@hidden and @id = $name]", name="S:" + place.get("id")[2:])
        if part and place not in part[0].iter("template"):
            del part[0].attrib["hidden"]
            part[0].tail = None
            replace(place, part[0])


def _open_fallback(root: HtmlElement) -> None:
    """Where `<noscript>` holds the page and the rest next to nothing, the page is what stands in it."""
    fallbacks = [element for element in root.iter("noscript") if len(element.text_content()) > FALLBACK_CHARS]
    if not fallbacks:
        return
    scripted = sum(len(element.text_content()) for element in root.iter("script", "style", "noscript", "head"))
    rest = len(root.text_content()) - scripted
    for element in fallbacks:
        if len(element.text_content()) > FALLBACK_FACTOR * max(rest, 0):
            element.tag = "div"


def _sheet_rules(root: HtmlElement) -> list[tuple[_Compound, Style]]:
    """Compound selector and declarations of every simple rule outside at-rules that may matter here, in order.

    A selector that a conditional rule (`@media`) names too is left alone: on this screen it may be shown.
    """
    css = "\n".join(sheet.text or "" for sheet in root.iter("style") if _is_for_screen(sheet))[:MAX_CSS_CHARS]
    plain, conditional = _split_at_rules(_without_comments(css))
    found: list[tuple[str, _Compound, Style]] = []
    hiding: set[str] = set()
    for selectors, body in _rules(plain):
        if not _MATTERS.search(body):
            continue
        style = declarations(body)
        hides_all = hides(style)
        if not hides_all and not any("color" in name or "background" in name for name in style):
            continue
        for selector in map(str.strip, selectors.split(",")):
            compound = _compound(selector)
            if compound is not None:
                found.append((selector if hides_all else "", compound, style))
                hiding.update((selector,) if hides_all else ())
    shown = _shown_sometimes(conditional, hiding)
    return [(compound, style) for selector, compound, style in found if selector not in shown]


def _without_comments(css: str) -> str:
    """The sheet with a space for each comment; one that nothing closes lasts to the end."""
    first, *others = css.split("/*")
    closed = (part.partition("*/") for part in others)
    return first + "".join(f" {after}" for _, end, after in closed if end)


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Selectors and body of each innermost block. Not by a pattern, which would scan long runs over and over."""
    for block in css.split("}")[:-1]:
        before, brace, body = block.rpartition("{")
        if brace:
            yield before.rpartition("{")[2], body


def _shown_sometimes(conditional: str, hiding: set[str]) -> set[str]:
    """Those of the selectors that a conditional rule is about which does not hide; `.a:not(.b)` counts as `.a`."""
    if not hiding or not conditional:
        return set()
    shown: set[str] = set()
    for selectors, body in _rules(conditional):
        shown.update(hiding.intersection(_endings(selectors)))
        named = hiding.intersection(map(str.strip, _MISSING.sub("", selectors).split(",")))
        if named and not (_MATTERS.search(body) and hides(declarations(body))):
            shown |= named
    return shown


def _endings(selectors: str) -> Iterator[str]:
    """`.d` and `c.d` of `.a, .b c.d`: what the last selector is about, whether or not the rule hides it."""
    last = _LAST.search(selectors)
    if last is not None:
        yield last[0]
        yield from (last[0][mark.start() :] for mark in _CLASS_MARK.finditer(last[0], 1))


def _is_for_screen(sheet: HtmlElement) -> bool:
    return (sheet.get("media") or "all").strip().lower() in ("all", "screen", "")


def _split_at_rules(css: str) -> tuple[str, str]:
    """The sheet without `@media` and other blocks, and the insides of those blocks."""
    plain, conditional = [], []
    depth = inside_since = position = 0
    for mark in _CSS_MARK.finditer(css):
        opens = mark[0].endswith("{")
        if inside_since:
            depth += 1 if opens else -1 if mark[0] == "}" else 0
            if depth < inside_since:
                conditional.append(css[position : mark.start()])
                inside_since, position = 0, mark.end()
        elif mark[0].startswith("@"):
            plain.append(css[position : mark.start()])
            position = mark.end()
            depth += opens
            inside_since = depth if opens else 0
        else:
            depth += 1 if opens else -1
    (conditional if inside_since else plain).append(css[position:])
    return "".join(plain), "".join(conditional)


@dataclass(frozen=True, slots=True)
class _Compound:
    """A selector like `div.a.b` or `#c`."""

    tag: str
    classes: frozenset[str]
    identifier: str


def _compound(selector: str) -> _Compound | None:
    """The selector, or None for one that needs more than the element itself to be decided, or that fits all."""
    found = _SELECTOR.fullmatch(selector)
    if not selector or found is None or selector.startswith(("*", "[")):
        return None
    marks = re.findall(r"([.#])([\w-]+)", found[2])
    identifiers = [name for mark, name in marks if mark == "#"]
    classes = frozenset(name for mark, name in marks if mark == ".")
    return _Compound((found[1] or "").lower(), classes, identifiers[0] if identifiers else "")


def _matches(root: HtmlElement, rules: list[tuple[_Compound, Style]]) -> Iterator[tuple[HtmlElement, _Compound, Style]]:
    """Elements and the rules that fit them, those for all elements of a name first, as they weigh least.

    One walk over the elements, whatever the number of rules.
    """
    by_name: dict[str, list[tuple[_Compound, Style]]] = {}
    for compound, style in rules:
        key = next(iter(sorted(compound.classes)), "") or "#" + compound.identifier
        by_name.setdefault(key if key != "#" else "<" + compound.tag, []).append((compound, style))
    for key, fitting in by_name.items():
        if key.startswith("<"):
            for element in root.iter(key[1:]):
                yield from ((element, compound, style) for compound, style in fitting)
    for element in root.xpath("//*[@class or @id]") if by_name else ():
        classes = (element.get("class") or "").split()
        for key in (*classes, "#" + (element.get("id") or "")):
            for compound, style in by_name.get(key, ()):
                fits = compound.tag in ("", element.tag) and compound.classes.issubset(classes)
                if fits and compound.identifier in ("", element.get("id")):
                    yield element, compound, style
