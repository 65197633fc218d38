"""Taking out hidden text costs nothing that can be seen, measured against what Chromium draws of 120 labelled pages.

A word counts as visible where the browser draws it; `browser.py` says when. Text in `aria-hidden`, which the rule takes
out whatever the browser does (security/FACTS.md E3), is counted apart. Style sheets and scripts of other addresses are
not loaded, so what those would hide counts as visible here too.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml.html import HtmlElement

from providers._extract.decode import decode
from providers._extract.hidden import remove_hidden
from providers._extract.tree import parse
from tests.providers.browser import Browser, Shown, open_browser

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
ALLOWED_LOSS = 0.001
ALLOWED_LOSS_OF_A_PAGE = 0.03
BACKGROUND = "<style>body{background:#fff}.dark{background:#111}.light{color:#fff}</style>"

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="the labelled pages (../shared/corpus) are not here")


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def tree_of(html: bytes) -> HtmlElement:
    root = parse(decode(html, "text/html; charset=utf-8"))
    assert root is not None
    return root


def words_of(root: HtmlElement) -> Counter[str]:
    return words(" ".join(root.xpath("//text()[not(ancestor::head or ancestor::script or ancestor::style)]")))


def lost(html: bytes, shown: Shown) -> tuple[int, int]:
    """Visible words of the tree, and how many of them are gone once the hidden parts are out."""
    root = tree_of(html)
    visible = words(shown.seen) & words_of(root)
    remove_hidden(root)
    return visible.total(), (visible - words_of(root)).total()


def kept(body: str) -> str:
    root = tree_of(f"<!doctype html><html><body><p>The log.</p>{body}<p>The end.</p></body></html>".encode())
    remove_hidden(root)
    return " ".join(root.text_content().split())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.mark.soak
@pytest.mark.system("chromium")
@needs_corpus
def test_visible_text_of_the_labelled_pages_stays_but_for_a_thousandth(browser: Browser) -> None:
    seen, gone, apart = 0, 0, 0
    worst: list[tuple[float, str]] = []
    for file in sorted((CORPUS / "pages").glob("*.html.gz")):
        html = gzip.decompress(file.read_bytes())
        name = file.name.removesuffix(".html.gz")
        shown = browser.show(f"https://page-{name}.example/", html)
        visible, missing = lost(html, shown)
        seen, gone, apart = seen + visible, gone + missing, apart + words(shown.apart).total()
        worst.append((missing / max(visible, 1), name))
    worst.sort(reverse=True)
    print(f"visible {seen}, lost {gone} ({gone / seen:.4%}), in aria-hidden {apart}, worst {worst[:10]}")

    assert seen > 250_000
    assert gone / seen <= ALLOWED_LOSS
    assert [page for page in worst if page[0] > ALLOWED_LOSS_OF_A_PAGE] == []


@pytest.mark.soak
@pytest.mark.system("chromium")
@pytest.mark.parametrize(
    ("part", "seen"),
    [
        ("<p>harbour</p>", True),
        ("<p style='opacity:.5'>harbour</p>", True),
        ("<p style='animation:none;transition:opacity 9s'>harbour</p>", True),
        ("<p style='display:none'>harbour</p>", False),
        ("<p style='opacity:0'>harbour</p>", False),
        ("<p style='position:absolute;left:-9999px'>harbour</p>", False),
        ("<p style='font-size:1px'>harbour</p>", False),
        ("<p style='height:0;overflow:hidden'>harbour</p>", False),
        ("<p style='position:absolute;clip:rect(0,0,0,0)'>harbour</p>", False),
        ("<noscript>harbour</noscript>", False),
        ("<p id=a>log</p><script>a.textContent = 'harbour'</script>", False),
        ("<p aria-hidden=true>harbour</p>", False),
    ],
)
def test_the_browser_tells_what_can_be_seen(browser: Browser, part: str, seen: bool) -> None:
    shown = browser.show("https://port.example/log", f"<!doctype html><body>{part}".encode())

    assert ("harbour" in shown.seen) is seen
    assert ("harbour" in shown.apart) is ("aria-hidden" in part)


def test_light_text_on_a_part_that_a_rule_makes_dark_stays() -> None:
    assert "harbour" in kept(f"{BACKGROUND}<div class=dark><div><p class=light>harbour</p></div></div>")


def test_a_heading_on_a_dark_part_stays_whatever_the_rule_for_all_headings_says() -> None:
    css = f"{BACKGROUND}<style>h2{{color:#111}}.dark h2{{color:#fff}}</style>"

    assert "harbour" in kept(f"{css}<div class=dark><h2>harbour</h2></div>")


def test_text_in_the_colour_of_the_part_around_it_goes() -> None:
    assert "harbour" not in kept(
        f"{BACKGROUND}<style>.t{{color:#111}}</style><div class=dark><p class=t>harbour</p></div>"
    )


def test_a_rule_for_a_class_outweighs_one_for_all_of_that_name() -> None:
    css = "<style>body{background:#fff}.ink{color:#111}p{color:#fff}</style>"

    assert "harbour" in kept(f"{css}<p class=ink>harbour</p>")
    assert "harbour" not in kept(f"{css}<p>harbour</p>")


def test_light_text_on_the_light_page_goes() -> None:
    assert "harbour" not in kept(f"{BACKGROUND}<div><p class=light>harbour</p></div>")


def test_what_a_conditional_rule_shows_unless_a_mark_is_there_stays() -> None:
    css = "<style>.a{display:none}@media (min-width:600px){.a:not(.b):not(.c){display:block}}</style>"

    assert "harbour" in kept(f"{css}<p class=a>harbour</p>")


def test_what_a_conditional_rule_hides_again_goes() -> None:
    css = "<style>.a{display:none}@media (min-width:600px){.a:not(.b){display:none}}</style>"

    assert "harbour" not in kept(f"{css}<p class=a>harbour</p>")


def test_a_page_that_fades_in_stays_however_long_its_scripts_are() -> None:
    page = f"<div style='opacity:0'><h1>harbour</h1><p>{'the tide is high ' * 20}</p></div>"

    assert "harbour" in kept(f"{page}<script>{'x();' * 2000}</script>")


def test_an_icon_that_goes_leaves_the_numbers_around_it_apart() -> None:
    assert "25 11" in kept("<p>25<i aria-hidden=true></i>11</p>")
    assert "tide" in kept("<p>ti<i aria-hidden=true></i>de</p>")
