"""The posts of an Instagram profile, logged out, twelve a page (instaloader, gallery-dl, read 2026-10).

One query for the posts; on the first page one more for who it is, which also tells a private account from one without
posts. Posts come without dates and videos: the date follows from the id, and the words of a video from reading the
post. The last line of a page that has more after it says where to read on. Other accounts' posts may be among them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from providers._contract import Empty, Malformed, NotFound, Page, ProviderError, Signals, Target, Unsupported
from providers._extract.escape import escape, escape_lines
from providers._instagram import Question, question
from providers._instagram_addresses import CURSOR, SITE, Post, Profile, post_at, profile_at, published
from providers._registry import register
from providers._snippets import plain, snippet, title

# In use in September and October 2026.
POSTS = Question("PolarisLoggedOutDesktopWWWProfilePostsTabContentQuery", "27553725110923321")
ABOUT = Question("PolarisLoggedOutDesktopWWWProfileRootContentQuery", "27981003384861049")
ROOT = "xig_user_by_username"

PAGE_POSTS = 12
MAX_CAPTION_CHARS = 5_000
MAX_BIOGRAPHY_CHARS = 2_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """A post in the list. user: whose it is; others' posts are among those of a profile."""

    post: Post
    user: str
    caption: str
    kind: str


@dataclass(frozen=True, slots=True)
class Posts:
    """A part of the list. after: where the next one begins, "" where this is the last."""

    entries: tuple[Entry, ...]
    after: str


@dataclass(frozen=True, slots=True)
class About:
    """Who a profile is of. followers: None where the site does not say."""

    name: str
    biography: str
    followers: int | None
    following: int | None
    is_private: bool


@register("instagram-profile")
@dataclass(frozen=True, slots=True)
class InstagramProfile:
    """Reads profiles. `url` is the site's base."""

    url: str = field(default=SITE, repr=False)

    def accepts(self, target: Target) -> bool:
        return profile_at(target.url) is not None

    async def read(self, target: Target, client: httpx.AsyncClient) -> Page:
        """Twelve posts of the profile, from where the address says. Raises why there are none."""
        profile = profile_at(target.url)
        if profile is None:
            raise Unsupported("no profile")
        posts = await self._posts(profile, client)
        if not posts.entries:
            # Now and then the first answer is empty though there are posts.
            posts = await self._posts(profile, client)
        about = await self._about(profile, posts, client)
        return to_page(target.url, profile, posts, about)

    async def _posts(self, profile: Profile, client: httpx.AsyncClient) -> Posts:
        variables: dict[str, Any] = {"first": PAGE_POSTS, "username": profile.user}
        if profile.after:
            variables["after"] = profile.after
        return await self._ask(POSTS, variables, profile, client, _PostsAfter(profile.after))

    async def _about(self, profile: Profile, posts: Posts, client: httpx.AsyncClient) -> About | None:
        """Who it is; None on later pages, and where the site does not tell. Raises why there are no posts."""
        variables = {"username": profile.user}
        if posts.entries:
            if profile.after:
                return None
            with suppress(ProviderError):
                return await self._ask(ABOUT, variables, profile, client, parse_about)
            return None
        about = await self._ask(ABOUT, variables, profile, client, parse_about)
        raise Unsupported("account is private") if about.is_private else Empty("no posts")

    async def _ask(
        self,
        query: Question,
        variables: dict[str, Any],
        profile: Profile,
        client: httpx.AsyncClient,
        parse: Callable[[Any], T],
    ) -> T:
        referer = Profile(profile.user).url
        return await question(client, self.url, query, variables, referer=referer, parse=parse)


# --- the answers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PostsAfter:
    """Reads the posts after a cursor; an object and not a closure, so that it can be sent to a worker."""

    after: str

    def __call__(self, data: Any) -> Posts:
        return parse_posts(data, self.after)


def parse_posts(data: Any, after: str) -> Posts:
    """The posts in an answer; none for a profile that does not show any. Raises NotFound where there is no profile."""
    connection = (data[ROOT] or {}).get("polaris_ordered_timeline_connection") or {}
    edges = connection.get("edges") or []
    entries = tuple(_entry(edge["node"]) for edge in edges[:PAGE_POSTS])
    info = connection.get("page_info") or {}
    cursor = info.get("end_cursor") if info.get("has_next_page") else None
    # A cursor that comes again would lead round in a circle.
    is_new = isinstance(cursor, str) and CURSOR.fullmatch(cursor) is not None and cursor != after
    return Posts(entries, cursor if is_new and isinstance(cursor, str) else "")


def _entry(node: dict[str, Any]) -> Entry:
    post = post_at(f"{SITE}/p/{node['code']}/")
    if not isinstance(post, Post):
        raise Malformed("code of a post is none")
    caption = node.get("caption")
    text = caption["text"] if isinstance(caption, dict) else node.get("accessibility_caption") or ""
    if not isinstance(text, str):
        raise Malformed("caption is no text")
    return Entry(post, title((node.get("user") or {}).get("username")), text.strip()[:MAX_CAPTION_CHARS], _kind(node))


def _kind(node: dict[str, Any]) -> str:
    if node.get("product_type") == "clips":
        return "reel"
    return {"1": "picture", "2": "video", "8": "carousel"}.get(str(node.get("media_type")), "post")


def parse_about(data: Any) -> About:
    """Who a profile is of. Raises NotFound where there is none."""
    user = data[ROOT]
    if user is None:
        raise NotFound("no such profile")
    biography = user.get("biography")
    return About(
        name=title(user.get("full_name")),
        biography=biography.strip()[:MAX_BIOGRAPHY_CHARS] if isinstance(biography, str) else "",
        followers=_count(user.get("follower_count")),
        following=_count(user.get("following_count")),
        is_private=user.get("is_private") is True,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else None


# --- the page ---------------------------------------------------------------------------------------------------------


def to_page(url: str, profile: Profile, posts: Posts, about: About | None) -> Page:
    """The posts as Markdown, with a `Next page:` line where there are more."""
    name = f"{about.name} (@{profile.user})" if about is not None and about.name else f"@{profile.user}"
    parts = [f"# {escape(name)} on Instagram", *(_said_of(about) if about is not None else ())]
    for entry in posts.entries:
        parts += [_heading(entry, profile), escape_lines(escape(entry.caption))]
    if posts.after:
        parts.append(f"Next page: <{Profile(profile.user, posts.after).url}>")
    return Page(
        url=url,
        final_url=url,
        markdown="\n\n".join(filter(None, parts)),
        title=f"{name} on Instagram",
        byline=name,
        site_name="Instagram",
        excerpt=snippet(plain(about.biography)) if about is not None else "",
        signals=Signals(document=True),
    )


def _said_of(about: About) -> list[str]:
    counts = ((about.followers, "followers"), (about.following, "following"))
    numbers = ", ".join(f"{count:,} {what}" for count, what in counts if count is not None)
    return [numbers, escape_lines(escape(about.biography))]


def _heading(entry: Entry, profile: Profile) -> str:
    """The date of a post, a link to it, and whose it is where it is another account's."""
    other = f" by @{escape(entry.user)}" if entry.user and entry.user.lower() != profile.user.lower() else ""
    made = published(entry.post.pk)
    return f"## {f'{made}, ' if made else ''}[{entry.kind}]({entry.post.url}){other}"
