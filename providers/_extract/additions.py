"""What the markup does not show but the page's data say: the text of a script shell, the facts of a product."""

from __future__ import annotations

import re

from .blobs import article_of, is_html, product_lines, prose_of
from .escape import escape, escape_lines
from .hidden import remove_hidden
from .kinds import Kind
from .markdown import to_markdown
from .prepare import prepare
from .structured import Node
from .tree import parse

THIN_WORDS = 80
LONGER_FACTOR = 3
KNOWN_SHARE = 0.6
_WORD = re.compile(r"\w+")


def addition_of(kind: Kind, nodes: list[Node], blobs: list[str], markdown: str, base: str) -> str:
    """Markdown to put after what was extracted; empty where the page's own text is enough."""
    if kind is Kind.PRODUCT or (product_lines(nodes) and len(markdown.split()) < 10 * THIN_WORDS):
        return _product(nodes, markdown, base)
    words = len(markdown.split())
    if words >= THIN_WORDS:
        return ""
    article = article_of(nodes)
    if len(article.split()) >= LONGER_FACTOR * max(words, 1):
        return _written(article, base)
    title, texts = prose_of(blobs)
    if sum(len(text.split()) for text in texts) < LONGER_FACTOR * max(words, 1):
        return ""
    heading = f"# {escape(title)}" if title and title not in markdown else ""
    return "\n\n".join(part for part in (heading, *(_written(text, base) for text in texts)) if part)


def _product(nodes: list[Node], markdown: str, base: str) -> str:
    known = set(_WORD.findall(markdown.lower()))
    parts = []
    facts = []
    for label, text in product_lines(nodes):
        if _is_known(text, known):
            continue
        if label == "description":
            parts.append(_written(text, base))
        elif label != "name":
            facts.append(f"- {escape(label)}: {escape(text)}")
    return "\n\n".join([*parts, "\n".join(facts)]).strip()


def _is_known(text: str, known: set[str]) -> bool:
    words = _WORD.findall(text.lower())
    return sum(word in known for word in words) >= KNOWN_SHARE * len(words)


def _written(text: str, base: str) -> str:
    """A string of data as Markdown; hidden parts of HTML in it go as they do on the page."""
    if is_html(text):
        root = parse(f"<body>{text}</body>")
        if root is None:
            return ""
        remove_hidden(root)
        prepare(root, text)
        return to_markdown(root, base)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n+", text))
    return "\n\n".join(escape_lines(escape(part)) for part in paragraphs if part)
