"""What the names of classes and ids say of an element: part of the frame, over the page, comments, a control."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml.html import HtmlElement

_CONTROLS = frozenset(("share", "sharing", "social", "pager", "pagination", "login", "log-in", "signin", "sign-in"))
"""Names of controls, which hold few words; a part with many is named like one by chance."""
_FRAME_NAME = re.compile(
    r"(?:^|[_-])(?:nav(?:bar|igation)?|footer|foot|side-?bar|bread-?crumbs?|crumbs?|cookies?|consent|gdpr|onetrust"
    r"|shar(?:e|ing)|social|related|recommend(?:ed|ations?)?|newsletter|subscri(?:be|ption)|advert(?:isement)?s?|ads?"
    r"|pagination|pager|skip-?link|log-?in|sign-?in|sign-?up|sign-?up-?bar|masthead|top-?bar|disclaimer|comment-?form"
    r"|reply-?form|respond|minicart|author-?bio|you-?may-?also|read-?next|tag-?cloud|loader|spinner|onebox|link-?preview|guest-?teaser|promo-?bar|announcement-?bar"
    r"|notify(?:-me)?|back-in-stock|legal)(?=$|[_-])",
    re.IGNORECASE,
)
_OVERLAY_NAME = re.compile(
    r"(?:^|[_-])(?:modal|pop-?up|pop-?over|light-?box|off-?canvas|take-?over|fly-?out|position-fixed)(?=$|[_-])",
    re.IGNORECASE,
)
_SOFT_NAME = re.compile(
    r"(?:^|[_-])(?:menus?|promo|banner|overlay|tool-?bar|tool-?tip|search-?(?:form|box|bar|input|field)|toc|table-?of-?contents"
    r"|on-?this-?page|copyright|cart|wishlist|facets?|filters?|trending|popular|upsell|cross-?sell|announcement|install)(?=$|[_-])",
    re.IGNORECASE,
)
"""Names that also stand on parts with running text; only parts without any are dropped for these."""
_CONTENT_NAME = re.compile(
    r"(?:^|[_-])(?:content|main|article|post|entry|body|product|thread|topic|message|results?|page|wrapper|container"
    r"|layout|col|row|grid|section|nav-?(?:buttons?|btns?|arrows?|dots?)|has|with|no|not|is|without|hide|show)(?=$|[_-])",
    re.IGNORECASE,
)
_COMMENTS_NAME = re.compile(
    r"(?:^|[_-])(?:comments?|comment-?(?:list|area|section|thread|s-area)|disqus(?:-?thread)?|responses|livefyre|utterances)"
    r"(?=$|[_-])",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Signs:
    """`frame`: it stands around the content. `control`: only where it holds few words. `soft`: only without prose."""

    frame: bool = False
    control: bool = False
    soft: bool = False
    overlay: bool = False
    comments: bool = False


_NOTHING = Signs()


class Names:
    """Reads the names of one page; each distinct one once, since they stand on many elements."""

    def __init__(self) -> None:
        self._known: dict[str, Signs] = {}
        self._joined: dict[str, Signs] = {}

    def of(self, element: HtmlElement) -> Signs:
        """What the element's classes, its id and the name of a custom element say together."""
        classes, identifier, tag = element.get("class"), element.get("id"), str(element.tag)
        if not classes and not identifier and "-" not in tag:
            return _NOTHING
        joined = f"{classes or ''} {identifier or ''} {tag if '-' in tag else ''}"
        signs = self._joined.get(joined)
        if signs is None:
            signs = self._joined[joined] = _together([self._sign(name) for name in joined.split()])
        return signs

    def _sign(self, name: str) -> Signs:
        if name not in self._known:
            self._known[name] = _signs(name)
        return self._known[name]


def _together(signs: list[Signs]) -> Signs:
    return Signs(
        frame=any(sign.frame for sign in signs),
        control=any(sign.control for sign in signs),
        soft=any(sign.soft for sign in signs),
        overlay=any(sign.overlay for sign in signs),
        comments=any(sign.comments for sign in signs),
    )


def _signs(name: str) -> Signs:
    if _CONTENT_NAME.search(name) is not None:
        return Signs(overlay=name == "position-fixed")
    name = _CAMEL.sub("-", name)
    frame = _FRAME_NAME.search(name)
    control = frame is not None and frame[0].strip("_-").lower() in _CONTROLS
    return Signs(
        frame=frame is not None and not control,
        control=control,
        soft=_SOFT_NAME.search(name) is not None,
        overlay=name == "fixed" or _OVERLAY_NAME.search(name) is not None,
        comments=_COMMENTS_NAME.search(name) is not None,
    )
