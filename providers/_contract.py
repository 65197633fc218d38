"""What every room agrees on: jobs, values, the provider protocols and the typed errors.

Nothing here imports anything of ours. A provider gets a job and a client, and returns a value or raises one of the
errors below. All value types are frozen: an instance of a provider is configuration and holds no state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    import httpx  # worker processes import this file and have no use for a client

Freshness = Literal["d", "w", "m", "y"]
Reached = Literal["nothing", "connected", "answered"]


class Kind(StrEnum):
    """Why something did not give an answer; `actors/policy.py` says what follows from each."""

    BUSY = "busy"
    DOWN = "down"
    CIRCUIT_OPEN = "circuit_open"
    THROTTLED = "throttled"
    QUOTA_SPENT = "quota_spent"
    NOT_SENT = "not_sent"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    BUG = "bug"
    RATE_LIMITED = "rate_limited"
    DENIED = "denied"
    BLOCKED = "blocked"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    TOO_HEAVY = "too_heavy"
    THIN = "thin"
    TEASER = "teaser"
    REFUSED = "refused"
    LATE = "late"
    CANCELLED = "cancelled"
    NOT_FOUND = "not_found"
    CRASHED = "crashed"


class Note(StrEnum):
    """A remark on a page that was read (SPEC section 1)."""

    PAYWALL_TEASER = "paywall_teaser"
    THIN = "thin"
    NO_TEXT_LAYER = "no_text_layer"
    PARTIAL = "partial"
    TRUNCATED = "truncated"
    TOO_HEAVY = "too_heavy"
    DOWNGRADED = "downgraded"
    CHANGED = "changed"


# --- jobs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Query:
    """One search. `limit` is how many hits the caller wants; `page` counts from 1; `language` is a BCP 47 code."""

    text: str
    limit: int = 10
    page: int = 1
    language: str | None = None
    date: Freshness | None = None


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """One image search; fields as in `Query`."""

    text: str
    limit: int = 5
    language: str | None = None
    date: Freshness | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a direct fetch of a target learnt; it travels on with the walk, so that nobody asks the site again.

    `reached` says how far the connection got: `nothing` (no connection or no TLS handshake completed), `connected`
    (it did, but no answer came), `answered`. `wall` names the bot wall that was recognised, if any. `body` is the
    decoded body where it was received whole. `shell`, `thin` and `no_text_layer` are what `walk` found it to be.
    """

    url: str
    reached: Reached = "nothing"
    status: int | None = None
    content_type: str = ""
    wall: str | None = None
    body: bytes | None = field(default=None, repr=False)
    shell: bool = False
    thin: bool = False
    no_text_layer: bool = False


@dataclass(slots=True)
class Progress:
    """How far a fetch has got that is still under way; None: nothing has been tried.

    The one thing here that changes: whoever fetches the target from here writes it, `walk` reads it to decide whom to
    start beside a slow reader.
    """

    reached: Reached | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One page to read: a URL that passed the rules of `_address.parse_url`, and what is already known of it."""

    url: str
    evidence: Evidence | None = None
    progress: Progress | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RobotsQuery:
    """May this URL be fetched by a robot? Answered with a bool by the local reader."""

    url: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """Texts to be put into order of relevance to `text`, best first, as indexes into `documents`."""

    text: str
    documents: tuple[str, ...]


Job = Query | ImageQuery | Target | RobotsQuery | Ranking


class Role(StrEnum):
    """What an instance can be asked for."""

    SEARCH = "search"
    IMAGES = "images"
    READ = "read"
    ROBOTS = "robots"
    RERANK = "rerank"


# --- values ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    """One search hit. `published` is an ISO 8601 date or date-time, or None where the vendor does not say."""

    url: str
    title: str
    snippet: str = ""
    published: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """One picture found; sizes in pixels."""

    image_url: str
    page_url: str = ""
    title: str = ""
    thumbnail_url: str | None = None
    width: int | None = None
    height: int | None = None


Item = TypeVar("Item", Hit, Image)


@dataclass(frozen=True, slots=True)
class Found(Generic[Item]):
    """What a search found, in the vendor's order. `()` means asked and found nothing.

    `detail` says what the report shall say beside the count: a filter the vendor cannot apply
    (`date filter not supported`), or why an answer counts as empty (`irrelevant`).
    """

    items: tuple[Item, ...]
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Signals:
    """What the parsed page says about itself, for `actors/judge.py`; a reader judges nothing.

    wall: name of a bot wall or consent wall recognised by headers, final URL or markup (bot-walls.md, 1, 2, 4).
    shell: the page is a script shell, its content is not in the HTML.
    declared_paywall: JSON-LD, microdata or meta say the page is not free (paywalls.md, 1).
    metered: `article:content_tier` is metered.
    cut: the element named as paid is missing or empty, or the declared word count is twice what was found.
    document: PDF, office file, feed, JSON and the like: such a thing is short because it is short, and no wall.
    no_text_layer: a PDF whose pages hold pictures only. second_best: what a special reader can say without what it is
    for; others go first, and it is kept for when none does better. status: the HTTP status of the target. headline: the
    first h1.
    """

    wall: str | None = None
    shell: bool = False
    declared_paywall: bool = False
    metered: bool = False
    cut: bool = False
    document: bool = False
    no_text_layer: bool = False
    second_best: bool = False
    status: int | None = None
    headline: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page that was read. `markdown` is the whole text, uncut; `published` an ISO date; `language` BCP 47."""

    url: str
    markdown: str = field(repr=False)
    final_url: str = ""
    title: str = ""
    byline: str = ""
    site_name: str = ""
    published: str | None = None
    language: str | None = None
    content_type: str = "text/html"
    excerpt: str = ""
    main_image: str | None = None
    images: tuple[str, ...] = ()
    favicon: str | None = None
    notes: tuple[Note, ...] = ()
    signals: Signals = Signals()
    evidence: Evidence | None = None
    sanitised: bool = False


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Document:
    """Bytes that were fetched and are to become a `Page` in a worker process.

    `content_type` is the raw header (with its charset), `headers` the answer's other headers in lower case.
    `downgraded`: a redirect on the way led from https to http. The fetch's memory budget watches when it is dropped.
    """

    url: str
    final_url: str
    body: bytes = field(repr=False)
    content_type: str = ""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    downgraded: bool = False


