"""Title, byline, site, date, language, excerpt and pictures of a page, from meta elements, JSON-LD and microdata."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from .links import Links
from .pictures import picture_source
from .structured import Node, string, types_of

MAX_LINE_CHARS = 300
MAX_EXCERPT_CHARS = 500
MAX_PICTURES = 100

ARTICLE_TYPES = frozenset(
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
        "SocialMediaPosting",
        "Review",
        "HowTo",
        "Recipe",
    ]
)
_THREAD_TYPES = frozenset(("DiscussionForumPosting", "QAPage", "Question"))
_WORK_TYPES = ARTICLE_TYPES | _THREAD_TYPES | {"Product", "WebPage", "VideoObject"}

_TITLE = ("og:title", "twitter:title", "citation_title", "dc.title", "title")
_BYLINE = ("author", "citation_author", "dc.creator", "article:author", "parsely-author", "sailthru.author", "byl")
_DATE = [
    "article:published_time",
    "datepublished",
    "citation_publication_date",
    "citation_date",
    "dc.date.issued",
    "dc.date",
    "date",
    "parsely-pub-date",
    "sailthru.date",
    "pubdate",
    "publishdate",
    "publish-date",
    "og:published_time",
    "article:published",
    "og:article:published_time",
    "bt:pubdate",
    "dcterms.created",
    "dcterms.date",
]
_EXCERPT = ("og:description", "description", "twitter:description", "dc.description")
_PICTURE = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src", "image")

_ISO = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ](\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\d{6})?")
_NAMED = re.compile(
    r"(\d{1,2})\.?\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})|([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})"
)
_MONTHS = {
    name: index + 1
    for index, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
}
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8}){0,3}")
_SEPARATOR = re.compile(r"\s+(?:[|·•»«›–—:-]|::)\s+")
_BY = re.compile(r"^(?:by|von|par|por|di|от|автор:?)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Metadata:
    """As in `Page`. `headline` is the first h1 that has text."""

    title: str = ""
    headline: str = ""
    byline: str = ""
    site_name: str = ""
    published: str | None = None
    language: str | None = None
    excerpt: str = ""
    main_image: str | None = None
    favicon: str | None = None


def metadata(root: HtmlElement, meta: dict[str, str], nodes: list[Node], base: str) -> Metadata:
    """Read the metadata off a tree whose hidden parts are gone. Addresses come out absolute."""
    work = _work(nodes)
    headline = first_heading(root)
    site = line(meta.get("og:site_name") or meta.get("application-name") or _publisher(work, nodes))
    links = Links(base)
    return Metadata(
        title=_title(root, meta, work, headline, site),
        headline=headline,
        byline=_byline(root, meta, work),
        site_name=site,
        published=_published(root, meta, work),
        language=_language(root, meta, work),
        excerpt=line(_first(meta, _EXCERPT) or string(work.get("description")), MAX_EXCERPT_CHARS),
        main_image=links.resolve(_first(meta, _PICTURE) or _picture(work)),
        favicon=_favicon(root, links, base),
    )


def line(text: str | None, limit: int = MAX_LINE_CHARS) -> str:
    """One line of at most `limit` characters."""
    return " ".join((text or "").split())[:limit].rstrip()


def _first(meta: dict[str, str], names: Iterable[str]) -> str:
    return next((meta[name] for name in names if name in meta), "")


def _work(nodes: list[Node]) -> Node:
    """The node that describes the page's main thing."""
    for wanted in (ARTICLE_TYPES | _THREAD_TYPES, frozenset(("Product",)), _WORK_TYPES):
        for node in nodes:
            if types_of(node) & wanted:
                return node
    return {}


def first_heading(root: HtmlElement) -> str:
    for heading in root.iter("h1"):
        text = line("".join(heading.itertext()))
        if text:
            return text
    return ""


def _title(root: HtmlElement, meta: dict[str, str], work: Node, headline: str, site: str) -> str:
    document = line(next(("".join(element.itertext()) for element in root.iter("title")), ""))
    title = line(_first(meta, _TITLE) or string(work.get("headline")) or document or headline)
    if headline and headline.lower() in title.lower() and len(headline) > 0.4 * len(title):
        return headline
    return _without_site(title, site)


def _without_site(title: str, site: str) -> str:
    """The title without the name of the site at either end of it."""
    parts = _SEPARATOR.split(title)
    if len(parts) < 2 or not site:
        return title
    known = re.sub(r"\W+", "", site).lower()
    for index in (-1, 0):
        if re.sub(r"\W+", "", parts[index]).lower() == known:
            rest = title[: title.rfind(parts[-1])] if index else title[title.find(parts[0]) + len(parts[0]) :]
            return rest.strip(" |·•»«›–—:-") or title
    return title


