"""The reader of ``name(args)`` texts; what is particular to a kind of text is tested there."""

import pytest
from hypothesis import given, strategies as st

from tightrope.errors import InputError, TextError
from tightrope.texts import read_call, read_list

FORMS = ["uniform", "binomial(p)", "product(p,…)", "file:FILE"]


@pytest.mark.parametrize(
    ("text", "written", "args"),
    [
        ("uniform", "uniform", ()),
        (" uniform ( ) ", "uniform()", ()),
        ("product(.3, 1/2,+1e-4)", "product(.3,1/2,+1e-4)", (".3", "1/2", "+1e-4")),
        ("file : a(b).csv", "file:a(b).csv", ()),
    ],
)
def test_names_and_arguments(text: str, written: str, args: tuple[str, ...]) -> None:
    call = read_call(text, "prior", FORMS)
    assert (str(call), call.args) == (written, args)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, r"expected the name of a prior, such as binomial\(p\),"),
        ("unifrom", 0, "unknown prior 'unifrom' .*did you mean 'uniform'"),
        ("cubic", 0, r"unknown prior 'cubic' \(known: uniform, binomial\(p\), product"),
        ("binomial(x)", 9, r"expected a number such as .3 or 1/3 in binomial\(p\)"),
        ("binomial(1/0)", 9, "divide by zero"),
        ("binomial(1" + "0" * 400 + ")", 9, "expected a number"),
        ("binomial(1", 10, r"expected ',' or '\)'"),
        ("uniform.", 7, r"expected '\(' or the end"),
        ("uniform()x", 9, "expected the end"),
        ("file", 4, "expected file:FILE"),
        ("file: ", 6, "expected file:FILE, with the name of a file"),
    ],
)
def test_errors_point_at_the_character(text: str, position: int, message: str) -> None:
    with pytest.raises(TextError, match=message) as found:
        read_call(text, "prior", FORMS)
    assert found.value.position == position


def test_a_list_without_brackets_ends_with_the_text() -> None:
    assert read_list(" 1/3 ,2 ") == ([("1/3", 1), ("2", 6)], 8)
    with pytest.raises(TextError, match="expected ',' or the end"):
        read_list("1;2")


@given(st.text(alphabet="uniformproduct(),0123456789 :/.e-\n", max_size=20))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        call = read_call(text, "prior", FORMS, longest=15)
    except InputError as refused:
        found = str(refused)
    else:
        found = str(call).replace("\n", " ")
        assert read_call(str(call), "prior", FORMS).args == call.args
    assert "\n" not in found
