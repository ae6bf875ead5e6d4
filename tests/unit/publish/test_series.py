"""Series of releases: one price in advance, places instead of amounts, statements that verify."""

import json
import sqlite3
from fractions import Fraction

import pyarrow
import pytest

from tightrope.accounting import TradeOff, optimal_composition
from tightrope.certify import certify
from tightrope.channels import GeometricChannel, IntegerChannel
from tightrope.errors import CheckFailed, InputError
from tightrope.graphs import Cycle
from tightrope.proofs import prove_selection
from tightrope.publish import Ledger, OverBudget, release
from tightrope.publish.accounts import Charge
from tightrope.publish.noise import RowNoise, noise_of
from tightrope.publish.series import read_steps, series_entry

TABLE = "table people"
TENTH = Fraction(1, 10)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    made.set_budget(TABLE, 5, "1e-6")
    return made


def declare(ledger, name, kinds, delta, epsilon=None):
    return ledger.declare_series(series_entry(TABLE, name, kinds, delta, epsilon))


def use(ledger, key, series="daily", step=0, amount=TENTH, **more):
    request = {"sql": key, **more}
    ticket = ledger.reserve(
        key, request, [Charge(TABLE, amount, series=series, step=step)]
    )
    return ledger.answer(ledger.charge(ticket), 1)


def test_an_unknown_series_is_told_with_the_known_ones(ledger):
    with pytest.raises(InputError, match=r"no series 'autumn' \(declared: none\)"):
        ledger.account(TABLE).known_series("autumn")
    for name in ("spring", "summer"):
        declare(ledger, name, [("0.1", 2)], 0, 1)
    with pytest.raises(InputError, match=r"\(declared: spring, summer\)"):
        ledger.account(TABLE).known_series("autumn")


def test_a_number_before_a_file_says_how_often_it_is_used(tmp_path):
    path = certify(GeometricChannel(6, "ln(2)"), "count(5)", "ln(2)").save(
        tmp_path / "a.tightrope"
    )
    counted = [many for _, many in read_steps([f"3x{path}", str(path)], None, 0)]
    assert counted == [3, 1]


def test_a_budget_of_five_holds_108_releases_of_a_tenth(ledger):
    with pytest.raises(InputError, match="needs δ"):
        declare(ledger, "daily", [("0.1", 109)], "1e-6", 5)
    entry = declare(ledger, "daily", [("0.1", 108)], "1e-6", 5)
    assert ledger.remaining(TABLE) == 0
    for k in range(108):
        use(ledger, f"k{k}")
    with pytest.raises(InputError, match="all 108 are used"):
        use(ledger, "one more")
    told = entry.body["statement"]
    assert Fraction(told["delta"]) <= Fraction(1, 10**6)
    assert Fraction(told["epsilon"]) <= 5
    report = ledger.verify()
    assert report.intact
    assert report.accounts[TABLE].series["daily"].left == 0


def test_without_an_epsilon_the_least_is_paid(ledger):
    entry = declare(ledger, "daily", [("0.1", 100)], "1e-6")
    assert f"{float(Fraction(entry.body['epsilon'])):.9f}" == "4.774567588"
    assert ledger.remaining(TABLE) == 5 - Fraction(entry.body["epsilon"])
    assert ledger.account(TABLE).spent_delta == Fraction(1, 10**6)


def test_budget_and_delta_must_hold_the_series(ledger):
    with pytest.raises(OverBudget, match="budget of table people is too small"):
        declare(ledger, "daily", [("0.1", 200)], "1e-6")
    with pytest.raises(OverBudget, match="δ of table people is too small"):
        declare(ledger, "daily", [("0.1", 10)], "1e-5")
    assert ledger.head().position == 2
    declare(ledger, "daily", [("0.1", 10)], "1e-6", 1)
    with pytest.raises(InputError, match="cannot be less than what is spent"):
        ledger.set_budget(TABLE, 5, "1e-7")
    with pytest.raises(InputError, match="already"):
        declare(ledger, "daily", [("0.1", 1)], 0)
    # What is left pays for releases outside of the series, as before.
    ledger.charge(ledger.reserve("k", {}, [Charge(TABLE, Fraction(4))]))
    with pytest.raises(OverBudget):
        ledger.reserve("l", {}, [Charge(TABLE, TENTH)])


