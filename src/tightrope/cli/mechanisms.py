"""Commands that take a mechanism, by name or in a file: measure, change, verify, test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import tightrope as tr
from tightrope.cli.output import (
    facts_table,
    paragraphs,
    progress_bar,
    show,
    tell,
    unused,
)
from tightrope.errors import InputError, whole_number
from tightrope.files import check_goals, parse_json, read_text
from tightrope.report.texts import answer_order, score_hint, verdict_rows
from tightrope.texts import percent_text

if TYPE_CHECKING:
    from rich.console import Console

    from tightrope.certify import Mechanism
    from tightrope.publish.receipts import ReceiptCheck


@dataclass(frozen=True)
class Loaded:
    """A mechanism with its question.

    >>> load("geometric:count(5)", epsilon="ln(2)").query.text
    'count(5)'
    """

    name: str
    channel: tr.Channel
    query: tr.Query
    epsilon: tr.Epsilon | None
    #: Whether the channel's numbers are integers that somebody rounded to.
    rounded: bool = False


def load(
    mechanism: str,
    *,
    epsilon: str | None = None,
    query: str | None = None,
    neighbours: str = "change-one",
) -> Loaded:
    """Find a mechanism by its name, or read it from a file.

    >>> load("geometric:count(5)")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a named mechanism needs its level: add --epsilon
    >>> load("mine.json")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: mine.json: No such file or directory
    """
    file = Path(mechanism)
    level = None if epsilon is None else tr.Epsilon.of(epsilon)
    # A matrix has no header: question and level come from the options.
    if mechanism.lower().endswith(".csv"):
        if query is None:
            raise InputError("a matrix does not say what it answers: add --query")
        asked = tr.query(query, neighbours=neighbours)
        return Loaded(file.name, _channel(mechanism), asked, level)
    # A file may have a colon in its name, as a named mechanism has.
    if ":" not in mechanism or file.is_file():
        from tightrope.certify import Mechanism

        # Most likely a question where a mechanism is needed.
        if "(" in mechanism and not file.exists():
            raise InputError(
                f"which mechanism? Write geometric:{mechanism[:80]}, or the name of a file"
            )
        made = Mechanism(file)
        # The header is authoritative: options beside it could contradict it.
        unused("a mechanism file, which says it", epsilon=epsilon, query=query)
        return Loaded(file.name, made.channel(), made.question, made.epsilon, True)
    from tightrope.mechanisms import tight

    unused("a named mechanism, which says it", query=query)
    found = tight.mechanism(mechanism)
    if level is None:
        raise InputError("a named mechanism needs its level: add --epsilon")
    asked = tr.query(str(found.rest), neighbours=neighbours)
    return Loaded(str(found), tight.KINDS[found.name](asked.graph, level), asked, level)


def takes_mechanism(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command whose first parameter is a mechanism take the words of ``load`` instead."""
    # The command line shows the words of `load`, the command sees what was loaded.
    taken = inspect.signature(load).parameters
    _, *own = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(**words: Any) -> None:
        command(
            load(**{word: words.pop(word) for word in taken if word in words}), **words
        )

    run.__signature__ = inspect.Signature([*taken.values(), *own])  # type: ignore[attr-defined]
    # Typer reads annotations by name, so both functions' are needed.
    run.__annotations__ = {**load.__annotations__, **command.__annotations__}
    return run


