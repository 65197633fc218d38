"""What kind of thing a document is: by its first bytes, then by its content type, then by its name."""

from __future__ import annotations

import re
from enum import StrEnum
from posixpath import basename, splitext
from urllib.parse import unquote, urlsplit

from providers._contract import Document


class Format(StrEnum):
    """Kinds of documents, each with its own reader."""

    HTML = "html"
    PDF = "pdf"
    CSV = "csv"
    JSON = "json"
    XML = "xml"
    MARKDOWN = "markdown"
    SOURCE = "source"
    TEXT = "text"
    ZIP = "zip"
    """A ZIP archive; which office or book format it is stands inside."""
    SHEET = "sheet"
    RTF = "rtf"
    BINARY = "binary"


MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"(\xb5/\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-executable"),
    (b"MZ", "application/x-msdownload"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\x00asm", "application/wasm"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"%!PS", "application/postscript"),
)
"""First bytes of things that are no text, with the media type they prove."""

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

LANGUAGES = {
    "asm": "asm", "awk": "awk", "bash": "bash", "bat": "bat", "c": "c", "cc": "cpp", "cfg": "ini", "clj": "clojure",
    "cmake": "cmake", "conf": "", "cpp": "cpp", "cs": "csharp", "css": "css", "cu": "cuda", "cxx": "cpp", "d": "d",
    "dart": "dart", "diff": "diff", "el": "elisp", "elm": "elm", "env": "", "erl": "erlang", "ex": "elixir",
    "exs": "elixir", "f90": "fortran", "fs": "fsharp", "go": "go", "gradle": "groovy", "graphql": "graphql",
    "groovy": "groovy", "h": "c", "hcl": "hcl", "hpp": "cpp", "hs": "haskell", "ini": "ini", "java": "java",
    "jl": "julia", "js": "javascript", "jsx": "jsx", "kt": "kotlin", "kts": "kotlin", "less": "less", "lisp": "lisp",
    "lua": "lua", "m": "objectivec", "makefile": "makefile", "mjs": "javascript", "mk": "makefile", "ml": "ocaml",
    "nim": "nim", "nix": "nix", "patch": "diff", "php": "php", "pl": "perl", "pm": "perl", "proto": "protobuf",
    "ps1": "powershell", "py": "python", "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "sass": "sass",
    "scala": "scala", "scm": "scheme", "scss": "scss", "sh": "bash", "sol": "solidity", "sql": "sql",
    "svelte": "svelte", "swift": "swift", "tcl": "tcl", "tex": "latex", "tf": "hcl", "toml": "toml", "ts": "typescript",
    "tsx": "tsx", "v": "verilog", "vb": "vb", "vhdl": "vhdl", "vim": "vim", "vue": "vue", "yaml": "yaml", "yml": "yaml",
    "zig": "zig", "zsh": "bash",
}  # fmt: skip
"""File name endings of source files, with the name of their language in a fence."""

_SOURCE_NAMES = {"dockerfile": "dockerfile", "makefile": "makefile", "cmakelists.txt": "cmake", "jenkinsfile": "groovy"}
_SOURCE_TYPES = {
    "application/javascript": "javascript", "text/javascript": "javascript", "application/x-javascript": "javascript",
    "application/ecmascript": "javascript", "text/css": "css", "text/x-python": "python", "text/x-c": "c",
    "application/x-sh": "bash", "application/x-yaml": "yaml", "application/yaml": "yaml", "text/yaml": "yaml",
    "application/toml": "toml", "application/sql": "sql", "application/x-httpd-php": "php",
    "application/typescript": "typescript", "text/x-java-source": "java", "text/x-diff": "diff", "text/x-patch": "diff",
    "application/graphql": "graphql", "text/x-tex": "latex", "application/x-tex": "latex", "text/calendar": "",
    "text/vcard": "",
}  # fmt: skip
_FORMAT_OF_ENDING = {
    "csv": Format.CSV, "tsv": Format.CSV, "tab": Format.CSV,
    "json": Format.JSON, "jsonl": Format.JSON, "ndjson": Format.JSON, "geojson": Format.JSON,
    "webmanifest": Format.JSON, "ipynb": Format.JSON,
    "xml": Format.XML, "rss": Format.XML, "atom": Format.XML, "rdf": Format.XML, "xsd": Format.XML, "svg": Format.XML,
    "md": Format.MARKDOWN, "markdown": Format.MARKDOWN, "mdx": Format.MARKDOWN,
    "txt": Format.TEXT, "text": Format.TEXT, "log": Format.TEXT, "rst": Format.TEXT, "adoc": Format.TEXT,
    "org": Format.TEXT, "srt": Format.TEXT, "vtt": Format.TEXT, "bib": Format.TEXT,
    "html": Format.HTML, "htm": Format.HTML, "xhtml": Format.HTML,
    "rtf": Format.RTF, "xls": Format.SHEET,
}  # fmt: skip
_FORMAT_OF_TYPE = {
    "text/html": Format.HTML, "application/xhtml+xml": Format.HTML,
    "text/csv": Format.CSV, "application/csv": Format.CSV, "text/tab-separated-values": Format.CSV,
    "application/json": Format.JSON, "text/json": Format.JSON, "application/x-ndjson": Format.JSON,
    "application/jsonl": Format.JSON, "application/json-seq": Format.JSON,
    "application/xml": Format.XML, "text/xml": Format.XML,
    "text/markdown": Format.MARKDOWN, "text/x-markdown": Format.MARKDOWN,
    "text/rtf": Format.RTF, "application/rtf": Format.RTF,
}  # fmt: skip

