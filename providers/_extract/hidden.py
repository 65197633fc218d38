"""Remove what no person sees, before anything is extracted: the usual carrier of injected instructions.

Looked at are attributes (`hidden`, `aria-hidden`), inline styles, and rules of the page's own `<style>` elements whose
selector is one simple compound (`.a`, `#b`, `div.a`). External style sheets are not fetched, and scripts not run, so
this cuts the cheap attacks only (security/FACTS.md E3).
"""

from __future__ import annotations

from lxml.html import HtmlElement

from .colours import same_colour
from .edit import remove, replace
from .sheets import Compound, matches, sheet_rules
from .styles import MATTERS, Style, declarations, hides

FALLBACK_CHARS = 400
FALLBACK_FACTOR = 3
"""A `<noscript>` with so much more text than all the rest is the page as it is served to those without scripts."""

_NEVER_SEEN = "//template[not(@shadowrootmode)] | //noscript | //noembed | //noframes | //datalist | //rp"
_CANDIDATES = "//*[@hidden or @aria-hidden or @style or (@width='0' and @height='0') or self::dialog[not(@open)]]"
_ALWAYS_SEEN = ("html", "body", "main")
_BY_TAG = "color by tag"
"""Marks a style whose colour comes from a rule for all elements of that name, as `h1 {}`."""
_CONTROLS = "//*[@aria-controls and not(@hidden)]"
_ANCHORS = "//a[starts-with(@href, '#') and string-length(@href) > 1 and not(@hidden)]"


def remove_hidden(root: HtmlElement) -> None:
    """Take hidden elements out of the tree; declarative shadow roots, which browsers show, become plain content."""
    for template in root.xpath("//template[@shadowrootmode]"):
        template.drop_tag()
    _place_streamed(root)
    _open_fallback(root)
    for element in root.xpath(_NEVER_SEEN):
        remove(element)
    rules = sheet_rules(root)
    panels = _panels(root)
    background = _page_background(root, rules)
    styles = _styled(root, rules)
    for element, style in styles.items():
        if element.getparent() is None or element.tag in _ALWAYS_SEEN or _is_panel(element, panels):
            continue
        if _is_hidden(element, styles, background) and not _holds_page(element, style):
            _keep_numbers_apart(element)
            remove(element)


def _styled(root: HtmlElement, rules: list[tuple[Compound, Style]]) -> dict[HtmlElement, Style]:
    """Elements that may be hidden, with what is known of their style: sheet rules first, inline declarations last."""
    styles: dict[HtmlElement, Style] = {element: {} for element in root.xpath(_CANDIDATES)}
    for element, compound, style in matches(root, rules):
        known = styles.setdefault(element, {})
        known.update(style)
        if "color" in style:
            _mark_colour(known, by_tag=not compound.classes and not compound.identifier)
    for element in root.xpath("//font[@color]"):
        styles.setdefault(element, {}).setdefault("color", element.get("color"))
    for element, style in styles.items():
        inline = element.get("style")
        if inline and MATTERS.search(inline):
            declared = declarations(inline)
            style.update(declared)
            if "color" in declared:
                _mark_colour(style, by_tag=False)
    return styles


def _mark_colour(style: Style, *, by_tag: bool) -> None:
    style.pop(_BY_TAG, None)
    if by_tag:
        style[_BY_TAG] = "yes"


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


def _page_background(root: HtmlElement, rules: list[tuple[Compound, Style]]) -> str | None:
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
