"""The planner: which route, why, and what is refused."""

import time
from dataclasses import replace

import numpy as np
import pytest

from tightrope.certify import verify
from tightrope.certify.kernel.format import Refused
from tightrope.certify.standalone import question_graph
from tightrope.certify.theorems.window import window_graph
from tightrope.channels import is_private
from tightrope.consumers import Consumer, expected_loss
from tightrope.epsilon import Epsilon
from tightrope.errors import CheckFailed, InputError, TooLarge
from tightrope.graphs import Clique, Cycle, ExplicitGraph, PathPower, Star
from tightrope.optimize import (
    ROUTES,
    design,
    engine,
    explain_routes,
    solvers,
    task as task_module,
)
from tightrope.optimize.layers import layered_prices
from tightrope.optimize.planner import _best_of, _without_search
from tightrope.optimize.progress import OutOfSteps, Stopped
from tightrope.optimize.settings import SolverSettings
from tightrope.optimize.solvers import finished
from tightrope.optimize.sums import _engine_on, staircases_route
from tightrope.optimize.task import RoutePlan, Task
from tightrope.phi import Phi
from tightrope.proofs import prove
from tightrope.queries import query


def consumer(graph, prior="uniform", loss="binary"):
    return Consumer.of(graph, prior=prior, loss=loss)


@pytest.mark.parametrize(
    ("graph", "level", "prior", "loss", "route"),
    [
        (PathPower(6), 1, "binomial(.3)", "squared", "geometric"),
        (Star(4), "ln(4)", "0.6,0.1,0.1,0.1,0.1", "binary", "tree"),
        (Clique(4), 1, "0.28,0.24,0.24,0.24", "binary", "regular"),
        (PathPower(6, 2), 1, "0.3,0.2,0.2,0.1,0.1,0.1", "binary", "candidate"),
        (PathPower(6, 2), 1, "0.3,0.2,0.2,0.1,0.1,0.1", "absolute", "dual"),
        (PathPower(60, 3), 1, "uniform", "absolute", "staircases"),
        (PathPower(40, 4), 1, "binomial(.3)", "absolute", "rays"),
    ],
)
def test_the_cheapest_route_is_taken(graph, level, prior, loss, route) -> None:
    found = design(graph, level, consumer(graph, prior, loss))
    assert found.route == route
    assert found.certified
    assert found.reason
    assert is_private(found.channel, graph, level)
    assert found.expected_loss <= min(found.baselines.values()) + 1e-9


def test_symmetric_graphs_have_their_own_route() -> None:
    found = design(Cycle(6), "ln(2)", route="symmetric")
    share = 1 / (1 + 2 / 2 + 2 / 4 + 1 / 8)
    assert found.utility == pytest.approx(share, abs=1e-12)
    assert found.certified


@pytest.mark.parametrize(
    ("graph", "prior", "loss", "route", "why"),
    [
        (Cycle(5), "uniform", "binary", "geometric", "is not a path"),
        (Star(4), "uniform", "binary", "tree", "is above"),
        (Star(3), "uniform", "distance", "tree", "is not binary"),
        (Clique(3), "0.9,0.05,0.05", "binary", "regular", "not regular"),
        (PathPower(4, 2), "uniform", "binary", "symmetric", "different sizes"),
        (Clique(3), "0.9,0.05,0.05", "binary", "symmetric", "not uniform"),
        (PathPower(5, 2), "0.1,0.2,0.3,0.3,0.1", "absolute", "orbits", "no symmetry"),
        (PathPower(5, 2), "uniform", "absolute", "candidate", "is not binary"),
    ],
)
def test_refusals_name_the_condition_that_fails(graph, prior, loss, route, why) -> None:
    with pytest.raises(InputError, match=why):
        design(graph, 1, consumer(graph, prior, loss), route=route)


def test_every_route_explains_itself() -> None:
    rows = explain_routes(Star(3), 1)
    assert [name for name, _, _ in rows] == [
        "geometric", "tree", "regular", "symmetric", "candidate", "window", "dual", "cosets",
        "staircases", "stretched",
        "depths", "posterior", "boxstep", "orbits", "rays", "unbounded", "plain",
    ]  # fmt: skip
    assert all(why for _, _, why in rows)


