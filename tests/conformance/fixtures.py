"""The server as it is, and on top of it what the conformance suite calls: `python -m tests.conformance.fixtures`.

Most scenarios of the suite call tools, prompts and resources of its own reference server. Here they are answered by the
product's own stack (settings, gate, HTTP, session manager, the server object of service/protocol.py beside its tools),
so that the suite sees how that stack carries each kind of message. What each fixture has to answer is written in the
suite: `description` of the scenario of about the same name.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types
import trio
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from service import serving
from service.protocol import Context
from service.settings import load_settings

Result = dict[str, Any]
ToolParams = mcp_types.CallToolRequestParams
Tool = Callable[[Context, ToolParams], Awaitable[Result]]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


# --- contents -------------------------------------------------------------------------------------------------------


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def resource(uri: str, mime: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}

CONTENTS: Mapping[str, list[dict[str, Any]]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'),
    ],
    "json_schema_2020_12_tool": [text("read")],
    "test_custom_header": [text("read")],
}

SCHEMAS: Mapping[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "place", "type": "object", "properties": {"city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"required": ["phone"]},
        "then": {"properties": {"phone": {"minLength": 1}}},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    "test_custom_header": {
        "type": "object",
        "properties": {"greeting": {"type": "string", "x-mcp-header": "Greeting"}},
        "additionalProperties": False,
    },
}


# --- tools that do something ----------------------------------------------------------------------------------------


async def fails(_context: Context, _params: ToolParams) -> Result:
    return {"content": [text("This tool intentionally returns an error for testing")], "isError": True}


async def logs(context: Context, _params: ToolParams) -> Result:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
        await trio.sleep(0.05)
    return {"content": [text("logged")]}


async def reports_progress(context: Context, _params: ToolParams) -> Result:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"{done} of 100")
        await trio.sleep(0.05)
    return {"content": [text("done")]}


async def needs_sampling(context: Context, _params: ToolParams) -> Result:
    needed: dict[str, Any] = {"sampling": {}}
    if not declares(context, needed):
        raise MCPError(
            mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client cannot sample", {"requiredCapabilities": needed}
        )
    return {"content": [text("the client can sample")]}


def declares(context: Context, capabilities: dict[str, Any]) -> bool:
    return context.session.check_client_capability(mcp_types.ClientCapabilities.model_validate(capabilities))


# --- tools that ask back (2026-07-28) -------------------------------------------------------------------------------


def elicitation(message: str, name: str, kind: str = "string") -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(words: str) -> dict[str, Any]:
    message = {"role": "user", "content": text(words)}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 50}}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
NAME = elicitation("What is your name?", "name")

Rounds = list[tuple[dict[str, dict[str, Any]], str | None]]
"""What is asked in each round, and the state that the client brings along with its answers."""

ASKED: Mapping[str, Rounds] = {
    "test_input_required_result_elicitation": [({"user_name": NAME}, None)],
    "test_streaming_elicitation": [({"user_name": NAME}, None)],
    "test_input_required_result_sampling": [({"capital_question": sampling("What is the capital of France?")}, None)],
    "test_input_required_result_list_roots": [({"client_roots": ROOTS}, None)],
    "test_input_required_result_request_state": [({"confirm": elicitation("Sure?", "ok", "boolean")}, "asked")],
    "test_input_required_result_tampered_state": [({"confirm": elicitation("Sure?", "ok", "boolean")}, "asked")],
    "test_input_required_result_multiple_inputs": [
        ({"user_name": NAME, "greeting": sampling("Greet"), "client_roots": ROOTS}, "asked all")
    ],
    "test_input_required_result_multi_round": [
        ({"step1": elicitation("Step 1: What is your name?", "name")}, "round 1"),
        ({"step2": elicitation("Step 2: What is your favorite color?", "color")}, "round 2"),
    ],
}


def next_question(rounds: Rounds, responses: Mapping[str, Any] | None, state: str | None) -> Result | None:
    """The round that is still open, or None when the last one is answered."""
    states = [its for _, its in rounds]
    current = states.index(state) if state in states else 0
    if rounds[current][0].keys() <= (responses or {}).keys():
        current += 1
    if current == len(rounds):
        return None
    asked, brought = rounds[current]
    question: Result = {"resultType": "input_required", "inputRequests": asked}
    return question if brought is None else {**question, "requestState": brought}


def asks(name: str) -> Tool:
    async def ask(_context: Context, params: ToolParams) -> Result:
        question = next_question(ASKED[name], params.input_responses, params.request_state)
        if question is not None:
            return question
        answers = {key: each.model_dump(mode="json") for key, each in (params.input_responses or {}).items()}
        return {"content": [text(f"state-ok {answers}")]}

    return ask


async def asks_what_the_client_can_answer(context: Context, _params: ToolParams) -> Result:
    able = {"sampling": sampling("Hello"), "elicitation": NAME}
    return {
        "resultType": "input_required",
        "inputRequests": {name: request for name, request in able.items() if declares(context, {name: {}})},
    }


def answers(name: str) -> Tool:
    async def answer(_context: Context, _params: ToolParams) -> Result:
        return {"content": CONTENTS[name]}

    return answer


TOOLS: Mapping[str, Tool] = {
    **{name: answers(name) for name in CONTENTS},
    **{name: asks(name) for name in ASKED},
    "test_error_handling": fails,
    "test_tool_with_logging": logs,
    "test_logging_tool": logs,
    "test_tool_with_progress": reports_progress,
    "test_missing_capability": needs_sampling,
    "test_input_required_result_capabilities": asks_what_the_client_can_answer,
}


# --- prompts, resources and the rest --------------------------------------------------------------------------------

ARGUMENTS = {"test_prompt_with_arguments": ["arg1", "arg2"], "test_prompt_with_embedded_resource": ["resourceUri"]}
PROMPTS: Mapping[str, Callable[[Mapping[str, str]], list[dict[str, Any]]]] = {
    "test_simple_prompt": lambda _: [text("This is a simple prompt for testing.")],
    "test_prompt_with_arguments": lambda given: [text("arg1='{arg1}', arg2='{arg2}'".format_map(given))],
    "test_prompt_with_embedded_resource": lambda given: [
        resource(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
    ],
    "test_prompt_with_image": lambda _: [IMAGE, text("Please analyze the image above.")],
    "test_input_required_result_prompt": lambda _: [text("with your context")],
}
RESOURCES: Mapping[str, dict[str, Any]] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://template/123/data": {"mimeType": "application/json", "text": '{"id": "123", "templateTest": true}'},
}
CONTEXT: Rounds = [({"user_context": elicitation("What context should the prompt use?", "context")}, None)]


async def list_prompts(_context: Context, _params: Any) -> Result:
    return {
        "prompts": [
            {
                "name": name,
                "description": f"fixture {name}",
                "arguments": [{"name": each, "required": True} for each in ARGUMENTS.get(name, [])],
            }
            for name in PROMPTS
        ]
    }


async def get_prompt(_context: Context, params: mcp_types.GetPromptRequestParams) -> Result:
    if params.name == "test_input_required_result_prompt":
        question = next_question(CONTEXT, params.input_responses, None)
        if question is not None:
            return question
    contents = PROMPTS[params.name](params.arguments or {})
    return {"messages": [{"role": "user", "content": each} for each in contents]}


async def list_resources(_context: Context, _params: Any) -> Result:
    described = {"name": "fixture", "description": "a fixture"}
    return {"resources": [{"uri": uri, **described} for uri in RESOURCES if "template" not in uri]}


async def list_templates(_context: Context, _params: Any) -> Result:
    return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "fixture"}]}


async def read_resource(_context: Context, params: mcp_types.ReadResourceRequestParams) -> Result:
    uri = str(params.uri)
    if uri not in RESOURCES:
        raise MCPError(mcp_types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, **RESOURCES[uri]}]}


async def complete(_context: Context, _params: Any) -> Result:
    return {"completion": {"values": ["testing"], "total": 1, "hasMore": False}}


async def accept(_context: Context, _params: Any) -> Result:
    return {}


# --- the server -----------------------------------------------------------------------------------------------------

Handler = Callable[[Context, Any], Awaitable[Result]]
Model = type[BaseModel]
LISTING: Model = mcp_types.PaginatedRequestParams
MORE: list[tuple[str, Any, Handler, Model]] = [
    ("prompts/list", LISTING, list_prompts, mcp_types.ListPromptsResult),
    ("prompts/get", mcp_types.GetPromptRequestParams, get_prompt, mcp_types.GetPromptResult),
    ("resources/list", LISTING, list_resources, mcp_types.ListResourcesResult),
    ("resources/templates/list", LISTING, list_templates, mcp_types.ListResourceTemplatesResult),
    ("resources/read", mcp_types.ReadResourceRequestParams, read_resource, mcp_types.ReadResourceResult),
    ("resources/subscribe", mcp_types.SubscribeRequestParams, accept, mcp_types.EmptyResult),
    ("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, accept, mcp_types.EmptyResult),
    ("completion/complete", mcp_types.CompleteRequestParams, complete, mcp_types.CompleteResult),
    ("logging/setLevel", mcp_types.SetLevelRequestParams, accept, mcp_types.EmptyResult),
]


def of(model: Model, result: Result) -> Any:
    """The result as the SDK's model of it, which adds the fields of the newer era; a question stays as it is."""
    return result if "inputRequests" in result else model.model_validate(result)


