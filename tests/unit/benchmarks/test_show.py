"""How times, ratios, spreads and limits are written."""

import pytest
from benchmarks.harness import Result
from benchmarks.show import Times, digits, line, memory, ratio_of, without_places


@pytest.mark.parametrize(
    ("times", "text"),
    [
        (Times((1.302,)), "1.30 s"),
        (Times((0.00081,)), "810 µs"),
        (Times((2e-7, 1e-7, 4e-7)), "200 ns (100–400)"),
        (Times((1.0, 3.0)), "2.00 s (1.00–3.00)"),
        (Times((0.9, 1.1, 1.0)), "1.00 s (0.9–1.10)"),
        (Times((300.0,), over=True), "> 300 s"),
    ],
)
def test_a_time_is_the_median_with_its_spread(times: Times, text: str) -> None:
    assert times.text == text


def test_a_ratio_spans_the_worst_and_the_best_pair() -> None:
    found = ratio_of(Times((1.0, 2.0, 4.0)), Times((80.0, 100.0, 200.0)))
    assert found is not None
    assert (found.value, found.low, found.high) == (50.0, 20.0, 200.0)
    assert found.text == "50.0× (20.0–200)"


def test_single_runs_show_no_spread() -> None:
    found = ratio_of(Times((2.0,)), Times((100.0,)))
    assert found is not None
    assert found.text == "50.0×"


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        (Times((2.0,)), Times((60.0,), over=True), "> 30.0×"),
        (Times((60.0,), over=True), Times((30.0,)), "< 0.5×"),
    ],
)
def test_a_stopped_run_gives_a_bound(ours: Times, theirs: Times, text: str) -> None:
    found = ratio_of(ours, theirs)
    assert found is not None
    assert found.text == text


def test_two_stopped_runs_give_nothing() -> None:
    assert ratio_of(Times((60.0,), over=True), Times((60.0,), over=True)) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345.0, "12,345"),
        (99.94, "99.9"),
        (99.96, "100"),
        (999.7, "1000"),
        (9.996, "10.0"),
        (0.0123, "0.0123"),
    ],
)
def test_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert digits(value) == text


@pytest.mark.parametrize(
    ("mib", "text"),
    [(None, ""), (90.6, "91 MiB"), (2048.0, "2.0 GiB"), (2047.0, "2047 MiB")],
)
def test_memory(mib: float | None, text: str) -> None:
    assert memory(mib) == text


def test_messages_lose_the_folders_of_a_machine() -> None:
    assert without_places("cannot load /usr/lib/x/_tree.so") == "cannot load _tree.so"
    assert without_places("60×60 from a/b") == "60×60 from a/b"


def test_a_line_of_progress_has_time_memory_and_ratio_or_the_reason() -> None:
    ours = Result("ok", cpu=(1.0,), wall=(2.0,), memory_mib=70.0)
    theirs = Result("ok", cpu=(5.0,), wall=(6.0,), memory_mib=90.0)
    assert "5.00×" in line("qif", theirs, ours, "cpu")
    assert "3.00×" in line("qif", theirs, ours, "wall")
    assert "×" not in line("tightrope", ours, ours, "cpu")
    assert line("qif", Result("no", why="not built"), ours, "cpu").endswith(
        "no: not built"
    )
