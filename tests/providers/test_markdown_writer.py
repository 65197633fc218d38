"""The Markdown writer: what a page shows comes out as GFM that means the same."""

from __future__ import annotations

import pytest

from providers._extract.markdown import to_markdown
from providers._extract.prepare import prepare
from providers._extract.tree import parse


def write(html: str) -> str:
    root = parse(f"<html><body>{html}</body></html>")
    assert root is not None
    prepare(root, html)
    body = root.find("body")
    assert body is not None
    return to_markdown(body, "https://site.example/guide/page.html")


CASES = {
    "headings in order, without emphasis, empty ones gone": (
        "<h1>A</h1><h2>B <b>c</b></h2><h3></h3><h3><a href='/x'>L</a></h3>",
        "# A\n\n## B c\n\n### [L](https://site.example/x)",
    ),
    "signs that would close a heading": ("<h2>Chapter #</h2><h2>C#</h2>", "## Chapter \\#\n\n## C#"),
    "paragraphs and line breaks": ("<p>a<br>b</p>c<div>d</div>e", "a  \nb\n\nc\n\nd\n\ne"),
    "table with a head": (
        "<table><thead><tr><th>Name</th><th>A|B</th></tr></thead><tr><td>x</td><td>y</td></tr></table>",
        "| Name | A\\|B |\n|---|---|\n| x | y |",
    ),
    "table without a head": (
        "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ),
    "table with spans and a caption": (
        "<table><caption>Cap</caption><tr><th>a</th><th colspan=2>b</th></tr>"
        "<tr><td rowspan=2>1</td><td>2</td><td>3</td></tr><tr><td>4</td><td>5</td></tr></table>",
        "Cap\n\n| a | b |  |\n|---|---|---|\n| 1 | 2 | 3 |\n|  | 4 | 5 |",
    ),
    "list and code in cells": (
        "<table><tr><th>h</th><th>i</th></tr><tr><td><ul><li>one<li>two</ul></td><td><code>x|y</code></td></tr></table>",
        "| h | i |\n|---|---|\n| one; two | `x\\|y` |",
    ),
    "an escaped backslash in front of a pipe": (
        "<table><tr><th>a\\|b</th><th>c</th></tr><tr><td>1</td><td>2</td></tr></table>",
        "| a\\\\\\|b | c |\n|---|---|\n| 1 | 2 |",
    ),
    "fenced code with language, blank lines and indentation": (
        "<pre><code class='language-python'>def f():\n\n    return 1\n</code></pre>",
        "```python\ndef f():\n\n    return 1\n```",
    ),
    "a fence in a fence": ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
    "inline code with ticks": ("<p><code>a`b</code> <code>`</code></p>", "``a`b`` `` ` ``"),
    "nested lists": (
        "<ul><li>a<ul><li>b<ol><li>c<li>d</ol></ul><li>e</ul>",
        "- a\n  - b\n    1. c\n    2. d\n- e",
    ),
    "numbers that go on": (
        "<ol start=4><li><p>one</p><p>two</p><li value=9>x</ol>",
        "4. one\n\n   two\n9. x",
    ),
    "an inner list that could not interrupt a paragraph": (
        "<ul><li>text<ol start=4><li>four</ol></ul>",
        "- text\n\n  4. four",
    ),
    "code in a list": ("<ul><li>a<pre>b\n  c</pre>d</ul>", "- a\n\n  ```\n  b\n    c\n  ```\n\n  d"),
    "text between entries": ("<ul>first<li>x</li>last</ul>", "- first\n- x\n- last"),
    "task boxes and brackets that are none": (
        "<ul><li><input type=checkbox checked> done<li><input type=checkbox> open<li>[x] text</ul>",
        "- [x] done\n- [ ] open\n- \\[x] text",
    ),
    "definition list": (
        "<dl><dt>Term</dt><dd>one</dd><dd><p>two</p><p>more</p></dd><div><dt>T2</dt><dd>x</dd></div></dl>",
        "**Term**\n: one\n: two\n\n  more\n\n**T2**\n: x",
    ),
    "nested quotes": ("<blockquote><p>a</p><blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"),
    "absolute links": (
        "<p><a href='other.html'>o</a> <a href='#here'>h</a> <a href='?p=2'>q</a> <a href='//cdn.example/x'>c</a></p>",
        "[o](https://site.example/guide/other.html) [h](https://site.example/guide/page.html#here) "
        "[q](https://site.example/guide/page.html?p=2) [c](https://cdn.example/x)",
    ),
    "links that lead nowhere": ("<p><a href='javascript:x()'>j</a> <a>k</a></p>", "j k"),
    "brackets in links": (
        "<p><a href='/a_(b)?q=c d'>y]z</a></p>",
        "[y\\]z](https://site.example/a_%28b%29?q=c%20d)",
    ),
    "alt texts": (
        "<p><img src='a b.png' alt='An [image]'> <img src='deco.png' alt=''></p>",
        "![An \\[image\\]](https://site.example/guide/a%20b.png)",
    ),
    "a link around a card": (
        "<a href='/x'><div><h3>Card</h3><p>text</p></div></a>",
        "### [Card](https://site.example/x)\n\ntext",
    ),
    "one copy of a formula": (
        "<p>so <span class='katex'><span class='katex-mathml'><math><semantics><mi>x</mi>"
        "<annotation encoding='application/x-tex'>x^2</annotation></semantics></math></span>"
        "<span class='katex-html'>x2</span></span> holds</p>",
        "so $x^2$ holds",
    ),
    "raised letters": ("<p>x<sup>2</sup> the 1<sup>st</sup> H<sub>2</sub>O</p>", "x^2 the 1st H2O"),
    "emphasis around words, not spaces": ("<p>a<b> b </b>c <i>d</i>, <s>e</s></p>", "a **b** c *d*, ~~e~~"),
    "equal marks that meet": ("<p><b>a</b><b>b</b>c</p>", "**ab**c"),
    "other marks that meet": ("<p><b>a <i>b</i></b><i>c</i></p>", "**a *b***c"),
    "marks between a sign and a letter": (
        "<p><b>word:</b>next <i>end.</i>so a<b>„b“</b></p>",
        "**word**:next *end*.so a„**b“**",
    ),
    "a link in marks before a letter": ("<p><b><a href='/x'>l</a></b>s</p>", "[l](https://site.example/x)s"),
}


@pytest.mark.parametrize(("html", "markdown"), CASES.values(), ids=CASES)
def test_markup_is_written_as(html: str, markdown: str) -> None:
    assert write(html) == markdown


LITERALS = {
    "# no heading": "\\# no heading",
    "#tag": "#tag",
    "1. no list": "1\\. no list",
    "5) no list": "5\\) no list",
    "1.5 metres": "1.5 metres",
    "- no entry": "\\- no entry",
    "-1 degrees": "-1 degrees",
    "&gt; no quote": "\\> no quote",
    "---": "\\---",
    "~~~ no fence": "\\~\\~\\~ no fence",
    "*a* _b_ 2 * 3 snake_case": "\\*a\\* \\_b\\_ 2 * 3 snake_case",
    "~~a~~": "\\~\\~a\\~\\~",
    "`a`": "\\`a\\`",
    "[a](b) ![c](d) [e]: f [g]": "[a\\](b) !\\[c\\](d) [e\\]: f [g]",
    "&lt;b&gt; a &lt; b &amp;amp; c": "\\<b> a < b \\&amp; c",
    "a\\*b C:\\dir end\\": "a\\\\\\*b C:\\dir end\\\\",
    "http://site.example/_a_?b=*c*": "http://site.example/_a_?b=*c*",
    "http://site.example/?a=1&amp;copy;2": "http://site.example/?a=1\\&copy;2",
    "one\n# two": "one # two",
    "a<br># b<br>- c<br>=<br>--<br>| --- |": "a  \n\\# b  \n\\- c  \n\\=  \n\\--  \n\\| --- |",
}


@pytest.mark.parametrize(("text", "markdown"), LITERALS.items(), ids=LITERALS)
def test_text_that_looks_like_markup_stays_text(text: str, markdown: str) -> None:
    assert write(f"<p>{text}</p>") == markdown


def test_a_link_behind_an_exclamation_mark_is_no_picture() -> None:
    assert write("<p>Read this!<a href='/x'>now</a></p>") == "Read this\\![now](https://site.example/x)"


def test_brackets_that_the_text_of_a_link_escapes_itself_do_not_end_it() -> None:
    assert write("<p><a href='/x'>a\\]b</a></p>") == "[a\\\\\\]b](https://site.example/x)"


def test_loose_signs_beside_marks_are_no_part_of_them() -> None:
    assert write("<p>x *<i>a</i> <b>* c</b></p>") == "x \\**a* **\\* c**"


def test_a_backslash_at_the_end_of_a_link_does_not_open_it() -> None:
    assert write("<p><a href='/x'>C:\\</a></p>") == "[C:\\\\](https://site.example/x)"