def test_nonsense_is_refused() -> None:
    graph = PathPower(3)
    for level in (0, -1, "ln(1)", float("nan")):
        with pytest.raises(InputError, match=r"ε|ln"):
            design(graph, level)
    with pytest.raises(InputError):
        design(graph, 1, Consumer(prior=[0.5, 0.5], loss=np.eye(2)))
    with pytest.raises(InputError):
        design(
            graph,
            1,
            Consumer(prior=[1 / 3] * 3, loss=[[0, 1], [1, 0], [1, float("nan")]]),
        )
    with pytest.raises(InputError):
        design(graph, 1, Consumer.of(graph, support=[], loss="binary"))
    with pytest.raises(InputError, match="one of geometric"):
        design(graph, 1, route="magic")
    with pytest.raises(InputError, match="gap"):
        design(graph, 1, gap=0)
    with pytest.raises(InputError, match="has no prior"):
        design(
            graph, 1, Consumer.of(graph, support="all", loss="binary"), route="regular"
        )
    with pytest.raises(InputError, match="answer graph"):
        design(3, 1)


def test_a_single_answer_needs_no_noise() -> None:
    found = design(PathPower(1), 1)
    assert found.expected_loss == 0
    assert found.channel.shape == (1, 1)


def test_an_unordered_path_is_a_path() -> None:
    graph = ExplicitGraph([(0, 2), (2, 1), (1, 3)])
    loss = np.array([[0, 2, 1, 3], [2, 0, 1, 1], [1, 1, 0, 2], [3, 1, 2, 0.0]])
    reader = Consumer(prior=[0.4, 0.1, 0.3, 0.2], loss=loss)
    found = design(graph, "ln(2)", reader)
    assert found.route == "geometric"
    assert is_private(found.channel, graph, "ln(2)")
    assert found.expected_loss == pytest.approx(
        design(graph, "ln(2)", reader, route="plain").expected_loss, abs=1e-9
    )


def test_a_callback_stops_the_search_with_a_gap() -> None:
    graph = PathPower(20, 3)
    prior = np.random.default_rng(0).dirichlet(np.ones(20)).tolist()
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    found = design(
        graph, 1, consumer(graph, prior, "absolute"), route="rays", progress=stop
    )
    assert [told.step for told in seen] == ["searching"]
    assert found.stopped
    assert not found.certified
    assert found.bound < found.expected_loss
    assert is_private(found.channel, graph, 1)


def test_an_interrupt_returns_the_best_so_far(monkeypatch) -> None:
    graph = PathPower(20, 3)
    prior = np.random.default_rng(0).dirichlet(np.ones(20)).tolist()
    real, calls = engine.solve_master, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(engine, "solve_master", interrupted)
    found = design(graph, 1, consumer(graph, prior, "absolute"), route="rays")
    assert found.stopped
    assert is_private(found.channel, graph, 1)


def test_a_sweep_starts_from_its_neighbour() -> None:
    graph = PathPower(25, 3)
    prior = np.random.default_rng(1).dirichlet(np.ones(25)).tolist()
    reader = consumer(graph, prior, "absolute")
    first = design(graph, 1, reader, route="rays")
    warm = design(graph, 1.05, reader, route="rays", warm=first)
    cold = design(graph, 1.05, reader, route="rays")
    assert warm.certified
    assert warm.expected_loss == pytest.approx(cold.expected_loss, rel=1e-9)
    assert warm.rounds <= cold.rounds


def test_a_design_prints_and_lists_its_numbers() -> None:
    found = design("count(5)", "ln(2)")
    assert "geometric" in str(found)
    assert "<table>" in found._repr_html_()
    keys = "route expected_loss utility bound gap certified epsilon nodes seconds baselines"
    assert set(keys.split()) <= set(found.as_dict())