_SNIFFED_BYTES = 2048
_MARKUP = re.compile(rb"\s*(?:<!--.{0,1000}?-->\s*)*(<!doctype html|<html|<head|<body)", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"\s*<\?xml\s", re.IGNORECASE)
_ANY_TAG = re.compile(rb"<[a-zA-Z!/?]")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def media_type(content_type: str) -> str:
    """`Text/HTML; charset=utf-8` is `text/html`."""
    return content_type.partition(";")[0].strip().lower()


def ending_of(document: Document) -> str:
    """The ending of the document's file name without its dot, in lower case; the whole name where it has no dot."""
    name = basename(unquote(urlsplit(document.final_url or document.url).path)).lower()
    return splitext(name)[1][1:] or name


def language_of(document: Document) -> str | None:
    """The language of a source file as a fence names it, maybe ''; None when it is no source file."""
    name = basename(unquote(urlsplit(document.final_url or document.url).path)).lower()
    by_name = _SOURCE_NAMES.get(name, LANGUAGES.get(splitext(name)[1][1:]))
    return by_name if by_name is not None else _SOURCE_TYPES.get(media_type(document.content_type))


def format_of(document: Document) -> Format:
    """Decide how a document is to be read. Cheap: looks at its first two thousand bytes."""
    head = document.body[:_SNIFFED_BYTES]
    by_magic = _by_magic(head)
    if by_magic is not None:
        return by_magic
    stated = _stated(document)
    if stated is Format.PDF:
        return stated
    if _is_binary(head):
        # A type or name that promises text does not make it text. (HTML with NUL bytes exists; its reader copes.)
        return stated if stated is Format.HTML and _MARKUP.match(head) else Format.BINARY
    if stated in (Format.SHEET, Format.RTF, Format.BINARY, Format.TEXT, None):
        return _by_look(head) or (stated if stated is Format.TEXT else _of_text(document))
    if stated is Format.HTML and not _ANY_TAG.search(document.body):
        return Format.TEXT
    return stated


def binary_type(document: Document) -> str:
    """The media type of something that is no text: what its bytes prove, else what was stated."""
    head = document.body[:_SNIFFED_BYTES]
    proven = next((name for magic, name in MAGIC if head.startswith(magic)), None)
    if proven is None and head[:4] == b"RIFF":
        proven = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(head[8:12])
    if proven is None and head[4:8] == b"ftyp":
        proven = "image/avif" if head[8:12] in (b"avif", b"avis") else "video/mp4"
    if proven is None and head.startswith(OLE):
        proven = "application/x-ole-storage"
    stated = media_type(document.content_type)
    return proven or (stated if stated and not stated.startswith("text/") else "application/octet-stream")


def _by_magic(head: bytes) -> Format | None:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"%PDF-"):
        return Format.PDF
    if start.startswith(b"{\\rtf"):
        return Format.RTF
    if head.startswith(b"PK\x03\x04"):
        return Format.ZIP
    if head.startswith(OLE):
        return Format.SHEET  # or an old Word file; its reader tells them apart
    return None


def _stated(document: Document) -> Format | None:
    """What content type and name say; a type that says nothing leaves it to the name."""
    stated = media_type(document.content_type)
    ending = ending_of(document)
    if stated == "application/pdf":
        # Rubbish before the header is common, and readers look for it in the first thousand bytes.
        return Format.PDF if b"%PDF-" in document.body[:1024] else None
    if stated in _FORMAT_OF_TYPE:
        return _FORMAT_OF_TYPE[stated]
    if stated.endswith("+json"):
        return Format.JSON
    if stated.endswith("+xml"):
        return Format.XML
    if ending in _FORMAT_OF_ENDING:
        return _FORMAT_OF_ENDING[ending]
    if language_of(document) is not None:
        return Format.SOURCE
    if stated.startswith("text/"):
        return Format.TEXT
    return Format.BINARY if stated.startswith(("image/", "audio/", "video/", "font/")) else None


def _by_look(head: bytes) -> Format | None:
    start = head.removeprefix(b"\xef\xbb\xbf")
    if _MARKUP.match(start):
        return Format.HTML
    if _XML.match(start):
        return Format.XML
    return None


def _of_text(document: Document) -> Format:
    """Text that nobody named: JSON where it begins and ends like it."""
    start, end = document.body[:64].lstrip()[:1], document.body[-64:].rstrip()[-1:]
    return Format.JSON if start + end in (b"{}", b"[]") else Format.TEXT


def _is_binary(head: bytes) -> bool:
    """NUL bytes without a mark of UTF-16, or more than a tenth of control characters."""
    if head.startswith(_BOMS):
        return False
    if any(head.startswith(magic) for magic, _ in MAGIC if len(magic) > 3) or head[4:8] == b"ftyp":
        return True
    if b"\x00" in head:
        return not _looks_like_utf16(head)
    return _controls(head) * 10 > len(head)


def _controls(head: bytes) -> int:
    return sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)


def _looks_like_utf16(head: bytes) -> bool:
    """Every second byte is NUL in Latin text of that encoding, and the others are letters."""
    even, odd = head[::2], head[1::2]
    for empty, full in ((even, odd), (odd, even)):
        letters = full.replace(b"\0", b"")
        if empty.count(0) > 0.7 * len(empty) and len(letters) > 0.85 * len(full) and not _controls(letters):
            return len(head) > 16
    return False
