"""What the tests of the service share: a backend that answers what it is told to, and calls of tools against it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import trio

from actors.results import MergedHit, MergedImage, ReadResult, Report, SearchResult, Step, Tell
from actors.statistics import ActorStatistics
from providers._contract import Hit, Image, ImageQuery, Page, Query, Target
from service.answers import Data
from service.app import HttpApp, open_session_manager
from service.calling import Answer, Desk, Tool, ToolOptions
from service.calls import Calls, Uptime
from service.gate import Gate
from service.protocol import Identity, Service, make_server
from service.redact import Redactor
from service.stats import Desk as StatsDesk
from service.texts import Texts
from service.tools import research_tools


def hit(number: int, **fields: Any) -> MergedHit:
    values = {"snippet": f"Snippet {number}.", "published": None} | fields
    return MergedHit(Hit(f"https://site{number}.example/", f"Title {number}", **values), ("duckduckgo",))


def image(number: int, **fields: Any) -> MergedImage:
    return MergedImage(Image(f"https://img.example/{number}.png", **fields), "bing-images")


def found(*hits: Any, query: str = "q", reports: Sequence[Report] | None = None) -> SearchResult[Any]:
    told = (Report("duckduckgo", "ok" if hits else "empty", count=len(hits)),) if reports is None else tuple(reports)
    return SearchResult(query, "success", tuple(hits), told, 0.25)


def unfound(*reports: Report, status: Any = "failed", elapsed: float = 0.25) -> SearchResult[Any]:
    return SearchResult("q", status, (), reports, elapsed)


def page(url: str, markdown: str = "Some text.", **fields: Any) -> ReadResult:
    text = Page(url, markdown, final_url=url, title="A title", **fields)
    steps = (Step("trafilatura", "ok", elapsed=0.2),)
    return ReadResult(url, "success", text, "trafilatura", text.notes, steps, None, None, 0.2)


def unread(url: str, *steps: Step, status: Any = "failed", **fields: Any) -> ReadResult:
    values = {"reason": None, "detail": None} | fields
    return ReadResult(url, status, None, None, (), steps, elapsed=0.2, **values)


async def forever(*_: Any) -> Any:
    """What a backend does that never answers."""
    await trio.sleep_forever()


@dataclass
class FakeBackend:
    """Answers with what `on_search`, `on_images` and `on_read` return; remembers what it was asked."""

    on_search: Callable[[Query], Any] = lambda query: found(hit(1), hit(2), query=query.text)
    on_images: Callable[[ImageQuery], Any] = lambda query: found(image(1), query=query.text)
    on_read: Callable[[Target], Any] = lambda target: page(target.url)
    asked: list[Any] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)
    robots: list[bool] = field(default_factory=list)
    events: list[tuple[str, dict[str, str | int]]] = field(default_factory=list)

    async def search(self, query: Query, *, timeout: float, tell: Tell) -> SearchResult[MergedHit]:
        return await self._answer(query, self.on_search, timeout, tell)

    async def search_images(self, query: ImageQuery, *, timeout: float, tell: Tell) -> SearchResult[MergedImage]:
        return await self._answer(query, self.on_images, timeout, tell)

    async def read(self, target: Target, *, timeout: float, tell: Tell, robots_txt: bool = False) -> ReadResult:
        self.robots.append(robots_txt)
        return await self._answer(target, self.on_read, timeout, tell)

    async def _answer(self, job: Any, respond: Callable[[Any], Any], timeout: float, tell: Tell) -> Any:
        self.asked.append(job)
        self.timeouts.append(timeout)
        for event, fields in self.events:
            tell(event, fields)
        await trio.lowlevel.checkpoint()
        answer = respond(job)
        return await answer if isinstance(answer, Awaitable) else answer


class Bench:
    """The whole service over a fake backend, without a transport."""

    def __init__(
        self,
        backend: FakeBackend | None = None,
        *,
        language: Any = "en",
        options: ToolOptions | None = None,
        limit: int = 64,
        has_images: bool = True,
        tools: Sequence[Tool] = (),
        actors: Sequence[ActorStatistics] = (),
        secrets: Sequence[str] = (),
    ) -> None:
        self.backend = backend or FakeBackend()
        self.actors = tuple(actors)
        self.tools = {tool.name: tool for tool in tools or research_tools(has_images=has_images)}
        self.calls = Calls(limit, tuple(self.tools))
        options = options or ToolOptions()
        self.desk = Desk(self.backend, Texts(language), options, self.calls.deadlines)
        self.service = Service(self.desk, tuple(self.tools.values()), self.calls, Redactor(secrets))
        self.identity = Identity(version="1.2.3")
        self.server = make_server(self.service, self.identity, self.desk.texts)

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool; what it answers as data must hold to its output schema."""
        answer = await self.service.run(self.tools[tool], arguments)
        if answer.data is not None:
            jsonschema.validate(answer.data, self.tools[tool].output_schema)
        return answer

    async def data(self, tool: str, **arguments: Any) -> Data:
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, answer.text
        assert answer.data is not None
        return answer.data

    def stats_desk(self, redact: Callable[[str], str] = lambda text: text) -> StatsDesk:
        return StatsDesk(self.identity, "research", self.calls, Uptime(), lambda: self.actors, redact)

    def app(self, gate: Gate | None = None, **fields: Any) -> tuple[HttpApp, Any]:
        """The HTTP application, and the SDK's session manager, which has to be run beside it."""
        manager = open_session_manager(self.server)
        pages = self.stats_desk().pages()
        open_pages = frozenset({"/healthz"})
        return HttpApp(manager.asgi_app, gate or Gate(), pages, open_pages=open_pages, **fields), manager
