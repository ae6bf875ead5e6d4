r"""Check a mechanism file in integers: privacy, rows, loss, optimality.

* *Ratio.* For every edge length l the file names p/q, and p/q is at most exp(ε·l).
* *Rows.* Every row of weights is non-negative and sums to 2^bits.
* *Privacy.* ``W[i,o]·q <= W[h,o]·p`` for neighbours i ~ h and every output o.
* *Loss.* The expected loss that the file states is the loss of these weights.
* *Optimality.* No private mechanism, with whatever outputs, has a loss below the bound: for
  every guess k the file gives multipliers m >= 0 on arcs such that, for all i,
  ``π_i·loss(i,k) - λ_i >= Σ_h m(h→i) - α·Σ_h m(i→h)``. A private column x has
  ``x_h >= α·x_i``, so ``Σ_i (π_i·loss(i,k) - λ_i)·x_i >= Σ m(i→h)·(x_h - α·x_i) >= 0``;
  summed over the columns of a mechanism its loss is at least ``Σ λ_i``. On a *tree* the
  multipliers need not be listed: from the leaves on, every answer hands what it has left to the
  next one towards a root; on a *line* this is summed up for all guesses at once. For binary loss a
  *cover* y >= 0 with ``Σ_i y_i·α^d(i,k) >= π_k`` does the same: ``π_k·x_k <= Σ_i y_i·x_i``.
  On a tree so does a *roof* v >= π with ``v_h >= α·v_i`` on edges: with Φ[i,h] = α^d(i,h) and
  y = Φ⁻¹v, seen from any k, ``Σ_i y_i·x_i = v_k·x_k + Σ (v_c - α·v_p)·(x_c - α·x_p)/(1 - α²)``
  over children c and parents p, and the sum of y is ``Σ_j v_j·(1 - (deg_j - 1)·α)/(1 + α)``.
  A reader who fears the worst loses at least as much as under any prior over the answers
  that are possible, so there the file names such a prior.
* *Limit.* An attacker who gains a_w(i) by doing w under answer i gains ``V = Σ_x max_w a_w·x``
  over the outputs x, which the file states. Under a limit on V the proof names θ >= 0 and for
  each guess k choices q_k(w) >= 0 of sum θ, and adds ``Σ_w q_k(w)·a_w(i)`` to the costs
  ``π_i·loss(i,k)``: summed over the columns that is at most θ·V, so the loss of a mechanism with
  ``V <= v`` is at least ``Σ λ_i - θ·v``. Under a limit on the loss, V is least: there the costs
  are counted θ times and the choices sum to 1.

Weights are a matrix (``dense``) or a rule (``levels``): ``W[i,o] = w[d(i,o)]·Z[o]``, and what
is missing to 2^bits goes to one output. The rule is private when w falls by no more than p/q
over the distance that one edge can make, and the missing part does not vary by more than p/q
between any two rows: a sum of private columns is private. On cycles and Hamming graphs, where
all answers look alike, ``W[i,o] = w[d(i,o)]`` alone is a rule (``radial``).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tightrope.certify.container import Container, Damaged, need, number
from tightrope.certify.exponentials import level_bounds, ln_bounds
from tightrope.certify.limit import Limit
from tightrope.certify.neighbours import Graph, read_graph
from tightrope.certify.optimality import Reader, lower_bound
from tightrope.certify.weights import Weights

# -- the checks ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What was found: ``reasons`` is empty when every check passed.

    >>> Report(True, None, "2/1").reasons
    []
    """

    private: bool
    optimal_within: Fraction | None
    ratio: str | None
    reasons: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    digest: str | None = None
    under: str | None = None


def check(source: str | os.PathLike[str] | bytes) -> Report:
    """Check a file, or its bytes; whatever is wrong becomes a reason.

    >>> check(b"nothing").reasons
    ['not a mechanism file: it is only 7 bytes long']
    """
    reasons: list[str] = []
    checked: list[str] = []
    ratio, gap, under, digest = None, None, None, None
    private = False
    try:
        file = Container(source)
    except Damaged as damage:
        return Report(False, None, None, [str(damage)])
    with file.stream:
        try:
            digest, stated = file.digest()
            if digest != stated:
                reasons.append(
                    f"digest: the bytes have {digest[:16]}…, the file states {stated[:16]}…"
                )
            ratios, alphas = check_ratios(file)
            ratio = "/".join(map(str, ratios[0]))
            others = f", and so are {len(ratios) - 1} for other lengths" if len(ratios) > 1 else ""
            checked.append(f"p/q = {ratio} is at most exp(ε) for edges of length 1{others}")
            graph = read_graph(file)
            check_query(file, graph)
            weights = Weights(file, graph, ratios)
            check_labels(file, graph.nodes, weights.outputs)
            reasons += weights.faults()
            private = not reasons
            if private:
                checked.append(
                    f"W[i,o]·q <= W[h,o]·p on every edge of {graph.nodes} answers for each of "
                    f"{weights.outputs} outputs; rows sum to 2^{weights.bits}"
                )
            if file.header.get("consumer") is not None:
                gap, under = check_loss(file, graph, weights, alphas, checked)
        except Damaged as damage:
            reasons.append(str(damage))
        except OverflowError:
            reasons.append("a number of the file is too large to mean anything")
    if reasons:
        gap = under = None
    return Report(private, gap, ratio, reasons, checked, digest, under)


