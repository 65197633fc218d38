"""Which copies the scholarly type asks for, in which order, and whom it never asks."""

from __future__ import annotations

import httpx
import pytest
import respx

from providers._contract import Blocked, Empty, RateLimited, Target, Unavailable, Unsupported
from providers._registry import lookup
from providers._workers import inline_workers
from providers.scholarly import Copy, parse_copies, parse_pmcid
from tests.fakenet import payload
from tests.fakenet.scholarly import article, sentences

DOI = "10.1234/abc.1"
PAPER = Target(f"https://doi.org/{DOI}")
UNPAYWALL = f"https://api.unpaywall.org/v2/{DOI}"
EUROPEPMC = "https://www.ebi.ac.uk/europepmc/webservices/rest"
PDF = httpx.Response(200, content=payload("scholarly", "ok.pdf"), headers={"content-type": "application/pdf"})
HTML = httpx.Response(200, html="<h1>Please sign in</h1>")
XML = httpx.Response(200, content=article(sentences("drift")))
MISSING = httpx.Response(404, html="<h1>Not found</h1>")


@pytest.fixture
def scholarly():
    return lookup("scholarly")(email="me@research.test")


@pytest.fixture
def router():
    with respx.MockRouter(assert_all_called=False) as router:
        yield router


@pytest.fixture
async def client(router):
    with inline_workers():
        async with httpx.AsyncClient(transport=httpx.MockTransport(router.async_handler)) as client:
            yield client


def location(url: str, host: str | None = "repository", version: str = "acceptedVersion", **more: object) -> dict:
    return {"url": url, "url_for_pdf": url, "host_type": host, "version": version} | more


def known(*locations: dict) -> httpx.Response:
    return httpx.Response(200, json={"doi": DOI, "oa_locations": list(locations) or None})


def record(**more: object) -> dict:
    return {"source": "MED", "pmcid": "PMC10680139", "doi": DOI.upper(), "isOpenAccess": "Y"} | more


def results(*records: dict) -> httpx.Response:
    return httpx.Response(200, json={"hitCount": len(records), "resultList": {"result": list(records)}})


def asked(router: respx.MockRouter) -> list[str]:
    return [str(call.request.url.copy_with(query=None)) for call in router.calls]


# --- arXiv ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://arxiv.org/abs/2401.12345v2", "2401.12345v2"),
        ("https://doi.org/10.48550/ARXIV.2401.12345", "2401.12345"),
        ("https://arxiv.org/abs/math.GT/0309136v1", "math/0309136v1"),
    ],
)
async def test_paper_of_arxiv_is_its_pdf_and_nobody_else_is_asked(scholarly, router, client, url, name):
    router.get(f"https://arxiv.org/pdf/{name}").mock(return_value=PDF)

    page = await scholarly.read(Target(url), client)

    assert asked(router) == [f"https://arxiv.org/pdf/{name}"]
    assert page.markdown.startswith(f"Open-access copy of arXiv:{name}: <https://arxiv.org/abs/{name}>\n\n")
    assert "a recorded paper" in page.markdown
    assert (page.url, page.final_url) == (url, f"https://arxiv.org/pdf/{name}")
    assert (page.signals.document, page.evidence) == (True, None)


@pytest.mark.parametrize("answer", [MISSING, HTML, httpx.Response(302, headers={"location": "https://x.example/"})])
async def test_paper_without_a_pdf_is_its_html(scholarly, router, client, answer):
    text = "".join(f"<p>{sentence}</p>" for sentence in sentences("a paper"))
    router.get("https://arxiv.org/pdf/2401.12345").mock(return_value=answer)
    router.get("https://arxiv.org/html/2401.12345").respond(html=f"<html><body><article>{text}</article></body></html>")

    page = await scholarly.read(Target("https://arxiv.org/abs/2401.12345"), client)

    assert "where the numbers come from" in page.markdown