def test_outputs_are_the_guesses_they_serve() -> None:
    graph = ExplicitGraph([(0, 1), (1, 2), (2, 0)], labels=["red", "green", "blue"])
    found = design(graph, 1, consumer(graph, "0.5,0.3,0.2"), route="rays")
    assert set(found.channel.outputs) <= {"red", "green", "blue"}


def test_two_uncertified_designs_make_one_from_the_better_halves() -> None:
    exact = design("cycle(5)", "ln(2)")
    dear = replace(exact, expected_loss=exact.expected_loss * 1.01)
    loose = replace(exact, bound=exact.bound * 0.99)
    assert not dear.certified
    assert not loose.certified
    for found in (_best_of(dear, loose), _best_of(loose, dear)):
        assert found.certified
        assert found.expected_loss == exact.expected_loss
        assert found.bound == exact.bound
    assert not _best_of(dear, replace(dear, bound=loose.bound)).certified


def test_a_tree_of_hundreds_of_thousands_of_answers_is_never_gone_through_in_pairs() -> (
    None
):
    found = design("tree(2,17)", 1, route="tree")
    assert found.certified
    assert found.channel.shape == (2**18 - 1, 2**18 - 1)


@pytest.mark.parametrize("root", [1 / 40, 0.22], ids=["uniform", "root"])
def test_a_tree_at_its_threshold_leaves_out_the_empty_outputs(root) -> None:
    graph = query("tree(3,3)").graph
    prior = [root, *[(1 - root) / 39] * 39]
    consumer = Consumer.of(
        graph, prior="uniform" if root == 1 / 40 else prior, loss="binary"
    )
    found = design(graph, "ln(3)", consumer, route="tree")
    # Inner nodes have weight 0: the 27 leaves are left, and the guess that nothing asks for.
    assert found.channel.shape == (40, 28)
    assert expected_loss(found.channel, consumer) == pytest.approx(
        found.expected_loss, abs=1e-14
    )


def test_a_list_that_cannot_be_held_is_refused_by_its_size() -> None:
    with pytest.raises(TooLarge, match="databases\\(20,4\\) has 1099511627776"):
        design("databases(20,4)", 1)
    assert design("databases(6,4)", 1).certified


@pytest.mark.parametrize(("loss", "kept"), [(0.99, "geometric"), (0.5, "search")])
def test_a_stopped_search_hands_out_nothing_worse_than_noise(loss, kept) -> None:
    graph = PathPower(20, 3)
    reader = consumer(graph, "binomial(.3)")
    best = design(graph, 1, reader)
    early = replace(best, expected_loss=loss, stopped=True)
    found = _best_of(early, _without_search(Task(graph, Epsilon.of(1), reader)))
    if kept == "search":
        assert found.channel is early.channel
        return
    assert found.expected_loss == pytest.approx(best.baselines["geometric"], abs=1e-14)
    assert expected_loss(found.channel, reader) == pytest.approx(
        found.expected_loss, abs=1e-14
    )
    assert is_private(found.channel, graph, 1)
    assert (found.stopped, found.bound) == (True, best.bound)
    assert "simple noise" in found.reason


@pytest.mark.parametrize("seconds", [0, 0.3])
@pytest.mark.parametrize("who", ["bayesian", "averse"])
def test_a_time_limit_leaves_a_mechanism_and_a_bound_that_holds(seconds, who) -> None:
    graph = query("sum(60,5)").graph
    prior = np.random.default_rng(3).dirichlet(np.ones(graph.size)).tolist()
    known = {"prior": prior} if who == "bayesian" else {"support": "0..90"}
    reader = Consumer.of(
        graph, loss="binary" if who == "bayesian" else "absolute", **known
    )
    # What is compiled when it is first used is no part of the time.
    design(PathPower(9, 2), 1, route="rays", settings=SolverSettings(interior_wait=0))
    clock = time.process_time()
    found = design(graph, 1, reader, time_limit=seconds)
    assert time.process_time() - clock < seconds + 8
    # A step that was under way may close the proof: on a loaded machine some do.
    assert found.stopped != found.certified
    assert found.stopped or seconds
    assert found.bound <= found.expected_loss * (1 + 1e-12)
    assert found.certificate.checked_bound() >= found.bound - 1e-9
    assert is_private(found.channel, graph, 1)


