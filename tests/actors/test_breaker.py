"""The breaker: its table of moves, the figures of security/FACTS.md D1, and a thousand random interleavings."""

from __future__ import annotations

import itertools
import random

import pytest
import trio
import trio.testing

from actors.breaker import TRANSITIONS, Breaker, Move, State, Verdict

FAULT, ANSWERED, REACHED, NOTHING = Verdict.FAULT, Verdict.ANSWERED, Verdict.REACHED, Verdict.NOTHING


def make_breaker(seed: int = 1) -> Breaker:
    return Breaker(random.Random(seed))


def calls(breaker: Breaker, verdicts: list[Verdict], now: float = 0.0) -> None:
    for verdict in verdicts:
        leave = breaker.allow(now)
        assert leave is not None
        breaker.report(leave, verdict, now)


def opened(now: float = 0.0, seed: int = 1) -> Breaker:
    breaker = make_breaker(seed)
    calls(breaker, [FAULT] * 5, now)
    assert breaker.state is State.OPEN
    return breaker


def reopening(breaker: Breaker) -> float:
    until = breaker.refused_until(0.0)
    assert until is not None
    return until


def breaker_in(state: State) -> Breaker:
    if state is State.CLOSED:
        return make_breaker()
    breaker = opened()
    if state is State.HALF_OPEN:
        leave = breaker.allow(100.0)
        assert leave is not None
        breaker.report(leave, NOTHING, 100.0)
    assert breaker.state is state
    return breaker


# What leads from each state to each other one; None: nothing does.
PAIRS = {
    (State.CLOSED, State.CLOSED): "answer",
    (State.CLOSED, State.OPEN): "faults",
    (State.CLOSED, State.HALF_OPEN): None,
    (State.OPEN, State.CLOSED): None,
    (State.OPEN, State.OPEN): "early ask",
    (State.OPEN, State.HALF_OPEN): "late ask",
    (State.HALF_OPEN, State.CLOSED): "answer",
    (State.HALF_OPEN, State.OPEN): "faults",
    (State.HALF_OPEN, State.HALF_OPEN): "late ask",
}


def apply(breaker: Breaker, event: str) -> None:
    """One event at 100 s, when the first cooldown is over; an early ask comes at 1 s."""
    if event == "early ask":
        breaker.allow(1.0)
    elif event == "late ask":
        breaker.allow(100.0)
    elif event == "account":
        leave = breaker.allow(100.0)
        assert leave is not None
        breaker.shut(leave, 500.0)
    else:
        verdict = {"faults": FAULT, "answer": ANSWERED, "page": REACHED, "nothing": NOTHING}[event]
        for _ in range(5 if event == "faults" and breaker.state is State.CLOSED else 1):
            calls(breaker, [verdict], 100.0)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_every_pair_of_states_is_reached_by_its_event_or_by_none(pair):
    before, after = pair
    event = PAIRS[pair]
    if event is not None:
        breaker = breaker_in(before)
        apply(breaker, event)
        assert breaker.state is after
        return

    assert after not in {TRANSITIONS.get((before, move)) for move in Move}


@pytest.mark.parametrize(("state", "move"), list(itertools.product(State, Move)))
def test_a_move_that_is_not_in_the_table_is_an_error(state, move):
    breaker = breaker_in(state)

    if (state, move) in TRANSITIONS:
        breaker._move(move)
        assert breaker.state is TRANSITIONS[state, move]
    else:
        with pytest.raises(KeyError):
            breaker._move(move)


def test_the_fifth_fault_in_a_row_opens():
    breaker = make_breaker()

    calls(breaker, [FAULT] * 4)
    assert breaker.state is State.CLOSED
    calls(breaker, [FAULT])
    assert breaker.state is State.OPEN


def test_an_answer_breaks_the_row():
    breaker = make_breaker()

    calls(breaker, [FAULT] * 4 + [ANSWERED] + [FAULT] * 4)

    assert breaker.state is State.CLOSED


def test_half_of_twenty_calls_in_a_minute_opens():
    breaker = make_breaker()

    calls(breaker, [ANSWERED, FAULT] * 9 + [ANSWERED])
    assert breaker.state is State.CLOSED
    calls(breaker, [FAULT], 59.0)
    assert breaker.state is State.OPEN


def test_faults_older_than_a_minute_are_forgotten():
    breaker = make_breaker()

    calls(breaker, [ANSWERED, FAULT] * 9 + [ANSWERED], 0.0)
    calls(breaker, [FAULT], 61.0)

    assert breaker.state is State.CLOSED


def test_a_thousand_bad_pages_never_open_it():
    breaker = make_breaker()

    calls(breaker, [REACHED] * 1000)

    assert breaker.state is State.CLOSED
    assert not breaker._recent


def test_bad_pages_do_not_break_a_row_of_faults():
    breaker = make_breaker()

    calls(breaker, [FAULT, REACHED] * 4 + [FAULT])

    assert breaker.state is State.OPEN


def test_calls_that_say_nothing_leave_it_untouched():
    breaker = make_breaker()

    calls(breaker, [FAULT] * 4 + [NOTHING] * 50)
    assert breaker.state is State.CLOSED
    calls(breaker, [FAULT])
    assert breaker.state is State.OPEN


