"""Values as people and programs read them: what commands print as JSON and the studio shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from tightrope.texts import percent_text

if TYPE_CHECKING:
    from tightrope.consumers import Regularity
    from tightrope.graphs import AnswerGraph
    from tightrope.optimize import Design
    from tightrope.phi import Existence
    from tightrope.queries import Query


def plain(value: Any) -> Any:
    """Turn a value into what JSON can say: exact fractions as text, infinities as null.

    >>> plain({"ratio": Fraction(1, 3), "high": math.inf, "pair": (1, 2)})
    {'ratio': '1/3', 'high': None, 'pair': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float):
        # JSON has no infinity and no NaN.
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    return str(value)


def label_text(label: object) -> str:
    """Return a label as text, whole.

    >>> label_text((1, 2)), label_text("a")
    ('1,2', 'a')
    """
    return ",".join(map(str, label)) if isinstance(label, tuple) else str(label)


def answer_order(graph: AnswerGraph, *, most: int = 12) -> dict[str, str]:
    """Return the row with the answers of a listed graph in the order of a prior given as a list.

    >>> from tightrope.graphs import ExplicitGraph, PathPower
    >>> answer_order(ExplicitGraph([(0, 1)], labels=["no", "yes"])), answer_order(PathPower(3))
    ({'order of answers': 'no, yes'}, {})
    """
    # Answers that follow a rule need no list.
    if graph.label_rule is not None or graph.question is not None:
        return {}
    shown = [label_text(graph.label(i)) for i in range(min(graph.size, most))]
    more = [f"… {label_text(graph.label(graph.size - 1))}"] * (graph.size > most)
    return {"order of answers": ", ".join(shown + more)}


def about_query(query: Query) -> dict[str, str]:
    """Return what every JSON object about a question starts with."""
    return {"query": query.text, "neighbours": query.neighbours.value}


def interval_text(intervals: Any, digits: int = 10) -> str:
    """Return intervals of ε as text.

    >>> interval_text([(0.5, 0.75), (1.0, None)])
    '0.5 … 0.75,  1 … ∞'
    """
    ends = (
        f"{low:.{digits}g} … {'∞' if high is None else f'{high:.{digits}g}'}"
        for low, high in intervals
    )
    return ",  ".join(ends) or "nowhere in the range"


def existence_data(query: Query, found: Existence) -> dict[str, Any]:
    """Return for which ε something exists, as ``tightrope exists`` prints it."""
    minimum = found.minimum if math.isfinite(found.minimum) else None
    return {
        "query": query.text,
        **vars(found),
        "minimum": minimum,
        "up_set": found.is_up_set,
    }


def regularity_data(found: Regularity) -> dict[str, Any]:
    """Return whether a prior is regular, and what follows, as JSON says it."""
    names = ("regular", "certain", "margin", "utility_bound", "leakage_bound_bits")
    return {name: getattr(found, name) for name in names}


def regularity_rows(found: Regularity) -> dict[str, str]:
    """Say whether a prior is regular, and what follows for every mechanism."""
    sure = "" if found.certain else " (not proven: see the margin)"
    return {
        "ε-regular": ("yes" if found.regular else "no") + sure,
        "smallest entry of y": f"{found.margin:.6g}",
        "utility of any mechanism": f"≤ {found.utility_bound:.6g}",
        "leakage of any mechanism": f"≤ {found.leakage_bound_bits:.6g} bits",
    }


def design_rows(found: Design) -> dict[str, str]:
    """Say what a design loses, how good that is beside a bound and beside usual noise, and why."""
    rows = {}
    if found.many:
        rows["worst regret"] = f"{found.worst_regret:.6g}"
        for one in found.as_dict()["consumers"]:
            rows[f"consumer {one['name']}"] = (
                f"loses {one['expected_loss']:.6g}, at best {one['optimum']:.6g}: "
                f"regret {one['regret']:.3g}"
            )
    else:
        whose = "loss, worst answer" if found.consumer.risk_averse else "expected loss"
        rows[whose] = f"{found.expected_loss:.6g}"
        if found.limit is not None and found.vulnerability is not None:
            often = percent_text(found.vulnerability)
            rows["an attacker guesses"] = f"correctly {often} of the time"
        elif found.consumer.loss.is_binary:
            rows["right answer"] = f"{percent_text(found.utility)} of the time"
    # No loss is negative but a listed one; what rounding takes off a bound of 0 is in the gap.
    rounding = 1e-12
    # -0 or -1e-17 would look like a negative loss.
    bound = 0.0 if -rounding < found.bound < 0 <= found.value else found.bound
    what = "mechanism" if found.limit is None else found.minimised
    rows[f"no {what} below"] = f"{bound:.6g}  (gap {found.gap:.2g})"
    rows |= {
        f"{name} noise": _compared(value, found)
        for name, value in found.baselines.items()
    }
    return rows | {"route": f"{found.route}: {found.reason}"}


def _compared(value: float, found: Design) -> str:
    """Say by how much simple noise is worse."""
    lost = value - found.value
    rounding = 1e-9
    # Equal up to round-off: neither better nor worse.
    if abs(lost) <= rounding * max(abs(value), 1e-300):
        return f"{value:.6g}  (as good)"
    # A percentage of a loss of 0 has no meaning.
    if found.value <= 0:
        return f"{value:.6g}"
    share = 100 * abs(lost) / found.value
    return f"{value:.6g}  ({share:.3g} % {'worse' if lost > 0 else 'better'})"


def score_hint(text: str | None) -> str | None:
    """Name the mechanism with a far smaller error than the best one that sees only the true answer.

    >>> score_hint("choice(5)")
    'A mechanism that sees all counts has a far smaller error: tightrope design "commonest(5)"'
    """
    from tightrope.queries import by_score_instead

    # Only questions for which looking at counts helps have such a mechanism.
    better = by_score_instead(text or "")
    if better is None:
        return None
    return f'A mechanism that sees all counts has a far smaller error: tightrope design "{better}"'


def verdict_rows(verdict: Mapping[str, Any]) -> dict[str, str]:
    """Say what verifying a mechanism file found, from the JSON of ``tightrope verify``."""
    bound = (
        "on its own graph"
        if verdict["private_for_question"] is None
        else "for the question"
    )
    return {
        **{
            name: str(value or "a graph of its own")
            for name, value in verdict["question"].items()
        },
        "private": f"yes, {bound}" if verdict["private"] else "no",
        **{
            name: str(value)
            for name, value in (verdict["consumer"] or {}).items()
            if value
        },
        **({"quality": verdict["claim"]} if "claim" in verdict else {}),
        "ratio": str(verdict["ratio"] or "not known"),
        "digest": str(verdict["digest"] or "not known"),
    }


def share_bar(shares: Mapping[str, float]) -> str:
    """Return a bar whose parts are as long as the shares, with their names below it.

    >>> share_bar({"sex": 0.25, "sex × age": 0.75})[:58]
    '<div class="shares"><i style="width:25%"></i><i style="wid'
    """
    parts = "".join(
        f'<i style="width:{100 * part:.4g}%"></i>' for part in shares.values()
    )
    names = "".join(
        f"<li>{escape(name)}: {100 * part:.0f} % of ε</li>"
        for name, part in shares.items()
    )
    # The list says what the bar shows, also to whoever does not see colours.
    return f'<div class="shares">{parts}</div><ol class="legend">{names}</ol>'
