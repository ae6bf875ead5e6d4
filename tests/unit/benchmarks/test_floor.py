"""Floors and laws of the page of floors, each beside another computation."""

import doctest
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks import floor, floor_bounds, floor_peers
from benchmarks.floor_peers import Spread
from scipy.optimize import linprog

from tightrope.certify import by_score
from tightrope.publish.noise import checked_mechanism

ONE = Fraction(1)


@pytest.mark.parametrize("module", [floor, floor_bounds, floor_peers])
def test_examples_of_the_page_of_floors(module):
    failed, attempted = doctest.testmod(module)
    assert attempted
    assert not failed


def law_of(scale: float, reach: int = 400):
    """Return whole numbers and their chances, by the definition of two-sided geometric noise."""
    numbers = np.arange(-reach, reach + 1)
    chances = np.exp(-np.abs(numbers) / scale)
    return numbers, chances / chances.sum()


def least_loss(points, steps, losses, far: float, epsilon: float) -> float:
    """Solve the whole linear program of a window, point by point and without symmetries."""
    places = {tuple(point): place for place, point in enumerate(points)}
    rows = []
    for point, place in places.items():
        for step in steps:
            other = places.get(tuple(np.add(point, step)))
            if other is not None:
                row = np.zeros(len(points) + 1)
                row[place], row[other] = math.exp(-epsilon), -1
                rows.append(row)
    found = linprog(
        [*losses, far],
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.ones((1, len(points) + 1)),
        b_eq=[1],
    )
    return float(found.fun)


# -- laws of others -----------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.3, 1.0, 6.0])
def test_geometric_noise_has_the_errors_of_its_chances(scale):
    numbers, chances = law_of(scale)
    spread = Spread(scale, is_whole=True)
    assert spread.absolute == pytest.approx(chances @ np.abs(numbers))
    assert spread.squared == pytest.approx(chances @ numbers**2)
    for c in (0.0, 0.4, -2.0, 7.3):
        (own,) = spread.absolute_from(np.array([c]))
        assert own == pytest.approx(chances @ np.abs(numbers + c))
    others, weights = law_of(1.5)
    both = np.abs(numbers[:, None] + 2.5 * others)
    pair = spread.absolute_with(Spread(1.5, is_whole=True), 2.5)
    assert pair == pytest.approx(chances @ both @ weights, rel=1e-6)


def test_laplace_noise_has_the_errors_of_its_density():
    x = np.linspace(-60, 60, 120_001)
    density = np.exp(-np.abs(x) / 2) / 4
    spread = Spread(2.0, is_whole=False)
    assert spread.absolute == pytest.approx(np.trapezoid(density * abs(x), x), rel=1e-5)
    assert spread.squared == pytest.approx(np.trapezoid(density * x**2, x), rel=1e-5)
    near = np.linspace(-60, 60, 2_401)
    inner = spread.absolute_from(3 * near)
    other = np.exp(-np.abs(near)) / 2
    pair = spread.absolute_with(Spread(1.0, is_whole=False), 3.0)
    assert pair == pytest.approx(np.trapezoid(other * inner, near), rel=1e-3)


def test_opendp_draws_have_the_law_and_no_other():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    draw = dp.m.make_laplace(*space, scale=100.0)
    assert draw.map(100) == pytest.approx(1.0)  # sensitivity 100 at ε = 1
    vector = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    drawn = dp.m.make_laplace(*vector, scale=100.0)([0] * 20_000)
    error = float(np.mean(np.abs(drawn)))
    sigma = 100 / math.sqrt(20_000)

    def agrees(sensitivity: float) -> bool:
        laws = floor_peers.number_errors("add-remove", 1.0, sensitivity, "absolute")
        return abs(laws["opendp"] - error) < 6 * sigma

    assert agrees(100)
    assert not agrees(90)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-4), (3.0, 1e-6)])
def test_thresholds_have_their_delta_and_no_larger_ones(epsilon, delta):
    numbers, chances = law_of(1 / epsilon)
    count = floor_peers.shown_counts("add-remove", epsilon, delta)["opendp"]
    assert chances[numbers >= count - 1].sum() <= delta
    assert chances[numbers >= count - 2].sum() > delta
    # What is shown half the time is at least what any private mechanism shows.
    assert count >= floor_bounds.shown_floor(epsilon, delta)