@takes_mechanism
def analyse(loaded: Loaded, *, prior: str = "uniform") -> None:
    """Measure a mechanism: utility, leakage in bits, smallest ε.

    Examples:
      tightrope analyse "geometric:count(5)" --epsilon "ln(2)"
      tightrope analyse "exponential:cycle(8)" --epsilon 1 --prior "binomial(.3)"
      tightrope analyse matrix.csv --query "choice(6)"

    >>> from tightrope.cli import main
    >>> main(["analyse", "geometric:count(5)", "--epsilon", "ln(2)", "--json"])
    {"mechanism": "geometric:count(5)", "query": "count(5)", "utility": 0.4444444...}
    0
    """
    from tightrope.consumers import prior as read_prior
    from tightrope.leakage.measures import analyse as measure

    graph = loaded.query.graph
    known = read_prior(prior, graph)
    with progress_bar("measuring"):
        # At the given ε: tightness of constraints depends on the level.
        found = measure(loaded.channel, graph, known, epsilon=loaded.epsilon)
    data = {"mechanism": loaded.name, "query": loaded.query.text, **found.as_dict()}

    general = {True: "yes", False: "no", None: "not defined"}[found.maximally_general]
    coefficient = (
        "too large to compute" if found.dobrushin is None else f"{found.dobrushin:.6g}"
    )
    rows = {
        "utility": f"{found.utility:.6g}",
        "min-entropy leakage": f"{found.min_entropy_leakage_bits:.6g} bits",
        "min-capacity": f"{found.min_capacity_bits:.6g} bits",
        "Shannon leakage": f"{found.shannon_leakage_bits:.6g} bits",
        "smallest ε": f"{found.epsilon:.6g}",
        "maximally general": general,
        "Dobrushin utility": coefficient,
        **answer_order(graph),
    }
    tell(data, f"{loaded.name}, prior {prior}", rows, found.sentences)


@takes_mechanism
def curve(
    loaded: Loaded,
    *,
    delta: float | None = None,
    times: int = 1,
    plot: Path | None = None,
) -> None:
    """Show for which (ε, δ) a mechanism is private.

    That is the smallest δ at every corner of the curve.

    Parameters
    ----------
    delta : D
        Give the smallest ε for this δ.
    times : N
        Also give the ε of so many releases together, for this δ.
    plot : FILE
        Draw the trade-off curve of the worst edge, beside the lowest one with the same ε.

    Examples:
      tightrope curve "geometric:count(5)" --epsilon "ln(2)"
      tightrope curve matrix.csv --query "choice(3)" --delta 0.01
      tightrope curve count.tightrope --times 100 --delta 1e-6 --plot curve.svg

    >>> from tightrope.cli import main
    >>> main(["curve", "geometric:count(2)", "--epsilon", "ln(2)", "--delta", "0.1", "--json"])
    {"query": "count(2)", "delta": 0.1, "epsilon": 0.5306..., "rows": [{"epsilon": 0.0, ...
    0
    """
    from tightrope.accounting import TradeOff, optimal_composition, worst_curve

    whole_number(times, "--times")
    if plot is not None:
        from tightrope.report.plots import check_picture, plot_tradeoff, save_plot

        check_picture(plot)
    with progress_bar("comparing neighbours"):
        found = worst_curve(loaded.channel, loaded.query.graph, most=4_000_000)
    # δ(ε) is piecewise linear in e^ε: its corners say everything.
    rows = [{"epsilon": e, "delta": float(found.delta(e))} for e in found.levels[:60]]
    # δ = 0 is pure differential privacy.
    wanted = 0.0 if delta is None else delta
    data = {
        "query": loaded.query.text,
        "delta": wanted,
        "epsilon": found.epsilon(wanted),
        "rows": rows,
    }

    texts = {f"ε for δ = {wanted:g}": f"{data['epsilon']:.6g}"}
    if times > 1:
        with progress_bar("composing"):
            # Composed by the privacy loss of the curve: tighter than n·ε for δ > 0.
            all_of_them = optimal_composition([(found, times)]).epsilon(wanted)
        data["together"] = None if all_of_them is None else float(all_of_them)
        texts[f"ε of {times} releases"] = (
            "none is enough" if all_of_them is None else f"{data['together']:.6g}"
        )
    if plot is not None:
        curves = {"this mechanism": found}
        # Randomized response is the worst curve with that ε, if there is one.
        if 0 < found.epsilon(0) < float("inf"):
            curves["any with its ε"] = TradeOff.randomized_response(
                repr(found.epsilon(0))
            )
        data["plot"] = str(save_plot(plot_tradeoff, curves, plot))
    texts |= {f"δ for ε = {row['epsilon']:.6g}": f"{row['delta']:.6g}" for row in rows}
    tell(data, loaded.name, texts)