def test_a_closed_form_needs_no_time() -> None:
    assert design("count(50)", 1, time_limit=0).certified
    with pytest.raises(InputError, match="time limit must be at least 0"):
        design("count(50)", 1, time_limit=-1)


@pytest.mark.parametrize("neighbours", ["change-one", "add-remove"])
def test_the_engine_starts_from_staircases_that_are_not_the_best(
    neighbours: str,
) -> None:
    graph = query("sum(12,5)", neighbours=neighbours).graph
    reader = consumer(
        graph, np.random.default_rng(4).dirichlet(np.ones(61)), "absolute"
    )
    patient = SolverSettings(interior_wait=100)
    found, alone = (
        design(graph, "0.5", reader, r, settings=patient) for r in (None, "rays")
    )
    assert not design(graph, "0.5", reader, "staircases").certified
    assert found.certified
    assert found.rounds < alone.rounds
    assert found.expected_loss == pytest.approx(alone.expected_loss, rel=1e-9)


def test_what_the_solver_gives_up_is_solved_for_all_columns_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = query("sum(12,5)").graph
    reader = consumer(
        graph, np.random.default_rng(4).dirichlet(np.ones(61)), "absolute"
    )
    best, steps = design(graph, "0.5", reader), []

    def given_up(*_, **__):
        raise OutOfSteps("the linear program was not solved")

    monkeypatch.setattr(engine, "solve_master", given_up)
    found = design(graph, "0.5", reader, progress=lambda now: steps.append(now.step))
    assert found.certified
    assert any("interior-point" in step for step in steps)
    assert found.expected_loss == pytest.approx(best.expected_loss, rel=1e-9)


def test_staircases_of_which_few_have_weight_are_balanced() -> None:
    # Eight of eleven answers leave next to nothing on the diagonal of the normal equations.
    prior = np.full(11, 0.5 / 11)
    prior[[4, 5, 10]] += 0.5 / 3
    reader = Consumer.of(PathPower(11, 5), prior=prior, loss="absolute")
    found = design(PathPower(11, 5), "ln(2)", reader, "staircases")
    best = design(PathPower(11, 5), "ln(2)", reader, "dual")
    assert found.expected_loss == pytest.approx(best.expected_loss, rel=1e-9)


def test_the_plain_program_can_be_stopped_by_the_clock() -> None:
    graph = query("sum(40,3)").graph
    reader = consumer(graph, "binomial(.4)", "absolute")
    clock = time.process_time()
    said = []
    found = design(graph, "ln(2)", reader, "plain", progress=lambda now: said.append(now.step),
                   time_limit=0.5)  # fmt: skip
    assert time.process_time() - clock < 5
    assert found.stopped
    assert any("plain program" in step for step in said)
    assert is_private(found.channel, graph, "ln(2)")


def test_deciding_and_doing_solve_nothing_twice(monkeypatch) -> None:
    """Each closed form solves Φ once and prices once, whatever route comes before it."""
    solved, priced = [], []
    real_solve, real_price = Phi.solve, task_module.price
    monkeypatch.setattr(
        Phi, "solve", lambda *a, **k: solved.append(1) or real_solve(*a, **k)
    )
    monkeypatch.setattr(
        task_module, "price", lambda *a: priced.extend(a[3].tolist()) or real_price(*a)
    )
    for route, prior, graph, times in (
        ("regular", "uniform", Clique(4), 1),
        ("candidate", "0.3,0.2,0.2,0.1,0.1,0.1", PathPower(6, 2), 1),
        ("tree", "0.6,0.1,0.1,0.1,0.1", Star(4), 1),
    ):
        task = Task.of(
            graph, "ln(4)" if route == "tree" else 1, prior=prior, loss="binary"
        )
        assert task.tight is not None
        solved.clear()
        priced.clear()
        assert ROUTES[route](task).solve().certified
        # The candidate looks at one guess before all.
        assert (len(solved), len(priced)) == (
            times,
            graph.size + (route == "candidate"),
        )


