"""The fake internet's pages as a remote reader returns them."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlsplit

from tests.fakenet._world import World


def as_markdown(world: World, url: str) -> tuple[str, str] | None:
    """Title and Markdown of the page at `url`; None where there is none, which a reader sees as a 404."""
    page = world.article(urlsplit(url).path) if url.startswith(world.web + "/") else None
    if page is None:
        return None
    title = re.search(r"<title>(.*?)</title>", page)
    body = page[page.index("<article>") : page.index("</article>")]
    text = re.sub(r"<h1>(.*?)</h1>", r"# \1\n\n", body)
    text = re.sub(r"<h2>(.*?)</h2>", r"## \1\n\n", text)
    text = re.sub(r"<[^>]+>", "", text.replace("</p>", "\n\n"))
    return unescape(title[1]) if title else "", unescape(text).strip()