@takes_mechanism
def remap(
    loaded: Loaded,
    *,
    prior: str = "uniform",
    loss: str | None = None,
    receipt: Path | None = None,
) -> None:
    """Show what a consumer should guess from every output.

    Parameters
    ----------
    receipt : FILE
        A receipt: also show the guess from its answer.

    Examples:
      tightrope remap "geometric:count(5)" --epsilon "ln(2)" \\
          --prior "binomial(.3)"
      tightrope remap noise.csv --query "count(5)" --loss absolute

    >>> from tightrope.cli import main
    >>> known = ["--prior", "0.1,0.8,0.1", "--loss", "absolute"]
    >>> main(["remap", "geometric:count(2)", "--epsilon", "ln(2)", *known, "--json"])
    {"mechanism": "geometric:count(2)", "query": "count(2)", "remap": [1, 1, 1], ...}
    0
    """
    from tightrope.consumers import best_remap
    from tightrope.queries import usual_loss

    loss = loss or usual_loss(loaded.query)
    consumer = tr.Consumer.of(loaded.query.graph, prior=prior, loss=loss)
    found = best_remap(loaded.channel, consumer)
    guesses = [consumer.loss.guess_label(int(k)) for k in found.guess]
    data: dict[str, Any] = {
        "mechanism": loaded.name,
        "query": loaded.query.text,
        "remap": guesses,
        "outputs": loaded.channel.outputs,
        "loss": loss,
        "expected_loss": found.expected_loss,
    }
    if receipt is not None:
        from tightrope.publish.receipts import apply_remap, read_receipt

        paid = read_receipt(receipt)
        asked = loaded.query
        level = paid.get("epsilon") if loaded.epsilon is None else str(loaded.epsilon)
        mine = f"{asked.text} ({asked.neighbours.value}) at ε = {level}"
        theirs = f"{paid.get('query')} ({paid.get('neighbours')}) at ε = {paid.get('epsilon')}"
        # A remap of other noise would guess wrong without notice.
        if theirs != mine:
            raise InputError(
                f"{receipt} is the receipt of {theirs}, and the remap of {mine}"
            )
        best = dict(zip(loaded.channel.outputs, guesses, strict=True))
        data["guess"] = apply_remap(receipt, best)

    most = 24  # lines in a terminal
    rows = {
        f"output {label}": f"guess {guess}"
        for label, guess in zip(loaded.channel.outputs[:most], guesses, strict=False)
    }
    if len(guesses) > most:
        rows["…"] = f"{len(guesses) - most} more (see --json)"
    if "guess" in data:
        rows["guess from the receipt"] = str(data["guess"])
    rows["expected loss"] = f"{found.expected_loss:.6g}"
    rows |= answer_order(loaded.query.graph)
    tell(data, f"{loaded.name}, prior {prior}, loss {loss}", rows)