def check_ratios(file: Container) -> tuple[list[tuple[int, int]], list[int]]:
    """Check p/q <= exp(ε·length) for every length; bound exp(-ε·length) from below.

    >>> check_ratios.__name__
    'check_ratios'
    """
    level = file.get("epsilon", dict)
    multiple = file.number("multiple", level)
    base = None if level.get("base") is None else file.number("base", level)
    need(multiple > 0 and (base is None or base > 1), "ε must be positive")
    level_one = Fraction(1) if base is None else ln_bounds(base)[1]
    need(multiple * level_one <= 600, "ε is too large to mean anything")
    told = file.get("ratios", list)
    need(0 < len(told) <= 1 << 17, "there must be at least one ratio")
    ratios, alphas = [], []
    for at, entry in enumerate(told):
        need(isinstance(entry, list) and len(entry) == 3, "a ratio is a length, p and q")
        length = number(entry[0], "length")
        p, q = number(entry[1], "p"), number(entry[2], "q")
        need(length > 0 and p >= q >= 1, "a ratio is p/q >= 1 for a length")
        need(p.denominator == q.denominator == 1, "p and q must be whole numbers")
        pair = p / q
        need(at > 0 or length == 1, "the first ratio must be that of edges of length 1")
        sound, alpha = level_bounds(multiple * length, base, pair.numerator, pair.denominator)
        need(sound, f"ratio: {pair} is larger than exp(ε) for edges of length {length}")
        ratios.append((pair.numerator, pair.denominator))
        alphas.append(alpha)
    return ratios, alphas


def check_query(file: Container, graph: Graph) -> None:
    """Compare a box with what the text of the query means, where that is plain.

    >>> check_query.__name__
    'check_query'
    """
    relation = file.get("neighbours", str)
    need(relation in ("change-one", "add-remove", "either"), "unknown neighbour relation")
    text = re.fullmatch(r"([a-z]+)\((\d{1,9})(?:,(\d{1,9}))?\)", file.get("query", str))
    if text is None or (graph.box is None and graph.symmetric is None):
        return
    a, b = int(text[2]), int(text[3] or 0)
    if graph.box is None:
        known = {"cycle": ("cycle", [a]), "databases": ("hamming", [b] * min(a, 65))}
        told = known.get(text[1], graph.symmetric)
        need(
            graph.symmetric == told or relation != "change-one",
            f"query: not the graph of {text[0]}",
        )
        return
    meant = {
        "count": [[a + 1, 1]],
        "path": [[a, 1]],
        "clique": [[a, a]],
        "choice": [[a, a]],
        "sum": [[a * b + 1, b]],
        "counts": [[a + 1, 1]] * min(b, 21),
    }.get(text[1])
    if meant is None or (relation == "add-remove" and text[1] != "count"):
        return
    wide = [[size, min(width, max(size - 1, 1))] for size, width in graph.box]
    same = wide == [[size, min(width, max(size - 1, 1))] for size, width in meant]
    need(same, f"query: {text[0]} has the box {meant}, the file has {graph.box}")


def check_labels(file: Container, nodes: int, outputs: int) -> None:
    """Check that there is one label for each answer and output, all different.

    >>> check_labels.__name__
    'check_labels'
    """
    for name, count in (("inputs", nodes), ("outputs", outputs)):
        told: dict[str, Any] = file.get(name, dict)
        if "list" in told:
            names = [json.dumps(label) for label in file.get("list", list, told)]
            need(len(names) == count, f"labels: {len(names)} {name} are named, not {count}")
            need(len(set(names)) == count, f"labels: two {name} have the same name")
        elif "sizes" in told:
            sizes = file.get("sizes", list, told)
            need(all(type(s) is int and s > 0 for s in sizes), f"labels: {name} have no sizes")
            product = 1
            for size in sizes[:64]:
                product = min(product * size, 1 << 62)
            need(product == count and len(sizes) <= 64, f"labels: {name} are not {count}")
        else:
            file.number("start", told)
            need(file.number("step", told) != 0, f"labels: two {name} have the same name")


def check_loss(
    file: Container, graph: Graph, weights: Weights, alphas: Sequence[int], checked: list[str]
) -> tuple[Fraction | None, str | None]:
    """Check the stated loss, limit and bound; return what it is above the bound, and the limit.

    >>> check_loss.__name__
    'check_loss'
    """
    reader = Reader(file, graph, weights.outputs)
    value, stated = reader.expected(weights), file.number("expected_loss")
    off = float(value - stated)
    need(value == stated, f"loss: the weights have {float(value):.12g}, {off:+.3g} from the stated")
    what = "expected loss" if reader.support is None else "worst loss"
    checked.append(f"the {what} is {float(value):.12g}")
    limit, under, counted = None, None, Fraction(0)
    if file.header.get("limit") is not None:
        limit = Limit(file, reader)
        under, what, value = limit.kept(file, weights, value, checked)
    if file.header.get("certificate") is None:
        return None, under
    if limit is not None:
        reader, counted = limit, limit.weigh(file)
    bound = lower_bound(file, graph, reader, list(alphas)) - counted
    stated = file.number("bound")
    off = float(bound - stated)
    need(bound == stated, f"bound: {float(bound):.12g} is proved, {off:+.3g} from the stated")
    others = "no private mechanism" if under is None else f"no private mechanism with {under}"
    checked.append(f"the {what} of {others} is below {float(bound):.12g}")
    return value - bound, under


def main(arguments: Sequence[str]) -> int:
    """Check the file that is named and print what was found; 0 when everything holds.

    >>> main([])
    give the name of one mechanism file
    2
    """
    if len(arguments) != 1:
        sys.stdout.write("give the name of one mechanism file\n")
        return 2
    report = check(arguments[0])
    within = report.optimal_within
    lines = [f"holds: {line}" for line in report.checked]
    lines += [f"FAILS: {line}" for line in report.reasons]
    lines.append(f"private: {'yes' if report.private else 'no'}")
    lines.append(f"optimal within: {'not known' if within is None else f'{float(within):.3g}'}")
    lines += [f"among mechanisms with {report.under}"] if report.under else []
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if report.reasons else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
