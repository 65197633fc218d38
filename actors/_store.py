"""The quota store: one SQLite file, used from one thread at a time. Blocking; the ledger actor calls it in a thread.

WAL with synchronous=NORMAL loses nothing when the process is killed (500 kills measured, security/FACTS.md D2), and one
conditional upsert checks and counts in the same step, so the two cannot drift apart.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

from actors.quota import Counts, period_key
from actors.row import Limit

BUSY_TIMEOUT = 2.0
STAMP = "%Y%m%dT%H%M%SZ"
NO_CAP = 2**62

SCHEMA = """
CREATE TABLE IF NOT EXISTS used (
    name TEXT PRIMARY KEY, day TEXT NOT NULL, day_units INTEGER NOT NULL,
    month TEXT NOT NULL, month_units INTEGER NOT NULL, total INTEGER NOT NULL
) WITHOUT ROWID
"""

# A period's name only ever grows (actors/quota.py says why), hence the comparisons and max().
SPEND = """
INSERT INTO used (name, day, day_units, month, month_units, total)
SELECT :name, :day, :units, :month, :units, :units WHERE :units <= :cap
ON CONFLICT (name) DO UPDATE SET
    day_units = excluded.day_units + CASE WHEN excluded.day > day THEN 0 ELSE day_units END,
    day = max(day, excluded.day),
    month_units = excluded.month_units + CASE WHEN excluded.month > month THEN 0 ELSE month_units END,
    month = max(month, excluded.month),
    total = total + excluded.total
WHERE :cap >= excluded.total + CASE :period
    WHEN 'day' THEN CASE WHEN excluded.day > day THEN 0 ELSE day_units END
    ELSE CASE WHEN excluded.month > month THEN 0 ELSE month_units END END
RETURNING day, day_units, month, month_units, total
"""

T = TypeVar("T")


class Unusable(Exception):
    """The store cannot be read or written now; the message is a sentence for the operator."""


class Corrupt(Exception):
    """The file is no sound SQLite database."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What was found. `empty`: the file was there with no bytes in it. `set_aside`: corrupt files nobody confirmed."""

    counts: Mapping[str, Counts]
    empty: bool
    set_aside: tuple[Path, ...]


_SENTENCES: Mapping[int, str] = {
    sqlite3.SQLITE_BUSY: "is locked by another process",
    sqlite3.SQLITE_LOCKED: "is locked by another process",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk fails or is full",
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_PERM: "may not be opened by this user",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: its folder is missing or read-only",
    sqlite3.SQLITE_ERROR: "is a database of something else",
}


class Store:
    """One connection to one file. Not safe for two threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def open(self, wall_now: float) -> Opened:
        """Check the file, create what is missing, and read all counts. Raises Unusable.

        A corrupt file is moved aside, never overwritten, and a new one is begun.
        """
        empty = self._path.exists() and self._path.stat().st_size == 0
        try:
            counts = self._translated(self._connect)
        except Corrupt:
            self.set_aside(wall_now)
            counts = self._translated(self._connect)
        return Opened(counts, empty, self.corrupt_files())

    def spend(self, name: str, limit: Limit | None, units: int, wall_now: float) -> Counts | None:
        """Count `units` if the limit allows it; returns the new counts, or None. Raises Unusable or Corrupt."""
        values = {
            "name": name,
            "units": units,
            "day": period_key("day", wall_now),
            "month": period_key("month", wall_now, 1 if limit is None else limit.first_day),
            "cap": NO_CAP if limit is None else limit.units,
            "period": "month" if limit is None else limit.period,
        }
        row = self._translated(lambda: self._open_connection().execute(SPEND, values).fetchone())
        return None if row is None else Counts(*row)

    def set_aside(self, wall_now: float) -> None:
        """Move the file and its journals to `NAME.corrupt-<time>`. Raises Unusable where that fails."""
        self.close()
        stamp = datetime.fromtimestamp(wall_now, UTC).strftime(STAMP)
        names = (f"{self._path.name}.corrupt-{stamp}{suffix}" for suffix in chain([""], (f"-{n}" for n in count(1))))
        aside = next(path for path in map(self._path.with_name, names) if not path.exists())
        try:
            for suffix in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{suffix}").rename(f"{aside}{suffix}")
        except OSError as error:
            raise Unusable(f"{self._path.name} is corrupt and cannot be moved aside: {error.strerror}") from error

    def corrupt_files(self) -> tuple[Path, ...]:
        """The files that were set aside and are still there, oldest first."""
        found = self._path.parent.glob(f"{self._path.name}.corrupt-*")
        return tuple(sorted(file for file in found if not file.name.endswith(("-wal", "-shm"))))

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _connect(self) -> dict[str, Counts]:
        self.close()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unusable(f"{self._path.name} has no folder and none can be made: {error.strerror}") from error
        # The ledger's limiter lets one thread in at a time, but not always the same one.
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
        self._connection = connection
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise Corrupt
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(SCHEMA)
        rows = connection.execute("SELECT name, day, day_units, month, month_units, total FROM used")
        return {name: Counts(*rest) for name, *rest in rows}

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connect()
        assert self._connection is not None
        return self._connection

    def _translated(self, step: Callable[[], T]) -> T:
        """Run one step; SQLite's errors come out as ours, and anything unforeseen as it is."""
        try:
            return step()
        except (sqlite3.Error, Corrupt) as error:
            self.close()
            primary = getattr(error, "sqlite_errorcode", 0) & 0xFF  # 0 where Python itself complains of our use
            if isinstance(error, Corrupt) or primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise Corrupt from error
            if primary in _SENTENCES:
                raise Unusable(f"{self._path.name} {_SENTENCES[primary]}") from error
            raise
