"""The ledger: exact sums, sequential and parallel composition, requests that are the same."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from tightrope import Epsilon
from tightrope.errors import InputError
from tightrope.publish import Ledger, LedgerError, OverBudget
from tightrope.publish.accounts import (
    Account,
    Charge,
    budget_of,
    charge_of,
    read_amount,
)
from tightrope.publish.entries import (
    Entry,
    Replay,
    account_of,
    apply_entry,
    plain,
    read_record,
)
from tightrope.publish.ledger import Ticket

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
    assert str(refused.value).endswith("requested 0.5, remaining 1/3, short by 1/6")
    assert ledger.ticket("second") is None
    assert ledger.verify().intact


def test_an_amount_that_is_shown_rounded_is_told_exactly_too(ledger):
    tiny = Fraction(1, 10**20 + 1)
    with pytest.raises(OverBudget) as refused:
        ledger.reserve("k", {}, [Charge(TABLE, 1 + tiny)])
    assert f"requested 1 (exactly {1 + tiny}), remaining 1, " in str(refused.value)


def test_an_amount_of_too_many_digits_is_refused(ledger):
    with pytest.raises(InputError, match="lowest terms"):
        ledger.reserve("long", {}, [Charge(TABLE, Fraction(1, 10**60 + 1))])
    assert ledger.ticket("long") is None
    assert ledger.remaining(TABLE) == 1


def test_both_accounts_pay_or_none(ledger):
    ledger.set_budget("user alice", "1/4")
    with pytest.raises(OverBudget, match="user alice"):
        ledger.reserve(
            "k",
            {},
            [Charge(TABLE, Fraction(1, 2)), Charge("user alice", Fraction(1, 2))],
        )
    assert ledger.remaining(TABLE) == 1
    ledger.reserve(
        "k", {}, [Charge(TABLE, Fraction(1, 4)), Charge("user alice", Fraction(1, 4))]
    )
    assert ledger.remaining("user alice") == 0


def test_logarithms_are_charged_from_above():
    two = charge_of(Epsilon.of("ln(2)"))
    assert (
        0
        <= two - Fraction(Epsilon.of("ln(2)").multiple * Fraction("0.693147180559945"))
        < 1e-15
    )
    assert budget_of("ln(8)") == 3 * two
    # e^charge is at least the base: a charge is never below the level.
    for text in ("ln(2)", "ln(3)/7", "ln(1001/1000)", "5*ln(3/2)"):
        level = Epsilon.of(text)
        assert charge_of(level) >= Fraction(float(level)) - Fraction(1, 10**15)
        assert (
            Epsilon(charge_of(level)).ratio * (1 + Fraction(1, 10**14)) >= level.ratio
        )


def test_the_same_key_is_the_same_request(ledger):
    half = [Charge(TABLE, Fraction(1, 2))]
    first = ledger.reserve("k", {"sql": "a"}, half)
    assert first.own
    assert ledger.reserve("k", {"sql": "a"}, half) == replace(first, own=False)
    assert ledger.remaining(TABLE) == Fraction(1, 2)
    for other in [
        ({"sql": "b"}, half),
        ({"sql": "a"}, [Charge(TABLE, Fraction(1, 3))]),
    ]:
        with pytest.raises(InputError, match="belongs to another request"):
            ledger.reserve("k", *other)
    ledger.charge(first)
    assert ledger.charge(first).phase == "charged"
    recorded = ledger.answer(first, 3)
    assert ledger.answer(first, 4).entry == recorded.entry
    assert ledger.reserve("k", {"sql": "a"}, half).entry.body["answer"] == 3
    assert ledger.verify().intact


def test_steps_cannot_be_skipped(ledger):
    half = [Charge(TABLE, Fraction(1, 2))]
    unknown = Ticket("k", 3, "0" * 64, "reserved", ledger.head())
    for step in (ledger.charge, ledger.cancel):
        with pytest.raises(InputError, match="is unknown"):
            step(unknown)
    first = ledger.reserve("k", {}, half)
    with pytest.raises(InputError, match="must be charged before it is released"):
        ledger.answer(first, 1)
    ledger.cancel(first)
    assert ledger.remaining(TABLE) == 1
    second = ledger.reserve("k", {"another": 1}, [Charge(TABLE, Fraction(1, 3))])
    ledger.charge(second)
    with pytest.raises(InputError, match="must be reserved before it is freed"):
        ledger.cancel(second)
    assert ledger.verify().intact


def test_a_ticket_is_its_reservation_not_its_key(ledger):
    """Three processes: A reserves and waits, B fails and cancels, C reserves the key for less."""
    dear, cheap = [Charge(TABLE, Fraction(1, 2))], [Charge(TABLE, Fraction(1, 100))]
    a = ledger.reserve("k", {"sql": "a"}, dear)
    b = ledger.reserve("k", {"sql": "a"}, dear)
    assert not b.own
    ledger.cancel(b)
    c = ledger.reserve("k", {"sql": "c"}, cheap)
    for step in (ledger.charge, ledger.cancel, lambda ticket: ledger.answer(ticket, 1)):
        with pytest.raises(InputError, match="was reserved anew by entry"):
            step(a)
    ledger.charge(c)
    with pytest.raises(InputError, match="was reserved anew by entry"):
        ledger.answer(a, 1)
    ledger.answer(c, 2)
    assert ledger.account(TABLE).spent == Fraction(1, 100)
    assert ledger.verify().intact


def test_reservations_expire(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger.db", hold=10)
    ledger.set_budget(TABLE, 1)
    clock = set_clock(monkeypatch, "2030-01-01T12:00:00.000Z")
    late = ledger.reserve("late", {}, [Charge(TABLE, Fraction(1))])
    with pytest.raises(OverBudget):
        ledger.reserve("next", {}, [Charge(TABLE, Fraction(1))])
    clock.append("2030-01-01T12:00:10.000Z")
    with pytest.raises(OverBudget):
        ledger.reserve("next", {}, [Charge(TABLE, Fraction(1))])
    clock.append("2030-01-01T12:00:10.001Z")
    with pytest.raises(InputError, match=r"expired at .*: nothing was charged"):
        ledger.charge(late)
    ticket = ledger.reserve("next", {}, [Charge(TABLE, Fraction(1))])
    assert [entry.kind for entry in ledger.entries()][-2:] == ["expire", "reserve"]
    with pytest.raises(InputError, match="is freed"):
        ledger.charge(late)
    ledger.charge(ticket)
    clock.append("2031-01-01T12:00:00.000Z")
    assert ledger.answer(ticket, 3).is_released  # what is charged never expires
    assert ledger.verify().intact


def set_clock(monkeypatch, *times):
    clock = list(times)
    monkeypatch.setattr("tightrope.publish.store.Transaction.now", lambda _: clock[-1])
    return clock


def test_budgets_change_by_entries(ledger):
    ledger.reserve("k", {}, [Charge(TABLE, Fraction(1, 2))])
    ledger.set_budget(TABLE, "3/4")
    assert ledger.remaining(TABLE) == Fraction(1, 4)
    with pytest.raises(InputError, match="cannot be less than what is spent"):
        ledger.set_budget(TABLE, "1/3")
    before = ledger.head()
    ledger.set_budget(TABLE, "3/4")
    assert ledger.head() == before
    with pytest.raises(InputError, match=r"has the budget 0\.75 in the ledger, not 9"):
        ledger.reserve(
            "l", {}, [Charge(TABLE, Fraction(1, 9))], budgets={TABLE: Fraction(9)}
        )
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


@pytest.mark.parametrize(
    "url", ["", "mysql://host/db", "sqlite://", "sqlite:///:memory:", "x://"]
)
def test_addresses(url):
    with pytest.raises(InputError):
        Ledger(url)


@pytest.mark.parametrize(
    "text", ["", "-1", "1/0", "2/4", "0.5", "1e3", "²", "1/2/3", None, 3]
)
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
    account = Account(TABLE, Fraction(100))
    for amount, part in some:
        partition = None if part is None else "region"
        account = account.with_charge(Charge(TABLE, amount, partition, part, width))
    whole = sum((a for a, part in some if part is None), Fraction(0))
    parts = [
        sum((a for a, p in some if p == name), Fraction(0))
        for name in ("north", "south", "west")
    ]
    # The worst person touches everything asked about all, and `width` of the parts.
    worst = max(sum(touched) for touched in itertools.combinations(parts, width))
    assert account.spent == whole + worst
    assert read_record(Account, plain(account)) == account


def test_the_width_of_a_partition_stays():
    account = Account(TABLE, Fraction(9)).with_charge(
        Charge(TABLE, Fraction(1), "region", "north", 1)
    )
    with pytest.raises(InputError, match="the facts have changed"):
        account.with_charge(Charge(TABLE, Fraction(1), "region", "south", 2))


def test_parallel_parts_fit_where_sums_do_not(ledger):
    for part in ("north", "south"):
        ledger.reserve(part, {}, [Charge(TABLE, Fraction(1), "region", part)])
    assert ledger.remaining(TABLE) == 0
    with pytest.raises(OverBudget):
        ledger.reserve(
            "north again", {}, [Charge(TABLE, Fraction(1, 9), "region", "north")]
        )
    with pytest.raises(OverBudget):
        ledger.reserve("all", {}, [Charge(TABLE, Fraction(1, 9))])
    assert ledger.verify().intact


# -- replay -------------------------------------------------------------------------------

NOON, EVENING = "2030-01-01T12:00:00.000Z", "2030-01-01T18:00:00.000Z"
OPEN = {"kind": "open", "id": "a", "version": 3}
BUDGET = {"kind": "budget", "account": TABLE, "amount": "1"}
RESERVE = {
    "kind": "reserve",
    "key": "k",
    "request": {"sql": "a"},
    "charges": [{"account": TABLE, "amount": "1/2"}],
    "expires": NOON,
}


def chain(*bodies, times=()):
    """Entries whose hashes are right, as somebody makes them who can compute hashes."""
    entries = []
    for place, body in enumerate(bodies):
        if "reservation" in body:
            position = body["reservation"]
            body = {**body, "reservation": [position, entries[position - 1].hash]}
        time = dict(times).get(place, NOON)
        entries.append(Entry.after(entries[-1] if entries else None, body, time))
    return entries


def replayed(entries):
    replay = Replay()
    for entry in entries:
        replay.add(entry)
    return replay


def step(kind, reservation=3, **more):
    return {"kind": kind, "key": "k", "reservation": reservation, **more}


ANSWER = step("answer", sql="a", charges=RESERVE["charges"], answer=1)
CHARGED = [OPEN, BUDGET, RESERVE, step("charge")]
CHEAP = {**RESERVE, "charges": [{"account": TABLE, "amount": "1/100"}]}


def test_a_whole_chain_replays():
    entries = chain(*CHARGED, ANSWER)
    replay = replayed(entries)
    assert replay.reasons == []
    assert account_of(replay.state, TABLE).remaining == Fraction(1, 2)
    assert [read_record(Entry, entry.as_dict()) for entry in entries] == entries


@pytest.mark.parametrize(
    ("bodies", "says"),
    [
        ([BUDGET], "does not open"),
        ([OPEN, OPEN], "opened by its first entry"),
        ([OPEN, RESERVE], "has no budget"),
        ([OPEN, BUDGET, RESERVE, RESERVE], "in use"),
        (
            [OPEN, BUDGET, {**RESERVE, "charges": [{"account": TABLE, "amount": "2"}]}],
            "too small",
        ),
        ([OPEN, BUDGET, {**RESERVE, "request": {"answer": 1}}], "does not say answer"),
        ([OPEN, BUDGET, {**RESERVE, "expires": "2029"}], "expires after"),
        ([OPEN, BUDGET, RESERVE, ANSWER], "must be charged"),
        ([*CHARGED, ANSWER, ANSWER], "must be charged"),
        ([*CHARGED, step("cancel")], "must be reserved"),
        ([OPEN, BUDGET, RESERVE, step("expire")], "has not expired"),
        # An answer that is not that of its reservation: another question, another price, none.
        ([*CHARGED, {**ANSWER, "sql": "b"}], "repeats the request and the charges"),
        (
            [*CHARGED, {**ANSWER, "charges": CHEAP["charges"]}],
            "repeats the request and the",
        ),
        (
            [*CHARGED, step("answer", sql="a", charges=RESERVE["charges"])],
            "holds an answer",
        ),
        # The key race: what was reserved by entry 3 and cancelled is charged as entry 5's.
        (
            [OPEN, BUDGET, RESERVE, step("cancel"), CHEAP, step("charge")],
            "reserved anew by entry",
        ),
        ([OPEN, {"kind": "refund"}], "unknown"),
        ([OPEN, {"kind": "budget"}], "could not have been written"),
        ([OPEN, BUDGET, {**RESERVE, "charges": 3}], "could not have been written"),
    ],
)
def test_a_chain_that_could_not_have_been_written(bodies, says):
    """Whole by its hashes, wrong by its meaning."""
    assert any(says in reason for reason in replayed(chain(*bodies)).reasons)


def test_a_charge_after_the_end_of_its_reservation_is_noticed():
    assert (
        "expired at" in replayed(chain(*CHARGED, times={3: EVENING}.items())).reasons[0]
    )


def bound(account=TABLE, source=("file:/p",), neighbours="change-one", **more):
    binding = {"source": list(source), "neighbours": neighbours, **more}
    return {"kind": "bind", "account": account, "binding": binding}


OTHER = {**BUDGET, "account": "table others"}


@pytest.mark.parametrize(
    ("bodies", "says"),
    [
        ([bound(source=["file:/q"])], "is the account of file:/p"),
        ([bound(neighbours="add-remove")], "under two relations"),
        ([bound(person="id")], "what one person is must stay"),
        ([bound(contributions=2)], "what one person is must stay"),
        ([OTHER, bound("table others")], "has an account already: table people"),
        ([bound(source=[])], "has a name"),
        ([bound("table nobody")], "has no budget"),
    ],
)
def test_an_account_is_bound_once(bodies, says):
    (reason,) = replayed(chain(OPEN, BUDGET, bound(), *bodies)).reasons
    assert says in reason
    assert not replayed(chain(OPEN, BUDGET, bound(), bound(facts="new"))).reasons


def test_facts_change_only_by_an_entry_of_their_own():
    first, second = (bound(facts=word) for word in ("a", "b"))
    change = {"kind": "facts", "account": TABLE, "facts": "b"}
    assert (
        "was opened with other public facts"
        in replayed(chain(OPEN, BUDGET, first, second)).reasons[0]
    )
    assert (
        "was opened with other public facts"
        in replayed(chain(OPEN, BUDGET, first, bound())).reasons[0]
    )
    assert not replayed(chain(OPEN, BUDGET, first, change, second)).reasons
    assert "not bound to data yet" in replayed(chain(OPEN, BUDGET, change)).reasons[0]


def test_a_name_that_data_has_lost_is_free():
    moved = bound(source=["file:/p", "inode:2"])
    first = bound(source=["file:/p", "inode:1"])
    reused = bound("table others", source=["file:/q", "inode:1"])
    assert replayed(chain(OPEN, BUDGET, OTHER, first, reused)).reasons
    assert not replayed(chain(OPEN, BUDGET, OTHER, first, moved, reused)).reasons


def test_a_refused_entry_leaves_the_state():
    state = {}
    dear = {**RESERVE, "charges": [{"account": TABLE, "amount": "2"}]}
    first, second = chain(BUDGET, dear)
    apply_entry(state, first)
    before = {name: dict(value) for name, value in state.items()}
    with pytest.raises(OverBudget):
        apply_entry(state, second)
    assert state == before


@settings(max_examples=40)
@given(place=st.integers(0, 3), data=st.data())
def test_any_edit_of_an_entry_is_found(place, data):
    entries = chain(*CHARGED)
    held = entries[place].as_dict()
    field = data.draw(st.sampled_from(["position", "previous", "time", "body", "hash"]))
    changed = {
        "position": held["position"] + 1,
        "previous": held["previous"][::-1] + "0",
        "time": held["time"].replace("Z", "+"),
        "body": {**held["body"], "note": "new"},
        "hash": "0" * 64,
    }[field]
    entries[place] = read_record(Entry, {**held, field: changed})
    assert replayed(entries).reasons


def test_a_notebook_shows_the_accounts_escaped(ledger):
    ledger.set_budget("user <b>ann</b>", "1/3")
    ledger.reserve("first", {}, [Charge(TABLE, Fraction(2, 3))])
    page = ledger._repr_html_()
    assert "2/3 of 1 spent" in page
    assert "1/3 left" in page
    assert "<b>" not in page
