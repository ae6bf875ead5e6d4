"""The state of a page: links, undo, drawing, and what is taken away."""

import base64
import json
import shlex
import zlib

import pytest
from hypothesis import given, strategies as st

from tightrope.errors import InputError
from tightrope.studio.asking import FieldError, consumer_of, query_in, safe_name
from tightrope.studio.pictures import (
    MOST_NODES,
    Sketch,
    place_of,
    prior_at,
    sketch_of,
    weights_text,
)
from tightrope.studio.state import (
    MOST_CONSUMERS,
    ConsumerText,
    History,
    PageState,
    decode,
    encode,
)
from tightrope.studio.tables import Clicked, TableAsked
from tightrope.studio.takeaway import PANELS, as_command, as_python

texts = st.text(max_size=30)
consumers = st.builds(ConsumerText, texts, texts, texts, texts)
states = st.builds(
    PageState,
    question=texts,
    graph=texts,
    epsilon=texts,
    individuals=st.integers(1, 10**9),
    consumers=st.lists(consumers, min_size=1, max_size=MOST_CONSUMERS).map(tuple),
    route=texts,
)


@given(states)
def test_a_link_gives_the_state_back(state):
    link = encode(state)
    assert not link or decode(link) == state
    assert link == "".join(c for c in link if c.isalnum() or c in "-_")


