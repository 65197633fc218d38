"""Rules of a page's own style sheets whose selector is one simple compound, and the elements that they fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml.html import HtmlElement

from .styles import MATTERS, Style, declarations, hides, without_comments

MAX_CSS_CHARS = 400_000

_CSS_MARK = re.compile(r"@[a-z-]++[^{};]*+(?:[{;]|(?=\})|\Z)|[{}]", re.IGNORECASE)
"""At-rules and braces. Whatever begins to match does match, so that no stretch is looked at twice."""
_SELECTOR = re.compile(r"([a-z][a-z0-9-]*|\*)?((?:[.#][\w-]+)*)(\[hidden\])?", re.IGNORECASE)
_LAST = re.compile(r"[^\s,>+~]+\Z")
_CLASS_MARK = re.compile(r"[.#]")
_MISSING = re.compile(r":not\([^()]*\)")


def sheet_rules(root: HtmlElement) -> list[tuple[Compound, Style]]:
    """Compound selector and declarations of every simple rule outside at-rules that may matter here, in order.

    A selector that a conditional rule (`@media`) names too is left alone: on this screen it may be shown.
    """
    css = "\n".join(sheet.text or "" for sheet in root.iter("style") if _is_for_screen(sheet))[:MAX_CSS_CHARS]
    plain, conditional = _split_at_rules(without_comments(css))
    found: list[tuple[str, Compound, Style]] = []
    hiding: set[str] = set()
    for selectors, body in _rules(plain):
        if not MATTERS.search(body):
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
        if named and not (MATTERS.search(body) and hides(declarations(body))):
            shown |= named
    return shown


def _endings(selectors: str) -> Iterator[str]:
    """`.d` and `c.d` of `.a, .b c.d`: what the last selector is about, whether or not the rule hides it."""
    last = _LAST.search(selectors[-200:])
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
class Compound:
    """A selector like `div.a.b` or `#c`."""

    tag: str
    classes: frozenset[str]
    identifier: str


def _compound(selector: str) -> Compound | None:
    """The selector, or None for one that needs more than the element itself to be decided, or that fits all."""
    found = _SELECTOR.fullmatch(selector)
    if not selector or found is None or selector.startswith(("*", "[")):
        return None
    marks = re.findall(r"([.#])([\w-]+)", found[2])
    identifiers = [name for mark, name in marks if mark == "#"]
    classes = frozenset(name for mark, name in marks if mark == ".")
    return Compound((found[1] or "").lower(), classes, identifiers[0] if identifiers else "")


def matches(root: HtmlElement, rules: list[tuple[Compound, Style]]) -> Iterator[tuple[HtmlElement, Compound, Style]]:
    """Elements and the rules that fit them, those for all elements of a name first, as they weigh least.

    One walk over the elements, whatever the number of rules.
    """
    by_name: dict[str, list[tuple[Compound, Style]]] = {}
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