def modelled(handler: Handler, model: Model) -> Any:
    async def handle(context: Context, params: Any) -> Any:
        return of(model, await handler(context, params))

    return handle


def with_fixtures(server: Server[Any]) -> Server[Any]:
    """The product's server with the fixtures beside its tools."""
    own_list, own_call = server.get_request_handler("tools/list"), server.get_request_handler("tools/call")
    own_schema = server.get_tool_input_schema
    assert own_list is not None
    assert own_call is not None
    assert own_schema is not None

    async def list_tools(context: Context, params: Any) -> Any:
        listed = await own_list.handler(context, params)
        assert isinstance(listed, mcp_types.ListToolsResult)
        more = [
            mcp_types.Tool(name=name, description=f"fixture {name}", input_schema=SCHEMAS.get(name, NO_ARGUMENTS))
            for name in TOOLS
        ]
        return mcp_types.ListToolsResult(tools=[*listed.tools, *more])

    async def call_tool(context: Context, params: ToolParams) -> Any:
        tool = TOOLS.get(params.name)
        if tool is None:
            return await own_call.handler(context, params)
        return of(mcp_types.CallToolResult, await tool(context, params))

    server.get_tool_input_schema = lambda name: SCHEMAS.get(name) or own_schema(name)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    server.add_request_handler("tools/list", mcp_types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", ToolParams, call_tool)
    for method, params, handler, model in MORE:
        server.add_request_handler(method, params, modelled(handler, model))
    return server


def main() -> None:
    products = serving.make_server
    serving.make_server = lambda *parts: with_fixtures(products(*parts))
    trio.run(serving.serve, load_settings(os.environ))


if __name__ == "__main__":
    main()