def derive(
    first: str,
    second: str,
    *,
    epsilon: str | None = None,
    from_epsilon: str | None = None,
) -> None:
    """Decide whether one mechanism is another with outputs remapped.

    Shows the remap from FILE2 to FILE1, or a counterexample.

    Mechanism files and CSV matrices of fractions are decided exactly. The counterexample is a
    prior and a gain function under which a consumer gains strictly more from FILE1. Files round
    probabilities to integers: where only that rounding separates FILE1 from a remap of FILE2,
    the answer says "derivable up to rounding", with the distance.

    Parameters
    ----------
    first : FILE1
        What to derive. A mechanism file (.tightrope), a CSV matrix, or a named mechanism such as
        'geometric:count(5)'.
    second : FILE2
        What to derive it from.
    epsilon : E
        The level of a named first mechanism.
    from_epsilon : E
        The level of a named second mechanism; that of the first by default.

    Examples:
      tightrope derive coarse.csv fine.csv
      tightrope derive "geometric:count(5)" "geometric:count(5)" \\
          --epsilon 0.5 --from-epsilon 1

    >>> from tightrope.cli import main
    >>> words = ["geometric:count(1)"] * 2 + ["--epsilon", "ln(2)", "--from-epsilon", "ln(3)"]
    >>> main(["derive", *words, "--json"])
    {"derivable": true, "exact": false, "up_to_rounding": false, "distance": ..., "remap": [[...
    0
    """
    from tightrope.channels.derive import derivable, nearest_remap

    channels = [_channel(first, epsilon), _channel(second, from_epsilon or epsilon)]
    with progress_bar("deciding"):
        found = derivable(*channels)
        # Exact files round their weights: how far is it from being derivable?
        near = nearest_remap(*channels) if found.exact and not found.derivable else None
    rounding = near is not None and near.is_rounding
    data: dict[str, Any] = {
        "derivable": found.derivable,
        "exact": found.exact,
        "up_to_rounding": rounding,
        "distance": found.distance if near is None else float(near.distance),
        "route": found.route,
    }
    if found.remap is not None:
        data["remap"] = list(found.remap.exact_rows())
    if near is not None:
        data["nearest_remap"] = list(near.remap.exact_rows())
    if found.witness is not None:
        # No remap is nearer than the margin of a witness.
        data["distance_at_least"] = float(found.witness.margin)
        data["witness"] = found.witness.as_dict()

    how = "decided in integers" if found.exact else f"within {found.tolerance:g}"
    # Blackwell: not derivable exactly if some consumer gains more from the first.
    won = found.witness
    if found.remap is not None:
        lines = [
            f"{first} is derivable from {second} ({how}) by this remap:",
            found.remap.table(),
        ]
    else:
        assert won is not None
        size = float(data["distance"])
        whose = (
            f"consumer with the prior {_line(won.prior)} and {len(won.gain[0])} guesses"
        )
        if near is not None and rounding:
            lines = [
                f"{first} is derivable from {second} up to rounding ({size:.1g}) by this remap:",
                near.remap.table(),
                f"With the exact weights of the files it is not ({how}): a {whose} gains "
                f"{float(won.margin):.1g} more from the first. --json shows the gains.",
            ]
        else:
            lines = [
                f"{first} is not derivable from {second} ({how}): some row differs by {size:.3g} "
                "in total variation from the nearest remap found, and by at least "
                f"{float(won.margin):.3g} from any.",
                f"A {whose} gains {float(won.first):.6g} from the first and at most "
                f"{float(won.second):.6g} from the second. --json shows the gains.",
            ]
    tell(data, lines=lines)


def sharpen(
    coarse: Path, fine: Path, *, best: bool = False, out: Path | None = None
) -> None:
    """Prove that two answers cost no more than the finer one.

    A coarse answer now and a finer one later cost the finer ε together, not the sum, if the coarse
    mechanism derives from the fine one. Writes one mechanism for the pair of both outputs, which
    'tightrope verify' checks; its coarse part is exactly the coarse file. The exit code is 1 when
    there is no such pair.

    Parameters
    ----------
    coarse : COARSE
        The mechanism file of the first answer.
    fine : FINE
        The mechanism file of the finer answer to the same question.
    best
        Whether or not it derives: design the pair whose finer answer has the smallest loss at the
        level of the fine file, when all answers are equally likely.
    out : FILE
        Write the mechanism of the pair into a file.

    Examples:
      tightrope sharpen half.tightrope one.tightrope --out both.tightrope
      tightrope sharpen half.tightrope one.tightrope --best

    >>> sharpen(Path("none.tightrope"), Path("none.tightrope"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: none.tightrope: No such file or directory
    """
    from tightrope.certify import Mechanism
    from tightrope.chains import prove_pair

    check_goals(out)
    first = Mechanism(coarse)
    second = Mechanism(fine)
    if best:
        _best_pair(first, second, out)
        return
    with progress_bar("deciding"):
        found = prove_pair(first, second)
    data = found.as_dict()
    if found.mechanism is None:
        tell(data, lines=[f"No: {found.reason}. --json shows the consumer."])
        raise typer.Exit(1)
    data["file"] = None if out is None else str(found.mechanism.save(out))
    decided = "up to rounding" if found.up_to_rounding else "decided in integers"
    rows = {
        "first answer": f"ε = {first.epsilon}",
        "both answers": f"ε = {second.epsilon}, proved in integers",
        "pairs of outputs": str(
            data["outputs"] or "in closed form, for any number of answers"
        ),
        "first answer in the pair": f"exactly as in {coarse.name}",
        "finer answer in the pair": f"within {data['distance']:.1g} of {fine.name}",
    }
    title = f"{coarse.name} derives from {fine.name} ({decided})"
    tell(data, title, rows, [] if out is None else [f"Written to {out}."])