def test_the_cooldown_doubles_to_ten_minutes_and_starts_anew_after_an_answer():
    breaker = opened()
    now, cooldowns = 0.0, []
    for _ in range(8):
        until = breaker.refused_until(now)
        cooldowns.append(until - now)
        now = until
        calls(breaker, [FAULT], now)
    last = breaker.refused_until(now)

    expected = [30, 60, 120, 240, 480, 600, 600, 600]
    assert all(0.8 * nominal <= got <= 1.2 * nominal for nominal, got in zip(expected, cooldowns, strict=True))
    calls(breaker, [ANSWERED], last)
    calls(breaker, [FAULT] * 5, last)
    assert breaker.refused_until(last) - last <= 36


def test_cooldowns_differ_between_breakers():
    assert len({reopening(opened(seed=seed)) for seed in range(20)}) == 20


def test_half_open_lets_exactly_one_of_a_hundred_askers_through():
    breaker = opened()

    passes = [breaker.allow(100.0) for _ in range(100)]

    assert sum(leave is not None for leave in passes) == 1
    assert breaker.refused_until(100.0) == 101.0


def test_a_probe_that_was_never_sent_lets_the_next_one_out():
    breaker = opened()

    calls(breaker, [NOTHING, ANSWERED], 100.0)

    assert breaker.state is State.CLOSED


def test_a_probe_that_meets_a_bad_page_shows_that_the_remote_is_back():
    breaker = opened()

    calls(breaker, [REACHED], 100.0)

    assert breaker.state is State.CLOSED


def test_an_account_fault_opens_until_the_time_named():
    breaker = make_breaker()
    leave = breaker.allow(0.0)

    breaker.shut(leave, 3600.0)

    assert breaker.refused_until(3599.0) == 3600.0
    assert breaker.refused_until(3600.0) is None
    assert breaker.statistics(600.0).reopens_in_s == 3000.0


def test_a_second_account_fault_only_ever_prolongs():
    breaker = make_breaker()
    first, second, third = (breaker.allow(0.0) for _ in range(3))

    breaker.shut(first, 100.0)
    breaker.shut(second, 50.0)
    assert breaker.refused_until(0.0) == 100.0
    breaker.shut(third, 150.0)
    assert breaker.refused_until(0.0) == 150.0


def test_an_answer_from_before_the_opening_does_not_close_it():
    breaker = make_breaker()
    straggler = breaker.allow(0.0)
    calls(breaker, [FAULT] * 5)

    breaker.report(straggler, ANSWERED, 1.0)

    assert breaker.state is State.OPEN


def test_faults_from_before_the_opening_do_not_prolong_it():
    breaker = make_breaker()
    stragglers = [breaker.allow(0.0) for _ in range(10)]
    calls(breaker, [FAULT] * 5)
    until = breaker.refused_until(0.0)

    for straggler in stragglers:
        breaker.report(straggler, FAULT, 5.0)

    assert breaker.refused_until(0.0) == until


def test_a_probe_overtaken_by_an_account_fault_has_no_say():
    breaker = make_breaker()
    straggler = breaker.allow(0.0)
    calls(breaker, [FAULT] * 5)
    probe = breaker.allow(100.0)
    breaker.shut(straggler, 500.0)

    breaker.report(probe, ANSWERED, 101.0)

    assert breaker.state is State.OPEN
    assert breaker.refused_until(101.0) == 500.0


def test_only_the_first_report_of_a_pass_counts():
    breaker = make_breaker()
    leave = breaker.allow(0.0)

    for _ in range(9):
        breaker.report(leave, FAULT, 0.0)
    breaker.shut(leave, 100.0)

    assert breaker.state is State.CLOSED


def test_statistics_name_the_state():
    assert make_breaker().statistics(0.0).state == "closed"
    assert make_breaker().statistics(0.0).reopens_in_s is None
    assert opened().statistics(1e6).reopens_in_s == 0.0


async def askers(rng: random.Random, breaker: Breaker, log: list[tuple[str, int]]) -> None:
    """One asker: calls take a random time and end in a random way."""
    for _ in range(rng.randint(1, 6)):
        await trio.sleep(rng.choice([0.0, 1.0, 20.0, 40.0]))
        leave = breaker.allow(trio.current_time())
        if leave is None:
            continue
        if leave.probe:
            log.append(("out", leave.epoch))
        await trio.sleep(rng.choice([0.0, 0.5, 30.0]))
        if leave.probe and leave.epoch == breaker._epoch:
            log.append(("back", leave.epoch))
        if rng.random() < 0.1:
            breaker.shut(leave, trio.current_time() + rng.choice([1.0, 60.0]))
        else:
            breaker.report(leave, rng.choice([FAULT, FAULT, FAULT, ANSWERED, REACHED, NOTHING]), trio.current_time())


def interleave(seed: int) -> list[tuple[str, int]]:
    rng, log = random.Random(seed), []
    breaker = Breaker(rng)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(rng.randint(2, 10)):
                nursery.start_soon(askers, rng, breaker, log)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return log


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.soak)])
def test_in_many_random_interleavings_there_is_never_a_second_probe(count):
    first = random.randrange(10**6)
    print(f"seeds from {first}")
    probes = 0
    for seed in range(first, first + count):
        out: dict[int, int] = {}
        for what, epoch in interleave(seed):
            out[epoch] = out.get(epoch, 0) + (1 if what == "out" else -1)
            assert 0 <= out[epoch] <= 1, f"seed {seed}"
            probes += what == "out"

    assert probes > count / 10
