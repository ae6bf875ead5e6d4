"""What is true of every consumer and every channel."""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tightrope.channels import Channel
from tightrope.consumers import (
    Consumer,
    Loss,
    MatrixLoss,
    Prior,
    best_remap,
    expected_loss,
    is_monotone,
    loss,
    prior,
    utility,
)
from tightrope.consumers.evaluate import worst_loss
from tightrope.errors import InputError
from tightrope.graphs import (
    AnswerGraph,
    Clique,
    Cycle,
    ExplicitGraph,
    PathPower,
    StrongProduct,
)

SMALL = settings(max_examples=60)
ACCURACY = 1e-12


@st.composite
def distributions(draw: st.DrawFn, size: int) -> list[Fraction]:
    weights = draw(
        st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(any)
    )
    return [Fraction(weight, sum(weights)) for weight in weights]


@st.composite
def channels(draw: st.DrawFn, rows: int, columns: int) -> Channel:
    made = [draw(distributions(columns)) for _ in range(rows)]
    return Channel([[float(x) for x in row] for row in made])


@st.composite
def graphs(draw: st.DrawFn) -> AnswerGraph:
    kind = draw(st.sampled_from(["band", "clique", "cycle", "pairs"]))
    size = draw(st.integers(3, 6))
    if kind == "band":
        return PathPower(size, draw(st.integers(1, 4)))
    if kind == "pairs":
        return StrongProduct([PathPower(2), PathPower(3)])
    return Clique(size) if kind == "clique" else Cycle(size)


@st.composite
def losses(draw: st.DrawFn, graph: AnswerGraph) -> Loss:
    name = draw(
        st.sampled_from(["binary", "absolute", "squared", "distance", "matrix"])
    )
    if name != "matrix":
        return loss(name, graph)
    guesses = draw(st.integers(1, 5))
    row = st.lists(st.integers(-9, 9), min_size=guesses, max_size=guesses)
    return loss(draw(st.lists(row, min_size=graph.size, max_size=graph.size)), graph)


@st.composite
def cases(draw: st.DrawFn) -> tuple[AnswerGraph, Channel, Consumer]:
    graph = draw(graphs())
    channel = draw(channels(graph.size, draw(st.integers(1, 6))))
    return (
        graph,
        channel,
        Consumer(prior=draw(distributions(graph.size)), loss=draw(losses(graph))),
    )


@SMALL
@given(cases(), st.data())
def test_no_remap_is_better_than_the_best(
    case: tuple[AnswerGraph, Channel, Consumer], data: st.DataObject
) -> None:
    _, channel, consumer = case
    best = best_remap(channel, consumer)
    assert expected_loss(channel, consumer, best) == pytest.approx(
        best.expected_loss, abs=1e-9
    )
    outputs, guesses = channel.shape[1], consumer.loss.guess_count
    other = data.draw(channels(outputs, guesses))
    assert (
        best.expected_loss <= expected_loss(channel, consumer, other) + ACCURACY * 100
    )
    fixed = data.draw(
        st.lists(st.integers(0, guesses - 1), min_size=outputs, max_size=outputs)
    )
    assert (
        best.expected_loss <= expected_loss(channel, consumer, fixed) + ACCURACY * 100
    )


@SMALL
@given(cases(), st.data())
def test_post_processing_helps_nobody(
    case: tuple[AnswerGraph, Channel, Consumer], data: st.DataObject
) -> None:
    _, channel, consumer = case
    step = data.draw(channels(channel.shape[1], data.draw(st.integers(1, 4))))
    after = Channel(channel.matrix() @ step.matrix())
    assert (
        expected_loss(channel, consumer)
        <= expected_loss(after, consumer) + ACCURACY * 100
    )


@SMALL
@given(cases())
def test_the_answer_itself_is_worth_most_and_no_answer_least(
    case: tuple[AnswerGraph, Channel, Consumer],
) -> None:
    graph, channel, consumer = case
    truth, silence = Channel(np.eye(graph.size)), Channel(np.ones((graph.size, 1)))
    least, most = expected_loss(truth, consumer), expected_loss(silence, consumer)
    assert least - 1e-10 <= expected_loss(channel, consumer) <= most + 1e-10


@SMALL
@given(graphs(), st.data())
def test_binary_utility_is_the_sum_of_the_largest(
    graph: AnswerGraph, data: st.DataObject
) -> None:
    channel = data.draw(channels(graph.size, 4))
    known = Prior(data.draw(distributions(graph.size)))
    joint = known.probabilities[:, None] * channel.matrix()
    consumer = Consumer(prior=known, loss=Loss.binary(graph.size))
    assert utility(channel, consumer) == pytest.approx(
        joint.max(axis=0).sum(), abs=ACCURACY
    )
    matrix = Consumer(prior=known, loss=1 - np.eye(graph.size))
    assert utility(channel, matrix) == pytest.approx(
        utility(channel, consumer), abs=ACCURACY
    )
    # A loss that is not binary by a hair has another utility: that of the gain -ℓ.
    hair = Consumer(prior=known, loss=(1 - np.eye(graph.size)) * (1 + 1e-12))
    assert utility(channel, hair) == pytest.approx(
        utility(channel, consumer) - 1, abs=1e-9
    )


