"""One TeX copy of each formula: pages carry them as MathML, as a picture of text, as a script, or two of these."""

from __future__ import annotations

import re

from lxml import etree
from lxml.html import HtmlElement

from .edit import remove, replace

FORMULA_ATTRIBUTE = "data-formula-of-page"
"""Marks our own elements, whose text is written as it is."""

_RENDERED = "//*[contains(@class, 'katex-html') or contains(@class, 'MathJax_Preview')]"
_RENDERED += " | //*[starts-with(@class, 'MathJax') and not(.//math) and not(self::script)]"
_MARKS = ("<math", "<MATH", "math/tex", "MathJax", "katex", "latex", "mwe-math", FORMULA_ATTRIBUTE)
_STYLE_WRAPPER = re.compile(r"^\{\\(?:displaystyle|textstyle)\s+(.*)\}$", re.DOTALL)


def may_hold_formulas(source: str) -> bool:
    """Whether a walk over the tree is worth its time."""
    return any(mark in source for mark in _MARKS)


def mark_formulas(root: HtmlElement) -> None:
    """Replace every formula by one element that holds `$...$` or `$$...$$`."""
    for element in root.xpath(f"//*[@{FORMULA_ATTRIBUTE}]"):
        del element.attrib[FORMULA_ATTRIBUTE]
    for script in root.xpath("//script[starts-with(@type, 'math/tex')]"):
        _put(script, script.text or "", "display" in script.get("type"))
    for formula in list(root.iter("math")):
        _put(formula, _tex_of(formula), _is_display(formula))
    for element in root.xpath(_RENDERED):
        remove(element)
    for picture in root.xpath(
        "//img[@alt and (contains(@class, 'math') or contains(@class, 'tex') or contains(@class, 'latex'))]"
    ):
        if re.search(r"[\\^_{}=]", picture.get("alt")):
            fallback = picture.getparent()
            if fallback is not None and fallback.xpath(f"boolean(.//*[@{FORMULA_ATTRIBUTE}])"):
                remove(picture)
            else:
                _put(picture, picture.get("alt"), "display" in (picture.get("class") or ""))


def _put(element: HtmlElement, tex: str, display: bool) -> None:
    """Put the formula where `element` stood. A page that closes the dollars itself gets no second pair."""
    tex = " ".join(tex.replace("$", " ").split())
    wrapped = _STYLE_WRAPPER.match(tex)
    tex = wrapped[1].strip() if wrapped else tex
    if not tex:
        remove(element)
        return
    new = etree.Element("span")
    new.set(FORMULA_ATTRIBUTE, "block" if display else "inline")
    new.text = f"$${tex}$$" if display else f"${tex}$"
    replace(element, new)


def _tex_of(formula: HtmlElement) -> str:
    for note in formula.iter("annotation"):
        if "tex" in (note.get("encoding") or "").lower():
            return "".join(note.itertext())
    if formula.get("alttext"):
        return str(formula.get("alttext"))
    for note in list(formula.iter("annotation", "annotation-xml")):
        remove(note)
    return _linear(formula)


def _linear(element: HtmlElement) -> str:
    """MathML without a source as linear text: enough to read `x^2` or `(a)/(b)`."""
    parts = [_linear(child) for child in element if isinstance(child.tag, str)]
    tag = element.tag
    if tag == "mfrac" and len(parts) == 2:
        return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
    if tag in ("msup", "mover") and len(parts) == 2:
        return f"{parts[0]}^{{{parts[1]}}}" if len(parts[1]) > 1 else f"{parts[0]}^{parts[1]}"
    if tag in ("msub", "munder") and len(parts) == 2:
        return f"{parts[0]}_{{{parts[1]}}}" if len(parts[1]) > 1 else f"{parts[0]}_{parts[1]}"
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}_{{{parts[1]}}}^{{{parts[2]}}}"
    if tag == "msqrt":
        return rf"\sqrt{{{' '.join(parts)}}}"
    own = " ".join((element.text or "").split())
    return " ".join(part for part in (own, *parts) if part)


def _is_display(formula: HtmlElement) -> bool:
    if formula.get("display") == "block" or formula.get("mode") == "display":
        return True
    around = [ancestor.get("class") or "" for ancestor, _ in zip(formula.iterancestors(), range(3), strict=False)]
    return any("katex-display" in classes for classes in around)
