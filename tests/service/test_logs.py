"""The log: both sinks, what they do with bad days, and that nothing secret or steering gets into them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from service.log_file import FileSink
from service.logs import LIBRARIES, Lane, Logs, LogStatistics, StreamSink, open_logs
from service.settings import Settings, load_settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(**variables: str) -> Settings:
    return load_settings({"LOG_FILE": "logs/a.log"} | variables)


class Written:
    """What came to the two sinks of a log that was open for a while."""

    def __init__(self) -> None:
        self.stderr = ""
        self.statistics = LogStatistics(0, 0)

    @property
    def file(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in Path("logs/a.log").read_text("ascii").splitlines()]


@contextlib.contextmanager
def logging_to_pipe(written: Written, secrets: tuple[str, ...] = (), **variables: str) -> Iterator[Logs]:
    level = variables.pop("stderr_level", "NOTSET")
    reader, writer = os.pipe()
    chunks: list[bytes] = []
    thread = threading.Thread(target=lambda: chunks.extend(iter(lambda: os.read(reader, 65_536), b"")))
    thread.start()
    try:
        with open_logs(settings(**variables), secrets, stderr=writer, stderr_level=level) as logs:
            yield logs
        written.statistics = logs.statistics()
    finally:
        os.close(writer)
        thread.join()
        os.close(reader)
    written.stderr = b"".join(chunks).decode()


def test_a_line_is_readable_on_stderr_and_json_in_the_file() -> None:
    written = Written()
    with logging_to_pipe(written):
        structlog.get_logger().info("web_search", query="zażółć", count=3)

    assert "[info" in written.stderr
    assert "web_search" in written.stderr
    assert "query=zażółć" in written.stderr
    line = written.file[0]
    assert (line["event"], line["level"], line["query"], line["count"]) == ("web_search", "info", "zażółć", 3)
    assert line["timestamp"].endswith("Z")
    assert written.statistics == LogStatistics(0, 0)


def test_in_production_stderr_is_json_too() -> None:
    written = Written()
    with logging_to_pipe(written, LOG_MODE="prod"):
        structlog.get_logger().info("read", url="https://example.com/")

    assert json.loads(written.stderr)["url"] == "https://example.com/"


def test_the_loggers_of_the_standard_library_and_warnings_take_the_same_path() -> None:
    written = Written()
    with logging_to_pipe(written, LOG_MODE="prod"):
        logging.getLogger("some.library").warning("count is %d", 3)
        try:
            raise ValueError("oops")
        except ValueError:
            logging.getLogger("some.library").exception("failed")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(False)
            logging.captureWarnings(True)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            logging.captureWarnings(False)

    first, second, third = written.file
    assert (first["event"], first["level"], first["logger"]) == ("count is 3", "warning", "some.library")
    assert first["timestamp"].endswith("Z")
    assert "ValueError: oops" in second["exception"]
    assert "DeprecationWarning: old" in third["event"]
    assert len(written.stderr.splitlines()) == 3


def test_the_level_is_kept_and_libraries_stay_quiet_at_debug() -> None:
    written = Written()
    with logging_to_pipe(written, LOG_LEVEL="DEBUG"):
        structlog.get_logger().debug("shown")
        for library in LIBRARIES:
            logging.getLogger(library).info("HTTP Request: GET https://example.com/?api_key=canary")
    with logging_to_pipe(written, LOG_LEVEL="ERROR"):
        structlog.get_logger().warning("not_shown")
        logging.getLogger("httpx").warning("not_shown")

    assert [line["event"] for line in written.file] == ["shown"]


def test_stderr_may_have_a_level_of_its_own() -> None:
    written = Written()
    with logging_to_pipe(written, stderr_level="WARNING"):
        structlog.get_logger().info("quiet")
        structlog.get_logger().warning("loud")

    assert "quiet" not in written.stderr
    assert "loud" in written.stderr
    assert [line["event"] for line in written.file] == ["quiet", "loud"]


def test_secrets_appear_in_neither_sink_whatever_they_are_part_of() -> None:
    written = Written()
    with logging_to_pipe(written, ("canary-token",), LOG_LEVEL="DEBUG"):
        log = structlog.get_logger()
        log.info(
            "canary-token", url="https://u:canary-token@x/?a=canary-token", nested={"canary-token": ["canary-token"]}
        )
        log.debug("bytes", value=b"canary-token")
        logging.getLogger("some.library").error("canary-token %s", "canary-token")
        try:
            raise ValueError("canary-token")
        except ValueError:
            log.exception("failed")

    raw = Path("logs/a.log").read_text()
    assert "canary-token" not in written.stderr + raw
    assert raw.count("[redacted]") >= 8


def test_the_canary_test_finds_a_leak_that_is_planted() -> None:
    written = Written()
    with logging_to_pipe(written, ()):
        structlog.get_logger().info("planted", value="canary-token")

    assert "canary-token" in written.stderr


def test_tracebacks_have_no_local_variables() -> None:
    def fail(local: str) -> None:
        raise RuntimeError("broken")

    written = Written()
    with logging_to_pipe(written):
        try:
            fail("hidden-" + "local")
        except RuntimeError:
            structlog.get_logger().exception("failed")

    assert "RuntimeError: broken" in written.stderr
    assert "hidden-local" not in written.stderr + Path("logs/a.log").read_text()


def test_control_characters_are_escaped_in_both_sinks_and_no_line_can_be_forged() -> None:
    nasty = "a\x1b[31m\r\n2026-01-01 [info] forged \u202e\u2028\x9b\ud800\x00"
    written = Written()
    with logging_to_pipe(written):
        structlog.get_logger().info(nasty, key=nasty, list=[nasty])
        logging.getLogger("some.library").warning(nasty)
        try:
            raise ValueError(nasty)
        except ValueError:
            structlog.get_logger().exception("failed")

    raw = Path("logs/a.log").read_bytes()
    assert raw.isascii()
    assert len(raw.splitlines()) == 3
    assert not any(char in written.stderr for char in "\x1b\r\u202e\u2028\x9b\x00")
    assert not any(line.startswith("2026-01-01 [info] forged") for line in written.stderr.splitlines())


def test_long_values_are_cut_and_numbers_that_json_has_no_word_for_become_text() -> None:
    written = Written()
    with logging_to_pipe(written):
        structlog.get_logger().info("odd", body="x" * 50_000, took=float("nan"), many={1.5}, other=object)

    line = written.file[0]
    assert len(line["body"]) < 10_100
    assert (line["took"], line["many"]) == ("nan", [1.5])


def test_a_value_that_cannot_be_rendered_costs_its_line_only() -> None:
    class Spiteful:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    written = Written()
    with logging_to_pipe(written):
        structlog.get_logger().info("bad", value=Spiteful())
        logging.getLogger("some.library").warning("%d", "not a number")
        structlog.get_logger().info("good")

    assert [line["event"] for line in written.file] == ["good"]
    assert written.statistics.dropped_file == 2


def test_what_was_set_up_is_taken_down_again() -> None:
    root = logging.getLogger()
    before = (root.handlers[:], root.level, logging.raiseExceptions)
    with logging_to_pipe(Written()):
        assert len(root.handlers) == 2

    assert (root.handlers[:], root.level, logging.raiseExceptions) == before


# --- bad days ---------------------------------------------------------------------------------------------------------


def test_a_reader_that_has_gone_raises_nothing_and_its_lines_are_counted() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open_logs(settings(), stderr=writer) as logs:
        for number in range(5):
            structlog.get_logger().info("line", number=number)
    os.close(writer)

    assert logs.statistics() == LogStatistics(dropped_stderr=5, dropped_file=0)
    assert len(Written().file) == 5


def test_a_reader_that_does_not_read_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.logs.WRITE_SECONDS", 0.01)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    sink = StreamSink(writer)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    lane = Lane(sink, capacity=3)  # not started: as if its thread hung in a write
    for number in range(10):
        lane.handle(record(f"line {number}"))

    assert lane.dropped == 7
    sink.emit(record("late"))
    assert sink.dropped == 1
    os.close(reader)
    os.close(writer)


def test_a_descriptor_that_does_not_block_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    write, refusals = os.write, iter([True, False, True])

    def write_or_refuse(fd: int, data: bytes) -> int:
        if fd == writer and next(refusals, False):
            raise BlockingIOError
        return write(fd, data)

    monkeypatch.setattr(os, "write", write_or_refuse)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    received: list[bytes] = []
    thread = threading.Thread(target=lambda: received.extend(iter(lambda: os.read(reader, 4096), b"")))
    sink = StreamSink(writer)
    thread.start()
    sink.emit(record("y" * 300_000))
    os.close(writer)
    thread.join()
    os.close(reader)

    assert len(b"".join(received)) == 300_001
    assert sink.dropped == 0


def test_a_sink_that_hangs_delays_the_end_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.logs.CLOSE_SECONDS", 0.01)
    entered, release = threading.Event(), threading.Event()

    class Hanging(StreamSink):
        def emit(self, record: logging.LogRecord) -> None:
            entered.set()
            release.wait(10)

    lane = Lane(Hanging(2), capacity=1)
    lane.start()
    lane.handle(record("x"))
    entered.wait(10)
    for _ in range(2):
        lane.handle(record("x"))
    lane.close()  # the queue is full
    patient = Lane(Hanging(2), capacity=5)
    patient.start()
    patient.handle(record("x"))
    patient.close()  # the thread does not end

    assert lane.dropped == 1
    release.set()


def test_an_unwritable_directory_means_stderr_only_with_one_warning() -> None:
    Path("logs").write_text("a file where the directory should be")
    written = Written()
    with logging_to_pipe(written):
        for number in range(20):
            structlog.get_logger().info("line", number=number)

    assert written.stderr.count("log_file_unwritable") == 1
    assert written.stderr.count("line ") == 20
    assert written.statistics.dropped_file >= 20


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("name", logging.INFO, "", 0, message, None, None)


class Clocks:
    """A steady clock and a wall clock that go when told."""

    def __init__(self) -> None:
        self.steady = 1000.0
        self.wall = 1_796_000_000.0

    def go(self, seconds: float) -> None:
        self.steady += seconds
        self.wall += seconds


@contextlib.contextmanager
def file_sink(path: Path, clocks: Clocks, rotation: int = 1000, retention: float = 3600.0) -> Iterator[FileSink]:
    sink = FileSink(path, rotation=rotation, retention=retention, clock=lambda: clocks.steady, wall=lambda: clocks.wall)
    yield sink
    sink.close()


def test_a_full_file_is_set_aside_and_old_ones_are_removed(tmp_path: Path) -> None:
    clocks = Clocks()
    path = tmp_path / "logs" / "a.log"
    stranger = tmp_path / "logs" / "a.notes.log"
    with file_sink(path, clocks, rotation=100) as sink:
        for number in range(30):
            sink.emit(record(f"line {number:03d} {'x' * 20}"))
            clocks.go(0.1)
        stranger.write_text("not ours")
        files = sorted(path.parent.glob("a.2*.log"))
        everything = "".join(file.read_text() for file in [*files, path])

        assert len(files) == 9
        assert all(file.stat().st_size <= 100 for file in [*files, path])
        assert [line.split()[1] for line in everything.splitlines()] == [f"{number:03d}" for number in range(30)]

        for file in files[:4]:
            os.utime(file, (clocks.wall - 4000, clocks.wall - 4000))
        for file in [*files[4:], stranger]:
            os.utime(file, (clocks.wall - 4000 if file == stranger else clocks.wall,) * 2)
        clocks.go(3600.0)
        for file in files[4:]:
            os.utime(file, (clocks.wall, clocks.wall))
        sink.emit(record("later"))

    assert sorted(path.parent.glob("a.2*.log")) == files[4:]
    assert stranger.exists()
    assert sink.dropped == 0


def test_a_directory_that_is_deleted_comes_back_within_ten_seconds(tmp_path: Path) -> None:
    clocks = Clocks()
    path = tmp_path / "logs" / "a.log"
    with file_sink(path, clocks) as sink:
        sink.emit(record("before"))
        path.unlink()
        path.parent.rmdir()
        sink.emit(record("lost"))
        clocks.go(10.0)
        sink.emit(record("after"))

    assert path.read_text() == "after\n"


def test_the_file_is_tried_again_every_ten_seconds_and_each_spell_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clocks = Clocks()
    blocker = tmp_path / "logs"
    blocker.write_text("")
    with file_sink(blocker / "a.log", clocks) as sink:
        for _ in range(3):
            sink.emit(record("lost"))
            sink.emit(record("lost"))
            clocks.go(10.0)
        blocker.unlink()
        sink.emit(record("kept"))
        assert (len(caplog.records), sink.dropped) == (1, 6)

        for _ in range(2):
            clocks.go(10.0)
            sink.emit(record("kept"))
        (blocker / "a.log").unlink()
        blocker.rmdir()
        blocker.write_text("")
        clocks.go(10.0)
        sink.emit(record("lost"))

    assert len(caplog.records) == 2


def test_a_full_disk_drops_lines_and_leaves_whole_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks()
    path = tmp_path / "a.log"
    write = os.write
    with file_sink(path, clocks) as sink:
        sink.emit(record("one"))
        monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:2]))
        sink.emit(record("torn"))
        monkeypatch.setattr(os, "write", lambda fd, data: fail())
        sink.emit(record("lost"))
        monkeypatch.setattr(os, "write", write)
        sink.emit(record("two"))

    assert path.read_text() == "one\nto\ntwo\n"
    assert sink.dropped == 2


def fail() -> None:
    raise OSError(28, "No space left on device")


def test_two_files_set_aside_at_one_moment_both_stay(tmp_path: Path) -> None:
    clocks = Clocks()
    with file_sink(tmp_path / "a.log", clocks, rotation=1) as sink:
        for number in range(4):
            sink.emit(record(str(number)))

    assert sorted(file.read_text().strip() for file in tmp_path.iterdir()) == ["0", "1", "2", "3"]


def test_what_is_no_regular_file_is_never_rotated(tmp_path: Path) -> None:
    with file_sink(Path(os.devnull), Clocks(), rotation=1) as sink:
        for _ in range(3):
            sink.write(b"x" * 10)

    assert Path(os.devnull).is_char_device()
    assert sink.dropped == 0


def test_the_file_of_another_process_that_was_rotated_away_is_left(tmp_path: Path) -> None:
    clocks = Clocks()
    path = tmp_path / "a.log"
    with file_sink(path, clocks) as sink:
        sink.emit(record("one"))
        path.rename(tmp_path / "aside.log")
        path.write_text("other\n")
        clocks.go(10.0)
        sink.emit(record("two"))

    assert path.read_text() == "other\ntwo\n"


def test_threads_that_log_under_rotation_lose_and_tear_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Closing writes for 2 s at most, which a busy machine may not find enough; this is about rotation.
    monkeypatch.setattr("service.logs.CLOSE_SECONDS", 60.0)

    def work(number: int) -> None:
        log = structlog.get_logger()
        for line in range(500):
            log.info("line", thread=number, line=line)

    written = Written()
    with logging_to_pipe(written, LOG_ROTATION="20 kB", stderr_level="CRITICAL"):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    lines = [json.loads(line) for file in Path("logs").iterdir() for line in file.read_text().splitlines()]
    assert len(list(Path("logs").iterdir())) > 10
    assert len({(line["thread"], line["line"]) for line in lines}) == 4000
    assert written.statistics == LogStatistics(0, 0)


def test_a_process_whose_stderr_is_gone_works_on_and_exits_with_zero(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, structlog
        from service.logs import open_logs
        from service.settings import load_settings
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 2)
        with open_logs(load_settings({})):
            for number in range(100):
                structlog.get_logger().warning("line", number=number)
        print("done")
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (0, b"done\n")
    assert len((tmp_path / "data/research-mcp.log").read_text().splitlines()) == 100
