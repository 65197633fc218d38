"""Open-access copies of papers: arXiv, Unpaywall (by e-mail address, no key), Europe PMC. References: https://info.arxiv.org,
https://unpaywall.org/products/api, https://europepmc.org/RestfulWebService (read 2026-09).

An address of arXiv's or a DOI is looked up; a publisher's landing page is never asked for. First the PDFs of
repositories, then Europe PMC's XML, last the PDF that the publisher itself gives away. Without a copy the ordinary
readers get the address as it is. Unpaywall takes 100,000 calls a day and refuses placeholder addresses; it does not
know arXiv's DOIs. arXiv wants three seconds between requests of machines and refuses PDF addresses with a suffix.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from providers import _workers
from providers._address import InvalidUrl, NotAllowed, parse_url
from providers._contract import (
    Blocked,
    Document,
    Empty,
    Malformed,
    Page,
    ProviderError,
    Target,
    TooHeavy,
    TooLarge,
    Unsupported,
)
from providers._extract import article_to_page, extract
from providers._extract.escape import escape
from providers._papers import ARXIV_HOSTS, DOI_HOSTS, Arxiv, Doi, paper_at
from providers._registry import register
from providers._wire import Rule, ask, digest, fetch_page

MAX_COPIES = 3
MIN_HTML_CHARS = 500
MAX_LOCATIONS = 100
PDF_SEARCH_BYTES = 1024

ARXIV_RULES = (
    Rule(Blocked, status=403, detail="arXiv takes this address for a robot"),
    Rule(Empty, status=404, detail="arXiv has no such file"),
    Rule(Empty, status=406, detail="arXiv has no such file"),
)

_VERSIONS = ("publishedVersion", "acceptedVersion", "submittedVersion")
_HOSTS = ("europepmc.org", "arxiv.org")
_LAST_HOST = "ncbi.nlm.nih.gov"
_PMCID = re.compile(r"PMC\d{1,12}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Copy:
    """A PDF that Unpaywall knows of. `version` is one of Unpaywall's words, or empty."""

    url: str
    version: str
    is_repository: bool


@register("scholarly")
@dataclass(frozen=True, slots=True)
class Scholarly:
    """Reads papers. Without `email` Unpaywall is not asked."""

    email: str | None = field(default=None, repr=False)
    arxiv_url: str = field(default="https://arxiv.org", repr=False)
    unpaywall_url: str = field(default="https://api.unpaywall.org/v2", repr=False)
    europepmc_url: str = field(default="https://www.ebi.ac.uk/europepmc/webservices/rest", repr=False)
    max_body_bytes: int = 15_000_000

    def accepts(self, target: Target) -> bool:
        return paper_at(target.url) is not None

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        """The paper's text. Raises Empty where no open copy can be read, and never with evidence."""
        paper = paper_at(target.url)
        if paper is None:
            raise Unsupported("no paper")
        try:
            if isinstance(paper, Arxiv):
                return await self._of_arxiv(paper, target.url, client)
            return await self._of_doi(paper, target.url, client)
        except ProviderError as error:
            error.evidence = None
            raise

    # --- arXiv --------------------------------------------------------------------------------------------------------

    async def _of_arxiv(self, paper: Arxiv, url: str, client: httpx.AsyncClient) -> Page:
        # Whatever is wrong with the file, be it its size: many papers are there as HTML, too.
        with suppress(Empty, Unsupported, Malformed, TooLarge, TooHeavy):
            return await self._arxiv_pdf(paper, url, client)
        path = f"/html/{paper.name}"
        response = await ask(client, "GET", self._at_arxiv(path), rules=ARXIV_RULES, max_body_bytes=self.max_body_bytes)
        page = await extract(Document(url, f"https://arxiv.org{path}", response.content, "text/html"))
        if len(page.markdown) < MIN_HTML_CHARS:
            raise Empty("arXiv has no such file")
        return _signed(page, f"arXiv:{paper.name}", f"https://arxiv.org{path}")

    async def _arxiv_pdf(self, paper: Arxiv, url: str, client: httpx.AsyncClient) -> Page:
        path = f"/pdf/{paper.name}"
        response = await ask(client, "GET", self._at_arxiv(path), rules=ARXIV_RULES, max_body_bytes=self.max_body_bytes)
        page = await _read_pdf(url, f"https://arxiv.org{path}", response.content)
        return _signed(page, f"arXiv:{paper.name}", f"https://arxiv.org/abs/{paper.name}")

    def _at_arxiv(self, path: str) -> str:
        return self.arxiv_url.rstrip("/") + path

    # --- DOIs ---------------------------------------------------------------------------------------------------------

    async def _of_doi(self, paper: Doi, url: str, client: httpx.AsyncClient) -> Page:
        copies = await self._copies(paper, client)
        for attempt in self._attempts(paper, url, copies, client):
            with suppress(ProviderError):
                return await attempt
        raise Empty("no open-access copy")

    def _attempts(
        self, paper: Doi, url: str, copies: tuple[Copy, ...], client: httpx.AsyncClient
    ) -> Iterator[Awaitable[Page]]:
        """All ways to a text, in their order; each is begun only where those before it have failed."""
        for copy in [each for each in copies if each.is_repository][:MAX_COPIES]:
            yield self._copy(paper, copy, url, client)
        yield self._europepmc(paper, url, copies, client)
        for copy in [each for each in copies if not each.is_repository][:1]:
            yield self._copy(paper, copy, url, client)

    async def _copies(self, paper: Doi, client: httpx.AsyncClient) -> tuple[Copy, ...]:
        """What Unpaywall knows, best first; nothing where it fails: its failure is none of the paper's."""
        if self.email is None:
            return ()
        address = f"{self.unpaywall_url.rstrip('/')}/{quote(paper.name.lower(), safe='/')}"
        with suppress(ProviderError):
            response = await ask(client, "GET", address, params={"email": self.email})
            return await digest(response.content, parse_copies)
        return ()

    async def _copy(self, paper: Doi, copy: Copy, url: str, client: httpx.AsyncClient) -> Page:
        of_arxiv = paper_at(copy.url)
        if isinstance(of_arxiv, Arxiv):
            return await self._arxiv_pdf(of_arxiv, url, client)
        document = await fetch_page(client, copy.url, max_body_bytes=self.max_body_bytes)
        page = await _read_pdf(url, document.final_url, document.body)
        return _signed(page, f"doi:{paper.name}", copy.url, copy.version)

    async def _europepmc(self, paper: Doi, url: str, copies: tuple[Copy, ...], client: httpx.AsyncClient) -> Page:
        base = self.europepmc_url.rstrip("/")
        known = next((found[0].upper() for copy in copies if (found := _PMCID.search(copy.url))), None)
        pmcid = known or await self._pmcid(base, paper.name, client)
        address = f"{base}/{pmcid}/fullTextXML"
        response = await ask(client, "GET", address, max_body_bytes=self.max_body_bytes)
        shown = f"https://europepmc.org/article/PMC/{pmcid}"
        page = await _workers.run(article_to_page, Document(url, shown, response.content, "application/xml"))
        return _signed(page, f"doi:{paper.name}", shown)

    async def _pmcid(self, base: str, doi: str, client: httpx.AsyncClient) -> str:
        query = 'DOI:"' + re.sub(r'["\\]', "", doi) + '"'
        fields = {"query": query, "format": "json", "resultType": "lite", "pageSize": "5"}
        response = await ask(client, "GET", f"{base}/search", params=fields)
        return await digest(response.content, _PmcidOf(doi.lower()))


