"""ZIP archives read with a budget: by the bytes that come out, never by the sizes that the archive declares."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import PurePosixPath

from lxml import etree

from providers._contract import TooLarge, Unsupported

MAX_MEMBERS = 2_000
MAX_UNPACKED_BYTES = 50_000_000

_END_RECORD = b"PK\x05\x06"
_END_SEARCH_BYTES = 65_557
_COUNT = struct.Struct("<H")


class Archive:
    """The members of an archive, at most 50 MB of them in all.

    Raises Unsupported for a damaged or locked archive, and TooLarge beyond the limits, here and when reading.
    """

    def __init__(self, body: bytes) -> None:
        _check_count(body)
        try:
            self._zip = zipfile.ZipFile(BytesIO(body))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise Unsupported("the archive is damaged") from error
        self.names = frozenset(self._zip.namelist())
        if len(self.names) > MAX_MEMBERS:
            raise TooLarge(f"the archive has more than {MAX_MEMBERS} members")
        self._budget = MAX_UNPACKED_BYTES

    def read(self, name: str) -> bytes:
        """A member's bytes; b'' where there is no such member."""
        if name not in self.names:
            return b""
        try:
            with self._zip.open(name) as member:
                content = member.read(self._budget + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as error:
            raise Unsupported("the archive is damaged") from error
        except RuntimeError as error:
            raise Unsupported("the archive is locked with a password") from error
        self._budget -= len(content)
        if self._budget < 0:
            raise TooLarge(f"the archive unpacks to more than {MAX_UNPACKED_BYTES // 1_000_000} MB")
        return content

    def xml(self, name: str) -> etree._Element | None:
        """A member parsed as XML, without entities, DTD or network; None where there is none or it is broken."""
        content = self.read(name)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        try:
            return etree.fromstring(content, parser) if content else None
        except (etree.XMLSyntaxError, ValueError):
            return None

    def repacked(self, endings: Iterable[str]) -> BytesIO:
        """An archive of the members with these name endings only, read within the budget.

        For libraries that unpack without a limit: whatever they read from this one is what came out here.
        """
        wanted = tuple(endings)
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as target:
            for name in sorted(self.names):
                if name.endswith(wanted):
                    target.writestr(name, self.read(name))
        packed.seek(0)
        return packed

    def relations(self, name: str) -> dict[str, str]:
        """Targets by id of an office part's relationships, as member names."""
        folder, _, file = name.rpartition("/")
        root = self.xml(f"{folder}/_rels/{file}.rels")
        if root is None:
            return {}
        inside = (child for child in root if child.get("TargetMode") != "External")
        return {child.get("Id", ""): resolved(folder, child.get("Target", "")) for child in inside}


def resolved(folder: str, target: str) -> str:
    """A member's name from a path relative to a folder of the archive."""
    path = PurePosixPath(target[1:]) if target.startswith("/") else PurePosixPath(folder) / target
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts[-1:] = []
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _check_count(body: bytes) -> None:
    """Refuse by the number in the end record, since listing a hundred thousand members takes a second."""
    at = body.rfind(_END_RECORD, max(0, len(body) - _END_SEARCH_BYTES))
    if at < 0 or at + 12 > len(body):
        raise Unsupported("the archive is damaged")
    if _COUNT.unpack_from(body, at + 10)[0] > MAX_MEMBERS:
        raise TooLarge(f"the archive has more than {MAX_MEMBERS} members")
