"""The log: structlog and the standard library's loggers on one path to stderr and a file of JSON lines.

The event loop only puts records into queues. A thread per sink renders, redacts and writes them; so a full disk, a
reader that does not read, or a broken pipe can lose lines, which are counted, but hold nothing up and raise nothing.
Redaction is the last thing that happens to a line. Tracebacks have no local variables: they hold keys.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import select
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from service.log_file import FileSink
from service.redact import Redactor
from service.settings import Settings

QUEUE_LINES = 10_000
CLOSE_SECONDS = 2.0
WRITE_SECONDS = 1.0
MAX_VALUE_CHARS = 10_000

# They print requests and addresses at INFO, keys included (security/FACTS.md E4).
LIBRARIES = (
    "httpx",
    "httpcore",
    "httpcore2",
    "hpack",
    "mcp",
    "hypercorn",
    "trafilatura",
    "pypdf",
    "htmldate",
    "courlan",
)
# It prints a traceback for each attempt to reach a Redis that is down; `ledger_down` says it once.
MUTED = ("coredis",)

# Control, format, bidirectional and invisible characters, line and paragraph separators, surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class LogStatistics:
    """Lines that came to no sink, or not to that one: its queue was full, or it could not be written."""

    dropped_stderr: int = 0
    dropped_file: int = 0


class Logs:
    """The open log. `redactor` knows all secrets, for the other sinks."""

    def __init__(self, settings: Settings, redactor: Redactor, stderr: StreamSink, stderr_level: str) -> None:
        self.redactor = redactor
        file = FileSink(settings.log_file, rotation=settings.log_rotation, retention=settings.log_retention)
        stderr.setFormatter(_formatter(settings.log_mode == "prod", redactor, colors=os.isatty(stderr.fd)))
        file.setFormatter(_formatter(True, redactor))
        self.lanes = (Lane(stderr), Lane(file))
        self.lanes[0].setLevel(stderr_level)

    def statistics(self) -> LogStatistics:
        stderr, file = (lane.dropped for lane in self.lanes)
        return LogStatistics(stderr, file)


@contextmanager
def open_logs(
    settings: Settings, secrets: Iterable[str] = (), *, stderr_level: str = "NOTSET", stderr: int = 2
) -> Iterator[Logs]:
    """Set up logging for the process while the block lasts; at its end what is queued is written, for 2 s at most.

    stderr_level: keeps less urgent lines off stderr, for commands whose user waits there. stderr: a descriptor.
    """
    logs = Logs(settings, Redactor(secrets), StreamSink(stderr), stderr_level)
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    raise_before, logging.raiseExceptions = logging.raiseExceptions, False
    root.handlers[:] = logs.lanes
    root.setLevel(settings.log_level)
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    for name in MUTED:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.captureWarnings(True)
    _configure_structlog()
    for lane in logs.lanes:
        lane.start()
    try:
        yield logs
    finally:
        logging.captureWarnings(False)
        structlog.reset_defaults()
        # The file first: what goes wrong with it is said on stderr.
        for lane in reversed(logs.lanes):
            lane.close()
        root.handlers[:] = before
        root.setLevel(level)
        logging.raiseExceptions = raise_before


def _configure_structlog() -> None:
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


# --- the sinks --------------------------------------------------------------------------------------------------------


class Lane(logging.Handler):
    """A bounded queue and one thread between the loggers and one sink."""

    def __init__(self, sink: StreamSink | FileSink, capacity: int = QUEUE_LINES) -> None:
        super().__init__()
        self._sink = sink
        self._queue: queue.Queue[logging.LogRecord | None] = queue.Queue(capacity)
        self._overflow = 0
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)

    @property
    def dropped(self) -> int:
        return self._overflow + self._sink.dropped

    def start(self) -> None:
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._queue.put_nowait(_finished(record))
        except Exception:  # noqa: BLE001 - the log sink: a full queue, or arguments that do not fit their message
            self._overflow += 1

    def close(self) -> None:
        """Write what is queued. A sink that hangs keeps its thread, which ends with the process."""
        try:
            self._queue.put(None, timeout=CLOSE_SECONDS)
        except queue.Full:
            return
        self._thread.join(CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._sink.close()
        super().close()

    def _run(self) -> None:
        while (record := self._queue.get()) is not None:
            self._sink.handle(record)


def _finished(record: logging.LogRecord) -> logging.LogRecord:
    """A record that refers to nothing that may change before its thread comes to it."""
    if record.args:
        record = logging.makeLogRecord(record.__dict__)
        record.msg, record.args = record.getMessage(), None
    return record


class StreamSink(logging.Handler):
    """Lines to a descriptor. What cannot be written within a second is dropped and counted in `dropped`."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self.fd = fd
        self.dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write((self.format(record) + "\n").encode("utf-8", "backslashreplace"))
        except Exception:  # noqa: BLE001 - the log sink: closed, broken, or a value that cannot be rendered
            self.dropped += 1

    def _write(self, line: bytes) -> None:
        """Straight to the descriptor: `sys.stderr` would keep what it could not write, and fail again at exit."""
        while line:
            try:
                line = line[os.write(self.fd, line) :]
            except BlockingIOError:
                # Under stdio the client's end may not block, and stderr may be the same terminal.
                if not select.select([], [self.fd], [], WRITE_SECONDS)[1]:
                    raise


# --- the rendering ----------------------------------------------------------------------------------------------------


def _formatter(is_json: bool, redactor: Redactor, *, colors: bool = False) -> logging.Formatter:
    def redact(_logger: Any, _name: str, line: Any) -> str:
        return redactor.text(line)

    console = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    rendering: list[Any] = [structlog.processors.JSONRenderer()] if is_json else [_printable, console]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name, _stamp, _traceback],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _bounded, *rendering, redact],
    )


def _stamp(_logger: Any, _name: str, event: EventDict) -> EventDict:
    """The moment when the record was made, not when its thread came to it."""
    created = datetime.fromtimestamp(event["_record"].created, UTC)
    event["timestamp"] = created.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return event


_traceback: Processor = structlog.processors.format_exc_info


def _bounded(_logger: Any, _name: str, event: EventDict) -> Any:
    return _mapped(event, lambda text: text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + "[cut]")


def _printable(_logger: Any, _name: str, event: EventDict) -> EventDict:
    """Escape what could steer a terminal or pose as another line. A traceback keeps its lines, set in from the left."""
    traceback = event.pop("exception", None)
    event = _mapped(event, _escaped)
    if isinstance(traceback, str):
        event["exception"] = "\n".join(f"    {_escaped(line)}" for line in traceback.split("\n"))
    return event


def _escaped(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def _mapped(value: Any, change: Any) -> Any:
    """`value` with `change` applied to every string in it; numbers that JSON has no word for become strings."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, float) and value - value != 0:
        return str(value)
    if isinstance(value, Mapping):
        return {_mapped(key, change): _mapped(each, change) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_mapped(each, change) for each in value]
    return value