async def _read_pdf(url: str, final_url: str, body: bytes) -> Page:
    """The text of a PDF. Raises Unsupported for what is none, Empty for one that has no text."""
    if b"%PDF-" not in body[: PDF_SEARCH_BYTES + 5]:
        raise Unsupported("no PDF")
    page = await extract(Document(url, final_url, body, "application/pdf"))
    if page.signals.no_text_layer:
        raise Empty("a PDF without text")
    return page


def _signed(page: Page, name: str, source: str, version: str = "") -> Page:
    """The page with a line on where its text is from, which is not where the caller pointed."""
    said = f", {version}" if version else ""
    warning = "; it may differ from the article" if version == "submittedVersion" else ""
    line = f"Open-access copy of {escape(name)}{said}: <{source}>{warning}"
    return replace(page, markdown=f"{line}\n\n{page.markdown}", sanitised=False)


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_copies(reply: Any) -> tuple[Copy, ...]:
    """The PDFs of an answer: the published version first, then by host; never a landing page. May hold publishers'."""
    found: dict[str, tuple[tuple[int, int, int], Copy]] = {}
    for place, location in enumerate((reply.get("oa_locations") or [])[:MAX_LOCATIONS]):
        url = _fetchable(location.get("url_for_pdf"))
        if url is None or url in found or url == _fetchable(location.get("url_for_landing_page")):
            continue
        is_repository = location.get("host_type") == "repository"
        version = location.get("version")
        version = version if version in _VERSIONS else ""
        rank = _VERSIONS.index(version) if version else len(_VERSIONS)
        found[url] = (rank, _host_rank(url), place), Copy(url, version, is_repository)
    return tuple(copy for _, copy in sorted(found.values(), key=lambda each: each[0]))


def _fetchable(url: Any) -> str | None:
    """An address as it would be asked for; None for what is none, and for one that leads to a landing page.

    The guard under the client judges where it leads.
    """
    try:
        parsed = parse_url(url, allow_private=True) if isinstance(url, str) else None
    except (InvalidUrl, NotAllowed):
        return None
    return None if parsed is None or parsed.host.rstrip(".") in DOI_HOSTS else str(parsed)


def _host_rank(url: str) -> int:
    host = (urlsplit(url).hostname or "").rstrip(".").removeprefix("www.")
    if host in ARXIV_HOSTS:
        host = "arxiv.org"
    if host in _HOSTS:
        return _HOSTS.index(host)
    return 3 if host == _LAST_HOST or host.endswith("." + _LAST_HOST) else 2


@dataclass(frozen=True, slots=True)
class _PmcidOf:
    """Reads the answer for a DOI in lower case; an object and not a closure, so that it can be sent to a worker."""

    doi: str

    def __call__(self, reply: Any) -> str:
        return parse_pmcid(reply, self.doi)


def parse_pmcid(reply: Any, doi: str) -> str:
    """The id of the open full text. Raises Empty where there is none; an error may come as a success."""
    records = [
        record
        for record in reply.get("resultList", {}).get("result", ())
        if str(record.get("doi", "")).lower() == doi
        and record.get("isOpenAccess") == "Y"
        and _PMCID.fullmatch(str(record.get("pmcid", "")))
    ]
    records.sort(key=lambda record: record.get("source") not in ("MED", "PMC"))
    if not records:
        raise Empty("not in Europe PMC, or not open")
    return str(records[0]["pmcid"]).upper()