# --- protocols ------------------------------------------------------------------------------------------------------


class Searcher(Protocol):
    async def search(self, query: Query, client: httpx.AsyncClient) -> Found[Hit]: ...


class ImageSearcher(Protocol):
    async def search_images(self, query: ImageQuery, client: httpx.AsyncClient) -> Found[Image]: ...


class Reader(Protocol):
    def accepts(self, target: Target) -> bool: ...

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page: ...


class RobotsReader(Protocol):
    async def robots(self, query: RobotsQuery, client: httpx.AsyncClient) -> bool: ...


class Reranker(Protocol):
    async def rerank(self, ranking: Ranking, client: httpx.AsyncClient) -> tuple[int, ...]: ...


# --- errors ---------------------------------------------------------------------------------------------------------


class ProviderError(Exception):
    """A provider could not answer. `detail` is for people: never a key, a body or a whole query.

    `retry_after`: seconds until asking again makes sense, where the remote said so. `retry`: whether an immediate
    second try may help (only `Unavailable`). `evidence`: what the fetch of a page learnt before it failed.
    """

    kind: ClassVar[Kind]

    def __init__(
        self,
        detail: str,
        *,
        retry_after: float | None = None,
        retry: bool = True,
        evidence: Evidence | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after
        self.retry = retry
        self.evidence = evidence


class Unavailable(ProviderError):
    """The remote could not be reached, broke off, or answered 5xx."""

    kind = Kind.UNAVAILABLE


class Malformed(ProviderError):
    """The remote answered something that is not what it documents."""

    kind = Kind.MALFORMED


class RateLimited(ProviderError):
    """The remote asks us to slow down; off until `retry_after`."""

    kind = Kind.RATE_LIMITED


class Denied(ProviderError):
    """The remote refuses our key or plan."""

    kind = Kind.DENIED


class QuotaSpent(ProviderError):
    """The account is out of credit."""

    kind = Kind.QUOTA_SPENT


class Blocked(ProviderError):
    """A challenge, a captcha or a refusal by the site instead of the content."""

    kind = Kind.BLOCKED


class Empty(ProviderError):
    """A reader found no content. (A search that found nothing returns `Found(())`.)"""

    kind = Kind.EMPTY


class Unsupported(ProviderError):
    """This reader cannot read that kind of page."""

    kind = Kind.UNSUPPORTED


class TooLarge(ProviderError):
    """The body is over the cap, before or after decompression."""

    kind = Kind.TOO_LARGE


class TooHeavy(ProviderError):
    """The page used up the time or memory of the worker that extracted it."""

    kind = Kind.TOO_HEAVY


class NotFound(ProviderError):
    """The site says the page does not exist (404, 410)."""

    kind = Kind.NOT_FOUND


class Refused(ProviderError):
    """The address is not allowed, or robots.txt says no."""

    kind = Kind.REFUSED
