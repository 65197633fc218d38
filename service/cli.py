"""The command line: `serve` (also without a word), `search`, `read`, `check` and `stats`.

Exit codes: 0 done; 1 it did not work (a port in use, a search that failed); 2 wrong usage or a wrong setting; 130
interrupted. What the user asked for goes to stdout, everything else to stderr. What the commands need is imported when
they run, since a client that starts the server over stdio waits for it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.settings import Settings, from_environment, ignore_plugins
from service.values import SettingsError, host

if TYPE_CHECKING:
    from service.calling import Answer
    from service.logs import Logs
    from service.pipes import Pipes

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
COMMANDS = ("serve", "search", "read", "check", "stats")


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line and return the exit code. Raises SystemExit where argparse has said what is wrong."""
    options = _parser().parse_args(_with_command(arguments))
    fill_standard_descriptors()
    if options.version:
        from service.version import own_version

        print(f"research-mcp {own_version()}")  # noqa: T201
        return 0
    try:
        settings = _settings(options)
        return _stats(options, settings) if options.command == "stats" else _logged(options, settings)
    except SettingsError as error:
        return _complain(error.sentence, WRONG_USAGE)
    except KeyboardInterrupt:
        return INTERRUPTED


def fill_standard_descriptors() -> None:
    """Open /dev/null where stdin, stdout or stderr came closed.

    The next file or socket would get the number, and lines of the log would go into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def _with_command(arguments: Sequence[str]) -> list[str]:
    """`research-mcp --stdio` means `research-mcp serve --stdio`."""
    is_complete = bool(arguments) and arguments[0] in (*COMMANDS, "-h", "--help", "--version")
    return list(arguments) if is_complete else ["serve", *arguments]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="research-mcp",
        description="One MCP server in front of many search and read providers. Without a command it serves.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--env-file", type=Path, metavar="FILE", help="settings file to read instead of .env")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    serve = commands.add_parser("serve", parents=[common], help="run the server (the default)", allow_abbrev=False)
    serve.add_argument("--stdio", action="store_true", help="speak MCP on standard input and output instead of HTTP")
    serve.add_argument("--host", type=_host, help="address to listen on (MCP_HOST)")
    serve.add_argument("--port", type=_port, help="port to listen on, 0 for any free one (MCP_PORT)")

    stats = commands.add_parser("stats", parents=[common], help="show what the running server does", allow_abbrev=False)
    stats.add_argument("--host", type=_host, help="address it listens on (MCP_HOST)")
    stats.add_argument("--port", type=_port, help="port it listens on (MCP_PORT)")
    stats.add_argument("--json", action="store_true", help="print all of /stats")
    search = commands.add_parser("search", parents=[common], help="search the web once", allow_abbrev=False)
    search.add_argument("query", metavar="QUERY")
    read = commands.add_parser("read", parents=[common], help="read one page as Markdown", allow_abbrev=False)
    read.add_argument("url", metavar="URL")
    commands.add_parser(
        "check", parents=[common], help="ask each instance once; costs one call each", allow_abbrev=False
    )
    for each in (search, read):
        each.add_argument("--json", action="store_true", help="print the structured answer")
    return parser


def _host(value: str) -> str:
    try:
        return host("--host", value)
    except SettingsError as error:
        raise argparse.ArgumentTypeError(error.sentence) from None


def _port(value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) <= 65_535):
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 65535")
    return int(value)


def _settings(options: argparse.Namespace) -> Settings:
    settings = from_environment(options.env_file)
    if options.command not in ("serve", "stats"):
        return settings
    changes: dict[str, Any] = {"mcp_host": options.host, "mcp_port": options.port}
    if options.command == "serve":
        changes["mcp_transport"] = "stdio" if options.stdio else None
    return replace(settings, **{name: value for name, value in changes.items() if value is not None})


def _logged(options: argparse.Namespace, settings: Settings) -> int:
    """Run the command with the log open. For `search` and `read` only warnings get in between on the terminal."""
    import structlog

    from service.instances import secrets_of
    from service.logs import open_logs

    is_serving = options.command == "serve"
    with open_logs(settings, secrets_of(settings), stderr_level="NOTSET" if is_serving else "WARNING") as logs:
        try:
            return _serve(settings, logs) if is_serving else _ask(options, settings)
        except (SettingsError, KeyboardInterrupt):
            raise
        except Exception:  # noqa: BLE001 - the interpreter would print it past the log, secrets and all
            structlog.get_logger().critical("crashed", exc_info=True)
            return FAILED


def _serve(settings: Settings, logs: Logs) -> int:
    if settings.mcp_transport != "stdio":
        return _serve_over(None, settings, logs)
    from service.pipes import private_pipes

    with private_pipes() as pipes:
        return _serve_over(pipes, settings, logs)


def _serve_over(pipes: Pipes | None, settings: Settings, logs: Logs) -> int:
    # Nothing that imports make is garbage. Without looking for it, then and later, a client waits 0.1 s less.
    gc.disable()
    ignore_plugins()
    import threading

    from actors.client import shared_ssl_context

    # Another 50 ms, most of them on the other core.
    threading.Thread(target=shared_ssl_context).start()
    import structlog
    import trio

    from service.server import CannotListen
    from service.serving import serve

    gc.freeze()
    gc.enable()
    try:
        trio.run(serve, settings, logs.statistics, pipes)
    except CannotListen as error:
        return _complain(str(error), FAILED)
    structlog.get_logger().info("stopped")
    return 0


def _ask(options: argparse.Namespace, settings: Settings) -> int:
    import trio

    if options.command == "check":
        return trio.run(_check, settings)
    if options.command == "search":
        answer = trio.run(_call, settings, "web_search", {"query": options.query})
    else:
        answer = trio.run(_call, settings, "read_page", {"url": options.url})
    if answer.is_error:
        _complain(answer.text, FAILED)
    if options.json and answer.data is not None:
        _print(json.dumps(answer.data, ensure_ascii=False, indent=2))
    elif not options.json and not answer.is_error:
        _print(answer.text)
    return FAILED if answer.is_error else 0


async def _call(settings: Settings, name: str, given: Mapping[str, Any]) -> Answer:
    """One call of one tool, as a client would make it."""
    from service.runtime import open_runtime
    from service.tools import research_tools

    async with open_runtime(settings) as runtime:
        tool = next(tool for tool in research_tools(has_images=False) if tool.name == name)
        return await runtime.service.run(tool, given)


async def _check(settings: Settings) -> int:
    from service import check
    from service.runtime import open_runtime
    from service.table import TABLE

    async with open_runtime(settings) as runtime:
        names = [row.name for row in TABLE]
        findings = await check.check(runtime.supervisor.refs, runtime.configured, names)
        _print(runtime.redactor.known(check.table(findings)))
        return FAILED if check.failed(findings) else 0


def _stats(options: argparse.Namespace, settings: Settings) -> int:
    from service.instances import secrets_of
    from service.redact import Redactor
    from service.stats_command import CannotAsk, fetch
    from service.stats_table import table

    try:
        shown = fetch(settings)
    except CannotAsk as error:
        return _complain(str(error), FAILED)
    width = shutil.get_terminal_size((120, 24)).columns
    text = json.dumps(shown, indent=2) if options.json else table(shown, width)
    _print(Redactor(secrets_of(settings)).known(text))
    return 0


def _print(text: str) -> None:
    """To stdout, whatever its encoding; a reader that has gone, such as `head`, is no error."""
    data = text.encode(sys.stdout.encoding or "utf-8", "backslashreplace") + b"\n"
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        # Or the interpreter tries to flush once more as it ends, and complains.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _complain(sentence: str, code: int) -> int:
    print(f"research-mcp: {sentence}", file=sys.stderr)  # noqa: T201
    return code
