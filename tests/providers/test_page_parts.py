"""Which parts of a page are its content: copies, overlays, namesakes of controls, and what stands below a grid."""

from __future__ import annotations

import pytest

from providers._contract import Document
from providers._extract.html import html_to_page

PROSE = (
    "The loom stands in a barn at the edge of the village, and it takes two people a whole winter to dress it again "
    "once the warp of the year before has been cut off and rolled up."
)
OTHER = (
    "Dyes come from what grows around it: weld for yellow, woad for blue, and madder, which has to stay in the ground "
    "for three years before its roots are worth digging."
)


def read(body: str, path: str = "page") -> str:
    url = f"https://site.example/{path}"
    html = f"<html><head><title>Cloth</title></head><body>{body}</body></html>"
    return html_to_page(Document(url=url, final_url=url, body=html.encode())).markdown


def cards(count: int) -> str:
    items = (
        f"<div class='tile'><h3><a href='/s/{number}'>Scarf number {number} of wool</a></h3><p>${number}5.00</p></div>"
        for number in range(1, count + 1)
    )
    return "".join(items)


def test_the_same_cards_for_another_screen_are_read_once() -> None:
    markdown = read(f"<main><h1>Scarves</h1><div>{cards(8)}</div><div>{cards(8)}</div></main>", "collections/scarves")

    assert [markdown.count(f"Scarf number {number} of wool") for number in range(1, 9)] == [1] * 8


def test_a_refrain_is_read_each_time() -> None:
    refrain = "<p>Row the boat across the water, row it home again</p>"

    markdown = read(f"<main><h1>Song</h1><p>{PROSE}</p>{refrain}<p>{OTHER}</p>{refrain}</main>")

    assert markdown.count("Row the boat") == 2


def test_a_heading_over_nothing_but_a_copy_goes_with_it() -> None:
    body = f"<h1>Cloth</h1><h2>Weaving</h2><p>{PROSE}</p><h2>In short</h2><p>{PROSE}</p><h2>Dyeing</h2><p>{OTHER}</p>"

    markdown = read(f"<main>{body}</main>")

    assert markdown.count(PROSE) == 1
    assert "In short" not in markdown
    assert "## Dyeing" in markdown


def test_head_cells_that_repeat_a_part_of_the_page_keep_their_text() -> None:
    name = "<div><div>Scarf number one</div><div>of the finest wool and silk</div></div>"
    table = f"<table><tr><th>{name}</th><th>Other</th></tr><tr><td>12.00</td><td>13.00</td></tr></table>"

    markdown = read(f"<main><h1>Scarves</h1><p>{PROSE}</p>{name}{table}</main>")

    assert "| Scarf number one of the finest wool and silk | Other |" in markdown


@pytest.mark.parametrize("mark", ["class='fixed inset-0 z-50'", "aria-modal='true'", "class='modal'", "id='popup'"])
def test_what_lies_over_the_page_goes(mark: str) -> None:
    text = (
        "We write to you as soon as this article, which is sold out, can be had again in your size and in your colour."
    )

    markdown = read(f"<main><h1>Cloth</h1><p>{PROSE}</p><div {mark}><p>{text}</p></div><p>{OTHER} {PROSE}</p></main>")

    assert PROSE in markdown
    assert "We write to you" not in markdown


@pytest.mark.parametrize("name", ["sql-for-update-share", "social", "pager"])
def test_a_chapter_that_is_named_like_a_control_stays(name: str) -> None:
    chapter = f"<section id='{name}'><h2>Shared locks</h2><p>{PROSE}</p><p>{OTHER}</p><p>{PROSE[:80]} so</p></section>"

    markdown = read(f"<main><h1>Cloth</h1><p>{OTHER} First.</p>{chapter}<p>{PROSE} Third. {OTHER}</p></main>")

    assert "## Shared locks" in markdown


@pytest.mark.parametrize("title", ["Related work", "More on fields", "Similar constructions"])
def test_a_chapter_titled_like_a_list_of_links_stays_and_such_a_list_goes(title: str) -> None:
    links = "<ul>" + "".join(f"<li><a href='/{n}'>A longer title of page {n}</a></li>" for n in range(4)) + "</ul>"
    chapter, aside = f"<section><h2>{title}</h2><p>{OTHER}</p></section>", f"<section><h2>{title}</h2>{links}</section>"

    assert OTHER in read(f"<main><h1>Cloth</h1><p>{PROSE} {PROSE}</p>{chapter}<p>{PROSE} Last. {PROSE}</p></main>")
    assert "page 3" not in read(f"<main><h1>Cloth</h1><p>{PROSE} {PROSE}</p>{aside}<p>{PROSE} Last. {PROSE}</p></main>")


def test_a_linked_teaser_with_a_bullet_is_no_menu() -> None:
    teaser = (
        "<p><a href='/a'>March 3, 2026 • A study finds that weavers of the coast used nettles long before flax</a></p>"
    )

    markdown = read(
        f"<main><h1>News</h1><p>{PROSE}</p>{teaser}<p><a>Home</a> | <a>Shop</a> | <a>Us</a></p></main>", "tags/x"
    )

    assert "nettles" in markdown


def test_a_guide_below_the_grid_stays_and_other_grids_go() -> None:
    guide = f"<div class='row'><h2>Which scarf?</h2><p>{PROSE} {OTHER}</p><p>{OTHER} {PROSE} And so on.</p></div>"
    seen = (
        "<div class='row'><h2>Seen by others</h2><p><a href='/1'>Gloves</a> $3</p><p><a href='/2'>Hats</a> $4</p></div>"
    )

    markdown = read(f"<main><h1>Scarves</h1>{cards(60)}</main>{seen}{guide}", "collections/scarves")

    assert "## Which scarf?" in markdown
    assert "Gloves" not in markdown
