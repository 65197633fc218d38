"""Threads: every post with its author is read, and nothing that the forum's software wrote around them."""

from __future__ import annotations

import pytest

from providers._contract import Document
from providers._extract.html import html_to_page

LONG = (
    "The second generation of the frame is welded instead of brazed, which makes it stiffer around the bottom bracket "
    "but also harder to repair after a crash, and the paint of the early ones flakes at the seat stays within a year, "
    "so look there first and ask for pictures before you drive anywhere to see one."
)
ANSWER = "Thank you, the pictures show exactly that, and I walked away from it."


def read(body: str, head: str = "", path: str = "forum/threads/frame.12/") -> str:
    url = f"https://site.example/{path}"
    html = f"<html><head><title>Frame</title>{head}</head><body>{body}</body></html>"
    return html_to_page(Document(url=url, final_url=url, body=html.encode())).markdown


def post(author: str, text: str, extra: str = "") -> str:
    return (
        f"<article class='message'><div class='message-user'><h4 class='username'>{author}</h4>"
        f"<h5 class='message-userTitle'>Senior rider</h5></div>"
        f"<div class='message-body'><p>{text}</p></div>{extra}</article>"
    )


def thread(*posts: str, after: str = "") -> str:
    return f"<h1>Which frame?</h1><div class='posts'>{''.join(posts)}</div>{after}"


def test_authors_and_texts_stay_and_ranks_of_members_go() -> None:
    markdown = read(thread(post("ada", LONG), post("bo", ANSWER)))

    assert [name in markdown for name in ("ada", "bo", LONG, ANSWER)] == [True] * 4
    assert "Senior rider" not in markdown


def test_what_stands_between_and_after_the_posts_goes() -> None:
    advert = "<div class='unit'><p>Frames at half price, only this week, in our shop around the corner.</p></div>"

    markdown = read(thread(post("ada", LONG), advert, post("bo", ANSWER), after="<p>More about frames: ask here.</p>"))

    assert "half price" not in markdown
    assert "ask here" not in markdown


def test_the_author_stays_where_only_the_text_is_marked_as_a_post() -> None:
    posts = (
        f"<li><b>{name}</b><div class='comment-text'><p>{text}</p></div></li>"
        for name, text in (("ada", LONG), ("bo", ANSWER), ("cy", "I would have bought it, to be honest with you."))
    )

    markdown = read(thread(f"<ul>{''.join(posts)}</ul>"))

    assert [f"**{name}**" in markdown for name in ("ada", "bo", "cy")] == [True] * 3


def test_a_question_in_front_of_its_answers_stays() -> None:
    question = f"<div class='stem'><p>{LONG}</p></div>"
    answers = "".join(f"<div class='answer' id='answer-{number}'><p>{ANSWER} {number}</p></div>" for number in (1, 2))

    markdown = read(f"<h1>Which?</h1>{question}<div>{answers}</div>", path="questions/12/which")

    assert LONG in markdown
    assert f"{ANSWER} 2" in markdown


def test_a_whole_post_quoted_again_is_read_once_and_a_short_quotation_stays() -> None:
    long_quote, short_quote = (
        f"<blockquote>ada said: <p>{LONG}</p></blockquote>",
        "<blockquote>ask for pictures</blockquote>",
    )

    markdown = read(thread(post("ada", LONG), post("bo", ANSWER, long_quote), post("cy", "Sure.", short_quote)))

    assert markdown.count(LONG) == 1
    assert "> ada said:" in markdown
    assert "> ask for pictures" in markdown


def test_notices_of_the_software_go_and_posts_that_begin_like_them_stay() -> None:
    posts = [
        post("ada", LONG, "<div>Last edited: Jul 9, 2022</div>"),
        post("bo", "Edited the bolts out of the picture and it works"),
        post("cy", "Log in to the seller's page and look there, it is all written down"),
    ]

    markdown = read(thread(*posts, after="<div>You must log in or register to reply here.</div>"))

    assert "Last edited" not in markdown
    assert "You must log in" not in markdown
    assert "Edited the bolts out" in markdown
    assert "Log in to the seller" in markdown


def test_signatures_go() -> None:
    signature = (
        "<div class='message-signature'>Rides: two frames of the first series and one of the second series</div>"
    )

    markdown = read(thread(post("ada", LONG, signature), post("bo", ANSWER, signature)))

    assert "Rides:" not in markdown


def test_answers_stand_below_what_they_answer() -> None:
    def comment(author: str, text: str, answers: str = "") -> str:
        inner = f"<ul>{answers}</ul>" if answers else ""
        return f"<li class='comment'><a class='author' href='/{author}'>{author}</a><p>{text}</p>{inner}</li>"

    tree = comment("ada", LONG, comment("bo", ANSWER, comment("cy", "Glad to hear it."))) + comment(
        "di", "Thank you all."
    )

    markdown = read(f"<h1>Which frame?</h1><ul>{tree}</ul>")

    assert f"- **[ada](https://site.example/ada)**\n\n  {LONG}\n" in markdown
    assert f"\n  - **[bo](https://site.example/bo)**\n\n    {ANSWER}\n" in markdown
    assert "\n    - **[cy](https://site.example/cy)**\n\n      Glad to hear it.\n" in markdown
    assert "\n- **[di](https://site.example/di)**\n\n  Thank you all." in markdown


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("data-depth='0'", "data-depth='1'"),
        ("class='comment depth-1'", "class='comment depth-2'"),
        ("style='margin-left: 0px'", "style='margin-left: 20px'"),
    ],
)
def test_answers_that_are_only_indented_stand_below_what_they_answer(first: str, second: str) -> None:
    posts = [
        f"<div id='comment-{number}' {mark}><b>{author}</b><p>{text}</p></div>"
        for number, (mark, author, text) in enumerate(
            [(first, "ada", LONG), (second, "bo", ANSWER), (first, "cy", "I have one.")]
        )
    ]

    markdown = read(thread(*posts))

    assert f"- **ada**\n\n  {LONG}\n  - **bo**\n\n    {ANSWER}\n\n- **cy**\n\n  I have one." in markdown


def test_posts_in_a_row_are_parted_by_lines() -> None:
    markdown = read(thread(post("ada", LONG), post("bo", ANSWER), post("cy", "Sure.")))

    assert f"#### ada\n\n{LONG}\n\n---\n\n#### bo\n\n{ANSWER}\n\n---\n\n#### cy\n\nSure." in markdown


def test_of_a_line_of_figures_the_author_and_the_date_stay() -> None:
    line = "<p class='tagline'><a class='author' href='/u/{0}'>{0}</a> <b>12 points</b> <time>2 h ago</time></p>"
    posts = [
        f"<div class='comment'>{line.format(name)}<p>{text}</p></div>" for name, text in (("ada", LONG), ("bo", ANSWER))
    ]

    markdown = read(thread(*posts))

    assert f"**[ada](https://site.example/u/ada)** 2 h ago\n\n{LONG}" in markdown
    assert "12 points" not in markdown