def test_the_answer_of_the_engine_stands(monkeypatch) -> None:
    """Neither the engine on rays nor the plain program follows an engine without enough digits."""
    tried = []

    def loose(name):
        def plan(task):
            def solve():
                tried.append(name)
                return replace(exact, route=name, bound=exact.bound * (1 - 1e-6))

            return RoutePlan(name, solve)

        return plan

    order = {name: loose(name) for name in ("dual", "orbits", "rays", "plain")}
    graph = PathPower(6, 2)
    exact = design(graph, 1, consumer(graph, "uniform", "absolute"), "rays")
    monkeypatch.setattr("tightrope.optimize.planner.ROUTES", order)
    found = design(graph, 1, consumer(graph, "uniform", "absolute"))
    assert tried == ["dual", "orbits"]
    assert not found.certified


def test_a_search_that_is_stopped_keeps_the_bound_of_its_last_round():
    """Some guesses of binary loss are set aside in the rounds; the bound must hold for them too."""
    shares = np.array([37 * i % 97 + 1 for i in range(81)])
    wanted = Consumer.of(
        query("counts(8,2)").graph,
        prior=",".join(f"{s}/{shares.sum()}" for s in shares),
    )
    bounds = []

    def stop_after_a_round(now):
        bounds.append(now.bound)
        return now.round >= 1

    found = design("counts(8,2)", 0.5, wanted, progress=stop_after_a_round)
    assert found.stopped
    assert not found.certified
    assert bounds[-1] > 0
    assert bounds[-1] * (1 - 1e-9) <= found.bound <= found.expected_loss


def test_a_search_that_was_stopped_in_its_window_says_so() -> None:
    """The engine was stopped there, and the staircases' mechanism, which was not, stood for it."""
    graph = query("sum(60,5)").graph
    found = design(
        graph, 0.3, consumer(graph, "binomial(.3)"), route="window",
        progress=lambda now: now.step == "searching",
    )  # fmt: skip
    assert found.stopped
    assert not found.certified


def test_losses_that_cancel_to_nothing_are_certified_by_their_size() -> None:
    graph = ExplicitGraph([(0, 1)], lengths=[1.5])
    found = design(graph, 1.5, Consumer(support=[0, 1], loss=[[3, 0], [-1, 0]]))
    assert found.expected_loss == pytest.approx(0, abs=1e-12)
    assert found.certified
    assert found.gap < 1e-9


def test_a_long_path_with_a_prior_without_a_shape_is_solved_exactly() -> None:
    graph = query("count(60000)").graph
    prior = np.random.default_rng(3).dirichlet(np.ones(graph.size))
    found = design(graph, "ln(2)", Consumer.of(graph, prior=prior, loss="absolute"))
    assert (found.route, found.certified) == ("geometric", True)
    even = design(graph, "ln(2)", Consumer.of(graph, prior="uniform", loss="absolute"))
    assert even.route == "stretched"
    assert even.gap < 1e-6


def test_a_window_below_the_cap_of_a_short_sum_is_a_question_of_its_own() -> None:
    asked = query("sum(60,4)", "add-remove")
    reader = Consumer.of(asked.graph, prior="binomial(.2)", loss="absolute")
    found = design(asked, 1, reader)
    assert (found.route, found.certified) == ("window", True)
    assert is_private(found.channel, asked.graph, Epsilon.of(1))
    whole = design(asked, 1, reader, route="rays")
    assert found.expected_loss == pytest.approx(whole.expected_loss, rel=1e-8)
    verdict = verify(prove(found, asked))
    assert verdict.private_for_question
    assert float(verdict.optimal_within) < 1e-8