def test_levels_are_fixed(ledger):
    declare(ledger, "daily", [("0.1", 3), ("0.5", 2)], "1e-6")
    with pytest.raises(InputError, match="does not fit"):
        use(ledger, "large", amount=Fraction(1, 5))
    with pytest.raises(InputError, match="no step 2"):
        use(ledger, "third", step=2)
    with pytest.raises(InputError, match="no series 'other'"):
        use(ledger, "other", series="other")
    series = ledger.account(TABLE).series["daily"]
    assert series.place("daily", TENTH, "", pure=True) == 0
    assert series.place("daily", Fraction(1, 5), "", pure=True) == 1
    with pytest.raises(InputError, match="fixed when a series is declared"):
        series.place("daily", Fraction(1), "", pure=True)
    with pytest.raises(InputError, match="δ of its own"):
        series.place("daily", TENTH, "", pure=False)


def test_a_freed_place_comes_back(ledger):
    declare(ledger, "daily", [("0.1", 1)], 0)
    charge = [Charge(TABLE, TENTH, series="daily")]
    ticket = ledger.reserve("a", {}, charge)
    with pytest.raises(InputError, match="all 1 are used"):
        ledger.reserve("b", {}, charge)
    ledger.cancel(ticket)
    ledger.charge(ledger.reserve("b", {}, charge))
    assert ledger.account(TABLE).series["daily"].left == 0
    assert ledger.verify().intact


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda body: body["steps"][0].update(times=200), "needs δ"),
        (lambda body: body["steps"][0].update(times=99), "not what its releases cost"),
        (
            lambda body: body["statement"].update(delta="0"),
            "not what its releases cost",
        ),
        (
            lambda body: body["statement"]["proof"].update(digest="0"),
            "not what its releases cost",
        ),
        (lambda body: body["steps"][0].update(times=10**9), "whole number"),
        (
            lambda body: body["steps"][0].update(curve=[[1], [1]]),
            "belongs to a mechanism",
        ),
        (lambda body: body.update(epsilon="1"), "needs δ"),
    ],
)
def test_verify_computes_the_statement_again(ledger, tmp_path, change, says):
    """A forged series, with hashes that fit, is found by composing again."""
    from tightrope.publish.entries import Entry, canonical

    declare(ledger, "daily", [("0.1", 100)], "1e-6")
    entries = list(ledger.entries())
    body = json.loads(json.dumps(dict(entries[-1].body)))
    change(body)
    forged = Entry.after(entries[-2], body, entries[-1].time)
    with sqlite3.connect(tmp_path / "ledger.db") as raw:
        raw.execute("drop trigger ledger_no_UPDATE")
        raw.execute(
            "update ledger_entries set body = ?, hash = ? where position = ?",
            (canonical(body), forged.hash, forged.position),
        )
    raw.close()
    assert any(
        says in reason for reason in Ledger(tmp_path / "ledger.db").verify().reasons
    )


# -- mechanisms and releases --------------------------------------------------------------


@pytest.fixture
def flat():
    """A mechanism of level ln 2 whose curve is well above that of its level."""
    weights = [[6, 6, 4], [5, 6, 5], [4, 6, 6]]
    return certify(IntegerChannel(weights), "count(2)", "ln(2)")


def ask(mechanism, ledger, key, **more):
    people = pyarrow.table({"age": [31] * 2})
    return release(
        mechanism,
        data=people,
        sql="select count(*) from people",
        ledger=ledger,
        key=key,
        **more,
    )


def test_mechanisms_cost_what_their_curves_say(ledger, flat):
    entry = declare(ledger, "flat", [(flat, 20)], "1e-6")
    cost = Fraction(entry.body["epsilon"])
    assert cost == optimal_composition([(noise_of(flat).curve(), 20)]).epsilon("1e-6")
    assert cost < optimal_composition([("ln(2)", 20)]).epsilon("1e-6") / 3
    assert entry.body["steps"][0]["mechanism"] == flat.digest
    done = ask(flat, ledger, "k", series="flat")
    assert ask(flat, ledger, "k", series="flat").answer == done.answer
    assert ledger.account(TABLE).series["flat"].left == 19
    assert done.remaining == 5 - cost
    other = certify(GeometricChannel(3, "ln(2)"), "count(2)", "ln(2)")
    with pytest.raises(InputError, match="no place for this mechanism"):
        ask(other, ledger, "l", series="flat")
    with pytest.raises(InputError, match="is for the mechanism"):
        use(ledger, "m", series="flat", amount=TENTH, mechanism=other.digest)


