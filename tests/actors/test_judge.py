"""What counts as a good page, for whichever reader it came through."""

from __future__ import annotations

import time

import pytest

from actors.judge import Quality, content_chars, judge, visible
from providers._contract import Evidence, Page, Signals

SENTENCE = "The station measured rain, wind and pressure once an hour through the whole of that year. "


def _text(chars: int) -> str:
    return (SENTENCE * (chars // len(SENTENCE) + 1))[: chars - 1].rstrip(" .") + "."


def _page(markdown: str, *, title: str = "", url: str = "https://a.example/x", **fields) -> Page:
    return Page(url, markdown, title=title, **fields)


def _quality(page: Page, min_chars: int = 400) -> Quality:
    return judge(page, min_chars).quality


# --- length ---------------------------------------------------------------------------------------------------------


def test_enough_content_is_good_and_less_is_thin():
    assert _quality(_page("x" * 400)) is Quality.GOOD
    assert judge(_page("x" * 399), 400).chars == 399
    assert _quality(_page("x" * 399)) is Quality.THIN


def test_link_targets_pictures_addresses_and_markup_are_no_content():
    markdown = (
        "# Head\n\n[one](https://a.example/" + "a" * 900 + ' "title") **two** ![alt text](https://a.example/p.png)\n\n'
        "[image: a very long description] https://a.example/bare `three`\n\n| a | b |\n|---|:-:|\n| c | d |\n\n---\n"
    )

    assert visible(markdown) == "Head one two three a b c d"


def test_an_unclosed_link_keeps_its_words():
    assert visible("[one](two three") == "one two three"


def test_a_page_of_a_million_characters_is_judged_in_a_moment():
    hostile = [
        "[](" * 350_000,
        "![" * 500_000,
        "[image:" * 140_000,
        "-" * 1_000_000,
        "https://" * 125_000,
        "# " * 500_000,
    ]
    for markdown in (*hostile, _text(1_000_000)):
        started = time.thread_time()
        judge(_page(markdown), 400)

        assert time.thread_time() - started < 3


def test_counting_stops_once_there_is_enough():
    assert content_chars("x" * 100_000, enough=3_000) == 20_000
    assert content_chars("", enough=1) == 0


def test_a_page_without_text_is_empty_and_a_shell_without_text_is_a_shell():
    assert _quality(_page("![](https://a.example/p.png)\n\n---")) is Quality.EMPTY
    assert _quality(_page("", signals=Signals(shell=True))) is Quality.SHELL


def test_a_short_page_is_a_shell_if_its_markup_or_its_words_say_so():
    assert _quality(_page("Loading", signals=Signals(shell=True))) is Quality.SHELL
    assert _quality(_page("You need to enable JavaScript to run this app.")) is Quality.SHELL
    assert _quality(_page(_text(500), signals=Signals(shell=True))) is Quality.GOOD


def test_documents_are_good_whatever_their_length_unless_empty():
    assert _quality(_page("42", signals=Signals(document=True))) is Quality.GOOD
    assert _quality(_page(" ", signals=Signals(document=True))) is Quality.EMPTY
    assert _quality(_page("Just a moment...", title="Just a moment...", signals=Signals(document=True))) is Quality.GOOD


def test_a_pdf_of_pictures_has_no_text():
    assert _quality(_page("notice", signals=Signals(document=True, no_text_layer=True))) is Quality.NO_TEXT


def test_second_best_page_of_any_length_leaves_the_others_their_turn():
    assert _quality(_page(_text(5000), signals=Signals(second_best=True))) is Quality.THIN
    assert _quality(_page(" ", signals=Signals(second_best=True))) is Quality.EMPTY


# --- the target's status --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "quality"),
    [(404, Quality.GONE), (410, Quality.GONE), (403, Quality.FAILED), (500, Quality.FAILED), (200, Quality.GOOD)],
)
def test_the_targets_own_status_decides(status, quality):
    assert _quality(_page(_text(5000), signals=Signals(status=status))) is quality


# --- walls ----------------------------------------------------------------------------------------------------------


def test_a_wall_found_in_the_markup_is_a_wall_at_any_length():
    verdict = judge(_page(_text(5000), signals=Signals(wall="cloudflare")), 400)

    assert verdict.quality is Quality.WALL
    assert verdict.detail == "bot wall: cloudflare"


WALLS = [
    ("Just a moment...", "Verify you are human by completing the action below."),
    ("Just a moment...", "Enable JavaScript and cookies to continue"),
    (
        "Attention Required! | Cloudflare",
        "Sorry, you have been blocked. " + _text(700) + " Cloudflare Ray ID: 8f3ab12c9d0e4f55",
    ),
    ("", "# Access to this page has been denied\n\nPress & Hold to confirm you are a human (and not a bot)."),
    ("Access Denied", "You don't have permission to access this page on this server. Reference #18.5d1a3c17.170"),
    ("", "Request unsuccessful. Incapsula incident ID: 4710-1. Please complete the CAPTCHA."),
    (
        "Making sure you're not a bot!",
        "Loading... Please wait a moment while we ensure the security of your connection. "
        + _text(900)
        + " Sadly, you must enable JavaScript to get past this challenge.",
    ),
    ("Robot or human?", "Activate and hold the button to confirm that you're human. Thank you!"),
    ("Pardon Our Interruption", "As you were browsing something made us think you were a bot."),
    ("example.com", "## Checking your browser\n\nThis process is automatic."),
    ("", "# Are you a robot?\n\nWe have detected unusual activity from your network."),
    ("DDoS protection by Shield", "Wait."),
    ("Vercel Security Checkpoint", "We're verifying your browser"),
    ("Request Rejected", "The requested URL was rejected. Your support ID is: 1234567890123"),
    ("Reddit", "# You've been blocked by network security.\n\nTo continue, log in to your account."),
    ("Before you continue to YouTube", "We use cookies and data. " + _text(200)),
]


@pytest.mark.parametrize(("title", "body"), WALLS, ids=[f"{title or body[:20]}" for title, body in WALLS])
def test_short_pages_headed_by_a_known_phrase_with_one_more_sign_are_walls(title, body):
    assert _quality(_page(body, title=title)) is Quality.WALL


def test_the_status_is_a_sign_too():
    body, title = _text(1200), "Security check | Shop"

    assert _quality(_page(body, title=title)) is Quality.GOOD
    assert (
        _quality(_page(body, title=title, signals=Signals(headline="x"), evidence=Evidence("u", status=503)))
        is Quality.WALL
    )


@pytest.mark.parametrize(
    ("title", "body"),
    [
        (
            'How Cloudflare\'s "Just a moment..." page works',
            _text(3200) + " Enable JavaScript and cookies to continue.",
        ),
        ("Airport news: long queues at the security check this week", _text(250)),
        ("Why do I see a Ray ID?", _text(600) + " It said Ray ID: 8f3ab12c9d0e4f55 and nothing else."),
        ("The verdict", _text(900) + " Just a moment... he said, and left."),
        ("Review of a shop", _text(1700) + " Access Denied. Reference #18.5d1a3c17.170"),
    ],
    ids=["article", "news", "question", "prose", "longer than a wall"],
)
def test_pages_about_walls_are_not_walls(title, body):
    assert _quality(_page(body, title=title)) is not Quality.WALL


@pytest.mark.parametrize(
    "final_url",
    [
        "https://consent.google.com/m?continue=x",
        "https://consent.yahoo.com/v2/collectConsent",
        "https://www.google.com/sorry/index?continue=x",
        "https://ya.example/showcaptcha?x=1",
        "https://www.instagram.com/accounts/login/?next=%2Fp%2FDaI1heMgpXV%2F",
        "https://www.instagram.com/challenge/?next=x",
    ],
)
def test_a_short_page_at_a_consent_or_captcha_address_is_a_wall(final_url):
    page = _page(_text(800), final_url=final_url)

    assert _quality(page) is Quality.WALL
    assert _quality(_page(_text(1600), final_url=final_url)) is Quality.GOOD
    assert _quality(_page(_text(800), url=final_url, final_url=final_url)) is Quality.GOOD


def test_login_page_of_instagram_is_a_wall_wherever_it_stands():
    assert _quality(_page("Log in to see photos.", title="Login • Instagram")) is Quality.WALL
    assert _quality(_page(_text(2000), title="How to get past Login • Instagram")) is Quality.GOOD


# --- paywalls -------------------------------------------------------------------------------------------------------

DECLARED = Signals(declared_paywall=True)
STRONG = " This post is for paid subscribers."


@pytest.mark.parametrize(
    ("body", "signals", "quality"),
    [
        (_text(900), DECLARED, Quality.TEASER),
        (_text(2042), DECLARED, Quality.TEASER),
        (_text(5000), DECLARED, Quality.GOOD),
        (_text(5000) + STRONG, DECLARED, Quality.TEASER),
        (_text(5000), Signals(declared_paywall=True, cut=True), Quality.TEASER),
        (_text(2700) + " and then…", DECLARED, Quality.TEASER),
        (_text(3200) + " and then…", DECLARED, Quality.GOOD),
        (_text(900) + STRONG, Signals(), Quality.TEASER),
        (_text(2700) + STRONG, Signals(), Quality.TEASER),
        (_text(3500) + STRONG, Signals(), Quality.GOOD),
        (_text(900), Signals(metered=True), Quality.MAYBE),
        (_text(1600), Signals(metered=True), Quality.GOOD),
        (_text(300), Signals(metered=True), Quality.THIN),
        (_text(150), DECLARED, Quality.TEASER),
        (_text(900), Signals(cut=True), Quality.GOOD),
        (_text(600), Signals(), Quality.GOOD),
    ],
)
def test_the_decision_table_for_paywalls(body, signals, quality):
    assert _quality(_page(body, signals=signals)) is quality


@pytest.mark.parametrize(
    "phrase",
    [
        "This article is exclusive to our premium subscribers",
        "Unlock this article",
        "Subscribe to continue reading",
        "To continue reading, log in",
        "To read the full story, subscribe",
        "Il vous reste 72.5% de cet article à lire. La suite est réservée aux abonnés.",
        "Pour  lire la\nsuite",
        "Weiterlesen mit SZ Plus",
        "Jetzt mit Spiegel+ weiterlesen",
        "Exklusiv für Abonnenten",
        "**Para seguir leyendo**",
        "Conteúdo exclusivo para assinantes",
        "Contenuto riservato agli abbonati",
        "Alleen voor abonnees",
        "För att läsa vidare",
        "Kun for abonnenter",
        "Tylko dla prenumeratorów",
        "Материал доступен по подписке",
        "この記事は会員限定です",
        "残り1,234文字",
        "订阅后继续阅读",
    ],
)
def test_strong_phrases_are_known_in_their_languages(phrase):
    assert _quality(_page(_text(900) + f"\n\n{phrase}")) is Quality.TEASER


@pytest.mark.parametrize(
    "phrase",
    [
        "Discover more from A Blog. Subscribe now to keep reading and get access to the full archive.",
        "Advertisement. Scroll to continue reading.",
        "Jetzt abonnieren",
        "Already a member? Log in",
        "Already a subscriber? Sign in",
        "The club is for subscribers only and members-only nights are rare",
        "Subscription required",
        "Comentar es exclusivo para suscriptores",
        "Comentar é exclusivo para assinantes",
        "Read ad-free for $3",
    ],
)
def test_what_only_sounds_like_a_paywall_is_not_flagged(phrase):
    assert _quality(_page(_text(900) + f"\n\n{phrase}")) is Quality.GOOD


def test_a_strong_phrase_counts_at_the_end_of_the_text_only():
    assert _quality(_page(STRONG + " " + _text(900))) is Quality.GOOD
