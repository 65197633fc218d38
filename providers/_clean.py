r"""Text from outside made harmless: pure functions from string to string, each linear in its length and idempotent.

`clean` is for Markdown of many lines, `clean_line` for titles, snippets and other short things. The rules are those of
security/FACTS.md E3. Two thoughts that the patterns below do not show:

*Code keeps its characters.* A picture or a link inside a code block is text, and a page about Markdown must not lose
it. But who decides what is code? The program that renders the answer, and a page can be written so that our notion
and its notion differ (a fence inside a comment, a list item, a table cell). So there are three zones: text; certain
code, where every reading agrees, which stays as it is; and doubtful code, where `![` becomes `!\[`, which no reading
takes for a picture.

*Joiners.* Persian, Hindi and emoji need zero-width joiners between their signs; between Latin letters they are a place
to hide bits in. One is kept between signs of the writing systems that use them and between emoji, all others go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINE_CHARS = 300

# --- characters -----------------------------------------------------------------------------------------------------

_NEWLINE = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # CSI
    # OSC, DCS, SOS, PM, APC up to their end. Each stops where the next could begin, so that many unended ones do not
    # make it quadratic.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]"  # all shorter ones
)
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPH = "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60\U00020000-\U0003fffd"
_JOINING = (
    "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\u1a00-\u1cff\ua8e0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00011fff"
)
# Signs that leave a consonant without its vowel; a joiner after one shapes it at the end of a word, too.
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"

# The engine looks a character of the first plane up in a table, and walks a list for the others: hence two of each,
# the second used only where there is such a character. Each pattern starts with the class of what it removes, since
# only then the engine skips to it.
_LOW_NON_CHARACTER = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_LOW_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ue000-\uf8ff\ufeff\ufff9-\ufffb"
)
_HIGH_NON_CHARACTER = "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 17))
# Tags (a flag written with them falls back to the black flag) and private use.
_HIGH_INVISIBLE = "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff\U000f0000-\U000ffffd\U00100000-\U0010fffd"

_SUSPECT_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_LOW_SUSPECT = re.compile(f"[{_LOW_NON_CHARACTER}{_LOW_INVISIBLE}\u200c\u200d\u2028\u2029\ufe00-\ufe0f]")
_HIGH = re.compile("[\U00010000-\U0010ffff]")
_SEQUENCE_START = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
_LOW_NON_CHARACTERS = re.compile(f"[{_LOW_NON_CHARACTER}]")
_HIGH_NON_CHARACTERS = re.compile(f"[{_HIGH_NON_CHARACTER}]")
_LOW_INVISIBLES = re.compile(f"[{_LOW_INVISIBLE}]+")
_HIGH_INVISIBLES = re.compile(f"[{_HIGH_INVISIBLE}]+")
_STRAY_EMOJI_SELECTOR = re.compile(f"[\ufe0e\ufe0f](?<![{_EMOJI}].)(?!(?<=[0-9#*]\ufe0f)\u20e3)", re.DOTALL)
_STRAY_GLYPH_SELECTOR = re.compile(f"[\ufe00-\ufe0d](?<![{_IDEOGRAPH}].)", re.DOTALL)
_STRAY_HIGH_SELECTOR = re.compile(f"[\U000e0100-\U000e01ef](?<![{_IDEOGRAPH}].)", re.DOTALL)
_STRAY_JOINER = re.compile(
    f"[\u200c\u200d](?:(?<![{_JOINING}{_EMOJI}\ufe0f].)[\u200c\u200d]*+"
    f"|(?<![{_VIRAMA}].)[\u200c\u200d]*+(?![{_JOINING}{_EMOJI}]))",
    re.DOTALL,
)


def clean_characters(text: str) -> str:
    """Remove what a reader does not see and a terminal obeys; lone surrogates and non-characters become U+FFFD.

    Every kind of line end becomes a newline. Of the control characters only newline and tab are left.
    """
    if text.isascii():
        if not _SUSPECT_ASCII.search(text):
            return text
        has_high = False
    else:
        has_high = _HIGH.search(text) is not None
        if not has_high and not _LOW_SUSPECT.search(text):
            return text
    if _SEQUENCE_START.search(text):
        text = _ESCAPE_SEQUENCE.sub("", text)
    text = _NEWLINE.sub("\n", text)
    text = _LOW_INVISIBLES.sub("", text)
    text = _LOW_NON_CHARACTERS.sub("\ufffd", text)
    if has_high:
        text = _HIGH_INVISIBLES.sub("", text)
        text = _HIGH_NON_CHARACTERS.sub("\ufffd", text)
        text = _STRAY_HIGH_SELECTOR.sub("", text)
    text = _STRAY_EMOJI_SELECTOR.sub("", text)
    text = _STRAY_GLYPH_SELECTOR.sub("", text)
    return _STRAY_JOINER.sub("", text)


# --- Markdown -------------------------------------------------------------------------------------------------------

_FENCE_LINE = re.compile(r"^([ \t>*+\-\d.)]*+)(`{3,}+|~{3,}+)([^\n]*)$", re.MULTILINE)
_RAW_BLOCK = re.compile(r"<(?:pre|script|style|textarea|[!?])", re.IGNORECASE)
_PICTURE_MARK = re.compile(r"(?<!\\)!\[")

_UNESCAPED = r"(?<!\\)((?:\\\\)*+)"
_LABEL = r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.)*+\])*+"
_TARGET = r"\(\s*+(?:<[^<>\n]*+>|[^\s()<>]*+(?:\([^\s()]*+\)[^\s()]*+)*+)"
_TITLE = r"""(?:\s++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?+\s*+\)"""
# A target that names a scheme, plainly or disguised by an entity or a backslash, which is none of the allowed ones.
_FOREIGN_SCHEME = r"(?!https?:/|mailto:)[^\s()<>/?#:&\\]*+(?::|&#?\w{1,32};|\\)"

_PICTURE = re.compile(rf"{_UNESCAPED}!\[({_LABEL})\](?:{_TARGET}{_TITLE}|\[[^\[\]]*+\])", re.DOTALL)
_PICTURE_LEFT = re.compile(rf"{_UNESCAPED}!(?=\[)(?!\[[\w ,.^*-]{{0,40}}\](?![(\[]))")
_ANY_PICTURE_LEFT = re.compile(rf"{_UNESCAPED}!(?=\[)")
_DEFINITION = re.compile(r"^[ \t>*+\-\d.)]*+\[(?:[^\[\]\\]|\\.)++\]:", re.MULTILINE | re.DOTALL)

# (Begins with the bracket, which the engine can search for; that no backslash escapes it is asked afterwards.)
_LINK_MIDDLE = r"\](?<!(?<!\\)\\\])\("
_FOREIGN_LINK = re.compile(
    rf"{_LINK_MIDDLE}\s*+<?+{_FOREIGN_SCHEME}[^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)*+\)", re.IGNORECASE
)
_FOREIGN_LINK_LEFT = re.compile(rf"{_LINK_MIDDLE}(?=\s*+<?+{_FOREIGN_SCHEME})", re.IGNORECASE)
_FOREIGN_DEFINITION = re.compile(
    rf"^([ \t>*+\-\d.)]*+\[(?:[^\[\]\\]|\\.)++\]):(?=\s*+<?+{_FOREIGN_SCHEME})",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_FOREIGN_AUTOLINK = re.compile(
    r"(?<!<)<++(?=(?:javascript|vbscript|data|file|blob|about|intent|view-source|ms-[a-z-]{1,30})\s*+:)", re.IGNORECASE
)

_COMMENT = re.compile(r"(?<![`\\])<!--.*?-->", re.DOTALL)
_PICTURE_TAG = re.compile(r"(?<!\\)<img\b([^<>]*+)>", re.IGNORECASE)
_PICTURE_TAG_LEFT = re.compile(r"(?<!\\)<(?=img\b)", re.IGNORECASE)
_PICTURE_TAG_ALT = re.compile(r"""\balt\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.IGNORECASE)
_ALT_MARKUP = re.compile(r"\\?[\[\]<>`]")
_FOREIGN_TAG = re.compile(rf"""<(a|area)\b[^<>]*?\bhref\s*+=\s*+["']?+\s*+{_FOREIGN_SCHEME}[^<>]*+>""", re.IGNORECASE)

