"""Who pays for a release, and where the budgets come from."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError
from tightrope.publish.accounts import Charge
from tightrope.publish.amounts import amount_text, charge_of, shown
from tightrope.publish.facts import Facts, Table
from tightrope.publish.ledger import Ledger
from tightrope.publish.shapes import Shape
from tightrope.publish.store import Store


def charges_of(epsilon: Epsilon, shape: Shape, user: str | None) -> list[Charge]:
    """Return what a release takes from the table's account and, if one asks, the user's.

    >>> from tightrope.publish.shapes import Kind
    >>> shape = Shape(Kind.COUNT, Table("people", 5))
    >>> [charge.account for charge in charges_of(Epsilon.of(1), shape, "alice")]
    ['table people', 'user alice']
    """
    amount = charge_of(epsilon)
    account = f"table {shape.table.name}"
    if shape.part is None:
        charges = [Charge(account, amount)]
    else:
        partition, part = shape.part
        width = partition.width(shape.table.neighbours)
        charges = [Charge(account, amount, partition.account, part, width)]
    return charges if user is None else [*charges, Charge(f"user {user}", amount)]


def set_budgets(
    book: Ledger, facts: Facts, table: Table, asked: Fraction | None, user: str | None
) -> None:
    """Give new accounts their budgets; refuse facts that contradict the ledger.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     book = Ledger.create(f"{folder}/ledger.db")
    ...     people = Table("people", 5)
    ...     set_budgets(book, Facts({"people": people}), people, Fraction(2), None)
    ...     set_budgets(book, Facts({"people": people}), people, Fraction(3), None)
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: table people has the budget 2 in the ledger, not 3 (3): ...
    """
    budgets = {f"table {table.name}": asked}
    if user is not None:
        budgets[f"user {user}"] = facts.user_budget(user)
    elif facts.users:
        raise InputError(
            f"the facts give budgets to users ({', '.join(facts.users)}): say who asks"
        )
    for name, budget in budgets.items():
        account = book.account(name)
        if account is None:
            if budget is None:
                raise InputError(
                    f"{name} has no budget: set one in the public facts, or give budget"
                )
            book.set_budget(name, budget, new=True)
        elif budget is not None and account.budget != budget:
            raise InputError(
                f"{name} has the budget {shown(account.budget)} in the ledger, not "
                f"{shown(budget)} ({amount_text(budget)}): change it with 'tightrope ledger "
                "budget', or correct the facts"
            )


def open_ledger(url: str | Path, budget: Fraction | None) -> Ledger:
    """Open a ledger; make a missing one only if there is a budget to put into it.

    >>> open_ledger("no-such-ledger.db", None)
    Traceback (most recent call last):
    ...
    tightrope.publish.addresses.LedgerError: no-such-ledger.db: there is no ledger here; ...
    """
    if budget is not None and not Store(url).exists:
        return Ledger.create(url, exist_ok=True)
    return Ledger(url)
