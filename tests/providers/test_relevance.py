import pytest

from providers._relevance import is_relevant


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("trees", "A tree in winter"),
        ("definately maybe", "Definitely Maybe by Oasis"),
        ("тип K термопары", "Термопара типа K"),
        ("naïve bayes", "Naive Bayes classifier"),
        ("東京の天気", "今日の天気 東京"),
        ("天气", "北京天气预报"),
        ("site:example.org", "Home https://example.org/"),
        ("пример", "https://site.example/%D0%BF%D1%80%D0%B8%D0%BC%D0%B5%D1%80"),
        ("!!!", "anything"),
        ("-excluded", "anything"),
        ("C++", "c reference"),
    ],
)
def test_a_shared_term_makes_a_page_relevant(query, entry):
    assert is_relevant(query, ["Weather today", entry])


@pytest.mark.parametrize(
    ("query", "entries"),
    [
        ("thermocouple range", ["Weather today", "Football"]),
        ("python -football", ["Football results"]),
        ("天气", ["足球比赛"]),
        ("thermocouple", []),
    ],
)
def test_a_page_that_shares_no_term_is_irrelevant(query, entries):
    assert not is_relevant(query, entries)