def test_no_window_of_a_listed_line_reaches_answers_that_lack_edges() -> None:
    # Of 13 sums the last three are no neighbours of each other.
    line = question_graph("sum(4,3)", "add-remove")
    assert window_graph(line, 2, 8).sides == ((8, 3),)
    assert window_graph(line, 2, 9).sides == ((9, 3),)
    with pytest.raises(Refused, match="all edges of a line"):
        window_graph(line, 2, 10)
    # One edge less in the window, and it is no line.
    missing = replace(
        line, edges=np.delete(line.edges, 9, axis=0), length=line.length[1:]
    )
    with pytest.raises(Refused, match="all edges of a line"):
        window_graph(missing, 2, 8)


def test_the_distances_of_a_long_line_are_bounded_at_both_ends() -> None:
    asked = query("sum(2000,6)")
    reader = Consumer.of(asked.graph, prior="uniform", loss="distance")
    found = design(asked, 1, reader)
    assert found.route == "stretched"
    assert found.gap < 1e-3
    verdict = verify(prove(found, asked))
    missing = found.expected_loss - found.bound
    assert float(verdict.optimal_within) == pytest.approx(missing, rel=1e-4)


@pytest.mark.parametrize("error", [CheckFailed, TooLarge])
@pytest.mark.parametrize("when", ["planning", "solving"])
def test_a_route_that_gives_up_is_followed_by_the_next(
    monkeypatch, error, when
) -> None:
    def fails(*_: object) -> None:
        raise error("Φx = b did not converge")

    route = fails if when == "planning" else lambda task: RoutePlan("it fits", fails)
    monkeypatch.setitem(ROUTES, "candidate", route)
    graph = PathPower(6, 2)
    reader = consumer(graph, "0.3,0.2,0.2,0.1,0.1,0.1")
    found = design(graph, 1, reader)
    assert (found.route, found.certified) == ("dual", True)
    # A route that is asked for by name says why it failed.
    with pytest.raises(error, match="did not converge"):
        design(graph, 1, reader, route="candidate")


def test_bad_input_ends_a_design(monkeypatch) -> None:
    def refuses(_: Task) -> None:
        raise InputError("the losses must be finite")

    monkeypatch.setitem(ROUTES, "candidate", refuses)
    graph = PathPower(6, 2)
    with pytest.raises(InputError, match="must be finite"):
        design(graph, 1, consumer(graph, "0.3,0.2,0.2,0.1,0.1,0.1"))


def test_a_solve_with_phi_that_fails_leaves_the_other_routes(monkeypatch) -> None:
    def fails(*_: object) -> None:
        raise CheckFailed("Φx = b did not converge")

    monkeypatch.setattr(task_module, "tight_constraints", fails)
    graph = PathPower(6, 2)
    assert design(graph, 1, consumer(graph)).route == "dual"
    reasons = {name: why for name, _, why in explain_routes(graph, 1, consumer(graph))}
    assert reasons["regular"] == "the tight-constraints mechanism does not exist here"


@pytest.mark.parametrize("loss", ["binary", "absolute", "squared", "distance"])
@pytest.mark.parametrize("text", ["median(4,5)", "mean(3,4)"])
@pytest.mark.parametrize("who", ["bayesian", "averse"])
def test_what_no_route_takes_has_a_private_mechanism(text, loss, who) -> None:
    asked = query(text, neighbours="either")
    graph = asked.graph
    known = {"prior": "uniform"} if who == "bayesian" else {"support": "0,2"}
    reader = Consumer.of(graph, loss=loss, **known)
    # As for many answers: no distances, no losses and no noise is listed.
    small = SolverSettings(
        engine_answers=0, program_entries=0, baseline_entries=0, checked_answers=0
    )
    task = Task(graph, Epsilon.of(1), reader, settings=small)
    found = _without_search(task)
    if loss != "binary":
        chosen = design(graph, 1, reader, settings=small)
        assert (chosen.route, chosen.stopped) == ("noise", False)
        assert chosen.expected_loss == found.expected_loss
    assert is_private(found.channel, graph, 1)
    best = design(graph, 1, reader)
    assert 0 <= found.bound <= best.expected_loss <= found.expected_loss
    assert found.certificate.checked_bound() >= found.bound
    places = [reader.loss.guesses.index(label) for label in found.channel.outputs]
    lost = (found.channel.matrix() * reader.loss.columns(np.array(places))).sum(axis=1)
    value = lost.mean() if who == "bayesian" else lost[reader.support].max()
    assert found.expected_loss == pytest.approx(value, rel=1e-12)
    assert verify(prove(found, asked)).private