@pytest.mark.parametrize(
    ("pdf", "html", "error"),
    [
        (MISSING, MISSING, Empty),
        (MISSING, HTML, Empty),
        (httpx.Response(403, text="Access denied"), MISSING, Blocked),
        (httpx.Response(429, text="Rate exceeded."), MISSING, RateLimited),
        (httpx.Response(500), MISSING, Unavailable),
    ],
)
async def test_paper_that_arxiv_does_not_give_has_no_evidence(scholarly, router, client, pdf, html, error):
    router.get("https://arxiv.org/pdf/2401.12345").mock(return_value=pdf)
    router.get("https://arxiv.org/html/2401.12345").mock(return_value=html)

    with pytest.raises(error) as caught:
        await scholarly.read(Target("https://arxiv.org/abs/2401.12345"), client)

    assert caught.value.evidence is None


# --- DOIs -------------------------------------------------------------------------------------------------------------


async def test_repository_goes_before_the_publisher_and_no_landing_page_is_asked(scholarly, router, client):
    publisher = location("https://publisher.example/1.pdf", "publisher", "publishedVersion")
    repository = location("https://repo.example.edu/1.pdf", version="submittedVersion")
    route = router.get(UNPAYWALL).mock(return_value=known(publisher, repository))
    router.get("https://repo.example.edu/1.pdf").mock(return_value=PDF)

    page = await scholarly.read(PAPER, client)

    assert dict(route.calls.last.request.url.params) == {"email": "me@research.test"}
    assert asked(router) == [UNPAYWALL, "https://repo.example.edu/1.pdf"]
    assert page.markdown.startswith(
        "Open-access copy of doi:10.1234/abc.1, submittedVersion: <https://repo.example.edu/1.pdf>; it may differ"
    )


async def test_all_copies_are_tried_in_their_order_and_then_none_is_said(scholarly, router, client):
    copies = [location(f"https://repo{number}.example.edu/1.pdf") for number in range(5)]
    publisher = location("https://publisher.example/1.pdf", "publisher")
    router.get(UNPAYWALL).mock(return_value=known(publisher, *copies))
    router.get(url__regex=r"https://repo\d").mock(return_value=HTML)
    router.get(f"{EUROPEPMC}/search").mock(return_value=results(record()))
    router.get(f"{EUROPEPMC}/PMC10680139/fullTextXML").mock(return_value=MISSING)
    router.get("https://publisher.example/1.pdf").mock(return_value=httpx.Response(403))

    with pytest.raises(Empty, match="no open-access copy") as caught:
        await scholarly.read(PAPER, client)

    assert caught.value.evidence is None
    assert asked(router) == [
        UNPAYWALL,
        *(f"https://repo{number}.example.edu/1.pdf" for number in range(3)),
        f"{EUROPEPMC}/search",
        f"{EUROPEPMC}/PMC10680139/fullTextXML",
        "https://publisher.example/1.pdf",
    ]


@pytest.mark.parametrize(
    "answer",
    [known(), MISSING, httpx.Response(422, json={"error": True}), httpx.Response(429), httpx.Response(500), HTML],
)
async def test_without_locations_europe_pmc_is_asked(scholarly, router, client, answer):
    router.get(UNPAYWALL).mock(return_value=answer)
    search = router.get(f"{EUROPEPMC}/search").mock(return_value=results(record()))
    router.get(f"{EUROPEPMC}/PMC10680139/fullTextXML").mock(return_value=XML)

    page = await scholarly.read(PAPER, client)

    assert search.calls.last.request.url.params["query"] == f'DOI:"{DOI}"'
    assert search.calls.last.request.url.params["format"] == "json"
    assert "# Thermocouple *drift*" in page.markdown
    assert (page.title, page.language) == ("Thermocouple drift", "en")


async def test_without_an_address_for_unpaywall_it_is_not_asked(router, client):
    router.get(f"{EUROPEPMC}/search").mock(return_value=results())

    with pytest.raises(Empty):
        await lookup("scholarly")().read(PAPER, client)

    assert asked(router) == [f"{EUROPEPMC}/search"]


