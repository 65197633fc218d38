"""A Crawl4AI server 0.9 as vendors/crawl4ai.md describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers._contract import Role, Target
from providers._registry import lookup
from tests.fakenet._http import Answer, Request, as_json
from tests.fakenet._reading import as_markdown
from tests.fakenet._vendor import Case
from tests.fakenet._world import World

REFUSED_PARAMS = {
    "js_code", "c4a_script", "proxy", "proxy_config", "extra_args", "user_data_dir", "cdp_url", "cookies", "headers",
    "init_scripts", "base_url", "deep_crawl_strategy", "simulate_user", "magic", "session_id",
}  # fmt: skip


class Crawl4ai:
    """Handler of `/health` and `/crawl`. token: the one that is good, None for any."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.token: str | None = None

    def __call__(self, request: Request) -> Answer:
        if request.method == "GET" and request.path == "/health":
            return as_json({"status": "ok", "timestamp": 1754000000.0, "version": "0.9.2"})
        given = request.header("authorization") or ""
        if not given.startswith("Bearer ") or self.token not in (None, given.removeprefix("Bearer ")):
            return as_json({"detail": "Authentication required"}, 401, ("www-authenticate", "Bearer"))
        if request.method != "POST" or request.path != "/crawl":
            return as_json({"detail": "Not Found"}, 404)
        return self._crawl(request.json)

    def _crawl(self, body: Mapping[str, Any]) -> Answer:
        urls = body.get("urls")
        if not isinstance(urls, list) or not 1 <= len(urls) <= 100:
            return as_json({"detail": [{"loc": ["body", "urls"], "msg": "invalid"}]}, 422)
        run = body.get("crawler_config", {}).get("params", {})
        browser = body.get("browser_config", {}).get("params", {})
        if REFUSED_PARAMS & (set(run) | set(browser)):
            return as_json({"detail": "Rejected request: a field is not allowed"}, 400)
        if not all(url.startswith(("http://", "https://")) for url in urls):
            return as_json({"detail": "Invalid URL format"}, 400)
        generator = run.get("markdown_generator", {}).get("params", {})
        is_filtered = "content_filter" in generator
        results = [self._result(url, is_filtered=is_filtered) for url in urls]
        return as_json({"success": True, "server_processing_time_s": 3.1, "results": results})

    def _result(self, url: str, *, is_filtered: bool) -> dict[str, Any]:
        page = as_markdown(self._world, url)
        heading, text = page or ("Not found", "There is nothing here.")
        markdown = {
            "raw_markdown": f"Home About\n\n{text}\n\nImprint", "markdown_with_citations": text,
            "references_markdown": "", "fit_markdown": text if is_filtered else "", "fit_html": "",
        }  # fmt: skip
        return {
            "url": url, "success": True, "status_code": 200 if page else 404, "redirected_url": url,
            "error_message": "", "html": "<html></html>", "cleaned_html": "", "metadata": {"title": heading},
            "links": {"internal": [], "external": []}, "markdown": markdown,
        }  # fmt: skip


REMOTES = {"crawl4ai": Crawl4ai}


def build(urls: Mapping[str, str], canary: str) -> Any:
    return lookup("crawl4ai")(token=canary, url=urls["crawl4ai"])


def environment(urls: Mapping[str, str], key: str) -> dict[str, str]:
    return {"CRAWL4AI_URL": urls["crawl4ai"], "CRAWL4AI_TOKEN": key}


CASES = (Case(Role.READ, "crawl4ai", lambda urls: Target(f"{urls['web']}/article/type-k/1"), good="read.json"),)