def test_time_that_is_up_on_a_long_line_leaves_noise() -> None:
    graph = query("sum(1400,5)").graph
    prior = np.random.default_rng(5).dirichlet(np.ones(graph.size)).tolist()
    found = design(graph, 1, consumer(graph, prior, "squared"), time_limit=0)
    assert found.stopped
    assert found.expected_loss <= found.baselines["geometric"]
    assert verify(prove(found)).private


def test_no_bound_is_below_the_trivial_one() -> None:
    graph = PathPower(3)
    reader = Consumer(prior=[0.5, 0.25, 0.25], loss=[[2, 3], [4, 1], [5, 2]])
    task = Task(graph, Epsilon.of(1), reader)
    columns = {0: np.ones(3)}

    def bound(prices: list[float]) -> float:
        return finished(task, columns, np.zeros(0), np.array(prices), proved=True).bound

    assert bound([-9.0, 1.0, 1.0]) == 0.5 * 2 + 0.25 * 1 + 0.25 * 2
    # Prices that prove more are kept.
    assert bound([1.0, 0.5, 0.5]) == 2.0


def test_prices_that_time_does_not_prove_leave_the_mechanism(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = PathPower(50, 5)
    task = Task(graph, Epsilon.of(1), consumer(graph, "uniform", "absolute"))
    solved = staircases_route(task).solve()
    prices = solved.certificate.prices
    matrix = np.asarray(solved.channel.matrix())
    columns = dict(zip(solved.channel.outputs, matrix.T, strict=True))
    proved = finished(task, columns, task.objective.first, prices)
    assert proved.certified
    assert not proved.stopped

    def ends(*_: object, **__: object) -> None:
        raise Stopped

    monkeypatch.setattr("tightrope.optimize.solvers.price", ends)
    stopped = finished(task, columns, task.objective.first, prices)
    assert stopped.stopped
    assert stopped.bound == 0
    assert stopped.expected_loss == proved.expected_loss


def test_layers_prove_nothing_when_they_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = PathPower(20)
    problem = Task(graph, Epsilon.of(1), consumer(graph, "uniform", "absolute")).problem
    assert layered_prices(problem, np.ones(20)).sum() > 0
    monkeypatch.setattr("tightrope.optimize.layers.SECONDS", 0.0)
    assert layered_prices(problem, np.ones(20)).sum() == 0


def test_the_engine_closes_the_gap_of_a_window_that_it_takes() -> None:
    graph = PathPower(40, 4)
    task = Task(graph, Epsilon.of(1), consumer(graph, "binomial(.3)", "absolute"))
    rough = staircases_route(task).solve()
    assert not rough.certified
    assert _engine_on(task, rough, close=1e-9).certified
    # What is close enough keeps its mechanism.
    assert _engine_on(task, rough, close=1.0).channel is rough.channel
    small = replace(task, settings=SolverSettings(window_answers=39))
    assert _engine_on(small, rough, close=1e-9, seconds=0) is rough


def test_a_window_of_a_large_question_is_solved_by_the_engine() -> None:
    asked = query("sum(90,12)")
    reader = consumer(asked.graph, "binomial(.04)", "distance")
    found = design(asked, "0.5", reader)
    assert found.route == "window"
    assert found.gap < 1e-6
    assert verify(prove(found, asked)).private


def test_an_engine_that_fails_in_a_window_leaves_the_staircases(monkeypatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OutOfSteps("the solver gave up")

    monkeypatch.setattr(solvers, "run_engine", fails)
    graph = query("sum(90,12)").graph
    found = design(graph, "0.5", consumer(graph, "binomial(.04)", "distance"))
    assert found.route == "window"
    assert 0 <= found.bound < found.expected_loss
