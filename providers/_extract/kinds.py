"""What kind of page this is: by the parts of its URL, its JSON-LD types, generator marks and repeated structure."""

from __future__ import annotations

import re
from enum import StrEnum
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from .outline import Outline
from .structured import Node, types_of


class Kind(StrEnum):
    """Kinds that are read differently."""

    ARTICLE = "article"
    COLLECTION = "collection"
    DOCUMENTATION = "documentation"
    FORUM = "forum"
    LISTING = "listing"
    PRODUCT = "product"
    OTHER = "other"


_ARTICLE_TYPES = frozenset(
    [
        "Article",
        "NewsArticle",
        "BlogPosting",
        "TechArticle",
        "ScholarlyArticle",
        "Report",
        "ReportageNewsArticle",
        "OpinionNewsArticle",
        "AnalysisNewsArticle",
        "LiveBlogPosting",
        "Recipe",
        "HowTo",
        "Review",
        "MedicalWebPage",
    ]
)
_LISTING_TYPES = frozenset(("ItemList", "CollectionPage", "OfferCatalog", "SearchResultsPage"))
_PRODUCT_TYPES = frozenset(("Product", "ProductGroup", "IndividualProduct", "ProductModel"))
_FORUM_TYPES = frozenset(("DiscussionForumPosting", "QAPage"))

_FORUM_URL = re.compile(
    r"(?:^|[/.])(?:forums?|boards?|community|discuss(?:ions?)?|threads?|topics?|showthread(?:\.php)?|viewtopic(?:\.php)?"
    r"|showtopic[\w-]*|questions?|comments|t/[\w-]+/\d+)(?:[/.?]|$)",
    re.IGNORECASE,
)
_DOCUMENTATION_URL = re.compile(
    r"(?:^|[/.])(?:docs?|documentation|reference|manual|api|guides?|tutorials?|learn|handbook|wiki|man\d?"
    r"|how-?tos?)(?:[/.]|$)",
    re.IGNORECASE,
)
_PRODUCT_URL = re.compile(r"/(?:p|products?|dp|item|itm|pd|ip|detail|app)/[^/]+", re.IGNORECASE)
_LISTING_URL = re.compile(
    r"/(?:c|collections?|category|categories|departments?|tags?|search|list|shop|browse|archive|topics?|sections?)(?:/|$)",
    re.IGNORECASE,
)
_ARTICLE_URL = re.compile(r"/(?:\d{4}/\d{2}|blog|news|articles?|stor(?:y|ies)|posts?)/[^/]+", re.IGNORECASE)
_FORUM_GENERATOR = re.compile(
    r"phpbb|discourse|xenforo|vbulletin|nodebb|vanilla|invision|ips community|flarum|mybb|smf|discuz|fluxbb"
    r"|khoros|lithium",
    re.IGNORECASE,
)
_DOCUMENTATION_GENERATOR = re.compile(
    r"docusaurus|mkdocs|sphinx|gitbook|vuepress|vitepress|hugo.*docs|readme|mdbook|doxygen|javadoc|bookdown|starlight|nextra",
    re.IGNORECASE,
)
_POST_CLASS = re.compile(r"(?:^|[\s_-])(?:post|message|reply|answer|comment|comtr)(?:$|[\s_-])", re.IGNORECASE)
POST_ID = re.compile(
    r"^(?:\w{0,12}-)?(?:post|comment|msg|message|reply|answer|thing|elcomment)[-_]?(?:\w{0,4}[-_])?\d+$", re.IGNORECASE
)
"""The id of a single post: `post-12`, `comment_1234`."""
MANY_POSTS = 3
MANY_PRICES = 6
PRICE_WORDS = 12
WORDS_A_PRICE = 100
"""With more words than this for each price a page talks about things rather than offering them."""
_PRICE = re.compile(
    r"(?:[$€£¥₹₽₩₺₴]|\b(?:USD|EUR|GBP|CHF|AUD|CAD|R\$|Rs\.?|kr))\s?\d|\d\s?(?:[€£₽₴₺]|(?:USD|EUR|GBP|CHF|kr|zł|Kč|Ft|руб)\b)"
)


def kind_of(root: HtmlElement, url: str, meta: dict[str, str], nodes: list[Node]) -> Kind:
    """The most telling sign decides: a thread's own marks, then JSON-LD, then the generator, then the URL."""
    types = frozenset().union(*(types_of(node) for node in nodes[:200]))
    parts = urlsplit(url)
    path = parts.path
    generator = f"{meta.get('generator', '')} {meta.get('application-name', '')}"
    if types & _FORUM_TYPES or _FORUM_GENERATOR.search(generator) or _is_thread(root, f"{parts.netloc}{path}"):
        return Kind.FORUM
    if (
        types & _PRODUCT_TYPES
        and not types & _LISTING_TYPES
        and (meta.get("og:type", "").startswith("product") or _PRODUCT_URL.search(path))
    ):
        return Kind.PRODUCT
    if _DOCUMENTATION_GENERATOR.search(generator):
        return Kind.DOCUMENTATION
    if types & _ARTICLE_TYPES or meta.get("og:type") == "article":
        return Kind.ARTICLE
    if _DOCUMENTATION_URL.search(f"{parts.netloc}{path}"):
        return Kind.DOCUMENTATION
    if _PRODUCT_URL.search(path):
        return Kind.PRODUCT
    if types & _LISTING_TYPES or _LISTING_URL.search(path):
        return Kind.LISTING
    return Kind.ARTICLE if _ARTICLE_URL.search(path) else Kind.OTHER


def refined(kind: Kind, outline: Outline) -> Kind:
    """The kind once the blocks of the page are known: many prices beside short texts are a grid of products."""
    if kind not in (Kind.OTHER, Kind.LISTING):
        return kind
    prices = sum(1 for block in outline.blocks if block.words <= PRICE_WORDS and _PRICE.search(block.text))
    if prices < MANY_PRICES or outline.words[-1] > WORDS_A_PRICE * prices:
        return kind
    return Kind.COLLECTION


def _is_thread(root: HtmlElement, address: str) -> bool:
    """A forum's URL and several posts, or the frame of a comment tree without an article."""
    if not _FORUM_URL.search(address):
        return bool(root.xpath("boolean(//table[contains(@class, 'comment-tree')])"))
    posts = (
        element
        for element in root.xpath("//*[@class or @id]")
        if _POST_CLASS.search(element.get("class") or "") or POST_ID.match(element.get("id") or "")
    )
    return sum(1 for _ in zip(range(MANY_POSTS), posts, strict=False)) >= 2
