"""The instances and the three orders: one row per instance, by names of variables, never by values (SPEC section 4).

`service/instances.py` makes running rows of it. Adding a provider is one file in `providers/` and one row here, and its
name in the orders of its roles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from actors.options import Order
from actors.row import Limit, Rate, Reach
from providers._contract import Role


@dataclass(frozen=True, slots=True)
class Value:
    """A variable whose value goes into a field of the provider.

    kind: `secret` (a key: printable, redacted everywhere), `text`, `proxy` (no field, but the name of a second remote,
    which has this proxy of its own), or `setting`: not a variable of the instance but a field of `Settings`.
    """

    variable: str
    field: str
    kind: Literal["secret", "text", "proxy", "setting"] = "secret"


@dataclass(frozen=True, slots=True)
class Address:
    """A remote's address, in a field of the provider whose default is the vendor's own.

    variable: replaces scheme, host and port, and its path becomes a prefix. needed: the remote is the operator's, so
    the instance is unconfigured without it.
    """

    field: str
    variable: str
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What is different where an optional variable is set, such as a key that allows more."""

    variable: str
    roles: frozenset[Role]
    rate: Rate | None
    paid: bool


@dataclass(frozen=True, slots=True)
class Instance:
    """One row. Everything an operator may override by NAME_RATE and the like is the default here.

    needs: without one of them the instance is unconfigured. options: go into the provider where they are set.
    addresses: those beside NAME_BASE_URL. base_field: the provider's field that NAME_BASE_URL rewrites; None where the
    instance has no remote of its own, or names its addresses otherwise. is_retried: False where a retry does harm.
    scrapes: reads web pages as a browser does, and takes the rotating proxy where one is set. shared_proxy: the
    variable of another instance's proxy, for where NAME_PROXY is not set. steps_aside_for: does not run beside that
    instance. The other fields are those of `actors.row.Row`.
    """

    name: str
    type: str
    roles: frozenset[Role]
    needs: tuple[Value, ...] = ()
    options: tuple[Value, ...] = ()
    addresses: tuple[Address, ...] = ()
    base_field: str | None = "url"
    upgrade: Upgrade | None = None
    rate: Rate | None = None
    limit: Limit | None = None
    timeout: float | None = None
    workers: int = 8
    patience: float = 0.0
    is_retried: bool = True
    has_breaker: bool = True
    paid: bool = False
    family: str = ""
    final: bool = False
    reach: Reach = "third_party"
    impersonate: bool = False
    scrapes: bool = False
    shared_proxy: str | None = None
    steps_aside_for: str | None = None

    @property
    def prefix(self) -> str:
        """What the names of its variables start with: `TAVILY_1` for tavily-1."""
        return self.name.upper().replace("-", "_")


# Searches of the same index count once in fusion: SearXNG's engines are on the whole DuckDuckGo and Bing.
BING = "bing"
GOOGLE = "google"
FETCHING_WORKERS = 64  # for readers that fetch the page themselves: a waiting fetch holds no core

