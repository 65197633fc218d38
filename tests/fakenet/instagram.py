"""Instagram's logged-out interface as vendors/instagram.md describes it, and the Groq that its posts are heard by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from types import MappingProxyType
from typing import Any

from providers._contract import Kind, Role, Target
from providers._registry import lookup
from tests.fakenet._groq import Groq
from tests.fakenet._http import Answer, Request, as_html, as_json
from tests.fakenet._vendor import Case
from tests.fakenet._world import SENTENCES, World

IMPERSONATES = True
SIDE_REMOTES = ("groq",)

# Section 1: the site's own alphabet, and the check it gives for it.
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
REEL = "DaI1heMgpXV"
PICTURE, LONG_PICTURE, GATED, GONE = "DaPICTUREaa", "DaLONGPICaa", "DaGATEDaaaa", "DaGONEaaaaa"
WITHHELD, SILENT, ALBUM = "DaWITHHELDa", "DaSILENTaaa", "DaALBUMaaaa"
RETIRED = "DaRETIREDaa"
"""A post that only its own page still brings."""
SHARED, SHARED_USER = "BAShared01", "BAUser0001"

# Sections 2 and 3: query names and ids.
POST_QUERY = ("PolarisLoggedOutDesktopWWWPostRootContentQuery", "27130156389949648")
POSTS_QUERY = ("PolarisLoggedOutDesktopWWWProfilePostsTabContentQuery", "27553725110923321")
ABOUT_QUERY = ("PolarisLoggedOutDesktopWWWProfileRootContentQuery", "27981003384861049")

USER, PRIVATE_USER, NEW_USER, NOBODY = "sample_user", "locked_user", "new.user", "nobody_here"
TOTAL = 30
CURSOR = "QVFD{}=="

# Section 4: "200 HTML with title `Login • Instagram`".
WALL = as_html("<!doctype html><html><head><title>Login • Instagram</title></head><body>Log in</body></html>")


def refused(status: int, message: str, code: int) -> Answer:
    return as_json({"message": message, "status": "fail", "error": {"code": code}, "error_code": code}, status)


class Instagram:
    """Handler of the site. walled: it asks everybody to log in."""

    def __init__(self, world: World) -> None:
        self.walled = False

    def __call__(self, request: Request) -> Answer:
        if self.walled:
            return Answer(302, headers=(("location", "https://www.instagram.com/accounts/login/?next=%2F"),))
        if request.method == "POST" and request.path == "/api/graphql":
            return self._query(request)
        if request.method == "POST" and request.path == "/graphql/query":
            return as_json({"data": {"xig_polaris_media": None}})  # section 2: the endpoint trap
        if request.path.startswith("/share/"):
            return self._share(request)
        return self._page(request)

    # --- queries ------------------------------------------------------------------------------------------------------

    def _query(self, request: Request) -> Answer:
        if not all(request.header(f"sec-fetch-{name}") for name in ("site", "mode", "dest")):
            return WALL  # section 2: "Without the three Sec-Fetch-* headers the answer is 200 with HTML"
        form = request.form
        agrees = form.get("lsd") and form["lsd"] == request.header("x-fb-lsd")
        has_cookie = f"csrftoken={request.header('x-csrftoken')}" in (request.header("cookie") or "")
        if not agrees or not has_cookie or request.header("x-ig-app-id") != "936619743392459":
            return as_json({"error": 1357054, "errorSummary": "Sorry, something went wrong"})  # section 4
        query = form.get("fb_api_req_friendly_name"), form.get("doc_id")
        variables = json.loads(form["variables"])
        if query == POST_QUERY:
            return self._post(variables)
        if query == POSTS_QUERY:
            return self._posts(variables)
        if query == ABOUT_QUERY:
            return as_json({"data": {"xig_user_by_username": about(variables["username"])}})
        return as_json({"errors": [{"message": "The GraphQL document with ID was not found.", "code": 1675030}]})

    def _post(self, variables: Mapping[str, Any]) -> Answer:
        code = code_of(int(variables["media_id"])) if isinstance(variables["media_id"], str) else ""
        if code == RETIRED:
            return as_json({"errors": [{"message": "Exception was thrown during the execution of a query"}]})
        return as_json({"data": {"xig_polaris_media": media(code)}})

    def _posts(self, variables: Mapping[str, Any]) -> Answer:
        user, first = variables["username"], variables["first"]
        if user == NOBODY:
            return as_json({"data": {"xig_user_by_username": None}})
        start = int(variables.get("after", CURSOR.format(0)).removeprefix("QVFD").rstrip("="))
        total = TOTAL if user == USER else 0
        numbers = range(start, min(start + first, total))
        end = start + len(numbers)
        connection = {
            "edges": [{"node": node(number, user)} for number in numbers],
            "page_info": {"end_cursor": CURSOR.format(end), "has_next_page": end < total},
        }
        root = {"id": "17841400000000000", "polaris_ordered_timeline_connection": connection}
        return as_json({"data": {"xig_user_by_username": root}})

    # --- pages --------------------------------------------------------------------------------------------------------

    def _share(self, request: Request) -> Answer:
        code = request.path.strip("/").rpartition("/")[2]
        if code == SHARED:
            return Answer(301, headers=(("location", f"https://www.instagram.com/reel/{REEL}/?igsh=x"),))
        if code == SHARED_USER:
            return Answer(301, headers=(("location", f"https://www.instagram.com/{USER}/"),))
        return WALL

    def _page(self, request: Request) -> Answer:
        is_opened = request.header("sec-fetch-dest") == "document" and request.header("sec-fetch-site") == "none"
        if request.path != f"/p/{RETIRED}/" or not is_opened:
            return WALL
        result = {"data": {"xig_polaris_media": media(RETIRED)}}
        data = {"require": [["RelayPrefetchedStreamCache", "next", [], ["x", {"__bbox": {"result": result}}]]]}
        scripts = '<script type="application/json" data-sjs>{"require":[]}</script>'
        scripts += f'<script type="application/json" data-content-len="9" data-sjs>{json.dumps(data)}</script>'
        return as_html(f"<!doctype html><html><head><title>Instagram</title></head><body>{scripts}</body></html>")


def pk_of(code: str) -> int:
    """Section 1: the code as a big-endian number to the base of 64."""
    return sum(ALPHABET.index(letter) * 64**place for place, letter in enumerate(reversed(code)))


def code_of(pk: int) -> str:
    code = ""
    while pk:
        code, pk = ALPHABET[pk % 64] + code, pk // 64
    return code


def manifest(address: str) -> str:
    """Section 2, "Audio track"."""
    return (
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT31.5S"><Period>'
        '<AdaptationSet contentType="video"><Representation bandwidth="400000" mimeType="video/mp4">'
        "<BaseURL>https://scontent.cdninstagram.com/v.mp4</BaseURL></Representation></AdaptationSet>"
        '<AdaptationSet contentType="audio"><Representation bandwidth="64000" mimeType="audio/mp4">'
        f"<BaseURL>{escape(address)}</BaseURL></Representation></AdaptationSet></Period></MPD>"
    )


def clip(name: str) -> dict[str, Any]:
    return {
        "media_type": 2, "has_audio": True, "accessibility_caption": None,
        "video_versions": [{"type": 101, "url": "https://scontent.cdninstagram.com/v.mp4", "width": 720}],
        "video_dash_manifest": manifest(f"https://scontent.cdninstagram.com/{name}.mp4?_nc_sid=1&oh=00_AB&oe=6A1B2C3D"),
    }  # fmt: skip


def picture(alt: str) -> dict[str, Any]:
    return {
        "media_type": "1", "product_type": "feed", "has_audio": None, "video_versions": None,
        "video_dash_manifest": None, "accessibility_caption": alt,
    }  # fmt: skip


def media(code: str) -> dict[str, Any] | None:
    """Section 2, "Response" and "Not readable"."""
    if code == GONE:
        return None
    pk = pk_of(code)
    outer: dict[str, Any] = {"__typename": "XIGPolarisVideoMedia", "pk": str(pk), "code": code, "gating_ruling": None}
    if code == GATED:
        ruling = {"gating_type": "age", "title": "Age-restricted content", "description": "..."}
        return outer | {"gating_ruling": ruling, "if_not_gated_logged_out": None}
    names = {WITHHELD: "withheld", SILENT: "silent"}
    kinds = {
        PICTURE: picture("Photo by Sample User of a kiln"),
        LONG_PICTURE: picture("Photo of a kiln"),
        ALBUM: {"media_type": 8, "product_type": "carousel_container", "carousel_media": [
            picture("Photo of a thermocouple"), clip("a"), clip("b"),
        ]},
    }  # fmt: skip
    text = " ".join(SENTENCES) if code == LONG_PICTURE else "Sample caption #tag"
    fields = {
        "pk": str(pk), "code": code, "taken_at": int(datetime(2026, 6, 28, tzinfo=UTC).timestamp()),
        "product_type": "clips", "caption": {"text": text}, "like_count": 10, "comment_count": 2,
        "user": {"pk": "123", "username": "sample_user", "full_name": "Sample User"}, "carousel_media": None,
        "image_versions2": {"candidates": [{"url": "https://scontent.cdninstagram.com/i.jpg", "width": 1080}]},
    } | kinds.get(code, clip(names.get(code, "a")))  # fmt: skip
    return outer | {"if_not_gated_logged_out": fields, "comments_connection": {"edges": []}}


def node(number: int, user: str) -> dict[str, Any]:
    """Section 3: no date, no likes, no address of a video; every fifth is another account's."""
    pk = pk_of(REEL) - number * (86_400_000 << 23)
    return {
        "pk": str(pk), "code": code_of(pk), "media_type": 2, "product_type": "clips",
        "__typename": "XIGPolarisVideoMedia", "caption": {"text": f"Sample number {number + 1}"},
        "display_uri": "https://scontent.cdninstagram.com/i.jpg", "accessibility_caption": None,
        "user": {"username": "other.user" if number % 5 == 4 else user},
    }  # fmt: skip


