"""JATS to Markdown, element by element."""

from __future__ import annotations

import pytest

from providers._contract import Document, Empty
from providers._extract import article_to_page

FILL = "<p>" + "The rest of the article says what was measured. " * 12 + "</p>"
FRONT = """<front><journal-meta><journal-title>Sensors J.</journal-title></journal-meta><article-meta>
<article-id pub-id-type="doi">10.1234/abc.1</article-id>
<title-group><article-title>Thermocouple <italic>drift</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Ivanova</surname><given-names>A.</given-names></name>
</contrib><contrib contrib-type="editor"><name><surname>Editor</surname></name></contrib>
<contrib><collab>The Group</collab></contrib></contrib-group>
<aff>University</aff><pub-date><day>2</day><month>3</month><year>2025</year></pub-date>
<abstract abstract-type="graphical"><p>A picture.</p></abstract><abstract><p>Short summary.</p></abstract>
<kwd-group><kwd>keyword</kwd></kwd-group></article-meta></front>"""
HEAD = (
    '<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" xml:lang="en">'
)


def page(body: str, front: str = FRONT, back: str = ""):
    text = f"{HEAD}{front}<body>{body}{FILL}</body>{back}</article>"
    return article_to_page(Document("https://doi.org/10.1234/abc.1", "https://europepmc.org/x", text.encode()))


def body_of(body: str) -> str:
    return page(body, front="").markdown.partition("The rest of the article")[0].strip()


def test_front_gives_title_authors_facts_and_abstract():
    read = page("<sec><title>Introduction</title><p>Text.</p></sec>")

    assert read.markdown.split("\n\n")[:7] == [
        "# Thermocouple *drift*", "A. Ivanova, The Group", "Sensors J., 2025, doi:10.1234/abc.1", "## Abstract",
        "Short summary.", "## Introduction", "Text.",
    ]  # fmt: skip
    assert (read.title, read.byline) == ("Thermocouple drift", "A. Ivanova, The Group")
    assert (read.published, read.language, read.signals.document) == ("2025-03-02", "en", True)
    assert "keyword" not in read.markdown
    assert "University" not in read.markdown


@pytest.mark.parametrize(
    ("jats", "markdown"),
    [
        ("<sec><label>2</label><title>Methods</title><sec><title>Wire</title><p>x</p></sec></sec>",
         "## 2 Methods\n\n### Wire\n\nx"),
        ('<p>Text <xref ref-type="bibr" rid="r1">1</xref>.</p>', "Text."),
        ('<p>Text<sup><xref ref-type="bibr">1</xref>,<xref ref-type="bibr">2</xref></sup> on.</p>', "Text on."),
        ('<p>Text [<xref ref-type="bibr">1</xref>, <xref ref-type="bibr">2</xref>] on.</p>', "Text on."),
        ('<p>See <xref ref-type="fig" rid="f1">Figure 1</xref>.</p>', "See Figure 1."),
        ('<list list-type="order"><list-item><p>one</p></list-item><list-item><p>two</p></list-item></list>',
         "1. one\n2. two"),
        ('<list list-type="simple"><list-item><p>one</p></list-item></list>', "- one"),
        ("<fig><label>Figure 1</label><caption><title>Drift.</title><p>In hours.</p></caption><graphic/></fig>",
         "**Figure 1** Drift. In hours."),
        ("<table-wrap><label>Table 1</label><caption><p>Types</p></caption><table><thead><tr><th>Type</th>"
         "<th>C</th></tr></thead><tbody><tr><td>K</td><td>1260</td></tr></tbody></table><table-wrap-foot><p>Note</p></table-wrap-foot>"
         "</table-wrap>",
         "**Table 1** Types\n\n| Type | C |\n|---|---|\n| K | 1260 |\n\nNote"),
        ("<code>a &lt; b\n  c</code>", "```\na < b\n  c\n```"),
        ("<p>So <inline-formula><alternatives><tex-math>\\documentclass{x}\\begin{document}$$a^2$$\\end{document}"
         "</tex-math><mml:math><mml:mi>a</mml:mi></mml:math></alternatives></inline-formula> it is.</p>",
         "So $a^2$ it is."),
        ('<p>At <ext-link xlink:href="https://example.org/d">the data</ext-link>.</p>',
         "At [the data](https://example.org/d)."),
        ('<p>At <ext-link xlink:href="javascript:x">the data</ext-link>.</p>', "At the data."),
        ("<disp-quote><p>Said.</p></disp-quote>", "> Said."),
        ("<p>One<fn><p>aside</p></fn> two.</p>", "One two."),
        ("<p>Written &lt;b&gt;so&lt;/b&gt;.</p>", "Written \\<b>so\\</b>."),
    ],
)  # fmt: skip
def test_each_element_becomes_its_markdown(jats, markdown):
    assert body_of(jats) == markdown


def test_references_and_letters_of_reviewers_are_left_out():
    back = "<back><ref-list><ref>Someone.</ref></ref-list></back><sub-article><body><p>Letter</p></body></sub-article>"

    text = page("<p>x</p>", back=back).markdown

    assert "Someone" not in text
    assert "Letter" not in text


def test_article_in_a_set_is_found():
    text = f"<pmc-articleset>{HEAD}<body>{FILL}</body></article></pmc-articleset>"

    assert "The rest" in article_to_page(Document("https://doi.org/10.1/x", "", text.encode())).markdown


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}{FRONT}</article>",
        f"{HEAD}{FRONT}<body><p>Short.</p></body></article>",
        "<other/>",
        "no XML",
        f'<!DOCTYPE a [<!ENTITY e "{"x" * 600}">]>{HEAD}<body><p>&e;</p></body></article>',
    ],
)
def test_article_without_its_text_is_empty(text):
    with pytest.raises(Empty):
        article_to_page(Document("https://doi.org/10.1/x", "", text.encode()))