def _byline(root: HtmlElement, meta: dict[str, str], work: Node) -> str:
    authors = work.get("author") or work.get("creator")
    names = [string(author) for author in (authors if isinstance(authors, list) else [authors])]
    names = [name for name in names if name and not name.startswith("http")]
    if not names:
        names = [value for name in _BYLINE if (value := meta.get(name, "")) and not value.startswith("http")][:1]
    if not names:
        for element in root.xpath("//*[@itemprop='author' or @rel='author' or contains(@class, 'byline')]")[:3]:
            text = line("".join(element.itertext()), 120)
            if 2 < len(text) < 100:
                names = [text]
                break
    return line(", ".join(dict.fromkeys(_BY.sub("", name) for name in names[:8])))


def _publisher(work: Node, nodes: list[Node]) -> str:
    publisher = string(work.get("publisher"))
    if publisher and not publisher.startswith("http"):
        return publisher
    return next((string(node.get("name")) for node in nodes if "WebSite" in types_of(node)), "")


def _published(root: HtmlElement, meta: dict[str, str], work: Node) -> str | None:
    candidates = [string(work.get("datePublished")), string(work.get("dateCreated")), string(work.get("uploadDate"))]
    candidates += [meta[name] for name in _DATE if name in meta]
    for element in root.xpath("//*[@itemprop='datePublished' or @pubdate]")[:5]:
        candidates.append(element.get("datetime") or element.get("content") or "".join(element.itertext()))
    moments = root.xpath("//time[@datetime]")[:20]
    inside = [moment for moment in moments if next(moment.iterancestors("article", "main", "header"), None) is not None]
    candidates += [moment.get("datetime") for moment in (inside or moments)[:1]]
    return next((found for text in candidates if text and (found := iso_date(text))), None)


def iso_date(text: str) -> str | None:
    """An ISO 8601 date or date-time from what pages write, or None where it is no date from 1900 on."""
    text = text.strip()[:60]
    found = _ISO.match(text)
    if found:
        day = _day(found[1], found[2], found[3])
        if day is None or not found[4]:
            return day
        return f"{day}T{found[4]:0>5}{found[5] or ''}"
    found = _COMPACT.fullmatch(text)
    if found:
        return _day(found[1], found[2], found[3])
    found = _NAMED.search(text)
    if found:
        day, month, year = (found[1], found[2], found[3]) if found[1] else (found[5], found[4], found[6])
        return _day(year, str(_MONTHS.get(month[:3].lower(), 0)), day)
    return None


def _day(year: str, month: str, day: str) -> str | None:
    try:
        moment = datetime(int(year), int(month), int(day))
    except ValueError:
        return None
    return moment.date().isoformat() if moment.year >= 1900 else None


def _language(root: HtmlElement, meta: dict[str, str], work: Node) -> str | None:
    declared = (root.get("lang"), root.get("xml:lang"), meta.get("content-language"), string(work.get("inLanguage")))
    for text in (*declared, meta.get("og:locale")):
        found = _LANGUAGE.fullmatch((text or "").strip())
        if found:
            first, *others = found[0].replace("_", "-").split("-")
            return "-".join([first.lower(), *(part.upper() if len(part) == 2 else part.title() for part in others)])
    return None


def _picture(work: Node) -> str:
    image = work.get("image")
    image = image[0] if isinstance(image, list) and image else image
    return str(image.get("url") or image.get("contentUrl") or "") if isinstance(image, dict) else string(image)


def _favicon(root: HtmlElement, links: Links, base: str) -> str | None:
    for wanted in ("icon", "shortcut icon", "apple-touch-icon"):
        for element in root.iter("link"):
            if (element.get("rel") or "").strip().lower() == wanted:
                address = links.resolve(element.get("href"))
                if address is not None:
                    return address
    return urljoin(base, "/favicon.ico") if urlsplit(base).scheme in ("http", "https") else None


def pictures(root: HtmlElement, base: str) -> tuple[str, ...]:
    """Addresses of the pictures inside an element, each once, in order."""
    links = Links(base)
    found: dict[str, None] = {}
    for element in root.iter("img"):
        address = links.resolve(picture_source(element))
        if address is not None and len(found) < MAX_PICTURES:
            found[address] = None
    return tuple(found)
