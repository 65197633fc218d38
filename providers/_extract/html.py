"""An HTML document as a page: the whole way from bytes to Markdown. Runs in a worker process."""

from __future__ import annotations

from lxml.html import HtmlElement

from providers._contract import Document, Empty, Page, Signals

from .choose import choose, prune
from .decode import decode
from .hidden import remove_hidden
from .kinds import kind_of
from .links import base_of
from .markdown import to_markdown
from .metadata import metadata, pictures
from .outline import outline
from .prepare import prepare
from .structured import linked_data, meta_values
from .tree import parse


def html_to_page(document: Document) -> Page:
    """Read an HTML document.

    Raises:
        Empty: The document holds no element at all.
    """
    root = parse(decode(document.body, document.content_type))
    if root is None:
        raise Empty("the page has no content")
    base = base_of(root, document.final_url or document.url)
    nodes = linked_data(root)
    meta = meta_values(root)
    kind = kind_of(root, document.final_url or document.url, meta, nodes)
    remove_hidden(root)
    about = metadata(root, meta, nodes, base)
    prepare(root)
    body = _body(root)
    outlined = outline(body)
    prune(outlined, choose(outlined, kind, root, len(document.body)))
    return Page(
        url=document.url,
        final_url=document.final_url or document.url,
        markdown=to_markdown(body, base),
        title=about.title,
        byline=about.byline,
        site_name=about.site_name,
        published=about.published,
        language=about.language,
        excerpt=about.excerpt,
        main_image=about.main_image,
        images=pictures(body, base),
        favicon=about.favicon,
        signals=Signals(status=document.status, headline=about.headline),
    )


def _body(root: HtmlElement) -> HtmlElement:
    body = root.find("body")
    return root if body is None else body
