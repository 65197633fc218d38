"""What the fake internet knows: hits for any query, and the pages they lead to.

Everything follows from the query's text, so every vendor tells of the same pages and two runs give the same answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote, unquote

NOTHING = "nothing-to-be-found"
"""A query that contains this has no hits anywhere."""

SENTENCES = (
    "The first thing to know about {topic} is where the numbers come from and who measured them.",
    "Part {number} of this guide compares three ways to work with {topic} and says what each of them costs.",
    "Reports that were written before the change are listed with their dates, so that nothing is read out of season.",
    "A careful reader will find that most of the disagreement is about words and not about what was observed.",
    "Where the sources contradict one another, the older measurement was repeated with the newer instrument.",
    "None of this replaces a look at the original documents, which are linked at the end of each section.",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing a search can find. `published` is an ISO date."""

    url: str
    title: str
    snippet: str
    published: str
    image_url: str


@dataclass(slots=True)
class World:
    """`web` is the base URL of the site all hits lead to; known once that site listens."""

    web: str = ""
    total: int = 60
    _slugs: dict[str, str] = field(default_factory=dict)

    def search(self, text: str, *, start: int = 0, count: int = 10) -> list[Entry]:
        """At most `count` hits for `text` from the `start`-th on; none at all for a query with NOTHING in it."""
        if NOTHING in text:
            return []
        return [self._entry(text, number) for number in range(start + 1, min(start + count, self.total) + 1)]

    def _entry(self, text: str, number: int) -> Entry:
        slug = quote(re.sub(r"\s+", "-", text.strip()), safe="")
        return Entry(
            url=f"{self.web}/article/{slug}/{number}",
            title=f"{text}: part {number}",
            snippet=f"Part {number} about {text}, with what was measured & when.",
            published=f"2026-{(number - 1) % 9 + 1:02d}-{(number - 1) % 28 + 1:02d}",
            image_url=f"{self.web}/picture/{slug}/{number}.png",
        )

    def article(self, path: str) -> str | None:
        """The HTML behind a hit's URL, None for a path no hit has. Some 3,000 characters of text.

        The same under `/long/` instead of `/article/` has some 60,000.
        """
        match = re.fullmatch(r"/(article|long)/([^/]+)/(\d+)", path)
        if match is None:
            return None
        is_long = match[1] == "long"
        topic, number = unquote(match[2]).replace("-", " "), match[3]
        paragraphs = "".join(
            # Each paragraph of the long one is its own, or a reader takes them for copies of one another.
            f"<h2>Section {section}</h2><p>"
            + (f"What follows is the part with the number {section}. " if is_long else "")
            + " ".join(escape(sentence.format(topic=topic, number=number)) for sentence in SENTENCES)
            + "</p>"
            for section in range(1, 101 if is_long else 6)
        )
        title = escape(f"{topic}: part {number}")
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="author" content="A. Writer"><meta property="article:published_time" content="2026-03-01">'
            f'</head><body><nav><a href="/">Home</a> <a href="/about">About</a></nav>'
            f"<main><article><h1>{title}</h1>{paragraphs}</article></main><footer>Imprint</footer></body></html>"
        )
