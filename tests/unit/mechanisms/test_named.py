import pytest

from tightrope import query
from tightrope.channels.privacy import is_private
from tightrope.errors import TextError
from tightrope.mechanisms.tight import KINDS, mechanism


@pytest.mark.parametrize(
    "text",
    [
        "geometric:count(5)",
        "exponential:cycle(8)",
        "response:choice(6)",
        "ring:count(5)",
        "tight:count(5)",
    ],
)
def test_named_mechanisms_are_private(text: str) -> None:
    named = mechanism(text)
    graph = query(named.rest).graph
    assert str(named) == text
    made = KINDS[named.name](graph, "ln(2)")
    assert is_private(made, graph, "ln(2)")
    assert not is_private(made, graph, 0.6)


@pytest.mark.parametrize("text", ["", "count(5)", "laplace:count(5)", ":count(5)"])
def test_an_unknown_mechanism_is_named(text: str) -> None:
    with pytest.raises(TextError, match=r"mechanism.*exponential:QUERY"):
        mechanism(text)


@pytest.mark.parametrize("text", ["geometric", "geometric:", "geometric:  "])
def test_the_query_must_follow(text: str) -> None:
    with pytest.raises(TextError, match="expected geometric:QUERY"):
        mechanism(text)
