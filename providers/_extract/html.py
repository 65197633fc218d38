"""An HTML document as a page: the whole way from bytes to Markdown. Runs in a worker process."""

from __future__ import annotations

from dataclasses import replace

from lxml.html import HtmlElement

from providers._contract import Document, Empty, Note, Page, Signals

from .additions import addition_of
from .blobs import blob_texts
from .choose import choose, prune
from .decode import decode
from .hidden import remove_hidden
from .kinds import Kind, kind_of, refined
from .links import base_of
from .markdown import to_markdown
from .metadata import metadata, pictures
from .outline import outline
from .paywall import LONGER_FACTOR, paywall
from .prepare import prepare
from .replies import arrange
from .shell import is_shell, visible_text
from .structured import linked_data, meta_values
from .tree import parse
from .walls import wall_by_answer, wall_in_markup

MAX_OUTPUT_CHARS = 2_000_000


def html_to_page(document: Document) -> Page:
    """Read an HTML document. A page without any text comes back with empty `markdown` and its signals.

    Raises:
        Empty: The document holds no element at all and no wall either.
    """
    page = Page(url=document.url, markdown="", final_url=document.final_url or document.url)
    signals = Signals(wall=wall_by_answer(document), status=document.status)
    source = decode(document.body, document.content_type)
    root = parse(source)
    if root is None:
        if signals.wall is None:
            raise Empty("the page has no content")
        return replace(page, signals=signals)
    return _read(document, page, signals, root, source)


def _read(document: Document, page: Page, signals: Signals, root: HtmlElement, source: str) -> Page:
    base = base_of(root, page.final_url)
    nodes, meta, blobs = linked_data(root), meta_values(root), blob_texts(root)
    kind = kind_of(root, page.final_url, meta, nodes)
    paid = paywall(root, meta, nodes)
    visible = visible_text(root)
    wall = signals.wall or wall_in_markup(root, source, visible)
    shell = is_shell(root, visible)
    remove_hidden(root)
    about = metadata(root, meta, nodes, base)
    prepare(root, source)
    body = _body(root)
    outlined = outline(body)
    kind = refined(kind, outlined)
    prune(outlined, choose(outlined, kind, root, len(document.body)))
    if kind is Kind.FORUM:
        arrange(outlined)
    markdown = to_markdown(body, base)
    addition = addition_of(kind, nodes, blobs, markdown, base) if wall is None else ""
    markdown = f"{markdown}\n\n{addition}".strip()
    words = len(markdown.split())
    return replace(
        page,
        markdown=markdown[:MAX_OUTPUT_CHARS],
        title=about.title,
        byline=about.byline,
        site_name=about.site_name,
        published=about.published,
        language=about.language,
        excerpt=about.excerpt,
        main_image=about.main_image,
        images=pictures(body, base),
        favicon=about.favicon,
        notes=(Note.TRUNCATED,) if len(markdown) > MAX_OUTPUT_CHARS else (),
        signals=replace(
            signals,
            wall=wall,
            shell=shell and not addition,
            declared_paywall=paid.declared,
            metered=paid.metered,
            cut=paid.part_is_empty or paid.words >= LONGER_FACTOR * max(words, 1),
            headline=about.headline,
        ),
    )


def _body(root: HtmlElement) -> HtmlElement:
    body = root.find("body")
    return root if body is None else body