async def test_id_in_a_location_saves_the_search(scholarly, router, client):
    pmc = location("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC777/pdf/x.pdf")
    router.get(UNPAYWALL).mock(return_value=known(pmc))
    router.get(pmc["url"]).mock(return_value=HTML)
    full = router.get(f"{EUROPEPMC}/PMC777/fullTextXML").mock(return_value=XML)

    await scholarly.read(PAPER, client)

    assert full.called
    assert f"{EUROPEPMC}/search" not in asked(router)


async def test_copy_at_arxiv_is_asked_for_without_a_suffix(scholarly, router, client):
    router.get(UNPAYWALL).mock(return_value=known(location("http://arxiv.org/pdf/2401.12345v1.pdf")))
    router.get("https://arxiv.org/pdf/2401.12345v1").mock(return_value=PDF)

    await scholarly.read(PAPER, client)

    assert asked(router) == [UNPAYWALL, "https://arxiv.org/pdf/2401.12345v1"]


async def test_signs_of_a_doi_are_encoded_in_the_path(scholarly, router, client):
    router.get(url__regex=".*").mock(return_value=MISSING)

    with pytest.raises(Empty):
        await scholarly.read(Target("https://doi.org/10.1002/(SICI)1%3C693::AID%3E3.0.CO;2-O"), client)

    sent = router.calls[0].request.url.raw_path
    assert sent.startswith(b"/v2/10.1002/%28sici%291%3C693%3A%3Aaid%3E3.0.co%3B2-o?")


async def test_only_papers_are_accepted(scholarly, client):
    other = Target("https://www.nature.com/articles/nature12373")

    assert scholarly.accepts(PAPER)
    assert not scholarly.accepts(other)
    with pytest.raises(Unsupported):
        await scholarly.read(other, client)


# --- the answers ------------------------------------------------------------------------------------------------------


def test_copies_are_sorted_by_version_then_host_then_place():
    urls = [
        "https://www.ncbi.nlm.nih.gov/a.pdf", "https://repo.example.edu/a.pdf", "https://arxiv.org/pdf/2401.12345",
        "https://europepmc.org/a.pdf",
    ]  # fmt: skip
    locations = [location(url) for url in urls]
    locations.append(location("https://late.example.edu/a.pdf", version="publishedVersion"))

    assert [copy.url for copy in parse_copies({"oa_locations": locations})] == [
        "https://late.example.edu/a.pdf", *reversed(urls),
    ]  # fmt: skip


def test_landing_pages_dois_and_doubles_are_no_copies():
    locations = [
        location("https://doi.org/10.1234/abc.1"),
        location("https://dx.doi.org/10.1234/abc.1"),
        location("ftp://repo.example.edu/1.pdf"),
        location("https://repo.example.edu/1", url_for_landing_page="https://repo.example.edu/1"),
        {"url": "https://repo.example.edu/2", "url_for_pdf": None, "host_type": "repository"},
        location("https://repo.example.edu/3.pdf", None, "odd"),
        location("https://repo.example.edu/3.pdf"),
    ]

    assert parse_copies({"oa_locations": locations}) == (Copy("https://repo.example.edu/3.pdf", "", False),)


@pytest.mark.parametrize(
    "reply",
    [
        {"errCode": 404, "errMsg": "x"},
        {"resultList": {"result": []}},
        {"resultList": {"result": [record(isOpenAccess="N")]}},
        {"resultList": {"result": [record(doi="10.1234/other")]}},
        {"resultList": {"result": [{key: value for key, value in record().items() if key != "pmcid"}]}},
    ],
)
def test_paper_that_is_not_open_in_europe_pmc_is_empty(reply):
    with pytest.raises(Empty):
        parse_pmcid(reply, DOI)


def test_article_goes_before_its_preprint():
    records = [record(source="PPR", pmcid="PMC1"), record(pmcid="PMC2")]

    assert parse_pmcid({"resultList": {"result": records}}, DOI) == "PMC2"