def _best_pair(coarse: Mechanism, fine: Mechanism, out: Path | None) -> None:
    """Design, show and write the best finer answer after a published one."""
    from tightrope.chains import best_pair, check_same_question
    from tightrope.consumers import Consumer
    from tightrope.queries import usual_loss

    # A pair is about one true answer, so both must ask the same.
    check_same_question(coarse, fine)
    loss = usual_loss(coarse.question)
    consumer = Consumer.of(coarse.question.graph, prior="uniform", loss=loss)
    with progress_bar("designing"):
        found = best_pair(coarse, fine.epsilon, consumer)
    data = found.as_dict() | {"loss_name": loss}
    data["file"] = None if out is None else str(found.mechanism.save(out))
    rows = {
        "first answer": f"ε = {coarse.epsilon}, exactly as in its file",
        "both answers": f"ε = {fine.epsilon}, proved in integers",
        "finer answer": f"{loss} loss {float(found.loss):.6g}",
        "no such pair below": f"{found.bound:.6g}, by linear programs in floats",
        "a single answer": f"{loss} loss {found.single:.6g} at ε = {fine.epsilon}",
    }
    # The bound is one of floats: the title claims no more than the two numbers below it.
    title = (
        f"finer answer to {coarse.query}, designed for answers that are equally likely"
    )
    tell(data, title, rows, [] if out is None else [f"Written to {out}."])


def _channel(text: str, epsilon: str | None = None) -> tr.Channel:
    if text.lower().endswith(".csv"):
        from tightrope.channels import read_channel

        return read_channel(Path(text))
    # A file states its own level; only a name needs one.
    is_file = ":" not in text or Path(text).is_file()
    return load(text, epsilon=None if is_file else epsilon).channel


def _line(values: tuple[Any, ...]) -> str:
    shown = [f"{float(value):.4g}" for value in values[:8]]
    return "(" + ", ".join([*shown, "…"] if len(values) > 8 else shown) + ")"


@takes_mechanism
def generalise(loaded: Loaded, *, out: Path | None = None) -> None:
    """Make a mechanism maximally general by splitting outputs.

    It then tells more at the same level.

    The old mechanism is the new one with outputs joined, so nobody loses anything. A matrix of
    fractions is split exactly, the rounded weights of a mechanism file within a tolerance.

    Parameters
    ----------
    out : FILE
        Write the new mechanism as a CSV matrix.

    Examples:
      tightrope generalise coarse.csv --query "choice(3)" \\
          --epsilon "ln(2)" --out fine.csv
      tightrope generalise "response:count(3)" --epsilon "ln(2)"

    >>> from tightrope.cli import main
    >>> main(["generalise", "response:count(2)", "--epsilon", "ln(2)", "--json"])
    {"query": "count(2)", "epsilon": "ln(2)", "exact": false, "outputs": 3, ..., "steps": [...
    0
    """
    from tightrope.channels.files import write_channel
    from tightrope.channels.generality import make_maximally_general

    check_goals(out)
    if loaded.epsilon is None:
        raise InputError(
            "splitting needs the level that the mechanism keeps to: add --epsilon"
        )
    channel = loaded.channel
    if loaded.rounded:
        # Exact splits of rounded weights would separate outputs by their rounding errors.
        channel = tr.Channel(
            channel.matrix(), inputs=channel.inputs, outputs=channel.outputs
        )
    with progress_bar("splitting outputs"):
        # Splitting needs the level: it turns slack constraints into tight ones.
        made = make_maximally_general(channel, loaded.query.graph, loaded.epsilon)
    if out is not None:
        write_channel(made.channel, out)
    steps = [str(step) for step in made.steps]
    data = {
        "query": loaded.query.text,
        "epsilon": str(loaded.epsilon),
        "exact": made.exact,
        "outputs": loaded.channel.shape[1],
        "new_outputs": made.channel.shape[1],
        "remap": made.remap.targets,
        "steps": steps,
    }

    lines = [f"{loaded.name} is maximally general already."]
    if made.steps:
        lines = [
            f"{loaded.name}: {data['outputs']} outputs became {data['new_outputs']} in "
            f"{len(made.steps)} splits.",
            *steps[:20],
        ]
    tell(data, lines=lines)