def about(user: str) -> dict[str, Any] | None:
    if user == NOBODY:
        return None
    return {
        "pk": "123", "id": "17841400000000000", "username": user, "full_name": "Sample User",
        "biography": "Measures things.\nSells none.", "is_private": user == PRIVATE_USER, "is_verified": False,
        "follower_count": 1234, "following_count": 56, "bio_links": [], "all_media_count": None,
    }  # fmt: skip


REMOTES: dict[str, Any] = {"instagram": Instagram, "groq": Groq}


def build(urls: Mapping[str, str], canary: str) -> Any:
    groq = urls["groq"] + "/openai/v1/audio/transcriptions"
    return lookup("instagram")(key=canary, url=urls["instagram"], groq_url=groq)


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"GROQ_API_KEY": key, "GROQ_BASE_URL": urls["groq"], "INSTAGRAM_BASE_URL": urls["instagram"]}


# Section 4: there is no key that could be refused, and a page is how the login wall looks.
EXPECTED = MappingProxyType({"401": Kind.BLOCKED, "403": Kind.BLOCKED, "HTML page": Kind.BLOCKED})

CASES = (
    Case(
        Role.READ,
        "instagram",
        lambda urls: Target(f"https://www.instagram.com/reel/{REEL}/"),
        good="post.json",
        expected=EXPECTED,
    ),
)