def test_a_threshold_as_opendp_reports_it_shows_more_than_delta():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    known = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    space = known, dp.l01inf_distance(dp.absolute_distance(T=int))
    noisy = dp.m.make_laplace_threshold(*space, scale=1.0, threshold=3)
    _, reported = noisy.map((1, 1, 1))
    drawn = noisy({str(i): 1 for i in range(20_000)})
    share = len(drawn) / 20_000
    numbers, chances = law_of(1.0)
    assert share == pytest.approx(chances[numbers >= 2].sum(), abs=0.02)
    assert share > reported + 0.03


def test_the_error_of_a_median_is_that_of_permute_and_flip():
    counts = [4, 0, 6, 0, 4]
    for relation in ("add-remove", "change-one"):
        made = by_score("quantile(1/2,5)", 1, relation)
        gaps = made.gaps(counts) / 2
        exact = float(sum(p * g for p, g in zip(made.chances(counts), gaps)))  # noqa: B905
        assert floor.flipped_error(1.0, relation, counts) == pytest.approx(exact)
        # Six of one value: every other one is three ranks away.
        rate = 1.0 if relation == "add-remove" else 0.5
        f = math.exp(-rate * 3)
        assert exact == pytest.approx(3 * (1 - (1 - (1 - f) ** 5) / (5 * f)))
        assert floor_peers.median_errors(relation, 1.0, 5)["opendp"] >= exact - 1e-9


def test_a_series_is_the_best_average_of_its_draws():
    squares = [Spread(s, is_whole=True).squared for s in (4.0, 4.0, 2.0)]
    own = floor_peers.series_errors("change-one", 1.0)["opendp"]
    shares = np.random.default_rng(1).dirichlet([1, 1, 1], 400)
    tried = np.sqrt((shares**2 @ squares).min())
    assert own <= tried <= 1.05 * own


# -- floors -------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_windows_give_what_the_judge_proves_on_a_line(epsilon):
    level = Fraction(epsilon)
    line = np.array([[1], [-1]]), np.array([[[1]], [[-1]]])
    by_window = floor_bounds.window_floor(
        *line, lambda z: z[:, 0] ** 2, lambda t: (t + 1) ** 2, level, 60
    )
    judged = floor_bounds.lattice_floor("count(9)", "change-one", "squared", level)
    assert float(by_window) == pytest.approx(float(judged), rel=1e-6)
    assert by_window <= judged


def test_windows_are_the_whole_program_without_symmetries():
    steps, _ = floor_bounds.coming_and_going(2)
    points = [z for z in itertools.product(range(-5, 6), repeat=2) if _reach(z) <= 5]
    losses = [x * x + y * y for x, y in points]
    plain = least_loss(points, steps, losses, 18, 1.0)
    assert float(floor_bounds.counts_window_floor(2, ONE, 5)) == pytest.approx(plain)


def _reach(z: tuple[int, ...]) -> int:
    return max(0, *z) + max(0, *(-x for x in z))


def test_multipliers_are_checked_and_not_believed():
    steps, symmetries = floor_bounds.coming_and_going(2)
    window = floor_bounds.Window.of(steps, symmetries, 6)
    losses = (window.points**2).sum(axis=1).tolist()
    alpha = Fraction(3, 8)
    found = window.multipliers(losses, 24, float(alpha))
    proved = window.floor(losses, 24, found, alpha)
    assert proved > 1
    others = [y * (1.5 if place % 3 else 0.5) for place, y in enumerate(found)]
    assert window.floor(losses, 24, others, alpha) < proved
    assert window.floor(losses, 24, [0.0] * len(found), alpha) == 0
    with pytest.raises(ValueError, match="negative"):
        window.floor(losses, 24, [-1.0, *found[1:]], alpha)


def test_every_point_of_a_window_is_counted_once():
    steps, symmetries = floor_bounds.coming_and_going(3)
    window = floor_bounds.Window.of(steps, symmetries, 4)
    assert window.sizes.sum() == 5**4 - 4**4


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (2, 0.5), (2, 3.0), (3, 1.0)])
def test_sizes_bound_a_private_law_and_not_by_much(k, epsilon):
    axes = np.meshgrid(*[np.arange(-45, 46)] * k)
    weights = np.exp(-epsilon * np.max(np.abs(axes), axis=0))
    square = float((weights * sum(axis**2 for axis in axes)).sum() / weights.sum())
    bound = floor_bounds.cube_floor(k, epsilon)
    assert bound <= square
    # A bound that is a fifth larger would be none: the noise itself is below it.
    assert 1.2 * bound > square


def test_sizes_bound_the_program_of_two_counts():
    points = list(itertools.product(range(-7, 8), repeat=2))
    steps = [z for z in itertools.product((-1, 0, 1), repeat=2) if any(z)]
    losses = [x * x + y * y for x, y in points]
    best = least_loss(points, steps, losses, 64, 3.0)
    assert 0.9 * best < floor_bounds.cube_floor(2, 3.0) <= best


