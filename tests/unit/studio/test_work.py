"""Designs as the page asks for them: sent between processes, stopped early, for any consumer."""

import pickle

import pytest

from tightrope.certify import Mechanism, verify
from tightrope.kinds import LOSSES, PRIORS
from tightrope.studio.asking import consumer_of, query_in
from tightrope.studio.state import ConsumerText, PageState
from tightrope.studio.work import make

#: No closed form fits, and the proof has multipliers for each guess.
UNEVEN = PageState(
    question="counts(2,2)",
    epsilon="0.5",
    consumers=(
        ConsumerText(
            prior="1/45,2/45,3/45,4/45,5/45,6/45,7/45,8/45,9/45", loss="distance"
        ),
    ),
    route="rays",
)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_design_for_each_button_reaches_the_page(prior, loss):
    question = {"people": "sum(2,2)", "product": "databases(2,2)"}.get(
        prior, "count(3)"
    )
    consumer = ConsumerText(prior=PRIORS[prior].example or prior, loss=loss)
    made = make(PageState(question=question, consumers=(consumer,)))
    back = pickle.loads(pickle.dumps(made))
    assert back.mechanism == made.mechanism != b""
    assert back.design.consumer.prior.exact == made.design.consumer.prior.exact


def test_a_support_names_answers_and_not_their_places():
    graph = '{"nodes": [2, 0, 1], "edges": [[2, 0], [0, 1]]}'
    # Answers are ordered by their labels: 2 is the last, though the file names it first.
    state = PageState(graph=graph, consumers=(ConsumerText(support="2"),))
    assert consumer_of(state.consumer, query_in(state)).support.tolist() == [2]


@pytest.mark.parametrize("question", ["counts(2,2)", "mean(3,2)"])
def test_whoever_fears_the_worst_may_ask_about_anything(question):
    assert make(
        PageState(question=question, consumers=(ConsumerText(support="all"),))
    ).mechanism


@pytest.mark.parametrize("searching", [True, False])
def test_what_is_stopped_has_a_file_that_proves_privacy(searching):
    made = make(UNEVEN, lambda now: searching or now.step == "proving")
    found = verify(made.mechanism)
    assert found.private
    assert found.optimal_within is None
    # Stopped while it searched, or only while it proved.
    assert made.json["stopped"] == searching
    assert Mechanism(made.mechanism).query == "counts(2,2)"


def test_what_is_not_stopped_has_one_that_proves_the_loss_too():
    shares = []
    made = make(UNEVEN, lambda now: shares.append(now.share))
    assert verify(made.mechanism).optimal_within < 1e-9
    assert shares[-1] == 1.0
