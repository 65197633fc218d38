"""The web pages of the fake internet: articles that hits lead to, and whatever a test puts there."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fakenet._http import Answer, Request, as_html, as_text
from tests.fakenet._world import World

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@dataclass(eq=False, slots=True)
class Site:
    """One web site. `pages` maps a path (without a query) to its answer; articles and pictures exist by themselves."""

    world: World
    pages: dict[str, Answer] = field(default_factory=dict)

    def put(self, path: str, content: str | bytes, content_type: str = "text/html; charset=utf-8") -> None:
        body = content.encode() if isinstance(content, str) else content
        self.pages[path] = Answer(200, body, content_type)

    def __call__(self, request: Request) -> Answer:
        if (page := self.pages.get(request.path)) is not None:
            return page
        if (article := self.world.article(request.target.partition("?")[0])) is not None:
            return as_html(article)
        if request.path.startswith("/picture/"):
            return Answer(200, PIXEL, "image/png")
        if request.path == "/":
            return as_html("<!doctype html><title>Fake web</title><h1>Fake web</h1><p>Nothing but articles.</p>")
        return as_text("no such page", 404)
