"""Bytes to text. An order that cannot be fooled by a wrong header, and an allow list of codecs.

BOM, then strictly valid UTF-8 (text in another character set is next to never valid UTF-8 by chance, and servers that
announce a default one are common), then the header's charset, then `<meta>`, then detection on the bytes. Python's
own registry is not asked for names from outside: `punycode` is quadratic, `utf-7` makes tags of plain letters, and
`hex` or `rot13` are no character sets at all (security/FACTS.md C1).
"""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

META_BYTES = 64_000
"""How far a `<meta charset>` is looked for; pages with long inline styles in front of it exist."""
SAMPLE_BYTES = 24_000
FEW_ERRORS = 0.02
"""Share of undecodable characters among the non-ASCII ones up to which a declared UTF-8 is believed."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Label -> codec, after the WHATWG encoding standard (read 2026-11): what pages call gb2312 is gb18030, and so on.
_CODECS = {
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8"), "utf-8"),
    **dict.fromkeys(("utf-16", "utf-16le", "unicode", "ucs-2"), "utf-16-le"),
    "utf-16be": "utf-16-be",
    **dict.fromkeys(
        (
            "iso-8859-1",
            "iso8859-1",
            "iso_8859-1",
            "latin1",
            "latin-1",
            "l1",
            "ascii",
            "us-ascii",
            "windows-1252",
            "cp1252",
            "x-cp1252",
            "cp-1252",
        ),
        "cp1252",
    ),
    **dict.fromkeys(("iso-8859-9", "iso8859-9", "latin5", "windows-1254", "cp1254"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620", "windows-874"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "gb-2312", "gb_2312-80", "x-gbk", "chinese", "cp936"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j", "ms_kanji", "cp932"), "cp932"),
    **dict.fromkeys(("euc-jp", "x-euc-jp", "eucjp"), "euc_jp"),
    "iso-2022-jp": "iso2022_jp",
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "ksc5601", "korean", "windows-949", "cp949"), "cp949"),
    **dict.fromkeys(("koi8-r", "koi8", "koi8_r"), "koi8_r"),
    **dict.fromkeys(("koi8-u", "koi8-ru"), "koi8_u"),
    **dict.fromkeys(("macintosh", "mac", "x-mac-roman"), "mac_roman"),
    **dict.fromkeys(("x-mac-cyrillic", "x-mac-ukrainian"), "mac_cyrillic"),
    **dict.fromkeys(("ibm866", "cp866", "866"), "cp866"),
    **{f"windows-{number}": f"cp{number}" for number in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
    **{f"cp{number}": f"cp{number}" for number in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
    **{f"iso-8859-{number}": f"iso8859_{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"iso8859-{number}": f"iso8859_{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    "iso-8859-8-i": "iso8859_8",
}

_DETECTABLE: tuple[str, ...] = (
    "cp1250",
    "cp1251",
    "cp1252",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "koi8_r",
    "cp866",
)
_DETECTABLE += ("gb18030", "big5", "cp932", "euc_jp", "cp949", "iso8859_2", "cp874", "mac_cyrillic")

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta\b[^>]{0,1000}?charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\b[^>]{0,200}?encoding\s*=\s*[\"']([\w:.-]{1,40})", re.IGNORECASE)
_MARKUP = re.compile(rb"<(?:script|style)\b.{0,20000}?</(?:script|style)|<[^<>]{0,2000}>", re.IGNORECASE | re.DOTALL)


def codec_of(label: str) -> str | None:
    """The codec for a charset's name from outside, or None for one that is not on the list."""
    return _CODECS.get(label.strip().lower())


def decode(body: bytes, content_type: str = "") -> str:
    """The text of `body`. Never fails: what cannot be decoded becomes U+FFFD.

    Args:
        body: May have been cut anywhere, inside a character too.
        content_type: The raw header; its charset counts only where the bytes agree with it.
    """
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    declared = _declared(body, content_type)
    if declared and declared[0].startswith("utf-16"):
        return body.decode(declared[0], "replace")  # zero bytes were seen, see `_declared`
    if body.isascii():
        return body.decode("ascii") if "iso2022_jp" not in declared else body.decode("iso2022_jp", "replace")
    for codec in ("utf-8", *declared):
        text = _strictly(body, codec)
        if text is not None:
            return text
    if "utf-8" in declared:
        text = body.decode("utf-8", "replace")
        if text.count("\ufffd") <= FEW_ERRORS * sum(1 for _ in re.finditer(r"[^\x00-\x7f]+", text)):
            return text
    return body.decode(_detect(body), "replace")


def _declared(body: bytes, content_type: str) -> list[str]:
    """Codecs that header, XML declaration and `<meta>` name, in this order, without those that cannot be."""
    labels = _CHARSET.findall(content_type)[:1]
    for pattern in (_XML, _META):
        found = pattern.search(body, 0, META_BYTES)
        if found:
            labels.append(found[1].decode("ascii", "replace"))
    codecs_named = [codec_of(label) for label in labels]
    if b"\0" not in body[:1000]:
        # Whoever could read the label without a zero byte between its letters is not looking at UTF-16.
        codecs_named = [codec for codec in codecs_named if codec is not None and not codec.startswith("utf-16")]
    elif body[1:1000:2].count(0) > 200:
        codecs_named.insert(0, "utf-16-le")
    elif body[0:1000:2].count(0) > 200:
        codecs_named.insert(0, "utf-16-be")
    return [codec for codec in codecs_named if codec is not None]


def _strictly(body: bytes, codec: str) -> str | None:
    """The text if all of it is valid in `codec`; a character cut off at the end does not count against it."""
    try:
        text = codecs.getincrementaldecoder(codec)().decode(body, final=False)
    except UnicodeDecodeError:
        return None
    return None if codec == "utf-8" and "\0" in text[:1000] and text[:1000].count("\0") > 200 else text


def _detect(body: bytes) -> str:
    """A guess from what the letters look like, markup left out; windows-1252 where there is none."""
    words = _MARKUP.sub(b" ", body[: 8 * SAMPLE_BYTES])
    sample = b" ".join(part for part in words.split() if not part.isascii() or len(part) < 20)[:SAMPLE_BYTES]
    best = from_bytes(sample or body[:SAMPLE_BYTES], cp_isolation=list(_DETECTABLE)).best()
    return codecs.lookup(best.encoding).name if best is not None else "cp1252"