@takes_mechanism
def certify(loaded: Loaded, *, out: Path) -> None:
    """Round a mechanism to integers and prove its privacy.

    A matrix that is not private is refused with the pair of rows that shows it.

    Parameters
    ----------
    out : FILE
        The file to write.

    Examples:
      tightrope certify "geometric:count(5)" --epsilon "ln(2)" \\
          --out count.tightrope
      tightrope certify matrix.csv --query "choice(6)" --epsilon 0.5 \\
          --out mine.tightrope

    >>> certify(mechanism="matrix.csv", out=Path("x.tightrope"), epsilon="ln(2)")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: a matrix does not say what it answers: add --query
    """
    from tightrope.certify import certify as prove

    check_goals(out)
    if loaded.epsilon is None:
        raise InputError(
            "a matrix does not say how private it is meant to be: add --epsilon"
        )
    # Rounded to integers so that every constraint holds exactly, then verified.
    made = prove(loaded.channel, loaded.query, loaded.epsilon)
    made.save(out)
    answers, outputs = made.shape
    names = ("query", "neighbours", "epsilon", "ratio", "kind", "moved", "digest")
    data: dict[str, Any] = {"file": str(out)} | {
        name: getattr(made, name) for name in names
    }
    data |= {"answers": answers, "outputs": outputs, "bytes": len(made.to_bytes())}
    tell(data, f"{loaded.name}, proved", {k: str(v) for k, v in data.items()})


def audit(
    file: Path, *, draws: int = 100_000, timed: int = 100_000, false_alarm: float = 1e-6
) -> None:
    """Draw many times and test the frequencies and the timing.

    The exit code is 1 when a test fails.

    Parameters
    ----------
    file : FILE
        A mechanism file (.tightrope).
    draws : N
        Draws for each row.
    timed : N
        Single draws to time.
    false_alarm : P
        Chance that a sound sampler raises an alarm.

    Examples:
      tightrope audit cities.tightrope
      tightrope audit cities.tightrope --draws 1000000 --false-alarm 1e-9

    >>> audit(Path("none.tightrope"))
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: none.tightrope: No such file or directory
    """
    from tightrope.certify import Mechanism
    from tightrope.publish.auditing import audit as test_draws

    with progress_bar("drawing"):
        found = test_draws(
            Mechanism(file), draws=draws, timed=timed, false_alarm=false_alarm
        )
    # The limit of each row is adjusted for the number of rows; show the smallest p.
    worst = min(found.rows, key=lambda row: row.p_value)
    rows = {
        "verdict": "no alarm" if found.passed else "ALARM",
        "false-alarm rate": f"{found.false_alarm:g}",
        "rows drawn": f"{len(found.rows)}, {draws} times each",
        "worst row": f"row {worst.row}: χ² = {worst.chi_square:.4g} with {worst.freedom} "
        f"degrees of freedom, p = {worst.p_value:.3g}",
        "time against output": f"ρ = {found.correlation:+.4f}",
        "time against rarity": f"ρ = {found.rarity_correlation:+.4f} (alarm beyond "
        f"{found.correlation_limit:.3g})",
        "one draw": f"{found.nanoseconds:.0f} ns",
    }
    tell(found.as_dict(), file.name, rows)
    if not found.passed:
        raise typer.Exit(1)


