"""The random suite of questions and the ablation of the settings."""

from dataclasses import fields, replace

from benchmarks import ablate, suite

from tightrope.optimize import SolverSettings


def test_a_seed_draws_the_same_questions() -> None:
    drawn = suite.draw(7, 40)
    assert drawn == suite.draw(7, 40)
    assert len(set(drawn)) == 40
    assert drawn != suite.draw(8, 40)
    assert all(suite.size_of(one) <= 400 for one in drawn)


def test_the_fixed_suite_has_every_family_prior_loss_and_relation() -> None:
    asked = ablate.suite()
    assert len(asked) >= 120
    families = {one.query.split("(")[0] for one in asked}
    assert families >= {
        "sum", "count", "counts", "histogram", "cycle", "count_mod", "median", "mean", "star",
        "choice", "random",
    }  # fmt: skip
    assert {one.prior[0] for one in asked} == set(suite.PRIORS)
    assert {one.loss for one in asked} == set(suite.LOSSES)
    assert {one.neighbours for one in asked} == set(suite.NEIGHBOURS)
    assert {one.kind for one in asked} == {"one", "averse", "many", "limit"}


def test_priors_are_distributions() -> None:
    for kind in suite.PRIORS:
        one = replace(suite.draw(1, 1)[0], query="sum(5,3)", prior=(kind, 0.5, 3))
        graph = suite.graph_of(one)
        found = suite.prior_of(one, graph)
        assert len(found) == 16
        assert abs(found.sum() - 1) < 1e-12
        assert (found >= 0).all()


def test_a_question_is_answered_in_its_own_process_and_ended_at_its_limit() -> None:
    easy = suite.Question(
        "cycle(5)", "change-one", ("dirichlet", 1.0, 1), "binary", "1"
    )
    rays = {"dual_variables": 0}
    asked = [
        rays,
        {"dual_variables": 10_000},
        {"remap_entries": 1},
        {"no_such_field": 1},
    ]
    found, whole, same, unread = suite.run(easy, 30, asked)
    assert (found.status, found.route) == ("certified", "rays")
    assert (whole.status, whole.route) == ("certified", "dual")
    assert "dual_variables" in found.read
    assert "remap_entries" not in found.read
    assert same == unread == found
    hard = suite.Question(
        "sum(60,5)", "change-one", ("dirichlet", 1.0, 1), "binary", "1"
    )
    (over,) = suite.run(hard, 0.5, [{}])
    assert over.status == "over"
    (broken,) = suite.run(easy, 30, [{"no_such_field": 1}])
    assert broken.status == "failed"
    assert "no_such_field" in broken.why
    assert "2 certified" not in suite.summary([found, over, broken])
    assert "1 certified, 0 uncertified, 1 over, 1 failed" in suite.summary(
        [found, over, broken]
    )


def test_every_setting_is_moved_to_something_else() -> None:
    for one in fields(SolverSettings):
        values = ablate.moved(one)
        assert values
        for value in values:
            assert value != one.default
            SolverSettings(**{one.name: value})
    names = {name for name, _ in ablate.variations([])}
    assert names == {one.name for one in fields(SolverSettings)} > set(ablate.CAPS)
    assert [*ablate.variations(["box_rows"])] == [("box_rows", 100)]


def test_questions_with_more_answers_are_asked_too() -> None:
    sizes = [suite.size_of(one) for one in ablate.middle()]
    assert min(sizes) > 200
    assert sum(size > SolverSettings().window_answers for size in sizes) > 2
    assert max(sizes) > SolverSettings().listed_answers


def test_the_table_has_a_line_for_each_variation() -> None:
    easy = suite.Question(
        "cycle(5)", "change-one", ("dirichlet", 1.0, 1), "binary", "1"
    )
    good = suite.Outcome(easy, 5, "certified", "dual", 0.5, 0.25)
    bad = suite.Outcome(easy, 5, "over", "", 30.0, 30.0)
    row = ablate.Row.of("wide_gap", "0.1", 2, [good, good, bad])
    assert str(row) == "| wide_gap | 0.1 | 2 | 2 | 1 | 30 | 250 | 1e+02 |"
    assert str(row) in ablate.section("suite", [row], 30)


def test_a_part_that_was_not_asked_keeps_its_table(tmp_path, monkeypatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Old\n\n## Up to two hundred answers\n\nold\n\n## More answers\n\nold\n"
    )
    monkeypatch.setattr(ablate, "PAGE", page)
    ablate.write({"middle": ablate.section("middle", [], 10)})
    first, second = page.read_text().split("## More answers")
    assert "# What each setting is worth" in first
    assert first.endswith("## Up to two hundred answers\n\nold\n\n")
    assert "old" not in second
    assert "The limit is 10 s." in second
