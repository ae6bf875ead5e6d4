"""What the interface tests share: running one command in this process."""

import json
from typing import NamedTuple

import pytest

from tightrope.cli import main


class Run(NamedTuple):
    """What one command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self):
        assert self.code == 0, self.err
        assert self.out.count("\n") == 1
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    def call(*words):
        code = main(list(words))
        out, err = capsys.readouterr()
        return Run(code, out, err)

    return call
