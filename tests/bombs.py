"""Hostile inputs of security/FACTS.md part C, made on the spot: small recipes for large troubles."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping

# --- HTML -----------------------------------------------------------------------------------------------------------

HTML: Mapping[str, Callable[[int], str]] = {
    "nested-div": lambda n: "<div>" * n + "x",
    "nested-table": lambda n: "<table><tr><td>" * n + "x",
    "nested-mixed": lambda n: "<ul><li><blockquote><b>" * n + "x",
    "long-line": lambda n: "<p>" + "a" * n,
    "attributes": lambda n: "<p " + " ".join(f"a{i}=1" for i in range(n)) + ">x",
    "same-attribute": lambda n: "<p " + "a=1 " * n + ">x",
    "breaks": lambda n: "<p>x" + "<br>" * n,
    "links": lambda n: "<article>" + "<a href='http://e.com/x'>t</a> " * n,
    "rows": lambda n: "<table>" + "<tr><td>a</td><td>b</td></tr>" * n,
    "less-than": lambda n: "<" * n,
    "paragraphs": lambda n: "<p>hello world again</p>" * n,
    "meta": lambda n: "<head>" + "<meta property='og:title' content='x'>" * n + "</head><p>x",
    "author": lambda n: f"<head><meta name=author content='{'(' * n}'></head><p>x",
    "entities": lambda n: "<p>a" + "&nbsp;" * n + "b",
    "spaces": lambda n: "<p>a" + " " * n + "b",
    "title-dates": lambda n: "<title>" + "January 1, " * n + "</title><p>x",
}

# --- XML, JSON, ZIP -------------------------------------------------------------------------------------------------


def laughs(levels: int = 9) -> bytes:
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, levels + 1))
    head = f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "lol">{entities}]>'
    return f"{head}<rss><channel><title>&l{levels};</title></channel></rss>".encode()


def external_entity(address: str = "file:///etc/passwd") -> bytes:
    return f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY x SYSTEM "{address}">]><rss><title>&x;</title></rss>'.encode()


def deep_xml(depth: int) -> bytes:
    return b"<?xml version='1.0'?>" + b"<a>" * depth + b"</a>" * depth


JSON = {
    "deep": "[" * 1_000_000,
    "digits": '{"a":' + "9" * 5_000 + "}",
    "surrogate": '{"t":"\\ud800"}',
    "nan": '{"a":NaN}',
    "many": "[" + '{"a":1},' * 500_000 + "{}]",
    "indented": "[" * 900 + "0," * 100_000 + "0" + "]" * 900,
}


def zipped(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def docx_bomb(megabytes: int) -> bytes:
    return zipped({"word/document.xml": b"<w>" + b" " * (megabytes << 20) + b"</w>"})


def xlsx_bomb(megabytes: int) -> bytes:
    return zipped({"xl/workbook.xml": b"<w>" + b" " * (megabytes << 20) + b"</w>"})


def many_members(count: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(count):
            archive.writestr(f"m{number}", b"")
    return out.getvalue()


def forged_size(content: bytes = b" " * 5_000_000) -> bytes:
    """A member that declares one byte and holds five million."""
    packed = bytearray(zipped({"word/document.xml": content}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", packed, packed.find(mark) + offset, 1)
    return bytes(packed)


def gzip_bomb(megabytes: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb") as file:
        for _ in range(megabytes):
            file.write(bytes(1 << 20))
    return out.getvalue()


# --- PDF ------------------------------------------------------------------------------------------------------------

CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
RESOURCES = b"/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>"


def pdf(objects: Mapping[int, bytes]) -> bytes:
    """A file of these objects; object 1 is the catalogue."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = {}
    for number, body in objects.items():
        offsets[number] = len(out)
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start, size = len(out), max(objects) + 1
    rows = b"".join(b"%010d 00000 n \n" % offsets.get(number, 0) for number in range(1, size))
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size + rows
    return bytes(out + b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, start))


def flate(content: bytes, entries: bytes = b"") -> bytes:
    return stream(zlib.compress(content, 9), b"/Filter/FlateDecode" + entries)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>\nstream\n" % (entries, len(content)) + content + b"\nendstream"


def pages(contents: list[bytes], extra: Mapping[int, bytes] | None = None) -> bytes:
    """One page per content stream (an object's body)."""
    objects = {1: CATALOG, 5: FONT, 6: b"null", **(extra or {})}
    kids = []
    for number, content in enumerate(contents):
        page, body = 10 + 2 * number, 11 + 2 * number
        kids.append(b"%d 0 R" % page)
        objects[body] = content
        head = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R" % body
        objects[page] = head + RESOURCES + b">>"
    objects[2] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(kids))
    return pdf(objects)


def text_page(*lines: str) -> bytes:
    shown = b" ".join(b"(%s) Tj T*" % line.encode("latin-1") for line in lines)
    return stream(b"BT /F1 12 Tf 14 TL 50 700 Td " + shown + b" ET")


def shared_pages(count: int, operators: int = 100_000) -> bytes:
    """Pages that share one stream of many operators: minutes for a reader, kilobytes on the wire."""
    objects = {1: CATALOG, 4: flate(b"BT " + b"/F1 12 Tf (a) Tj " * operators + b"ET"), 5: FONT}
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    objects.update({10 + i: page for i in range(count)})
    kids = b" ".join(b"%d 0 R" % (10 + i) for i in range(count))
    objects[2] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, kids)
    return pdf(objects)


def _form(content: bytes) -> bytes:
    return flate(content, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F1 5 0 R>>>>")


def flate_bomb(megabytes: int) -> bytes:
    return pages([flate(b" " * (megabytes << 20))])


PDF: Mapping[str, Callable[[], bytes]] = {
    "tree-loop": lambda: pdf({1: CATALOG, 2: b"<</Type/Pages/Count 1/Kids[2 0 R]>>"}),
    "count": lambda: pdf({1: CATALOG, 2: b"<</Type/Pages/Count 999999999/Kids[]>>"}),
    "flate": lambda: flate_bomb(300),
    "double-flate": lambda: pages(
        [stream(zlib.compress(zlib.compress(b" " * (300 << 20), 9), 9), b"/Filter[/FlateDecode/FlateDecode]")]
    ),
    "predictor": lambda: pages([flate(b"\x02" * (50 << 20), b"/DecodeParms<</Predictor 12/Columns 1>>")]),
    "ascii85": lambda: pages([stream(b"z" * (14 << 20), b"/Filter/ASCII85Decode")]),
    "hex-string": lambda: pages([flate(b"BT /F1 9 Tf <" + b"41" * (9 << 20) + b"> Tj ET")]),
    "long-string": lambda: pages([flate(b"BT /F1 9 Tf (" + b"a" * (19 << 20) + b") Tj ET")]),
    "form-again": lambda: pages([flate(b"/X Do " * 4_000)], {6: _form(b"BT /F1 9 Tf " + b"(a) Tj " * 1_000 + b"ET")}),
    "operators": lambda: pages([flate(b"BT " + b"/F1 12 Tf (a) Tj " * 300_000 + b"ET")]),
    "shared-stream": lambda: shared_pages(50),
    "garbage": lambda: b"%PDF-1.7\n" + bytes(range(256)) * 4_000,
}

json_values = {name: text.encode() for name, text in JSON.items()}
assert json.loads(JSON["many"])  # the recipe is valid where it is meant to be
