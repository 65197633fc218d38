"""arXiv, Unpaywall and Europe PMC as vendors/arxiv.md, unpaywall.md and europepmc.md describe them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from providers._contract import Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_html, as_json, as_text
from tests.fakenet._vendor import Case
from tests.fakenet._world import SENTENCES, World

ARXIV_ID = re.compile(r"/(pdf|html|abs)/(\d{4}\.\d{4,5}|[a-z-]+/\d{7})(v\d+)?")
PLACEHOLDER = re.compile(r"[^@]*|.*@example\.com|your@email\.org|your\.email@.*|email@.*email\.com")
DOI = re.compile(r"10\.\d+/\S+")
PMCID = "PMC10680139"


def sentences(topic: str) -> list[str]:
    return [sentence.format(topic=topic, number=number) for number in range(1, 4) for sentence in SENTENCES]


def pdf(lines: list[str]) -> bytes:
    """A PDF of one page with these lines."""
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    content = f"BT /F1 10 Tf 12 TL 40 780 Td {shown} ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 800] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, offsets = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, rows)
    return body + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


class ArxivSite:
    """Files of papers. A suffix is refused, as arxiv.md has it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, request: Request) -> Answer:
        if request.path.endswith(".pdf"):
            return as_text("Not Acceptable", 406)
        found = ARXIV_ID.fullmatch(request.path)
        if found is None:
            return as_html("<h1>Not found</h1>", 404)
        if found[1] == "pdf":
            return Answer(200, pdf(sentences("a paper")), "application/pdf")
        text = "".join(f"<p>{sentence}</p>" for sentence in sentences("a paper"))
        return as_html(f"<!doctype html><html><body><article><h1>A paper</h1>{text}</article></body></html>")


class Unpaywall:
    """Locations by DOI; only prefix 10.1234 is in its table. Its copies lie on the world's web site."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, request: Request) -> Answer:
        if PLACEHOLDER.fullmatch(request.query.get("email", "")):
            return as_json({"HTTP_status_code": 422, "error": True, "message": "Please use your own email"}, 422)
        found = DOI.search(request.path.removeprefix("/v2/").lower())
        if found is None or not found[0].startswith("10.1234/"):
            return as_html("<!doctype html><title>404 Not Found</title><h1>Not Found</h1>", 404)
        copy = f"{self._world.web}/copies/{found[0].replace('/', '-')}"
        location = {
            "url": f"{copy}.pdf", "url_for_pdf": f"{copy}.pdf", "url_for_landing_page": copy, "license": None,
            "version": "acceptedVersion", "host_type": "repository", "is_best": True,
        }  # fmt: skip
        return as_json({"doi": found[0], "is_oa": True, "best_oa_location": location, "oa_locations": [location]})


class EuropePmc:
    """Search by DOI and full texts; every DOI of prefix 10.1234 is open."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, request: Request) -> Answer:
        path = request.path.removeprefix("/europepmc/webservices/rest")
        if path == "/search":
            return self._search(request.query)
        if path == f"/{PMCID}/fullTextXML":
            return Answer(200, article(sentences("drift")), "application/xml")
        return as_text("", 404)

    def _search(self, query: Mapping[str, str]) -> Answer:
        if query.get("format") != "json":
            return Answer(200, b"<responseWrapper/>", "application/xml")
        if int(query.get("pageSize", "25")) > 1000:
            return as_json({"errCode": 400, "errMsg": "page size"})
        found = re.fullmatch(r'DOI:"(10\.1234/[^"]+)"', query.get("query", ""))
        record = {"source": "MED", "pmcid": PMCID, "doi": found[1] if found else "", "isOpenAccess": "Y"}
        return as_json({"hitCount": int(bool(found)), "resultList": {"result": [record] if found else []}})


def article(paragraphs: list[str]) -> bytes:
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return (
        '<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="research-article" xml:lang="en"><front>'
        "<article-meta><title-group><article-title>Thermocouple <italic>drift</italic></article-title></title-group>"
        f"</article-meta></front><body><sec><title>Introduction</title>{body}</sec></body></article>"
    ).encode()


REMOTES: dict[str, Any] = {"arxiv": ArxivSite, "unpaywall": Unpaywall, "europepmc": EuropePmc}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("scholarly")(
        email=f"{canary}@research.test",
        arxiv_url=urls["arxiv"],
        unpaywall_url=urls["unpaywall"] + "/v2",
        europepmc_url=urls["europepmc"] + "/europepmc/webservices/rest",
    )


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {
        "UNPAYWALL_EMAIL": f"{key}@research.test",
        "ARXIV_BASE_URL": urls["arxiv"],
        "UNPAYWALL_BASE_URL": urls["unpaywall"],
        "EUROPEPMC_BASE_URL": urls["europepmc"],
    }


CASES = (
    Case(
        Role.READ,
        "arxiv",
        lambda urls: Target("https://arxiv.org/abs/2401.12345v2"),
        good="ok.pdf",
        content_type="application/pdf",
        path="^/pdf/",
        table="any",
    ),
)