_CODE_SPAN = re.compile(r"(?<![`\\])`([^`\n]++)`(?!`)")
_RAW_TAG = re.compile(r"(?<!\\)<[a-z/!?]", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"(\n[ \t]*\n)")


def clean(text: str) -> str:
    """Make Markdown of any origin harmless: characters, pictures (`[image: alt]`) and links (http, https, mailto)."""
    text = clean_characters(text)
    if "](" not in text and "<" not in text and "![" not in text and "]:" not in text:
        return text
    any_definition = _DEFINITION.search(text) is not None
    pieces = []
    position = 0
    for start, end, certain in _code_blocks(text):
        pieces.append(_clean_text(text[position:start], any_definition))
        pieces.append(text[start:end] if certain else _PICTURE_MARK.sub(r"!\\[", text[start:end]))
        position = end
    pieces.append(_clean_text(text[position:], any_definition))
    return "".join(pieces)


def clean_line(text: str, limit: int = MAX_LINE_CHARS) -> str:
    """As `clean`, on one line of at most `limit` characters; nothing counts as code."""
    line = " ".join(_neutralise(" ".join(clean_characters(text).split()), any_definition=True).split())
    return line if len(line) <= limit else clean_characters(line[:limit]).rstrip()


def _code_blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start, end and certainty of each fenced block, in order."""
    opener: re.Match[str] | None = None
    certain = doubtful = False
    position = 0
    for line in _FENCE_LINE.finditer(text):
        prefix, run, rest = line.groups()
        is_plain = len(prefix) <= 3 and not prefix.strip(" ")
        if opener is None:
            if run[0] == "`" and "`" in rest:
                continue  # code within a line
            between = text[position : line.start()]
            doubtful = doubtful or _RAW_BLOCK.search(between) is not None
            # In front of it in the same paragraph, a tag may have opened a block in which fences do not count.
            certain = is_plain and not doubtful and "<" not in between[between.rfind("\n\n") + 1 :]
            opener = line
        elif run[0] == opener[2][0] and len(run) >= len(opener[2]) and not rest.strip() and (is_plain or not certain):
            yield opener.start(), line.end(), certain
            doubtful = doubtful or not certain
            opener = None
            position = line.end()
    if opener is not None:
        yield opener.start(), len(text), False


def _clean_text(text: str, any_definition: bool) -> str:
    """Neutralise what stands outside code blocks; code within a line is kept where its ends are beyond doubt."""
    text = _drop_comments(text)
    if "`" not in text:
        return _neutralise(text, any_definition)
    paragraphs = _PARAGRAPH_END.split(text)
    return "".join(_clean_paragraph(paragraph, any_definition) for paragraph in paragraphs)


def _clean_paragraph(paragraph: str, any_definition: bool) -> str:
    if "`" not in paragraph or not _is_plain(paragraph):
        return _neutralise(paragraph, any_definition)
    pieces = []
    position = 0
    for span in _CODE_SPAN.finditer(paragraph):
        pieces.append(_neutralise(paragraph[position : span.start()], any_definition))
        pieces.append(span[0])
        position = span.end()
    pieces.append(_neutralise(paragraph[position:], any_definition))
    return "".join(pieces)


def _is_plain(paragraph: str) -> bool:
    """Whether every backtick belongs to a span that begins and ends on one line, outside table cells and tags."""
    spans = _CODE_SPAN.findall(paragraph)
    rest = _CODE_SPAN.sub("", paragraph)
    return "`" not in rest and not _RAW_TAG.search(rest) and not any("|" in span for span in spans)


def _neutralise(text: str, any_definition: bool) -> str:
    if "<" in text:
        text = _PICTURE_TAG.sub(_picture_of_tag, text)
        text = _PICTURE_TAG_LEFT.sub("< ", text)
        text = _FOREIGN_TAG.sub(r"<\1>", text)
        text = _FOREIGN_AUTOLINK.sub(" ", text)
    if "![" in text:
        text = _PICTURE.sub(_picture, text)
        text = (_ANY_PICTURE_LEFT if any_definition else _PICTURE_LEFT).sub(r"\1! ", text)
    if "](" in text:
        text = _FOREIGN_LINK.sub(_unlinked, text)
        text = _FOREIGN_LINK_LEFT.sub("] (", text)
    if "]:" in text:
        text = _FOREIGN_DEFINITION.sub(r"\1 :", text)
    return text


def _picture(match: re.Match[str]) -> str:
    return match[1] + _image_mark(match[2])


def _picture_of_tag(match: re.Match[str]) -> str:
    alt = _PICTURE_TAG_ALT.search(match[1])
    return _image_mark(next((group for group in alt.groups() if group), "") if alt else "")


def _image_mark(alt: str) -> str:
    """`[image: alt]`, never nothing: what stood before and after the picture must not come to touch."""
    words = " ".join(_ALT_MARKUP.sub(" ", alt).split()).rstrip("\\")
    return f"[image: {words}]" if words else "[image]"


def _unlinked(match: re.Match[str]) -> str:
    following = match.string[match.end() : match.end() + 1]
    return "] " if following in ("(", ":", "[") else "]"


def _drop_comments(text: str) -> str:
    last = text.rfind("-->")
    if last < 0 or "<!--" not in text:
        return text
    return _COMMENT.sub(" ", text[: last + 3]) + text[last + 3 :]
