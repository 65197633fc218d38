"""The retrieval toolset over a fake backend: shapes, limits, and every sentence (SPEC section 10)."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID

import pytest
import trio

from actors.results import Report
from providers._contract import Kind
from service.arguments import Limits
from service.calling import MAX_STREAMED_BYTES, ToolOptions
from service.retrieval import retrieval_tools
from service.settings import RetrievalLimits
from tests.service.desk import Bench, FakeBackend, forever, found, hit, image, page, unfound, unread

SIZES = RetrievalLimits(5, 20, 5, 10, 20_000, 20_000, 2, 2)
LIMITS = Limits(max_queries=10, min_timeout_ms=1000, max_timeout_ms=10_000, default_timeout_ms=5000)
OPTIONS = ToolOptions(LIMITS, read_batch_max_chars=0, response_max_chars=0)


def bench(backend: FakeBackend | None = None, sizes: RetrievalLimits = SIZES, **fields) -> Bench:
    tools = retrieval_tools(sizes, has_images=True)
    return Bench(backend, tools=tools, options=fields.pop("options", OPTIONS), **fields)


async def refused(tool: str, **arguments) -> str:
    answer = await bench().call(tool, **arguments)
    assert answer.is_error
    assert answer.data is None
    return answer.text


# --- shapes ---------------------------------------------------------------------------------------------------------


async def test_search_gives_snippets_with_ids_of_their_own() -> None:
    answer = await bench().call("web_search", queries=["cats", "cats", "dogs"], date="w")

    assert json.loads(answer.text) == answer.data
    assert [(each["query"], each["status"], each["count"]) for each in answer.data["results"]] == [
        ("cats", "success", 2),
        ("cats", "success", 2),
        ("dogs", "success", 2),
    ]
    first = answer.data["results"][0]["snippets"][0]
    ids = {snippet["id"] for result in answer.data["results"] for snippet in result["snippets"]}
    assert {UUID(each).version for each in ids} == {4}
    assert len(ids) == 6
    assert {name: value for name, value in first.items() if name != "id"} == {
        "link": "https://site1.example/",
        "title": "Title 1",
        "rank": 1,
        "source": "duckduckgo",
        "snippet": "Snippet 1.",
        "favicon": None,
    }
    assert answer.data["metadata"]["date"] == "w"


async def test_equal_queries_are_asked_once() -> None:
    backend = FakeBackend()

    await bench(backend).call("web_search", queries=["cats", "cats"])

    assert len(backend.asked) == 1


async def test_image_search_gives_pictures_with_their_pages() -> None:
    backend = FakeBackend(on_images=lambda query: found(image(1, page_url="https://a.example/", title="A cat")))

    data = await bench(backend).data("web_search_images", queries=["cats"])

    (picture,) = data["results"][0]["images"]
    assert UUID(picture.pop("id"))
    assert picture == {
        "url": "https://img.example/1.png",
        "page_url": "https://a.example/",
        "description": "A cat",
    }


async def test_scrape_gives_all_that_is_known_of_a_page() -> None:
    backend = FakeBackend(
        on_read=lambda target: page(
            target.url,
            "Some text.",
            byline="A. Writer",
            excerpt="Some",
            site_name="A site",
            main_image="https://a.example/1.png",
            images=("https://a.example/1.png", "https://a.example/2.png"),
            favicon="https://a.example/favicon.ico",
            language="en",
        )
    )

    data = await bench(backend).data("web_scrape", urls=["https://a.example/"])

    (result,) = data["results"]
    scraped = result.pop("scraped_data")
    assert (result["url"], result["status"]) == ("https://a.example/", "success")
    assert UUID(scraped.pop("id"))
    assert scraped == {
        "title": "A title",
        "byline": "A. Writer",
        "markdown": "Some text.",
        "length": 10,
        "excerpt": "Some",
        "site_name": "A site",
        "main_image": "https://a.example/1.png",
        "all_images": ["https://a.example/1.png", "https://a.example/2.png"],
        "favicon": "https://a.example/favicon.ico",
        "language": "en",
        "truncated": False,
    }


async def test_scrape_cuts_each_page_and_takes_links_out() -> None:
    backend = FakeBackend(on_read=lambda target: page(target.url, "A [link](https://b.example/). " * 50))

    data = await bench(backend).data("web_scrape", urls=["https://a.example/"], max_chars=40, remove_links=True)

    scraped = data["results"][0]["scraped_data"]
    assert scraped["truncated"]
    assert len(scraped["markdown"]) <= 40
    assert "b.example" not in scraped["markdown"]


async def test_pages_in_a_stream_that_has_begun_share_what_one_event_may_carry() -> None:
    backend = FakeBackend(on_read=lambda target: page(target.url, '猫"\n' * 20_000))
    desk = bench(backend, sizes=replace(SIZES, default_document_chars=60_000, max_document_chars=60_000))
    urls = [f"https://a.example/{number}" for number in range(10)]

    whole = await desk.service.run(desk.tools["web_scrape"], {"urls": urls})
    streamed = await desk.service.run(desk.tools["web_scrape"], {"urls": urls}, report)
    small = await desk.service.run(desk.tools["web_scrape"], {"urls": urls, "max_chars": 100}, report)

    assert size(whole) > MAX_STREAMED_BYTES
    assert size(streamed) < MAX_STREAMED_BYTES
    assert all(result["scraped_data"]["truncated"] for result in streamed.data["results"])
    assert {result["scraped_data"]["length"] for result in streamed.data["results"]} == {60_000}
    assert all(len(result["scraped_data"]["markdown"]) > 90 for result in small.data["results"])


async def report(number: float, sentence: str) -> None:
    """A client that wants to hear of progress."""


def size(answer) -> int:
    return len(json.dumps({"text": answer.text, "data": answer.data}, ensure_ascii=False).encode())


def test_without_an_image_instance_there_are_two_tools() -> None:
    names = [tool.name for tool in retrieval_tools(SIZES, has_images=False)]

    assert names == ["web_search", "web_scrape"]


async def test_the_schemas_say_the_limits_and_forbid_what_is_unknown() -> None:
    desk = bench()

    listed = {tool.name: tool for tool in (await desk.service.list_tools(None, None)).tools}

    schema = listed["web_search"].input_schema
    assert schema["required"] == ["queries"]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["queries", "max_results", "timeout_ms", "date"]
    assert schema["properties"]["max_results"]["default"] == 5
    assert "20" in schema["properties"]["max_results"]["description"]
    assert list(listed["web_scrape"].input_schema["properties"]) == [
        "urls",
        "robots_txt",
        "timeout_ms",
        "remove_links",
        "max_chars",
    ]
    assert listed["web_scrape"].title == "Scrape pages"


# --- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "limit"), [({}, 5), ({"max_results": 0}, 5), ({"max_results": -3}, 5), ({"max_results": 99}, 20)]
)
async def test_results_are_clamped(given, limit) -> None:
    backend = FakeBackend()

    await bench(backend).call("web_search", queries=["cats"], **given)

    assert backend.asked[0].limit == limit


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({}, 5),
        ({"timeout_ms": 0}, 5),
        ({"timeout_ms": -1}, 5),
        ({"timeout_ms": None}, 5),
        ({"timeout_ms": 10}, 1),
        ({"timeout_ms": 99_999}, 10),
    ],
)
async def test_times_are_clamped(given, seconds, autojump_clock) -> None:
    backend = FakeBackend()

    await bench(backend).call("web_search", queries=["cats"], **given)

    assert backend.timeouts == [pytest.approx(seconds)]


async def test_the_most_wins_over_the_least(autojump_clock) -> None:
    limits = replace(LIMITS, min_timeout_ms=8000, max_timeout_ms=2000)
    backend = FakeBackend()

    await bench(backend, options=replace(OPTIONS, limits=limits)).call("web_search", queries=["a"], timeout_ms=5000)

    assert backend.timeouts == [pytest.approx(2)]


@pytest.mark.parametrize(("most", "seconds"), [(1, 4.0), (2, 2.0), (0, 1.0)])
async def test_searches_in_flight_are_limited(most, seconds, autojump_clock) -> None:
    async def slow(query):
        await trio.sleep(1)
        return found(hit(1), query=query.text)

    desk = bench(FakeBackend(on_search=slow), sizes=replace(SIZES, max_search_in_flight=most))
    began = trio.current_time()
    data = await desk.data("web_search", queries=["a", "b", "c", "d"])

    assert trio.current_time() - began == pytest.approx(seconds)
    assert [result["status"] for result in data["results"]] == ["success"] * 4


async def test_a_query_whose_turn_does_not_come_timed_out(autojump_clock) -> None:
    desk = bench(FakeBackend(on_search=forever), sizes=replace(SIZES, max_search_in_flight=1))

    answer = await desk.call("web_search", queries=["a", "b"])

    assert not answer.is_error
    assert [result["status"] for result in answer.data["results"]] == ["timeout", "timeout"]


# --- sentences ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"queries": "cats"},
        {"queries": []},
        {"queries": [1]},
        {"queries": None},
        {"queries": ["cats"], "max_results": "many"},
        {"queries": ["cats"], "timeout_ms": True},
        {"queries": ["cats"], "timeout_ms": 1.5},
        {"queries": ["cats"], "date": "yesterday"},
        {"queries": ["cats"], "unknown": 1},
    ],
)
async def test_whatever_else_is_wrong_is_an_invalid_request(arguments) -> None:
    assert await refused("web_search", **arguments) == "invalid request"


async def test_wrong_arguments_with_a_sentence_of_their_own() -> None:
    assert await refused("web_search", queries=["q"] * 11) == "too many queries"
    assert await refused("web_search_images", queries=["q"] * 11) == "too many queries"
    assert await refused("web_scrape", urls=["https://a.example/"] * 11) == "too many urls"
    assert await refused("web_search", queries=["  "]) == "query must not be empty"
    assert await refused("web_search", queries=["q" * 513]) == "query is too long"
    assert await refused("web_scrape", urls=["ftp://a.example/"]) == "invalid url"
    assert await refused("web_scrape", urls=["http://127.0.0.1/"]) == "address not allowed"


async def test_one_bad_item_does_not_fail_the_others() -> None:
    searched = await bench().data("web_search", queries=["", "cats"])
    scraped = await bench().data("web_scrape", urls=["ftp://a.example/", "https://a.example/"])

    assert [result["status"] for result in searched["results"]] == ["query must not be empty", "success"]
    assert [result["status"] for result in scraped["results"]] == ["invalid url", "success"]
    assert scraped["results"][0]["scraped_data"] is None


async def test_a_page_that_robots_txt_forbids() -> None:
    backend = FakeBackend(
        on_read=lambda target: (
            unread(target.url, reason=Kind.REFUSED, detail="robots.txt denied")
            if "private" in target.url
            else page(target.url)
        )
    )
    urls = ["https://a.example/private", "https://a.example/"]

    some = await bench(backend).data("web_scrape", urls=urls, robots_txt=True)
    none = await bench(backend).call("web_scrape", urls=urls[:1], robots_txt=True)

    assert [result["status"] for result in some["results"]] == ["robots.txt denied", "success"]
    assert (none.is_error, none.text) == (True, "robots.txt denied")
    assert backend.robots == [True, True, True]


async def test_every_query_or_page_failed() -> None:
    backend = FakeBackend(
        on_search=lambda query: unfound(Report("duckduckgo", "failed", Kind.UNAVAILABLE)),
        on_images=lambda query: unfound(Report("bing-images", "failed", Kind.UNAVAILABLE)),
        on_read=lambda target: unread(target.url, reason=Kind.UNAVAILABLE),
    )
    desk = bench(backend)
    upstream = "every query failed; the search upstream may be unreachable"

    assert (await desk.call("web_search", queries=["a", "b"])).text == upstream
    assert (await desk.call("web_search_images", queries=["a", ""])).text == upstream
    assert (await desk.call("web_scrape", urls=["https://a.example/", "ftp://x"])).text == (
        "every url failed to be scraped; the pages may be unreachable or hold no extractable text"
    )


async def test_a_failed_item_says_why() -> None:
    def search(query):
        if query.text == "bad":
            return unfound(Report("duckduckgo", "failed", Kind.BLOCKED))
        return found(hit(1), query=query.text)

    data = await bench(FakeBackend(on_search=search)).data("web_search", queries=["bad", "good"])

    assert data["results"][0]["status"] == "duckduckgo: blocked"
    assert data["results"][0]["snippets"] == []


async def test_a_call_whose_items_all_timed_out_returns_them(autojump_clock) -> None:
    desk = bench(FakeBackend(on_search=forever, on_read=forever))

    searched = await desk.data("web_search", queries=["a", "b"])
    scraped = await desk.data("web_scrape", urls=["https://a.example/"])

    assert [result["status"] for result in searched["results"]] == ["timeout", "timeout"]
    assert [result["status"] for result in scraped["results"]] == ["timeout"]
    assert trio.current_time() == pytest.approx(11, abs=0.5)


async def test_a_call_during_a_shutdown_is_canceled() -> None:
    desk = bench()
    desk.calls.drain()

    assert (await desk.call("web_search", queries=["a"])).text == "request canceled"


async def test_a_bug_is_an_internal_server_error() -> None:
    def fail(query):
        raise ZeroDivisionError

    assert (await bench(FakeBackend(on_search=fail)).call("web_search", queries=["a"])).text == "internal server error"


async def test_sentences_are_english_in_any_language() -> None:
    desk = bench(language="ru")

    assert (await desk.call("web_search", queries=[])).text == "invalid request"
