"""The MCP server object: tools/list and tools/call on the SDK's low-level server, for both transports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mcp_types
import structlog
import trio
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from providers._address import MAX_URL_CHARS
from providers._clean import clean_line
from service.calling import Answer, Desk, Tool, call_tool
from service.calls import Calls, Draining, Full, Ticket
from service.icon import data_uri
from service.progress import Report, open_progress
from service.recent import Recent, Trail
from service.redact import Redactor
from service.texts import Texts
from service.tools import listing

_log = structlog.get_logger()

# Messages, titles and snippets are far below; the text of a page is above, and searching it would hold up the loop.
MAX_REDACTED_CHARS = 100_000

# Five minutes: the list only changes when the operator sets a key and starts the server anew.
_CACHE_HINTS: Mapping[Any, CacheHint] = {
    "tools/list": CacheHint(ttl_ms=300_000, scope="public"),
    "server/discover": CacheHint(ttl_ms=3_600_000, scope="public"),
}

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """How the server shows itself: to clients, with instructions for its `toolset`, and in traces if `is_traced`."""

    name: str = "research-mcp"
    version: str = "0"
    website_url: str | None = None
    toolset: str = "research"
    is_traced: bool = False


class Service:
    """The toolset behind the protocol: finds the tool, admits the call, runs it, counts and logs it.

    recent: the last calls, which `/ops` shows.
    """

    def __init__(self, desk: Desk, tools: Sequence[Tool], calls: Calls, redactor: Redactor | None = None) -> None:
        self._desk = desk
        self._redactor = redactor or Redactor()
        self._tools = {tool.name: tool for tool in tools}
        self._calls = calls
        self.recent = Recent()
        self._listing = listing(tools, desk.texts, desk.options.limits)

    def schema_of(self, name: str) -> dict[str, Any] | None:
        """A tool's input schema, which the SDK holds request headers to; None for an unknown name."""
        return next((tool.input_schema for tool in self._listing if tool.name == name), None)

    async def list_tools(
        self, _context: Context, _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=self._listing)

    async def call_tool(self, context: Context, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            shown = params.name[:100].encode("utf-8", "replace").decode()
            raise MCPError(code=mcp_types.INVALID_PARAMS, message=f"Unknown tool: {shown}")
        return _result(await self.run(tool, params.arguments or {}, _reporter(context)))

    async def run(self, tool: Tool, given: Mapping[str, Any], report: Report | None = None) -> Answer:
        """One call of one tool, as every transport and the command line make it. Refusals are answers too."""
        texts = self._desk.texts
        try:
            with self._calls.admit(tool.name) as ticket:
                return self._redacted(await self._logged(tool, given, report, ticket))
        except Full as full:
            refusal = texts.say("busy", limit=full.limit)
        except Draining:
            refusal = texts.say(tool.draining)
        _log.info(tool.event, ok=False, rejected=refusal)
        return Answer(refusal, is_error=True)

    def _redacted(self, answer: Answer) -> Answer:
        """The answer without configured secrets, which a vendor's message may echo. Last step before the transport.

        What a page says stays as it is, in Markdown and text alike, once it is too long to be a message.
        """
        if self._redactor.is_idle:
            return answer
        text = self._redactor.known(answer.text) if len(answer.text) <= MAX_REDACTED_CHARS else answer.text
        return replace(answer, text=text, data=self._known(answer.data))

    def _known(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redactor.known(value) if len(value) <= MAX_REDACTED_CHARS else value
        if isinstance(value, dict):
            return {key: self._known(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._known(each) for each in value]
        return value

    async def _logged(self, tool: Tool, given: Mapping[str, Any], report: Report | None, ticket: Ticket) -> Answer:
        started_at, trail = trio.current_time(), Trail(self._desk.backend)
        facts: dict[str, Any] = {"ok": False, "cancelled": True}
        try:
            answer = await self._safely(tool, replace(self._desk, backend=trail), given, report)
            ticket.succeeded = not answer.is_error
            facts = {"ok": ticket.succeeded, **answer.facts}
            return answer
        finally:
            elapsed_ms = round((trio.current_time() - started_at) * 1000)
            line = {**_asked(tool, given), **facts, "elapsed_ms": elapsed_ms}
            _log.info(tool.event, **line)
            self.recent.add(tool.name, trail, line, succeeded=ticket.succeeded, began_at=started_at)

    async def _safely(self, tool: Tool, desk: Desk, given: Mapping[str, Any], report: Report | None) -> Answer:
        """Run the tool; a bug of ours becomes a sentence, and a traceback in the log.

        A fifth place that catches everything, besides the four of STYLE.md: past it the SDK would answer with a
        protocol error, which SPEC section 1 rules out and models do not get to see.
        """
        try:
            async with open_progress(report, desk.texts) as tell:
                return await call_tool(tool, desk, given, tell)
        except Exception:  # noqa: BLE001
            _log.exception("tool_crashed", tool=tool.name)
            return Answer(desk.texts.say("internal"), is_error=True, facts={"ok": False})


def _asked(tool: Tool, given: Mapping[str, Any]) -> dict[str, str]:
    """What a call was about, from its unchecked arguments, for the line of one that was refused or given up."""
    texts = {each.name: given.get(each.name) for each in tool.parameters if each.name in ("query", "url")}
    return {
        name: clean_line(text[:MAX_URL_CHARS], limit=MAX_URL_CHARS)
        for name, text in texts.items()
        if isinstance(text, str)
    }


def _reporter(context: Context) -> Report | None:
    """Sends progress of this request, or None where the client gave no token to send it under."""
    if context.meta is None or context.meta.get("progress_token") is None:
        return None

    async def report(number: float, sentence: str) -> None:
        await context.session.report_progress(number, None, sentence)

    return report


def _result(answer: Answer) -> mcp_types.CallToolResult:
    content = [mcp_types.TextContent(type="text", text=answer.text)]
    return mcp_types.CallToolResult(content=list(content), structured_content=answer.data, is_error=answer.is_error)


def make_server(service: Service, identity: Identity, texts: Texts) -> Server[Any]:
    """The SDK's server with tools and nothing else: no prompts, resources or logging are advertised."""
    server: Server[Any] = Server(
        name=identity.name,
        version=identity.version,
        title=texts.say("server.title"),
        instructions=texts.say(f"instructions.{identity.toolset}"),
        website_url=identity.website_url,
        icons=[mcp_types.Icon(src=data_uri(), mime_type="image/svg+xml", sizes=["any"])],
        cache_hints=_CACHE_HINTS,
        get_tool_input_schema=service.schema_of,
        on_list_tools=service.list_tools,
        on_call_tool=service.call_tool,
    )
    if not identity.is_traced:
        # The SDK's only middleware makes spans, for nobody then.
        server.middleware.clear()
    return server
