"""The log file: whole lines of ASCII, rotated by size, removed by age, and no trouble with the disk gets out of it.

Used by one thread, behind the queue of `service/logs.py`. The library's rotating handlers keep a number of files, not
an age, do not notice that their directory was deleted, and leave half a line behind on a full disk.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

CHECK_EVERY = 10.0  # seconds between looks whether the path still leads to our file, and between tries to open it
SWEEP_EVERY = 3600.0

_log = logging.getLogger(__name__)


class FileSink(logging.Handler):
    """Writes each record as one line. What cannot be written is dropped and counted in `dropped`.

    A path that is no regular file (`/dev/null`) is never rotated.

    Args:
        rotation: bytes after which the file is set aside under a name with the time in it.
        retention: seconds for which files that were set aside are kept.
        clock: a steady clock; wall: seconds since 1970.
    """

    def __init__(
        self,
        path: Path,
        *,
        rotation: int,
        retention: float,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.dropped = 0
        self._path = path
        self._rotation = rotation
        self._retention = retention
        self._clock = clock
        self._wall = wall
        self._fd: int | None = None
        self._size = 0
        self._is_regular = True
        self._is_torn = False
        self._has_failed = False
        self._is_reported = False
        self._check_at = self._sweep_at = clock()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record).encode("ascii", "backslashreplace")
        except Exception:  # noqa: BLE001 - the log sink: a value that cannot be rendered costs its line only
            self.dropped += 1
            return
        self.write(line + b"\n")

    def write(self, line: bytes) -> None:
        """Append `line`, or drop it."""
        try:
            self._check(self._clock())
            if self._fd is None:
                self.dropped += 1
                return
            if self._is_regular and self._size and self._size + len(line) > self._rotation:
                self._rotate()
            self._append(line)
        except OSError as error:
            self.dropped += 1
            self._has_failed = True
            self._report(error)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        super().close()

    def _append(self, line: bytes) -> None:
        assert self._fd is not None
        # A full disk takes part of a line. The next one then starts on a line of its own.
        data = b"\n" + line if self._is_torn else line
        written = os.write(self._fd, data)
        self._size += written
        if written < len(data):
            self._is_torn = True
            self.dropped += 1
        else:
            self._is_torn = False

    def _check(self, now: float) -> None:
        """Every 10 s: open the file where it is not open, or where its path no longer leads to it."""
        if now < self._check_at:
            return
        self._check_at = now + CHECK_EVERY
        if not self._has_failed:
            self._is_reported = False
        self._has_failed = False
        if self._fd is None or not self._is_in_place():
            self._open()
        if now >= self._sweep_at:
            self._sweep_at = now + SWEEP_EVERY
            self._sweep()

    def _is_in_place(self) -> bool:
        assert self._fd is not None
        with suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self._path), os.fstat(self._fd))
        return False

    def _open(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Not blocking: a pipe that nobody reads would otherwise hold this thread for ever.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        self._fd = os.open(self._path, flags, 0o640)
        found = os.fstat(self._fd)
        self._size, self._is_regular, self._is_torn = found.st_size, stat.S_ISREG(found.st_mode), False

    def _report(self, error: OSError) -> None:
        """One warning, until things have gone well for a while. It reaches the other sinks."""
        if not self._is_reported:
            self._is_reported = True
            _log.warning("log_file_unwritable: %s: %s", self._path, error.strerror)

    # --- rotation ---------------------------------------------------------------------------------------------------

    def _rotate(self) -> None:
        os.rename(self._path, self._aside())
        self._open()
        self._sweep()

    def _aside(self) -> Path:
        moment = datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%dT%H-%M-%S-%fZ")
        path = self._path.with_name(f"{self._path.stem}.{moment}{self._path.suffix}")
        number = 1
        while path.exists():
            path = path.with_name(f"{self._path.stem}.{moment}-{number}{self._path.suffix}")
            number += 1
        return path

    def _sweep(self) -> None:
        """Remove what was set aside longer ago than the retention."""
        name = re.compile(
            rf"{re.escape(self._path.stem)}\.\d{{4}}-\d\d-\d\dT[\d-]+Z(-\d+)?{re.escape(self._path.suffix)}"
        )
        oldest = self._wall() - self._retention
        for file in self._path.parent.iterdir():
            with suppress(FileNotFoundError):  # another process sweeps the same directory
                if name.fullmatch(file.name) and file.stat().st_mtime < oldest:
                    file.unlink()
