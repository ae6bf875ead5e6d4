r"""Amounts of budget: exact fractions, written as text.

A release at level :math:`\varepsilon` is charged :attr:`tightrope.Epsilon.above`, a fraction that
is never below :math:`\varepsilon`: the level itself when it is a rational number, and at most
1e-15 more when it is written as a logarithm. Sums of charges are therefore sums of upper bounds,
and what the ledger calls spent is never less than what was spent.

A budget written as a logarithm is read with the same fraction, so that ``3*ln(2)`` pays for
three releases at ``ln(2)``, to the last digit.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from tightrope.epsilon import Epsilon
from tightrope.errors import InputError

#: Largest number of digits of an amount in a ledger.
DIGIT_LIMIT = 2000


def charge_of(epsilon: Epsilon) -> Fraction:
    """Return what a release at this level costs.

    >>> charge_of(Epsilon.of(0.1)) * 10
    Fraction(1, 1)
    """
    return epsilon.above


def budget_of(value: Epsilon | float | Fraction | Decimal | str) -> Fraction:
    """Read a budget: a number, ``p/q``, or a multiple of a logarithm.

    >>> budget_of("3*ln(2)") == 3 * charge_of(Epsilon.of("ln(2)"))
    True
    >>> budget_of("lots")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a budget must be an ε such as 2, 0.5, 1/3 or 3*ln(2), got 'lots'
    """
    try:
        return Epsilon.of(value).above
    except InputError:
        shown = repr(value)[:80]
        raise InputError(
            f"a budget must be an ε such as 2, 0.5, 1/3 or 3*ln(2), got {shown}"
        ) from None


def amount_text(amount: Fraction) -> str:
    """Write an amount exactly, as ``p`` or ``p/q``.

    >>> amount_text(Fraction(1, 3)), amount_text(Fraction(2))
    ('1/3', '2')
    """
    return str(amount)


def stored_text(amount: Fraction) -> str:
    """Write an amount for a ledger, or refuse one that could not be read again.

    >>> stored_text(Fraction(1, 3))
    '1/3'
    >>> stored_text(Fraction(1, 3**5000))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: an amount in a ledger has at most 2000 digits, and the sum of ...
    """
    digits = (amount.numerator.bit_length() + amount.denominator.bit_length()) * 0.30103
    text = amount_text(amount) if digits < DIGIT_LIMIT + 2 else ""
    if not text or len(text) > DIGIT_LIMIT:
        raise InputError(
            f"an amount in a ledger has at most {DIGIT_LIMIT} digits, and the sum of this ε and "
            "what is spent has more: use an ε that is written with fewer digits"
        )
    return text


def read_amount(text: object) -> Fraction:
    """Read an amount as the ledger writes it.

    >>> read_amount("1/3")
    Fraction(1, 3)
    >>> read_amount("0.5")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: an amount in a ledger is p or p/q in lowest terms, got '0.5'
    """
    if isinstance(text, str) and len(text) <= DIGIT_LIMIT:
        top, _, bottom = text.partition("/")
        if (
            top.isascii()
            and top.isdigit()
            and ((bottom.isascii() and bottom.isdigit()) or not bottom)
        ):
            under = int(bottom or "1")
            if under and str(Fraction(int(top), under)) == text:
                return Fraction(int(top), under)
    raise InputError(f"an amount in a ledger is p or p/q in lowest terms, got {str(text)[:60]!r}")


def shown(amount: Fraction) -> str:
    """Write an amount for a person: exactly where that is short, else with the exact value near.

    >>> shown(Fraction(1, 4)), shown(Fraction(1, 3)), shown(budget_of("ln(2)"))
    ('0.25', '1/3', '0.693147180559945')
    """
    if amount.denominator.bit_length() <= 60:
        decimal = repr(float(amount))
        if Fraction(decimal) == amount:
            return decimal.removesuffix(".0")
        if amount.denominator < 1000:
            return str(amount)
    return f"{float(amount):.15g}"
