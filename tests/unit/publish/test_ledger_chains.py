"""The ledger's rules for answers that sharpen earlier ones."""

from fractions import Fraction

import pytest

from tightrope.errors import InputError
from tightrope.publish.accounts import Charge
from tightrope.publish.entries import Replay, next_key
from tightrope.publish.ledger import Ledger, Ticket

COSTS = [Charge("table people", Fraction(1, 4))]


@pytest.fixture
def book(tmp_path) -> Ledger:
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.set_budget("table people", 3)
    return ledger


def follows(ticket: Ticket) -> dict[str, object]:
    reservation = [ticket.position, ticket.hash]
    return {"sql": "…", "follows": {"key": ticket.key, "reservation": reservation}}


def answered(book: Ledger, ticket: Ticket, answer: int) -> None:
    book.charge(ticket)
    book.answer(ticket, answer)


def test_a_chain_is_recorded_and_verified(book) -> None:
    first = book.reserve("k", {"sql": "…"}, COSTS)
    second = book.reserve("k #2", follows(first), COSTS)
    third = book.reserve("k #3", follows(second), COSTS)
    for place, ticket in enumerate((first, second, third)):
        answered(book, ticket, place)
    assert book.remaining("table people") == Fraction(9, 4)
    assert book.verify().intact


def test_a_finer_answer_is_not_recorded_before_the_one_that_it_follows(book) -> None:
    first = book.reserve("k", {"sql": "…"}, COSTS)
    second = book.reserve("k #2", follows(first), COSTS)
    book.charge(second)
    with pytest.raises(InputError, match="is not there"):
        book.answer(second, 5)
    answered(book, first, 4)
    assert book.answer(second, 5).is_released


@pytest.mark.parametrize("key", ["k #3", "other", "k", "k #2 "])
def test_only_the_next_key_sharpens(book, key) -> None:
    first = book.reserve("k", {"sql": "…"}, COSTS)
    answered(book, first, 4)
    with pytest.raises(InputError, match=r"only 'k #2' may|belongs to another"):
        book.reserve(key, follows(first), COSTS)


def test_nothing_is_sharpened_twice(book) -> None:
    first = book.reserve("k", {"sql": "…"}, COSTS)
    answered(book, first, 4)
    answered(book, book.reserve("k #2", follows(first), COSTS), 5)
    other = [Charge("table people", Fraction(1, 2))]
    with pytest.raises(InputError, match="belongs to another request"):
        book.reserve("k #2", follows(first), other)
    assert book.verify().intact


def test_what_was_freed_or_reserved_anew_is_not_followed(book) -> None:
    first = book.reserve("k", {"sql": "…"}, COSTS)
    book.cancel(first)
    with pytest.raises(InputError, match="is not there"):
        book.reserve("k #2", follows(first), COSTS)
    anew = book.reserve("k", {"sql": "…"}, COSTS)
    with pytest.raises(InputError, match="is not there"):
        book.reserve("k #2", follows(first), COSTS)
    assert book.reserve("k #2", follows(anew), COSTS)


def test_a_replay_notices_a_chain_that_could_not_have_been_written(book) -> None:
    """The same entries, but the second answer claims to follow another reservation."""
    first = book.reserve("k", {"sql": "…"}, COSTS)
    answered(book, first, 4)
    answered(book, book.reserve("k #2", follows(first), COSTS), 5)
    replay = Replay()
    last = None
    for entry in book.entries():
        body = dict(entry.body)
        if "follows" in body.get("request", body):
            wrong = {"key": "k", "reservation": [1, "0" * 64]}
            body |= (
                {"request": {**body["request"], "follows": wrong}}
                if "request" in body
                else {"follows": wrong}
            )
        last = type(entry).after(last, body, entry.time)
        replay.add(last)
    assert any("is not there" in reason for reason in replay.reasons)


def test_the_next_keys() -> None:
    assert next_key("k #9") == "k #10"
    assert next_key("k #x") == "k #x #2"
    assert next_key("#2") == "#2 #2"