TABLE: tuple[Instance, ...] = (
    Instance(
        name="searxng",
        type="searxng",
        roles=frozenset({Role.SEARCH, Role.IMAGES}),
        addresses=(Address("url", "SEARXNG_URL", needed=True),),
        rate=Rate(1, 45.0),
        is_retried=False,
        family=BING,
        reach="self_hosted",
    ),
    Instance(
        name="duckduckgo",
        type="duckduckgo",
        roles=frozenset({Role.SEARCH}),
        rate=Rate(1, 45.0),
        is_retried=False,
        family=BING,
        impersonate=True,
        scrapes=True,
        steps_aside_for="searxng",
    ),
    Instance(
        name="bing-images",
        type="bing-images",
        roles=frozenset({Role.IMAGES}),
        rate=Rate(1, 2.0),
        is_retried=False,
        family=BING,
        impersonate=True,
        scrapes=True,
    ),
    Instance(
        name="brave",
        type="brave",
        roles=frozenset({Role.SEARCH, Role.IMAGES}),
        needs=(Value("BRAVE_API_KEY", "key"),),
        rate=Rate(1, 1.1),
        patience=2.5,
        paid=True,
    ),
    *(
        Instance(
            name=f"tavily-{number}",
            type="tavily",
            roles=frozenset({Role.SEARCH, Role.READ}),
            needs=(Value(f"TAVILY_{number}_API_KEY", "key"),),
            is_retried=False,
            paid=True,
        )
        for number in (1, 2, 3)
    ),
    Instance(
        name="firecrawl",
        type="firecrawl",
        roles=frozenset({Role.SEARCH, Role.READ}),
        needs=(Value("FIRECRAWL_API_KEY", "key"),),
        is_retried=False,
        paid=True,
    ),
    Instance(
        name="jina",
        type="jina",
        roles=frozenset({Role.READ}),
        options=(Value("JINA_API_KEY", "key"), Value("JINA_TOKEN_BUDGET", "token_budget", "setting")),
        addresses=(
            Address("reader_url", "JINA_READER_URL"),
            Address("search_url", "JINA_SEARCH_URL"),
            Address("rerank_url", "JINA_RERANK_URL"),
        ),
        base_field=None,
        upgrade=Upgrade("JINA_API_KEY", frozenset({Role.SEARCH, Role.READ, Role.RERANK}), None, paid=True),
        rate=Rate(20, 60.0),
        is_retried=False,
        family=GOOGLE,
    ),
    Instance(
        name="xmlriver",
        type="xmlriver",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("XMLRIVER_USER_ID", "user"), Value("XMLRIVER_API_KEY", "key")),
        paid=True,
    ),
    Instance(
        name="parallel",
        type="parallel",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("PARALLEL_API_KEY", "key"),),
        is_retried=False,
        paid=True,
    ),
    Instance(
        name="octen",
        type="octen",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("OCTEN_API_KEY", "key"),),
        is_retried=False,
        paid=True,
    ),
    Instance(
        name="linkup",
        type="linkup",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("LINKUP_API_KEY", "key"),),
        is_retried=False,
        paid=True,
    ),
    Instance(
        name="youcom",
        type="youcom",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("YOUCOM_API_KEY", "key"),),
        is_retried=False,
        paid=True,
    ),
    Instance(
        name="serper",
        type="serper",
        roles=frozenset({Role.SEARCH, Role.IMAGES}),
        needs=(Value("SERPER_API_KEY", "key"),),
        is_retried=False,
        paid=True,
        family=GOOGLE,
    ),
    Instance(
        name="exa",
        type="exa",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("EXA_API_KEY", "key"),),
        is_retried=False,
        paid=True,
    ),
    Instance(
        name="openalex",
        type="openalex",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("OPENALEX_API_KEY", "key"),),
    ),
    Instance(
        name="semantic-scholar",
        type="semantic-scholar",
        roles=frozenset({Role.SEARCH}),
        needs=(Value("SEMANTIC_SCHOLAR_API_KEY", "key"),),
        rate=Rate(1, 1.0),
        patience=2.5,
    ),
    Instance(
        name="youtube",
        type="youtube",
        roles=frozenset({Role.READ}),
        final=True,
        reach="direct",
    ),
    Instance(
        name="supadata",
        type="supadata",
        roles=frozenset({Role.READ}),
        needs=(Value("SUPADATA_API_KEY", "key"),),
        is_retried=False,
        paid=True,
        final=True,
    ),
    Instance(
        name="instagram",
        type="instagram",
        roles=frozenset({Role.READ}),
        needs=(Value("GROQ_API_KEY", "key"),),
        options=(Value("GROQ_PROXY", "groq", "proxy"),),
        addresses=(Address("groq_url", "GROQ_BASE_URL"),),
        is_retried=False,
        paid=True,
        reach="direct",
        impersonate=True,
        scrapes=True,
    ),
    Instance(
        name="instagram-profile",
        type="instagram-profile",
        roles=frozenset({Role.READ}),
        reach="direct",
        impersonate=True,
        scrapes=True,
        shared_proxy="INSTAGRAM_PROXY",
    ),
    Instance(
        name="scholarly",
        type="scholarly",
        roles=frozenset({Role.READ}),
        options=(Value("UNPAYWALL_EMAIL", "email", "text"), Value("MAX_BODY_BYTES", "max_body_bytes", "setting")),
        addresses=(
            Address("arxiv_url", "ARXIV_BASE_URL"),
            Address("unpaywall_url", "UNPAYWALL_BASE_URL"),
            Address("europepmc_url", "EUROPEPMC_BASE_URL"),
        ),
        base_field=None,
        reach="direct",
    ),
    Instance(
        name="trafilatura",
        type="trafilatura",
        roles=frozenset({Role.READ, Role.ROBOTS}),
        options=(Value("MAX_BODY_BYTES", "max_body_bytes", "setting"),),
        base_field=None,
        workers=FETCHING_WORKERS,
        has_breaker=False,
        reach="direct",
    ),
    Instance(
        name="impersonate",
        type="impersonate",
        roles=frozenset({Role.READ}),
        options=(Value("MAX_BODY_BYTES", "max_body_bytes", "setting"),),
        base_field=None,
        workers=FETCHING_WORKERS,
        has_breaker=False,
        reach="direct",
        impersonate=True,
        scrapes=True,
    ),
    Instance(
        name="crawl4ai",
        type="crawl4ai",
        roles=frozenset({Role.READ}),
        needs=(Value("CRAWL4AI_TOKEN", "token"),),
        addresses=(Address("url", "CRAWL4AI_URL", needed=True),),
        reach="self_hosted",
    ),
    Instance(
        name="brightdata",
        type="brightdata",
        roles=frozenset({Role.READ}),
        needs=(Value("BRIGHTDATA_API_KEY", "key"), Value("BRIGHTDATA_ZONE", "zone", "text")),
        is_retried=False,
        paid=True,
    ),
)

TAVILY = ("tavily-1", "tavily-2", "tavily-3")

SEARCH: Order = (
    "searxng",
    "duckduckgo",
    "brave",
    TAVILY,
    "firecrawl",
    "jina",
    "xmlriver",
    "parallel",
    "octen",
    "linkup",
    "youcom",
    "serper",
    "exa",
    "openalex",
    "semantic-scholar",
)
IMAGES: Order = ("searxng", "bing-images", "brave", "serper")
READ: Order = (
    "youtube",
    "supadata",
    "instagram",
    "instagram-profile",
    "scholarly",
    "trafilatura",
    "impersonate",
    "jina",
    "crawl4ai",
    TAVILY,
    "firecrawl",
    "brightdata",
)