def test_a_series_never_costs_more_than_its_levels(ledger, flat):
    """Levels without a common measure are rounded to a grid; curves must not lose by it."""
    worst = certify(GeometricChannel(3, "ln(2)"), "count(2)", "ln(2)")
    for kinds in (
        [(worst, 9), ("0.1", 9)],
        [(worst, 20)],
        [(flat, 7), (worst, 3), ("1/7", 5)],
    ):
        levels = [
            ("ln(2)" if hasattr(kind, "epsilon") else kind, n) for kind, n in kinds
        ]
        cost = Fraction(series_entry(TABLE, "x", kinds, "1e-6")["epsilon"])
        assert cost <= Fraction(series_entry(TABLE, "x", levels, "1e-6")["epsilon"])


def test_a_series_of_levels_takes_any_mechanism_up_to_them(ledger, flat):
    declare(ledger, "any", [("0.7", 2)], "1e-6")
    ask(flat, ledger, "k", series="any")
    done = ask(
        certify(GeometricChannel(3, "0.3"), "count(2)", "0.3"),
        ledger,
        "l",
        series="any",
    )
    assert done.charged == Fraction(3, 10)
    assert ledger.account(TABLE).series["any"].left == 0
    assert ledger.verify().intact


def test_a_mechanism_with_a_delta_pays_it(ledger):
    chosen = prove_selection(40, "0.5", "1e-7", neighbours="change-one")
    size = int(chosen.query[6:-1])
    made = release(
        chosen, data=pyarrow.table({"age": [31] * size}), sql="select count(*) from people",
        ledger=ledger, key="k",
    )  # fmt: skip
    assert made.answer in ("drop", "keep")
    assert size < 100
    account = ledger.account(TABLE)
    assert (account.spent, account.spent_delta) == (Fraction(1, 2), Fraction(1, 10**7))
    declare(ledger, "groups", [(chosen, 2)], "5e-7")
    ledger.set_budget("table other", 1)
    with pytest.raises(OverBudget, match="δ of"):
        ledger.reserve(
            "l", {}, [Charge("table other", TENTH, delta=Fraction(1, 10**9))]
        )


def test_a_ledger_with_another_curve_is_not_believed(ledger, flat, monkeypatch):
    with monkeypatch.context() as other:
        other.setattr(RowNoise, "curve", lambda _: TradeOff((1,), (1,)))
        declare(ledger, "flat", [(flat, 20)], "1e-6")
    with pytest.raises(CheckFailed, match="another curve"):
        ask(flat, ledger, "k", series="flat")


def test_where_all_answers_look_alike_one_answer_stands_for_all():
    from tightrope.accounting import worst_curve
    from tightrope.channels import ScaledPhi

    ring = Cycle(2000)
    made = certify(ScaledPhi(ring, "ln(2)", 1 / 3), "cycle(2000)", "ln(2)")
    small = certify(ScaledPhi(Cycle(60), "ln(2)", 1 / 3), "cycle(60)", "ln(2)")
    assert made.kind == "radial"
    whole = worst_curve(small.channel(), small.question.graph)
    assert float(noise_of(made).curve().excess(Fraction(3, 2))) == pytest.approx(
        float(whole.excess(Fraction(3, 2))), abs=1e-9
    )


@pytest.mark.parametrize("text", ["²x0.1", f"{'9' * 5000}x0.1", "x0.1", "-1x0.1", ""])
def test_a_number_of_releases_that_is_none_is_refused_in_a_line(text):
    with pytest.raises(InputError):
        read_steps([text], 1, Fraction(1, 10**6))
    with pytest.raises(InputError):
        read_steps([text, "5x0.1"], None, Fraction(0))
