"""Tables of an answer as heat maps: which cells are shaded, and how far."""

from dataclasses import replace
from fractions import Fraction

from tightrope.asking.answers import MOST_ACROSS, MOST_BELOW, Answer
from tightrope.publish.intervals import MISSING, Estimate
from tightrope.publish.shapes.tables import PLACE

SURE = Fraction(19, 20)


def by_groups(*keys, titles=("n",), **groups):
    rows = tuple((tuple(name.split("_")), told) for name, told in groups.items())
    return Answer(keys, titles, rows, SURE)


def test_margins_are_around_the_heat_map_and_not_part_of_it():
    cells = {
        (0, "f", "yes"): 1, (0, "f", "no"): 3, (0, "m", "yes"): -1, (0, "m", "no"): 4,
        (1, "f", None): 4, (1, "m", None): 3, (2, None, None): 7,
    }  # fmt: skip
    rows = tuple((name, (Estimate(number),)) for name, number in cells.items())
    both, sex, total = Answer((PLACE, "sex", "smokes"), ("n",), rows, SURE).layouts()
    assert [both.title, sex.title, total.title] == ["sex × smokes", "sex", "all"]
    assert both.lines == [
        ["sex", "yes", "no", "(all)"],
        ["f", "1", "3", "4"],
        ["m", "-1", "4", "3"],
        ["(all)", "", "", "7"],
    ]
    # The largest cell is 4, though the total is 7; below 0 there is no colour.
    assert both.heat == {(0, 1): 0.25, (0, 2): 0.75, (1, 1): 0.0, (1, 2): 1.0}
    assert sex.heat == {(0, 1): 1.0, (1, 1): 0.75}
    assert total.heat == {}


def test_texts_and_missing_numbers_have_no_colour():
    told = by_groups("sex", f=(Estimate("blue"),), m=(MISSING,))
    assert told.layouts()[0].heat == {}
    some = by_groups("sex", f=(Estimate(2),), m=(MISSING,))
    assert some.layouts()[0].heat == {(0, 1): 1.0}


def test_wide_tables_and_several_numbers_are_lists():
    classes = [f"f_{k}" for k in range(MOST_ACROSS)]
    across = by_groups("sex", "age", **dict.fromkeys(classes, (Estimate(1),)))
    assert len(across.layouts()[0].lines) == 2
    wider = dict.fromkeys([*classes, "f_x"], (Estimate(1),))
    assert len(by_groups("sex", "age", **wider).layouts()[0].lines) == len(wider) + 1
    two = by_groups("sex", titles=("n", "mean"), f=(Estimate(1), Estimate(9)))
    assert two.layouts()[0].heat == {}


def test_only_known_errors_of_usual_noise_have_a_column():
    cells = (Estimate(1), Estimate(9))
    two = replace(by_groups("sex", titles=("mean", "n"), f=cells), usual=(None, 4))
    assert two.table(usual=True) == [
        ["sex", "mean", "n", "n, usual noise"],
        ["f", "1", "9", "± 4"],
    ]
    assert two.table() == [["sex", "mean", "n"], ["f", "1", "9"]]
    # Heat is laid on the numbers, not on the errors beside them.
    one = replace(by_groups("sex", f=(Estimate(2),), m=(Estimate(1),)), usual=(4,))
    assert one.layouts()[0].heat == {(0, 1): 1.0, (1, 1): 0.5}
    assert len(one.layouts()[0].lines[0]) == 3


def test_pictures_of_many_numbers_are_not_higher_than_a_screen():
    def drawn(count, **more):
        point = (Estimate(5, 4, 6), Estimate(0.5, 0.4, 0.6))
        rows = dict.fromkeys((f"a{k}" for k in range(count)), point)
        answer = by_groups("age", titles=("n", "share"), **rows)
        return replace(answer, **more).plot()

    assert drawn(MOST_BELOW).get_figheight() > 10
    for figure in (drawn(MOST_BELOW + 1), drawn(MOST_BELOW, curves=("n",))):
        assert figure.get_figheight() < 4
        counts, shares = figure.axes
        assert counts.get_xlabel() == shares.get_xlabel() == "age"
        assert len(shares.lines[0].get_xdata()) >= MOST_BELOW
    # A curve has its band, the numbers beside it have points.
    band = drawn(9, curves=("n",)).axes
    assert [axes.get_ylabel() for axes in band] == [
        "n (95 % band)",
        "share (95 % intervals)",
    ]
    assert [axes.lines[0].get_drawstyle() for axes in band] == ["steps-post", "default"]
