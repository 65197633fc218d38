"""How each remote reader tells of a page that is not as it should be, by its sheet in the vendors' folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from providers._contract import Kind
from tests.contract._memory import PAGE
from tests.fakenet import Answer, as_json
from tests.fakenet import jina as _jina
from tests.fakenet.firecrawl import failure as firecrawl_failure
from tests.fakenet.tavily import failure as tavily_failure

SENTENCE = "The measurement was repeated with the newer instrument, and the older figures were written down beside it. "
# A heading and a sentence of Cloudflare's, vendors/bot-walls.md section 3.
CHALLENGE = "# Just a moment...\n\nEnable JavaScript and cookies to continue"
SHELL = "You need to enable JavaScript to run this app."
TEASER = SENTENCE * 5 + "\n\nSubscribe to continue reading"  # vendors/paywalls.md section 2
SHORT = SENTENCE

Told = Callable[[int, str], Answer]
"""An answer that tells of a page with a status and a text."""


def jina(status: int, text: str) -> Answer:
    """jina.md section 1, "Error pages come as HTTP 200"."""
    found: dict[str, Any] = {"title": _title(text), "url": PAGE, "content": text or "nothing", "usage": {"tokens": 9}}
    if status != 200:
        found["warning"] = f"Target URL returned error {status}: Said"
    return as_json({"code": 200, "status": 20000, "data": found})


def crawl4ai(status: int, text: str) -> Answer:
    """crawl4ai.md, `POST /crawl`; a refused page is one of the failures that come as a bare 500."""
    if status == 403:
        return as_json({"error": "Internal server error", "correlation_id": "7"}, 500)
    markdown = {"raw_markdown": text or "x", "fit_markdown": text or "x", "references_markdown": ""}
    result = {
        "url": PAGE, "success": True, "status_code": status, "redirected_url": PAGE, "error_message": "",
        "metadata": {"title": _title(text)}, "markdown": markdown,
    }  # fmt: skip
    return as_json({"success": True, "results": [result]})


def tavily(status: int, text: str) -> Answer:
    """tavily.md section 2, "A page that cannot be read still gives HTTP 200"."""
    if status != 200:
        failed = [{"url": PAGE, "error": f"{status} said the page"}]
        return as_json({"results": [], "failed_results": failed, "response_time": 1.0})
    return as_json({"results": [{"url": PAGE, "raw_content": text, "images": []}], "failed_results": []})


def firecrawl(status: int, text: str) -> Answer:
    """firecrawl.md section 2, "The target's error page is returned as success 200"."""
    metadata = {"title": _title(text), "sourceURL": PAGE, "url": PAGE, "statusCode": status, "error": None}
    return as_json({"success": True, "data": {"markdown": text or "x", "metadata": metadata}})


def brightdata(status: int, text: str) -> Answer:
    """brightdata.md, "Status reporting": the outer status is always 200."""
    return Answer(200, (text or "x").encode(), "text/markdown", (("x-brd-status-code", str(status)),))


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ") if text.startswith("#") else "A page"


# --- the readers ------------------------------------------------------------------------------------------------------

PLAIN_402 = as_json({"detail": "Payment Required"}, 402)
PLAIN_429 = as_json({"detail": "Too many requests"}, 429)
PLAIN_500 = as_json({"detail": "Internal Server Error"}, 500)


@dataclass(frozen=True, slots=True)
class RemoteReader:
    """One reader with all that its sheet says of its refusals.

    type: of its fake, the remote's name too, unless `remote` says otherwise. told: how it tells of a page. spent,
    limited: out of credit, and too many requests. tries: calls at a 5xx of its own, since a request that was billed is
    not repeated. refused: what a page that refuses it comes to. next: whom the walk asks after it. without: instances
    that are switched off, so that it is the first. settings: variables that are not those of its fake.
    """

    name: str
    type: str
    told: Told
    spent: Answer
    limited: Answer
    next: str | None
    remote: str = ""
    tries: int = 1
    refused: Kind = Kind.BLOCKED
    without: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def played(self) -> str:
        return self.remote or self.type


TAVILIES = ("tavily-2", "tavily-3")
JINA_SPENT = _jina.failure(402, "InsufficientBalanceError", 40203, "Account balance not enough to run this query")
JINA_LIMITED = _jina.failure(429, "RateLimitTriggeredError", 42903, "rate limit", ("retry-after", "12"))

READERS = (
    RemoteReader(
        "jina", "jina", jina, JINA_SPENT, JINA_LIMITED, "crawl4ai", remote="jina-reader", settings={"JINA_API_KEY": ""},
        without=TAVILIES,
    ),
    RemoteReader(
        "jina keyed", "jina", jina, JINA_SPENT, JINA_LIMITED, "crawl4ai", remote="jina-reader", without=TAVILIES
    ),
    RemoteReader(
        "crawl4ai", "crawl4ai", crawl4ai, PLAIN_402, PLAIN_429, "tavily", tries=2, refused=Kind.UNSUPPORTED,
        without=("jina", *TAVILIES),
    ),
    RemoteReader(
        "tavily-1", "tavily", tavily, tavily_failure(432), tavily_failure(429), "firecrawl",
        without=("jina", "crawl4ai", *TAVILIES),
    ),
    RemoteReader(
        "firecrawl", "firecrawl", firecrawl, firecrawl_failure(402, "Insufficient credits to perform this request."),
        firecrawl_failure(429, "Rate limit exceeded. Consumed (req/min): 11, please retry after 12s"), "brightdata",
        without=("jina", "crawl4ai", "tavily-1", *TAVILIES),
    ),
    RemoteReader(
        "brightdata", "brightdata", brightdata, Answer(400, b"Customer is not active", "text/plain"), PLAIN_429, None,
        without=("jina", "crawl4ai", "tavily-1", *TAVILIES, "firecrawl"),
    ),
)  # fmt: skip
ORDER = ("jina-reader", "crawl4ai", "tavily", "firecrawl", "brightdata")
