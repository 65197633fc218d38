"""Which addresses are papers, and which paper they are."""

from __future__ import annotations

import pytest

from providers._papers import Arxiv, Doi, paper_at


@pytest.mark.parametrize(
    ("url", "paper"),
    [
        ("https://arxiv.org/abs/2401.12345", Arxiv("2401.12345")),
        ("https://arxiv.org/abs/2401.12345v2?context=cs", Arxiv("2401.12345", "v2")),
        ("http://arxiv.org/pdf/2401.12345v2.pdf", Arxiv("2401.12345", "v2")),
        ("https://arxiv.org/pdf/hep-th/9901001", Arxiv("hep-th/9901001")),
        ("https://arxiv.org/html/2306.06251v2/", Arxiv("2306.06251", "v2")),
        ("https://export.arxiv.org/abs/math.GT/0309136v1", Arxiv("math/0309136", "v1")),
        ("https://www.arxiv.org/abs/0706.0001", Arxiv("0706.0001")),
        ("https://arxiv.org/abs/arXiv:1501.00001#page=2", Arxiv("1501.00001")),
        ("https://arxiv.org/ps/1412.7878v2", Arxiv("1412.7878", "v2")),
        ("https://arxiv.org/src/1412.7878", Arxiv("1412.7878")),
        ("https://arxiv.org/e-print/1412.7878", Arxiv("1412.7878")),
        ("https://arxiv.org/format/1412.7878", Arxiv("1412.7878")),
        ("https://arxiv.org/tb/1412.7878", Arxiv("1412.7878")),
        ("https://ArXiv.org./abs/2401.12345", Arxiv("2401.12345")),
        ("https://doi.org/10.48550/arXiv.2202.01037", Arxiv("2202.01037")),
        ("https://doi.org/10.48550/ARXIV.hep-th/9901001", Arxiv("hep-th/9901001")),
        ("https://doi.org/10.48550/arxiv.2202.01037v3", Arxiv("2202.01037", "v3")),
        ("https://doi.org/10.1038/nature12373", Doi("10.1038/nature12373")),
        ("https://www.doi.org/doi:10.1038/nature12373?x=1#y", Doi("10.1038/nature12373")),
        (
            "http://dx.doi.org/10.1002/(SICI)1097-4571(199806)49:8%3C693::AID-ASI4%3E3.0.CO;2-O",
            Doi("10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O"),
        ),
        ("https://doi.org/10.1016/S0140-6736(20)30183-5", Doi("10.1016/S0140-6736(20)30183-5")),
        ("https://doi.org/10.1016/a(1)", Doi("10.1016/a(1)")),
        ("https://doi.org/10.1038/nature12373).", Doi("10.1038/nature12373")),
        ("https://doi.org/10.1038/nature12373%20and%20more", Doi("10.1038/nature12373")),
        ("https://doi.org/10.1000.10/123", Doi("10.1000.10/123")),
    ],
)
def test_each_form_of_a_papers_address_gives_the_paper(url, paper):
    assert paper_at(url) == paper


@pytest.mark.parametrize(
    "url",
    [
        "https://arxiv.org/list/cs.CL/recent",
        "https://arxiv.org/list/cs.CL/new",
        "https://arxiv.org/a/smith_j_1",
        "https://arxiv.org/abs/hep-th",
        "https://arxiv.org/abs/2413.00001",
        "https://arxiv.org/abs/2401.12345v0",
        "https://arxiv.org/abs/2401.12345/more",
        "https://info.arxiv.org/help",
        "https://notarxiv.org/abs/2401.12345",
        "https://user:pw@arxiv.org/abs/2401.12345",
        "https://arxiv.org:8443/abs/2401.12345",
        "https://arxiv.org:99999/abs/2401.12345",
        "ftp://arxiv.org/abs/2401.12345",
        "https://doi.org/",
        "https://www.doi.org/the-identifier/what-is-a-doi/",
        "https://doi.org/10/abcd",
        "https://doi.org/10.1234",
        "https://doi.org/10.1234/.",
        "https://doi.org/10.48550/arXiv.nothing",
        "https://doi.org.evil.example/10.1/x",
        "https://example.com/?u=https://doi.org/10.1038/x",
        "https://www.nature.com/articles/nature12373",
    ],
)
def test_other_addresses_are_no_papers(url):
    assert paper_at(url) is None


def test_name_of_an_arxiv_paper_ends_with_its_version():
    assert Arxiv("2401.12345", "v2").name == "2401.12345v2"
