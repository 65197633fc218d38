"""What a tool is: its place in the list of tools, what it works with, and what it gives back."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

import trio

from actors.deadlines import Deadlines
from actors.results import MergedHit, MergedImage, ReadResult, SearchResult, Tell
from providers._contract import ImageQuery, Query, Target
from service.answers import Data, Frame
from service.arguments import BadArgument, Limits, Parameter, clamp_timeout, parse_arguments
from service.paging import PageCache
from service.progress import silent
from service.texts import Texts

# A pipeline returns at its deadline by itself, with what is ready. Only where it does not is the call ended for it.
GRACE_SECONDS = 0.5

# Where progress was sent, or after so many seconds of silence, the answer is one event of a stream that has begun, and
# the SDK's client refuses an event over 1 MiB (service/one_event.py). 50 kB are left for what surrounds a page.
STREAM_SECONDS = 14.0
MAX_STREAMED_BYTES = 990_000

Value = TypeVar("Value")
Result = TypeVar("Result")


class Backend(Protocol):
    """What the tools ask. All three answer by `timeout` seconds from now and do not raise for failures."""

    async def search(self, query: Query, *, timeout: float, tell: Tell) -> SearchResult[MergedHit]: ...

    async def search_images(self, query: ImageQuery, *, timeout: float, tell: Tell) -> SearchResult[MergedImage]: ...

    async def read(self, target: Target, *, timeout: float, tell: Tell, robots_txt: bool = False) -> ReadResult: ...


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """What of the settings the tools need. Sizes in characters, 0 for no limit."""

    limits: Limits = field(default_factory=Limits)
    read_pages_concurrency: int = 5
    read_batch_max_chars: int = 12_000
    response_max_chars: int = 80_000


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything a tool works with, the same for all calls."""

    backend: Backend
    texts: Texts = field(default_factory=Texts)
    options: ToolOptions = field(default_factory=ToolOptions)
    deadlines: Deadlines = field(default_factory=Deadlines)
    cache: PageCache = field(default_factory=PageCache)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives back: text for the model, data for the program, whether the call failed, and log fields."""

    text: str
    data: Data | None = None
    is_error: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one tool, its arguments checked. `timeout` in seconds, `ends_at` on trio's clock."""

    desk: Desk
    values: Mapping[str, Any]
    tell: Tell
    timeout: float
    started_at: float

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self.started_at + self.timeout - trio.current_time())

    @property
    def elapsed(self) -> float:
        return trio.current_time() - self.started_at

    @property
    def most_bytes(self) -> int | None:
        """How many bytes the texts of the answer may have together; None for as many as there are."""
        is_streamed = self.tell is not silent or self.elapsed >= STREAM_SECONDS
        return MAX_STREAMED_BYTES if is_streamed else None

    def frame(self) -> Frame:
        return Frame(self.desk.texts, trio.current_time(), self.timeout, secrets.token_hex(8))

    def guard(self) -> AbstractContextManager[trio.CancelScope, bool]:
        """Ends what does not end by itself: past the deadline, or when a shutdown has waited long enough.

        The block is left silently then, hence the bool, which the type checker does not see by itself.
        """
        scope = self.desk.deadlines.until(self.started_at + self.timeout + GRACE_SECONDS)
        return cast("AbstractContextManager[trio.CancelScope, bool]", scope)


Run = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One entry of a toolset. `text` is the key of its description, `event` what it is called in the log.

    seconds: the deadline of a call that names none. title: the key of its title, where it is not the tool's name.
    refusal: what a caller with wrong arguments is told. draining: the key of what is said to calls during a shutdown.
    """

    name: str
    text: str
    event: str
    parameters: tuple[Parameter, ...]
    output_schema: Data
    seconds: float
    run: Run
    title: str = ""
    refusal: Callable[[BadArgument], str] = str
    draining: str = "draining"


async def call_tool(tool: Tool, desk: Desk, given: Mapping[str, Any], tell: Tell) -> Answer:
    """Check the arguments, set the deadline, and run the tool. Wrong arguments are an answer, not an exception."""
    limits = desk.options.limits
    try:
        values = parse_arguments(tool.name, tool.parameters, given, desk.texts, limits)
    except BadArgument as problem:
        told = tool.refusal(problem)
        return Answer(told, is_error=True, facts={"rejected": told})
    timeout_ms = values["timeout_ms"]
    if timeout_ms is None:
        default = limits.default_timeout_ms
        timeout_ms = clamp_timeout(round(tool.seconds * 1000) if default is None else default, limits)
    return await tool.run(Call(desk, values, tell, timeout_ms / 1000, trio.current_time()))


async def each(
    values: Sequence[Value], ask: Callable[[Value], Awaitable[Result]], *, at_once: int | None = None
) -> list[Result]:
    """Ask for every value, `at_once` of them at a time from the first on, and return the results in order."""
    if len(values) == 1:
        return [await ask(values[0])]
    results: dict[int, Result] = {}
    waiting = iter(enumerate(values))

    async def work() -> None:
        for index, value in waiting:
            results[index] = await ask(value)

    async with trio.open_nursery() as nursery:
        for _ in range(min(at_once or len(values), len(values))):
            nursery.start_soon(work)
    return [results[index] for index in range(len(values))]