def verify(
    file: Path | None = None,
    *,
    script: bool = False,
    signer: str | None = None,
    second_judge: bool = False,
) -> None:
    """Check a mechanism file or a receipt, in exact arithmetic.

    The exit code is 1 when a check fails; the output then says what fails, where and by how much.

    Parameters
    ----------
    file : FILE
        A mechanism file (.tightrope), a receipt (JSON) or the report of 'tightrope ask' (HTML).
    script
        Print the judge as one file that needs only NumPy.
    signer : KEY
        For a receipt: the public key of its publisher.
    second_judge
        Ask the judge that is proved in Coq too, and show both verdicts ('make proofs' builds it).

    Examples:
      tightrope verify cities.tightrope
      tightrope verify --second-judge cities.tightrope
      tightrope verify --script > verify_mechanism.py

    >>> verify(script=True)
    #!/usr/bin/env python3
    ...
    """
    if script:
        if file is not None or signer is not None or second_judge:
            raise InputError(
                "--script prints the judge and checks nothing: leave the rest out"
            )
        from tightrope.certify import judge_script

        # One file without this package: whoever does not trust it can read and run the judge alone.
        print(judge_script(), end="")
        return
    if file is None:
        raise InputError("name the mechanism file to verify")
    from tightrope.certify import read_verified
    from tightrope.claims import file_sentence

    # By content, not by ending: a saved page may have any name.
    receipts = _receipts_in(file)
    if receipts:
        if second_judge:
            raise InputError(
                f"--second-judge is for mechanism files, and {file} is not one"
            )
        _show_receipts(file, receipts, signer)
        return
    if signer is not None:
        raise InputError(f"--signer is for receipts, and {file} is not one")
    with progress_bar("verifying"):
        found, mechanism = read_verified(file)
    data = found.as_dict()
    if mechanism is not None:
        data["claim"] = file_sentence(mechanism, found)
    lines = [f"Holds: {line}." for line in found.checked]
    lines += [f"FAILS: {line}." for line in found.reasons]
    hint = score_hint(found.question.get("query"))
    lines += [f"{hint}."] if hint and found.optimal_within is not None else []
    refused = bool(found.reasons)
    if second_judge:
        from tightrope.certify.second_judge import second_verdicts

        (second,) = second_verdicts([file])
        data["second_judge"] = {"verdict": second.verdict, "reason": second.reason}
        lines.append(f"Second judge: {second}.")
        # Two independent judges: one refusal is enough.
        refused = refused or second.verdict in ("refused", "error")
    tell(data, file.name, verdict_rows(data), lines)
    if refused:
        raise typer.Exit(1)


def _receipts_in(file: Path) -> list[dict[str, Any]]:
    """Return the receipts of a file: one as JSON, or those that a report holds.

    Mechanism files are binary, and hold none.
    """
    if not file.is_file():  # opening a pipe would block until something writes to it
        return []
    try:
        with file.open("rb") as opened:
            # Only the first bytes decide; a mechanism file may be large.
            start = opened.read(64).lstrip()
    except OSError:
        return []
    if start[:1] == b"{":
        # Imported here: a mechanism file is verified without the room that publishes.
        from tightrope.publish.receipts import read_receipt

        return [read_receipt(file)]
    if start[:9].lower() == b"<!doctype":
        from tightrope.report.page import receipts_of

        texts = receipts_of(read_text(file))
        return [parse_json(text, f"a receipt of {file}", typed=True) for text in texts]
    return []


def _show_receipts(
    file: Path, receipts: Sequence[dict[str, Any]], signer: str | None
) -> None:
    """Check receipts and show what they say; exit with 1 when one is not genuine."""
    from tightrope.publish.receipts import verify_receipt

    checks = [verify_receipt(receipt, signer) for receipt in receipts]
    listed = [_about_receipt(*pair) for pair in zip(receipts, checks, strict=True)]
    # One false receipt makes the whole report doubtful.
    genuine = all(check.genuine for check in checks)
    data = listed[0][0]
    if len(listed) > 1:
        data = {"genuine": genuine, "receipts": [one for one, _ in listed]}

    def draw(console: Console) -> None:
        for check, (_, rows) in zip(checks, listed, strict=True):
            # A signature proves who signed only to somebody who knows the key.
            if signer is None and check.public_key:
                rows["public key"] += (
                    " (is it the publisher's? give theirs with --signer)"
                )
            facts_table(console, f"receipt {file.name}", rows)
            paragraphs(console, [f"FAILS: {reason}." for reason in check.reasons])

    show(data, draw)
    if not genuine:
        raise typer.Exit(1)