def packed(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(zlib.compress(text)).decode().rstrip("=")


@pytest.mark.parametrize(
    "link",
    [
        "%%%",
        "AAAA",
        packed([]),
        packed({"question": 3}),
        packed({"other": "x"}),
        packed({"individuals": True}),
        packed({"consumers": []}),
        packed({"consumers": [{}] * (MOST_CONSUMERS + 1)}),
        packed({"consumers": [{"prior": 1}]}),
        packed({"consumers": [{"other": "x"}]}),
        packed(b"[" * 100_000),
        packed(b" " * 3_000_000 + b"{}"),
        packed({})[:-4],
    ],
)
def test_a_wrong_link_is_refused(link):
    with pytest.raises(InputError, match="holds no state"):
        decode(link)


def test_a_state_too_long_for_a_link_has_none():
    numbers = ",".join(str(k**7) for k in range(5_000))
    assert encode(PageState(graph=numbers)) == ""


@given(st.lists(st.sampled_from(["1", "2", "undo", "redo"]), max_size=30))
def test_undo_and_redo_walk_along_one_line(steps):
    history = History()
    line, place = [PageState()], 0
    for step in steps:
        if step == "undo":
            history, place = history.undo(), max(place - 1, 0)
        elif step == "redo":
            history, place = history.redo(), min(place + 1, len(line) - 1)
        elif line[place].epsilon != step:
            history = history.change(PageState(epsilon=step))
            line = [*line[: place + 1], PageState(epsilon=step)]
            place += 1
        assert history.present == line[place]


@pytest.mark.parametrize("panel", list(PANELS)[1:])
def test_commands_quote_what_they_hold(panel):
    nasty = "a'; rm -rf $HOME `x` \n b"
    state = PageState(
        question=nasty,
        epsilon=nasty,
        consumers=(ConsumerText(prior=nasty, loss=nasty),),
    )
    words = shlex.split(as_command(state, panel))
    assert nasty in words
    assert "rm" not in words
    compile(as_python(state, panel), "page", "exec")


def test_question_about_a_table_is_quoted_too():
    nasty = "a'; rm -rf $HOME `x` \n b"
    columns = (f"age:{nasty}", f"{nasty}:text")
    form = TableAsked(
        nasty, nasty, columns, "9", ledger=nasty, sql=nasty, epsilon=nasty, key=nasty
    )
    for asked in (form, TableAsked(nasty, nasty, facts=nasty, sql=nasty)):
        words = shlex.split(as_command(PageState(), "table", asked))
        assert words[words.index("ask") - 1 : words.index("ask") + 2] == [
            "tightrope",
            "ask",
            nasty,
        ]
        assert "rm" not in words
        compile(as_python(PageState(), "table", asked), "page", "exec")
    with pytest.raises(FieldError, match="ask a question first"):
        as_command(PageState(), "table")
    with pytest.raises(FieldError, match="how many people"):
        as_command(
            PageState(), "table", TableAsked("people.csv", "people", sql="select 1")
        )


@pytest.mark.parametrize("panel", list(PANELS)[1:])
def test_files_are_quoted_too(panel):
    nasty = "a'\nEND\nrm -rf $HOME `x`"
    who = (
        ConsumerText(nasty, prior=nasty),
        ConsumerText("b", support=nasty, loss=nasty),
    )
    state = PageState(question=nasty, graph=nasty, consumers=who)
    words = shlex.split(as_command(state, panel))
    # Every command of the text is one of these; nothing in a quoted word is.
    assert words.count("printf") == (2 if panel == "consumers" else 1)
    assert "END" not in words
    assert "rm" not in words
    compile(as_python(state, panel), "page", "exec")


def test_consumers_of_the_same_name_are_numbered():
    state = PageState(consumers=(ConsumerText("a"), ConsumerText("a", loss="absolute")))
    assert '"name"' not in as_command(state, "consumers")
    other = PageState(consumers=(ConsumerText("a"), ConsumerText("b", loss="absolute")))
    assert '"name": "b"' in as_command(other, "consumers")


def test_a_consumer_without_a_prior_is_not_asked_about_one():
    averse = ConsumerText("a", support="all")
    two = PageState(consumers=(averse, ConsumerText("b")))
    assert "tightrope regular" not in as_command(two, "consumers")
    assert "regularity" not in as_python(two, "consumers")
    with pytest.raises(FieldError, match="without a prior"):
        as_command(PageState(consumers=(averse,)), "consumers")


def test_texts_do_not_open_files():
    for text in ("graph:x.csv", " POINTS : x.csv", "file:x"):
        with pytest.raises(FieldError, match="by upload"):
            query_in(PageState(question=text))
    with pytest.raises(FieldError, match="by upload"):
        consumer_of(ConsumerText(prior="file:x.csv"), query_in(PageState()))
    with pytest.raises(FieldError, match="by upload"):
        consumer_of(ConsumerText(loss=" file:x.csv"), query_in(PageState()))


@given(st.text(max_size=60))
def test_names_of_uploads_stay_in_their_folder(name):
    kept = safe_name(name, "x")
    assert kept
    assert not set(kept) & set("/\\\0")
    assert not kept.startswith(".")


def test_errors_name_their_field():
    asked = query_in(PageState())
    for consumer, field in [
        (ConsumerText(prior="1,2"), "prior"),
        (ConsumerText(support="9"), "support"),
        (ConsumerText(loss="none"), "loss"),
    ]:
        with pytest.raises(FieldError) as refused:
            consumer_of(consumer, asked)
        assert refused.value.field == field


# -- drawing ------------------------------------------------------------------------------


def test_clicks_make_and_remove_nodes_and_edges():
    drawn = Sketch().click(50, 50).click(200, 50)
    assert drawn.click(52, 48).waiting == 0
    joined = drawn.click(50, 50).click(200, 50)
    assert joined.edges == ((0, 1),)
    assert joined.click(200, 50).click(50, 50).edges == ()
    assert joined.click(50, 50, remove=True).edge_text() == ""
    assert joined.click(300, 200, remove=True) == joined
    assert sketch_of(joined.json(), joined.places) == joined


@pytest.mark.parametrize("text", ["0", "0-0", "a-b", "0-1-2", "0-99999"])
def test_wrong_edges_are_refused(text):
    with pytest.raises(FieldError, match="0-1"):
        Sketch().with_edges(text)


def test_drawings_are_bounded():
    star = ", ".join(f"0-{k}" for k in range(1, MOST_NODES + 5))
    with pytest.raises(FieldError, match="at most"):
        Sketch().with_edges(star)


@given(st.integers(0, 100), st.integers(0, 100))
def test_a_point_of_the_simplex_is_found_again(one, two):
    two = min(two, 100 - one)
    weights = [one, two, 100 - one - two]
    assert prior_at(*place_of([w / 100 for w in weights])) == weights_text(weights)


def test_of_a_huge_graph_the_nearest_answers_are_drawn():
    from tightrope.studio.pictures import graph_picture
    from tightrope.studio.work import question_facts

    found = question_facts(PageState(question="databases(20,4)"))
    assert found.json["nodes"] == 4**20
    assert len(found.drawing.nodes) == 40
    assert len(graph_picture(found.drawing)["data"][-1]["x"]) == 40


@pytest.mark.parametrize(
    ("clicked", "sql"),
    [
        (Clicked(), "SELECT COUNT(*) AS n FROM people"),
        (Clicked("sum", "age"), "SELECT SUM(age) AS sum FROM people"),
        (Clicked("most_common", "region"), "SELECT MODE(region) AS most_common FROM people"),
        (Clicked(by=("sex", "age group")),
         'SELECT sex, "age group", COUNT(*) AS n FROM people GROUP BY sex, "age group"'),
        (Clicked(by=("sex", "age group"), margins=True),
         'SELECT sex, "age group", COUNT(*) AS n FROM people GROUP BY CUBE (sex, "age group")'),
        (Clicked(margins=True), "SELECT COUNT(*) AS n FROM people"),
        (Clicked(where=("town", "=", "Land's End")),
         "SELECT COUNT(*) AS n FROM people WHERE town = 'Land''s End'"),
        (Clicked(where=("age", ">=", "-1.5")),
         "SELECT COUNT(*) AS n FROM people WHERE age >= -1.5"),
        (Clicked(where=("age", ">=", "1; drop")),
         "SELECT COUNT(*) AS n FROM people WHERE age >= '1; drop'"),
    ],
)  # fmt: skip
def test_clicks_become_sql(clicked, sql):
    assert clicked.sql("people") == sql