@SMALL
@given(graphs(), st.data())
def test_the_worst_loss_is_at_least_every_mean(
    graph: AnswerGraph, data: st.DataObject
) -> None:
    channel = data.draw(channels(graph.size, graph.size))
    cost = loss("distance", graph)
    known = Prior(data.draw(distributions(graph.size)))
    worst = worst_loss(channel, Consumer(support=known.support.tolist(), loss=cost))
    mean = expected_loss(channel, Consumer(prior=known, loss=cost), range(graph.size))
    assert worst.loss >= mean - ACCURACY
    assert worst.node in known.support


@SMALL
@given(graphs(), st.data())
def test_named_losses_and_their_matrices_agree(
    graph: AnswerGraph, data: st.DataObject
) -> None:
    made = data.draw(losses(graph))
    channel = data.draw(channels(graph.size, 5))
    known = Prior(data.draw(distributions(graph.size)))
    by_rule = best_remap(channel, Consumer(prior=known, loss=made))
    by_matrix = best_remap(channel, Consumer(prior=known, loss=made.matrix()))
    assert by_rule.expected_loss == pytest.approx(by_matrix.expected_loss, abs=1e-9)
    weights = known.probabilities[:, None] * channel.matrix()
    assert made.expected(weights) == pytest.approx(made.matrix().T @ weights, abs=1e-9)


@given(st.integers(1, 8).flatmap(distributions))
def test_a_prior_survives_being_written(numbers: list[Fraction]) -> None:
    graph = Clique(len(numbers))
    text = " , ".join(map(str, numbers))
    assert prior(text, graph).exact == tuple(numbers)
    assert prior(dict(enumerate(numbers)), graph).exact == tuple(numbers)
    floats = Prior([float(x) for x in numbers])
    again = prior(",".join(map(repr, floats)), graph)
    assert again.exact == floats.exact
    assert np.array_equal(again.probabilities, floats.probabilities)


@settings(max_examples=25)
@given(st.integers(2, 6).flatmap(distributions), st.randoms())
def test_a_prior_survives_a_file(numbers: list[Fraction], random: object) -> None:
    labels = [f"city {i}" for i in range(len(numbers))]
    graph = ExplicitGraph([(0, i) for i in range(1, len(numbers))], labels=labels)
    lines = [f"{label},{x}" for label, x in zip(labels, numbers, strict=True)]
    random.shuffle(lines)  # type: ignore[attr-defined]
    with TemporaryDirectory() as folder:
        (Path(folder) / "p.csv").write_text("\n".join(lines))
        assert prior("file:p.csv", graph, folder=folder).exact == tuple(numbers)
        (Path(folder) / "p.csv").write_text("\n".join(lines[1:]))
        with pytest.raises(InputError, match="is missing"):
            prior("file:p.csv", graph, folder=folder)


@settings(max_examples=300)
@given(
    st.text(alphabet="uniform(binl).,0123456789/-e+ file:product\x00nan\n", max_size=30)
)
def test_any_text_is_a_prior_or_one_clear_line(text: str) -> None:
    found, message = None, ""
    try:
        found = prior(text, PathPower(2))
    except InputError as wrong:
        message = str(wrong)
    if found is None:
        assert 0 < len(message) < 400
        assert "\n" not in message
    else:
        assert abs(sum(found.exact) - 1) <= Fraction(1, 10**9)


@SMALL
@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_any_numbers_are_a_prior_or_one_clear_line(numbers: list[float]) -> None:
    good = all(0 <= x < np.inf for x in numbers) and abs(sum(numbers) - 1) <= 1e-9
    if good:
        assert Prior(numbers).size == len(numbers)
    else:
        with pytest.raises(InputError, match="probabilities must"):
            Prior(numbers)


@SMALL
@given(
    st.lists(
        st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=4, max_size=4
    )
)
def test_monotone_is_the_definition(rows: list[list[int]]) -> None:
    cost = MatrixLoss(rows)
    found = is_monotone(cost, PathPower(4))
    triples = [
        (i, k, far)
        for i in range(4)
        for k in range(4)
        for far in range(4)
        if (i <= k < far or far < k <= i) and rows[i][k] > rows[i][far]
    ]
    assert found.result == (not triples)
    assert found.witness is None or found.witness in triples