def test_nearest_points_are_counted_by_shell():
    sums, losses = floor_bounds._nearest_points(3, 3.0)
    points = np.array(list(itertools.product(range(-3, 4), repeat=3)))
    norms = (points**2).sum(axis=1)
    for norm in range(9):
        assert sums[norm] == (norms <= norm).sum()
        assert losses[norm] == norms[norms <= norm].sum()


def test_the_floor_of_margins_is_the_whole_program():
    unit = np.eye(4, dtype=int)
    steps = [unit[i] - unit[k] for i in range(4) for k in range(4) if i != k]
    near = itertools.product(range(-2, 3), repeat=3)
    points = [(*z, -sum(z)) for z in near if abs(sum(z)) <= 2]
    points = [z for z in points if sum(map(abs, z)) <= 4]
    tables = np.array(points).reshape(-1, 2, 2)
    losses = [
        (t**2).mean() / 3
        + (t.sum(axis=0) ** 2).mean() / 3
        + (t.sum(axis=1) ** 2).mean() / 3
        for t in tables
    ]
    plain = least_loss(points, steps, losses, 9 / 12, 2.0)
    assert float(floor_bounds.margins_window_floor(Fraction(2), 2)) == pytest.approx(
        plain
    )


def test_rounding_to_multiples_is_private_at_the_multiple_and_loses_a_quarter():
    """Round two-sided geometric noise on a line, by the definition of the theorem."""
    epsilon, times, reach = 0.4, 4, 200
    numbers = np.arange(-reach, reach + 1)
    weights = np.exp(-epsilon * np.abs(numbers))
    weights /= weights.sum()
    rounded = np.zeros(2 * reach + 1)
    for start in range(times):
        np.add.at(rounded, (numbers + start) // times + reach, weights / times)
    middle = rounded[reach - 20 : reach + 21]
    ratios = np.concatenate([middle[1:] / middle[:-1], middle[:-1] / middle[1:]])
    assert ratios.max() <= math.exp(times * epsilon) * (1 + 1e-9)
    assert ratios.max() > math.exp((times - 1) * epsilon)
    own, coarse = weights @ numbers**2, rounded @ numbers**2
    assert coarse <= own / times**2 + 1 / 4
    assert coarse > own / times**2


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_floor_of_rounded_answers_is_below_the_whole_program(times):
    steps, _ = floor_bounds.coming_and_going(2)
    points = [z for z in itertools.product(range(-14, 15), repeat=2) if _reach(z) <= 14]
    losses = [x * x + y * y for x, y in points]
    level = Fraction(3, 5)
    best = least_loss(points, steps, losses, 112, float(level))

    def window(at: Fraction) -> Fraction:
        return floor_bounds.counts_window_floor(2, at, 14)

    floors = floor_bounds.coarser_floor(window, Fraction(2), level, times)
    assert 0.6 * best < float(floors) <= best * (1 + 1e-6)
    # With a basis that loses nothing the bound is larger, for all times but one.
    free = floor_bounds.coarser_floor(window, Fraction(0), level, times)
    assert free - floors == 2 * (times**2 // 4)


def test_the_basis_of_margins_generates_their_lattice_and_loses_three_halves():
    basis = np.array([[1, -1, 0, 0], [1, 0, -1, 0], [0, 1, 0, -1]])
    # The first three coordinates determine a point, and any whole numbers occur there.
    assert abs(round(np.linalg.det(basis[:, :3]))) == 1
    tables = basis.reshape(-1, 2, 2)
    losses = [
        ((t**2).mean() + (t.sum(axis=0) ** 2).mean() + (t.sum(axis=1) ** 2).mean()) / 3
        for t in tables
    ]
    assert sum(losses) == pytest.approx(3 / 2)


@pytest.mark.parametrize("values", [3, 5])
def test_the_packing_of_medians_is_the_best_of_its_tables(values):
    """Under change-one the tables are a clique: the least worst error is a linear program."""
    people, epsilon = 3, 0.4
    ratio = math.exp(people * epsilon)
    pairs = list(itertools.permutations(range(values), 2))
    rows = []
    for i, h in pairs:
        for o in range(values):
            row = np.zeros((values, values))
            row[i, o], row[h, o] = 1, -ratio
            rows.append([*row.ravel(), 0])
    for i in range(values):  # the error of each table is at most the last variable
        row = np.zeros((values, values))
        row[i] = people / 2
        row[i, i] = 0
        rows.append([*row.ravel(), -1])
    totals = [[*np.repeat(np.eye(values)[i], values), 0] for i in range(values)]
    found = linprog(
        [0] * values**2 + [1],
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.array(totals),
        b_eq=np.ones(values),
    )
    right = ratio / (values - 1 + ratio)
    assert found.fun == pytest.approx(people / 2 * (1 - right))
    assert floor_bounds.median_floor(values, "change-one", epsilon) >= found.fun - 1e-9


def test_the_floor_of_a_mean_is_the_continuous_staircase():
    for epsilon in (0.1, 1.0, 3.0):
        question = f"sum(100,{floor.WIDTH})"
        level = Fraction(epsilon)
        least = floor_bounds.lattice_floor(question, "change-one", "absolute", level)
        smooth = floor.WIDTH / (2 * math.sinh(epsilon / 2))
        assert float(least) == pytest.approx(smooth, rel=1e-3)


# -- ours ---------------------------------------------------------------------------------


def test_the_error_of_a_pair_is_the_sum_over_its_points():
    masses = np.array([0.1, 0.05, 0.02])
    grid = itertools.product(range(-2, 3), repeat=2)
    plain = sum(masses[max(abs(x), abs(y))] * abs(x - 0.7 * y + 0.25) for x, y in grid)
    assert floor.pair_error(masses, 0.7, 0.25) == pytest.approx(plain)
    assert floor.pair_error(masses, 0.6, 0.25) != pytest.approx(plain)


def test_the_error_of_a_bracket_is_that_of_its_chances():
    made = by_score("bracket(1/2,5,6,2)", 1)
    counts = [3, 1, 0, 2, 4]
    gaps = made.gaps(counts)[1]
    exact = sum(p * int(gaps[v]) for (_, v, _), p in made.chances(counts).items()) / 2
    assert floor.drawn_error(made, counts) == pytest.approx(float(exact))


def test_the_error_of_a_quantile_by_itself_is_that_of_its_chances():
    made = by_score("quantile(1/4,5)", 1)
    counts = [3, 1, 0, 2, 4]
    gaps = made.gaps(counts).tolist()
    exact = sum(p * gap for p, gap in zip(made.chances(counts), gaps, strict=True)) / 4
    assert floor.score_error(made, counts) == pytest.approx(float(exact))


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_the_error_of_several_quantiles_is_that_of_draws(relation):
    made = by_score("quantiles(1/4,1/2,3/4,30,40)", 1, relation)
    counts = floor.even_counts(40, 30)
    noise = checked_mechanism(made)
    drawn = np.array([noise.draw(tuple(counts)) for _ in range(300)])
    upto = np.cumsum(counts)
    wanted = np.array([10, 20, 30])
    gaps = np.maximum(upto[drawn] - np.array(counts)[drawn] - wanted, 0)
    gaps = np.maximum(gaps, wanted - upto[drawn])
    error = gaps.mean(axis=1)
    law = floor.joint_error(made, counts)
    assert abs(error.mean() - law) < 6 * error.std() / math.sqrt(len(error))
    assert abs(error.mean() - 1.5 * law) > 6 * error.std() / math.sqrt(len(error))


def test_a_total_nobody_knows_costs_less_than_twice_the_level():
    """Five quantiles under add-remove, beside the draw that holds to the number of people."""
    counts = floor.even_counts(200, 150)
    question = "quantiles(1/10,1/4,1/2,3/4,9/10,150,200)"
    free = by_score(question, 1, "add-remove")
    assert floor.joint_error(free, counts) < 0.65 * floor.joint_error(
        by_score(question, 1), counts
    )
    # One step of totals for all people: a wrong total moves the quantiles.
    free.totals = lambda people: range(people + 100, people + 101)
    assert floor.joint_error(free, counts) > floor.joint_error(
        by_score(question, 1), counts
    )


def test_five_quantiles_of_the_paper_are_ours_where_nobody_comes_or_goes():
    """Two computations of one law: in integers with places in a value, and in floats."""
    counts = [0, 3, 1, 0, 0, 2, 7, 0, 4, 3, 0, 0, 0, 5, 1, 2, 2, 0, 6, 4]
    ranks = [0.1, 0.5, 0.9]
    made = by_score("quantiles(1/10,1/2,9/10,20,4000)", 1)
    known = floor_peers.joint_error("change-one", 1.0, ranks, counts)
    assert floor.joint_error(made, counts) == pytest.approx(known, rel=1e-3)
    # People who come and go move the cells by less than two.
    assert floor_peers.joint_error("add-remove", 1.0, ranks, counts) < 0.99 * known
