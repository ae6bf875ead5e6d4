"""The neighbour relation."""

import pytest

from tightrope.errors import InputError
from tightrope.queries import Neighbours


def test_what_each_relation_allows() -> None:
    allowed = {near.value: (near.allows_change, near.allows_absent) for near in Neighbours}
    assert allowed == {
        "change-one": (True, False),
        "add-remove": (False, True),
        "either": (True, True),
    }


@pytest.mark.parametrize("name", ["CHANGE-ONE", "", None, 3])
def test_other_names_are_refused(name: object) -> None:
    with pytest.raises(InputError, match="neighbours must be"):
        Neighbours.of(name)  # type: ignore[arg-type]
