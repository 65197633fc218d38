"""Is this page only the frame that a script would fill? Asked before anything is taken out of the tree."""

from __future__ import annotations

import re

from lxml import etree
from lxml.html import HtmlElement

SHELL_CHARS = 300
"""With more visible text than this a page says something by itself."""
EXAMINED_CHARS = 3_000
_UNSEEN = frozenset(("script", "style", "noscript", "template", "head", "title", "svg", "iframe"))
_MOUNT = "//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='___gatsby' or @id='svelte'"
_MOUNT += " or @id='app-root' or @id='main-app']"
_MOUNT += " | //app-root | //*[@data-reactroot or @ng-app or @ng-version or @data-server-rendered]"
_NEEDS_SCRIPT = re.compile(r"javascript", re.IGNORECASE)


def visible_text(root: HtmlElement) -> str:
    """The beginning of the page's text, in one line, without what is never shown; for walls and shells only."""
    pieces: list[str] = []
    chars = 0
    skip: etree._Element | None = None
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            if skip is None and element.tag in _UNSEEN:
                skip = element
            elif skip is None and element.text:
                pieces.append(element.text)
                chars += len(element.text.strip())
        else:
            if element is skip:
                skip = None
            if skip is None and element.tail:
                pieces.append(element.tail)
                chars += len(element.tail.strip())
        if chars > EXAMINED_CHARS:
            break
    return " ".join(" ".join(pieces).split())


def is_shell(root: HtmlElement, visible: str) -> bool:
    """Whether there is next to no text, and scripts or a notice say where it would come from."""
    if next(root.iter("script"), None) is None or len(visible) > SHELL_CHARS:
        return False
    if root.xpath(f"boolean({_MOUNT})"):
        return True
    if any(_NEEDS_SCRIPT.search("".join(element.itertext())) for element in root.iter("noscript")):
        return True
    code = sum(len(script.text or "") for script in root.iter("script"))
    return code > 5_000 or len(root.xpath("//script[@src]")) > 2
