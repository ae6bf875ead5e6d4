"""One kind of design for one consumer, many of them, and limits; and its clock."""

import json

import pytest

from tightrope.consumers import Consumer
from tightrope.errors import InputError
from tightrope.graphs import Cycle
from tightrope.optimize import SolverSettings, design, design_limited, design_many
from tightrope.optimize.progress import Watch
from tightrope.progress import Progress

RING = Cycle(5)
ONE = Consumer.of(RING, prior="uniform", loss="binary")
ARC = Consumer.of(RING, prior="1/3,1/3,1/3,0,0", loss="binary", name="arc")
KINDS = {
    "one": lambda: design(RING, "ln(2)", ARC),
    "averse": lambda: design(
        RING, "ln(2)", Consumer.of(RING, support="0..2", loss="distance")
    ),
    "many": lambda: design_many(RING, "ln(2)", [ONE, ARC]),
    "limit": lambda: design_limited(RING, ARC, epsilon="ln(2)", max_vulnerability=0.45),
    "least": lambda: design_limited(RING, ARC, epsilon="ln(2)", max_loss=0.6),
    "no level": lambda: design_limited(RING, ARC, max_vulnerability=0.5),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_design_says_the_same_things(kind: str) -> None:
    found = KINDS[kind]()
    facts = found.as_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert facts.keys() >= {
        "route", "reason", "minimised", "expected_loss", "utility", "bound", "gap", "certified",
        "stopped", "epsilon", "nodes", "outputs", "seconds", "baselines",
    }  # fmt: skip
    assert found.certified
    assert found.bound <= found.value <= found.bound + 1e-8
    assert all(value >= found.bound - 1e-12 for value in found.baselines.values())
    assert found.baselines or kind in ("limit", "least", "no level")
    assert found.minimised in str(found)
    assert "cycle(5)" in str(found)
    assert f"<td>{found.route}</td>" in found._repr_html_()


def test_what_a_design_has_not_is_refused() -> None:
    many, free = KINDS["many"](), KINDS["no level"]()
    with pytest.raises(InputError, match="many consumers"):
        _ = many.consumer
    assert many.as_dict()["consumers"][1]["name"] == "arc"
    assert many.worst_regret == many.value == many.regrets.max()
    with pytest.raises(InputError, match="no regrets"):
        _ = free.regrets
    with pytest.raises(InputError, match="no privacy level"):
        _ = free.level


def test_simple_noise_has_more_regret_and_is_left_out_where_it_breaks_the_limit() -> (
    None
):
    many = KINDS["many"]()
    assert min(many.baselines.values()) >= many.worst_regret
    tight = design_limited(RING, ARC, epsilon=3, max_vulnerability=0.4)
    assert tight.baselines == {}
    loose = design_limited(RING, ARC, epsilon="ln(2)", max_vulnerability=0.9)
    assert set(loose.baselines) == {"geometric", "exponential"}


def test_a_watch_passes_progress_on_until_it_is_stopped() -> None:
    seen: list[Progress] = []
    watch = Watch(lambda now: seen.append(now) or len(seen) == 2)
    assert Watch.of(watch) is watch
    assert not watch.say("first")
    assert watch(Progress("searching", round=1, loss=0.5, bound=0.25, gap=0.5))
    assert watch.over
    assert watch.say("unheard")
    assert [now.step for now in seen] == ["first", "searching"]
    assert seen[1].seconds >= seen[0].seconds > 0


def test_a_watch_repeats_the_last_step_after_some_silence() -> None:
    seen: list[Progress] = []
    watch = Watch(seen.append)
    watch.say("pricing")
    assert not watch.heartbeat(every=60)
    assert not watch.heartbeat(every=0)
    assert [now.step for now in seen] == ["pricing", "pricing"]
    assert Watch(time_limit=0).heartbeat()


def test_settings_change_the_plan_and_refuse_nonsense() -> None:
    consumer = Consumer.of(RING, prior="0.3,0.3,0.2,0.1,0.1", loss="distance")
    assert design(RING, 1, consumer).route == "dual"
    assert (
        design(RING, 1, consumer, settings=SolverSettings(dual_variables=0)).route
        == "rays"
    )
    with pytest.raises(InputError, match="'interior_wait' must be at least 0, got nan"):
        SolverSettings(interior_wait=float("nan"))
