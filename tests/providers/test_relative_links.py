"""A Markdown document passes through as it stands, with every address in it absolute."""

from __future__ import annotations

import time

import pytest

from providers._extract.relative import absolute
from tests.providers.document_reading import read

BASE = "https://site.example/docs/guide.md"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](other.md)", "[a](https://site.example/docs/other.md)"),
        ("[a](../x.md 'title') b", "[a](https://site.example/x.md 'title') b"),
        ("![a](<my pic.png>)", "![a](https://site.example/docs/my%20pic.png)"),
        ("[![a](i.png)](/x)", "[![a](https://site.example/docs/i.png)](https://site.example/x)"),
        ("[a](f_(b).md)", "[a](https://site.example/docs/f_%28b%29.md)"),
        ("[a](#part)", "[a](https://site.example/docs/guide.md#part)"),
        ("[ref]: sub/x.md", "[ref]: https://site.example/docs/sub/x.md"),
        ("<img alt='a' src=\"pic.png\">", "<img alt='a' src=\"https://site.example/docs/pic.png\">"),
        ("- one\n\n    [a](b.md)", "- one\n\n    [a](https://site.example/docs/b.md)"),
    ],
)
def test_relative_addresses_become_absolute(text: str, expected: str) -> None:
    assert absolute(text, BASE) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://other.example/x)",
        "```\n[a](b.md)\n```",
        "~~~~ md\n[a](b.md)\n~~~\n[c](d.md)\n~~~~",
        "`[a](b.md)` and ``x ` [a](b.md)``",
        "text\n\n    [a](b.md)",
        "[^1]: note.md",
        "[a](javascript:x)",
        "[a]({{ url }})",
        "a \\](b)",
        "call(x)[0](y",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    assert absolute(text, BASE) == text


def test_markdown_documents_are_read_with_absolute_links() -> None:
    assert "[a](http://site.example/b.md)" in read("# T\n\n[a](b.md)\n", "text/markdown", "x.md").markdown


@pytest.mark.parametrize("piece", ["](", "[a](", "`", "` ``", "<a ", "<a href='", "](a(b)", "[a]: "])
def test_hostile_documents_end_in_linear_time(piece: str) -> None:
    started = time.process_time()

    absolute(piece * (400_000 // len(piece)), BASE)

    assert time.process_time() - started < 2
