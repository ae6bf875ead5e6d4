"""The ledger: exact sums, sequential and parallel composition, requests that are the same."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tightrope import Epsilon
from tightrope.errors import InputError
from tightrope.publish import Account, Charge, Ledger, LedgerError, OverBudget
from tightrope.publish.accounts import account_of, apply_entry
from tightrope.publish.amounts import budget_of, charge_of, read_amount
from tightrope.publish.chain import Entry
from tightrope.publish.ledger_check import Replay

TABLE = "table people"


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    made.set_budget(TABLE, 1)
    return made


def test_ten_tenths_are_one(ledger):
    """Where floats leave 1e-16 after spending everything."""
    for number in range(10):
        ledger.reserve(f"k{number}", {}, [Charge(TABLE, charge_of(Epsilon.of(0.1)))])
    assert ledger.remaining(TABLE) == 0
    with pytest.raises(OverBudget):
        ledger.reserve("one more", {}, [Charge(TABLE, Fraction(1, 10**12))])


def test_over_budget_says_requested_remaining_and_difference(ledger):
    ledger.reserve("first", {}, [Charge(TABLE, Fraction(2, 3))])
    with pytest.raises(OverBudget) as refused:
        ledger.reserve("second", {}, [Charge(TABLE, Fraction(1, 2))])
    assert refused.value.requested == Fraction(1, 2)
    assert refused.value.remaining == Fraction(1, 3)
    assert refused.value.difference == Fraction(1, 6)
    for part in ("requested 0.5 (exactly 1/2)", "remaining 1/3", "short by 1/6"):
        assert part in str(refused.value)
    assert ledger.ticket("second") is None
    assert ledger.verify().intact


def test_a_sum_of_too_many_digits_is_refused_before_it_is_written(ledger):
    """Each of these fits into an account alone; their sum could not be read again."""
    for number in (1, 3):
        ledger.reserve(f"k{number}", {}, [Charge(TABLE, Fraction(1, 10**450 + number))])
    with pytest.raises(InputError, match="at most 2000 digits"):
        ledger.reserve("k7", {}, [Charge(TABLE, Fraction(1, 10**450 + 7))])
    assert ledger.ticket("k7") is None
    ledger.reserve("plain", {}, [Charge(TABLE, Fraction(1, 2))])
    assert ledger.verify().intact


def test_both_accounts_pay_or_none(ledger):
    ledger.set_budget("user alice", "1/4")
    with pytest.raises(OverBudget, match="user alice"):
        ledger.reserve(
            "k", {}, [Charge(TABLE, Fraction(1, 2)), Charge("user alice", Fraction(1, 2))]
        )
    assert ledger.remaining(TABLE) == 1
    ledger.reserve("k", {}, [Charge(TABLE, Fraction(1, 4)), Charge("user alice", Fraction(1, 4))])
    assert ledger.remaining("user alice") == 0


def test_logarithms_are_charged_from_above():
    two = charge_of(Epsilon.of("ln(2)"))
    assert 0 <= two - Fraction(Epsilon.of("ln(2)").multiple * Fraction("0.693147180559945")) < 1e-15
    assert budget_of("ln(8)") == 3 * two
    # e^charge is at least the base: a charge is never below the level.
    for text in ("ln(2)", "ln(3)/7", "ln(1001/1000)", "5*ln(3/2)"):
        level = Epsilon.of(text)
        assert charge_of(level) >= Fraction(float(level)) - Fraction(1, 10**15)
        assert Epsilon(charge_of(level)).ratio * (1 + Fraction(1, 10**14)) >= level.ratio


def test_the_same_key_is_the_same_request(ledger):
    half = [Charge(TABLE, Fraction(1, 2))]
    first = ledger.reserve("k", {"sql": "a"}, half)
    assert ledger.reserve("k", {"sql": "a"}, half) == first
    assert ledger.remaining(TABLE) == Fraction(1, 2)
    for other in [({"sql": "b"}, half), ({"sql": "a"}, [Charge(TABLE, Fraction(1, 3))])]:
        with pytest.raises(InputError, match="belongs to another request"):
            ledger.reserve("k", *other)
    ledger.charge("k")
    assert ledger.charge("k").phase == "charged"
    recorded = ledger.answer("k", {"answer": 3})
    assert ledger.answer("k", {"answer": 4}).entry == recorded.entry
    assert ledger.reserve("k", {"sql": "a"}, half).entry.body["answer"] == 3
    assert ledger.verify().intact


def test_steps_cannot_be_skipped(ledger):
    for step in (ledger.charge, ledger.cancel, lambda key: ledger.answer(key, {"answer": 1})):
        with pytest.raises(InputError, match="is unknown"):
            step("k")
    ledger.reserve("k", {}, [Charge(TABLE, Fraction(1, 2))])
    with pytest.raises(InputError, match="must be charged before it is released"):
        ledger.answer("k", {"answer": 1})
    ledger.cancel("k")
    assert ledger.remaining(TABLE) == 1
    ledger.reserve("k", {"another": 1}, [Charge(TABLE, Fraction(1, 3))])
    ledger.charge("k")
    with pytest.raises(InputError, match="must be reserved before it is cancelled"):
        ledger.cancel("k")
    assert ledger.verify().intact


def test_budgets_change_by_entries(ledger):
    ledger.reserve("k", {}, [Charge(TABLE, Fraction(1, 2))])
    ledger.set_budget(TABLE, "3/4")
    assert ledger.remaining(TABLE) == Fraction(1, 4)
    with pytest.raises(InputError, match="cannot be less than what is spent"):
        ledger.set_budget(TABLE, "1/3")
    before = ledger.head()
    ledger.set_budget(TABLE, "3/4")
    ledger.set_budget(TABLE, 9, new=True)
    assert ledger.head() == before


@pytest.mark.parametrize("name", ["people", "table ", "group x", ""])
def test_accounts_are_tables_or_users(ledger, name):
    with pytest.raises(InputError):
        ledger.set_budget(name, 1)


@pytest.mark.parametrize("key", ["", " ", "a\nb", "x" * 201, 3])
def test_keys_are_short_lines(ledger, key):
    with pytest.raises(InputError):
        ledger.reserve(key, {}, [Charge(TABLE, Fraction(1, 2))])


def test_a_table_without_a_budget(ledger):
    with pytest.raises(InputError, match="no budget"):
        ledger.reserve("k", {}, [Charge("table other", Fraction(1, 2))])
    with pytest.raises(InputError, match="no budget"):
        ledger.remaining("table other")


def test_a_ledger_is_made_once(tmp_path):
    path = tmp_path / "ledger.db"
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(path)
    first = Ledger.create(path)
    with pytest.raises(InputError, match="already"):
        Ledger.create(path)
    assert Ledger.create(path, exist_ok=True).id == first.id


@pytest.mark.parametrize("url", ["", "mysql://host/db", "sqlite://", "sqlite:///:memory:", "x://"])
def test_addresses(url):
    with pytest.raises(InputError):
        Ledger(url)


@pytest.mark.parametrize("text", ["", "-1", "1/0", "2/4", "0.5", "1e3", "²", "1/2/3", None, 3])
def test_amounts_have_one_text(text):
    with pytest.raises(InputError):
        read_amount(text)


# -- composition --------------------------------------------------------------------------

amounts = st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50)
charges = st.lists(
    st.tuples(amounts, st.sampled_from([None, "north", "south", "west"])), max_size=12
)


@pytest.mark.parametrize("width", [1, 2])
@settings(max_examples=60)
@given(some=charges)
def test_parallel_composition_counts_what_one_person_can_touch(width, some):
    account = Account(Fraction(100))
    for amount, part in some:
        partition = None if part is None else "region"
        account = account.with_charge(Charge(TABLE, amount, partition, part, width))
    whole = sum((a for a, part in some if part is None), Fraction(0))
    parts = [
        sum((a for a, p in some if p == name), Fraction(0)) for name in ("north", "south", "west")
    ]
    # The worst person touches everything asked about all, and `width` of the parts.
    worst = max(sum(touched) for touched in itertools.combinations(parts, width))
    assert account.spent == whole + worst
    assert Account.from_dict(account.as_dict()) == account


def test_the_width_of_a_partition_stays():
    account = Account(Fraction(9)).with_charge(Charge(TABLE, Fraction(1), "region", "north", 1))
    with pytest.raises(InputError, match="the facts have changed"):
        account.with_charge(Charge(TABLE, Fraction(1), "region", "south", 2))


def test_parallel_parts_fit_where_sums_do_not(ledger):
    for part in ("north", "south"):
        ledger.reserve(part, {}, [Charge(TABLE, Fraction(1), "region", part)])
    assert ledger.remaining(TABLE) == 0
    with pytest.raises(OverBudget):
        ledger.reserve("north again", {}, [Charge(TABLE, Fraction(1, 9), "region", "north")])
    with pytest.raises(OverBudget):
        ledger.reserve("all", {}, [Charge(TABLE, Fraction(1, 9))])
    assert ledger.verify().intact


# -- replay -------------------------------------------------------------------------------

OPEN = {"kind": "open", "id": "a", "version": 1}
BUDGET = {"kind": "budget", "account": TABLE, "amount": "1"}
RESERVE = {
    "kind": "reserve",
    "key": "k",
    "request": "r",
    "charges": [{"account": TABLE, "amount": "1/2"}],
}


def chain(*bodies):
    entries = []
    for body in bodies:
        entries.append(Entry.after(entries[-1] if entries else None, body))
    return entries


def replayed(entries):
    replay = Replay()
    for entry in entries:
        replay.add(entry)
    return replay


def test_a_whole_chain_replays():
    entries = chain(OPEN, BUDGET, RESERVE, {"kind": "charge", "key": "k"})
    replay = replayed(entries)
    assert replay.reasons == []
    assert account_of(replay.state, TABLE).remaining == Fraction(1, 2)
    assert [Entry.from_dict(entry.as_dict()) for entry in entries] == entries


@pytest.mark.parametrize(
    ("bodies", "says"),
    [
        ([BUDGET], "does not open"),
        ([OPEN, OPEN], "opened by its first entry"),
        ([OPEN, RESERVE], "has no budget"),
        ([OPEN, BUDGET, RESERVE, RESERVE], "in use"),
        ([OPEN, BUDGET, {**RESERVE, "charges": [{"account": TABLE, "amount": "2"}]}], "too small"),
        ([OPEN, BUDGET, {"kind": "answer", "key": "k", "answer": 1}], "must be charged"),
        ([OPEN, {"kind": "refund"}], "unknown"),
        ([OPEN, {"kind": "budget"}], "could not have been written"),
        ([OPEN, BUDGET, {**RESERVE, "charges": 3}], "could not have been written"),
    ],
)
def test_a_chain_that_could_not_have_been_written(bodies, says):
    """Whole by its hashes, wrong by its meaning: somebody who can compute hashes."""
    assert any(says in reason for reason in replayed(chain(*bodies)).reasons)


def test_a_refused_entry_leaves_the_state():
    state = {}
    apply_entry(state, 1, BUDGET)
    before = {name: dict(value) for name, value in state.items()}
    with pytest.raises(OverBudget):
        apply_entry(state, 2, {**RESERVE, "charges": [{"account": TABLE, "amount": "2"}]})
    assert state == before


@settings(max_examples=40)
@given(place=st.integers(0, 3), data=st.data())
def test_any_edit_of_an_entry_is_found(place, data):
    entries = chain(OPEN, BUDGET, RESERVE, {"kind": "charge", "key": "k"})
    plain = entries[place].as_dict()
    field = data.draw(st.sampled_from(["position", "previous", "time", "body", "hash"]))
    changed = {
        "position": plain["position"] + 1,
        "previous": plain["previous"][::-1] + "0",
        "time": plain["time"].replace("Z", "+"),
        "body": {**plain["body"], "note": "new"},
        "hash": "0" * 64,
    }[field]
    entries[place] = Entry.from_dict({**plain, field: changed})
    assert replayed(entries).reasons


def test_a_notebook_shows_the_accounts_escaped(ledger):
    ledger.set_budget("user <b>ann</b>", "1/3")
    ledger.reserve("first", {}, [Charge(TABLE, Fraction(2, 3))])
    page = ledger._repr_html_()
    assert "2/3 of 1 spent" in page
    assert "1/3 left" in page
    assert "<b>" not in page
