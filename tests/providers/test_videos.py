"""Which addresses are videos, and how a transcript becomes paragraphs."""

from __future__ import annotations

import pytest

from providers._videos import MAX_CUES, Cue, transcript, video_id, watch_url

ID = "dQw4w9WgXcQ"


@pytest.mark.parametrize(
    "url",
    [
        f"https://www.youtube.com/watch?v={ID}",
        f"http://youtube.com/watch?list=PL1&index=3&v={ID}&t=42s&si=x&pp=y&ab_channel=z",
        f"https://m.youtube.com/watch?v={ID}&feature=share",
        f"https://music.youtube.com/watch?v={ID}",
        f"https://WWW.YouTube.com/watch?v={ID}#t=1",
        f"https://youtube.com/shorts/{ID}",
        f"https://m.youtube.com/shorts/{ID}?feature=share",
        f"https://www.youtube.com/live/{ID}?si=x",
        f"https://www.youtube.com/embed/{ID}?rel=0",
        f"https://www.youtube-nocookie.com/embed/{ID}",
        f"https://www.youtube.com/v/{ID}",
        f"https://www.youtube.com/e/{ID}/",
        f"https://youtu.be/{ID}",
        f"https://www.youtu.be/{ID}?t=10&si=x",
    ],
)
def test_each_form_of_a_videos_address_gives_its_id(url):
    assert video_id(url) == ID


@pytest.mark.parametrize(
    "url",
    [
        "https://www.youtube.com/",
        "https://www.youtube.com/watch",
        "https://www.youtube.com/watch?v=short",
        f"https://www.youtube.com/watch?v={ID}x",
        f"https://www.youtube.com/watch/{ID}",
        f"https://www.youtube.com/playlist?list={ID}",
        "https://www.youtube.com/channel/UCxxxxxxxxxxxxxxxxxxxxxx",
        "https://www.youtube.com/@handle",
        f"https://www.youtube.com/c/{ID}",
        f"https://www.youtube.com/user/{ID}",
        f"https://www.youtube.com/results?search_query=x&v={ID}",
        f"https://www.youtube.com/feed/{ID}",
        f"https://www.youtube.com/post/{ID}",
        "https://www.youtube.com/embed/videoseries?list=PL1",
        "https://www.youtube.com/embed/live_stream?channel=UC1",
        f"https://youtu.be/{ID}/more",
        f"https://youtube-nocookie.com/watch?v={ID}",
        f"https://example.com/?u=https://www.youtube.com/watch?v={ID}",
        f"https://youtube.com.evil.example/watch?v={ID}",
        f"https://notyoutube.com/watch?v={ID}",
        f"ftp://youtube.com/watch?v={ID}",
        "https://[youtube.com/watch",
    ],
)
def test_other_addresses_are_no_videos(url):
    assert video_id(url) is None


def test_ids_keep_their_case():
    assert video_id("https://youtu.be/ABCDEFGHIJk") == "ABCDEFGHIJk"
    assert watch_url("ABCDEFGHIJk") == "https://www.youtube.com/watch?v=ABCDEFGHIJk"


def test_transcript_ends_a_paragraph_at_a_sentence_and_a_speaker_begins_one():
    cues = [
        Cue(160, "hello\nworld."),
        Cue(3_000, " "),
        Cue(44_000, "Not yet."),
        Cue(50_000, "A second one"),
        Cue(96_000, "goes on without an end"),
        Cue(141_000, "until it is cut"),
        Cue(142_000, ">> Another speaker"),
        Cue(3_723_000, ">> Much later"),
    ]

    assert transcript(cues).split("\n\n") == [
        "[0:00] hello world. Not yet.",
        "[0:50] A second one goes on without an end",
        "[2:21] until it is cut",
        "[2:22] >> Another speaker",
        "[1:02:03] >> Much later",
    ]


def test_words_that_look_like_markup_stay_words():
    assert transcript([Cue(0, "*loud* <b>x</b> ![a](b)")]) == r"[0:00] \*loud\* \<b>x\</b> !\[a\](b)"


def test_endless_transcript_is_cut():
    text = transcript(Cue(0, "x") for _ in range(MAX_CUES + 5))

    assert text.count("x") == MAX_CUES