def _about_receipt(
    receipt: dict[str, Any], check: ReceiptCheck
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what a receipt says, as data and as texts."""
    from tightrope.asking.answers import published_numbers

    names = "answer reading interval query neighbours epsilon mechanism ledger position time"
    said = {name: receipt.get(name) for name in names.split()}
    shown = {name: value for name, value in said.items() if name != "reading"}
    # The content of a false receipt is not interpreted.
    if check.genuine and "reading" in receipt:
        answer = str(
            published_numbers(receipt, [None] * len(str(said["query"]).split(", ")))
        )
        shown = {"answer": answer, "drawn": shown.pop("answer"), **shown}
    rows = {"genuine": "yes" if check.genuine else "no"}
    rows |= {name: str(value) for name, value in shown.items() if value is not None}
    if isinstance(said["interval"], dict):
        rows["interval"] = str(said["interval"].get("text"))
    if check.public_key:
        rows["public key"] = check.public_key
    verdict = {
        "genuine": check.genuine,
        "reasons": check.reasons,
        "public_key": check.public_key,
    }
    return {**verdict, **said}, rows


def interval(
    file: Path,
    *,
    answer: str,
    confidence: str = "0.95",
    prior: str | None = None,
    simultaneous: bool = False,
) -> None:
    """Show the error of a released answer, as a confidence set.

    With a prior, as a credible set.

    Whatever the true answer is, the set contains it with at least the stated probability: it is
    computed from the mechanism's own rows, without a normal approximation.

    Parameters
    ----------
    file : FILE
        The mechanism file (.tightrope) that the answer was drawn from.
    answer : ANSWER
        The answer that was released, such as 17 or 3,5.
    confidence : C
        The probability with which the set contains the true answer.
    prior : P
        What is known of the true answer; the posterior decides then.
    simultaneous
        For several numbers: all of them at once, not each by itself.

    Examples:
      tightrope interval count.tightrope --answer 432
      tightrope interval count.tightrope --answer 432 --confidence 0.9 \\
          --prior "binomial(.3)"

    >>> interval(Path("no-such.tightrope"), answer="17")
    Traceback (most recent call last):
    ...
    tightrope.errors.InputError: no-such.tightrope: No such file or directory
    """
    from tightrope.certify import read
    from tightrope.consumers import prior as read_prior
    from tightrope.consumers.numerals import find_answer
    from tightrope.publish.noise import noise_of
    from tightrope.texts import to_exact

    made: Any = read(file)
    noise = noise_of(made)
    if noise.sees_counts:
        unused("an answer by scores", prior=prior, simultaneous=simultaneous)
        kept = noise.interval(answer, confidence)
        said = {"query": made.query, "answer": answer, **kept.as_dict()}
        title = f"{made.query}, ε = {made.epsilon}"
        tell(said, title, {"answer": answer, "error": str(kept)})
        return
    graph = made.question.graph
    # Posterior sets are computed in fractions.
    known = None if prior is None else read_prior(prior, graph).exact
    if made.noise is None:
        given = graph.label(find_answer(graph, answer))
    else:  # each number is held between its ends, and all of them need not be an answer
        # Exact: 0.1 must be a point of the lattice.
        numbers = tuple(to_exact(part) for part in answer.strip(" ()").split(","))
        given = (
            numbers
            if isinstance(graph.label(0), tuple) or len(numbers) > 1
            else numbers[0]
        )
    found = noise.interval(given, confidence, prior=known, simultaneous=simultaneous)
    what = "the chance that the answer is exact" + ("" if prior else ", at least")
    exact = percent_text(found.exact, down=prior is None)
    rows = {"answer": answer, "set": str(found), what: exact}
    data = {"query": made.query, "answer": answer, **found.as_dict()}
    ends = [data.setdefault("low", None), data.setdefault("high", None)]
    data["set"] = data.get("members") or ends
    data["coverage"] = data["confidence"]
    try:
        # The worst case over all true answers, known before any release.
        errors = noise.error(confidence)
        errors_text = ", ".join(f"{float(error):.6g}" for error in errors)
        data["error"] = [float(error) for error in errors]
        rows["error of every answer, at most"] = (
            f"{errors_text} ({float(found.confidence * 100):.6g} %)"
        )
    except InputError:  # answers that are not numbers have no error
        pass
    tell(data, f"{made.query}, ε = {made.epsilon}", rows)
