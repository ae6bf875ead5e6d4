r"""Consumers: those who use the answer [C, §2.3].

A *Bayesian* consumer has a prior :math:`\pi` and a loss :math:`\ell`, and minimises
:math:`\sum_i \pi_i \sum_k X_{ik}\,\ell(i,k)`. A *risk-averse* consumer knows a set S of possible
answers, and minimises :math:`\max_{i \in S} \sum_k X_{ik}\,\ell(i,k)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightrope.arrays import LIMITS, Ints
from tightrope.consumers.losses import Loss, MatrixLoss, loss as read_loss
from tightrope.consumers.numerals import comma_parts, find_answer
from tightrope.consumers.priors import Prior, prior as read_prior
from tightrope.errors import InputError, TextError, TooLarge, blamed
from tightrope.files import FilePath, is_json, read_json, read_rows
from tightrope.graphs import AnswerGraph
from tightrope.graphs.base import frozen

_FIELDS = ("name", "prior", "support", "loss")


class Consumer:
    """A user of the answer: a loss, and either a prior or a set of possible answers.

    Texts such as ``"binomial(.3)"`` need the answer graph: :meth:`of`.

    Parameters
    ----------
    prior
        For a Bayesian consumer: a :class:`Prior`, or its probabilities.
    support
        For a risk-averse consumer: the nodes of the possible answers; ``range(n)`` for all.
    loss
        A :class:`Loss`, or its matrix.
    name
        What the consumer is called in tables.

    Examples
    --------
    >>> Consumer(prior=Prior.uniform(3), loss=Loss.binary(3))
    <Bayesian consumer: UniformPrior over 3 answers, binary loss>
    >>> Consumer(support=[2, 0], loss=Loss.binary(3))
    <risk-averse consumer: 2 of 3 answers, binary loss>
    """

    def __init__(
        self,
        *,
        loss: Loss | ArrayLike,
        prior: Prior | ArrayLike | Iterable[Any] | None = None,
        support: Iterable[int] | None = None,
        name: str = "",
    ) -> None:
        self.loss = loss if isinstance(loss, Loss) else _matrix(loss)
        self.name = name
        # A range of all answers is not listed: there may be more than fit.
        everything = range(self.loss.size)
        self.all_answers = isinstance(support, range) and support == everything
        self._support = None
        if support is not None and not self.all_answers:
            self._support = _check_support(support, self.loss.size)
            self.all_answers = len(self._support) == self.loss.size
        self._prior = None
        if prior is not None:
            self._prior = prior if isinstance(prior, Prior) else Prior(prior)
        # Two kinds of consumer, two criteria: an expectation or a worst case, never both.
        if (prior is None) == (support is None):
            got = "neither" if prior is None else "both"
            raise InputError(f"a consumer has either a prior or a support, got {got}")
        if self._prior is not None and self._prior.size != self.loss.size:
            raise InputError(
                f"prior and loss must be over the same answers, got {self._prior.size} "
                f"probabilities and {self.loss.size} rows of losses"
            )

    @property
    def risk_averse(self) -> bool:
        """Whether the worst possible answer counts, rather than the expectation."""
        return self._prior is None

    @property
    def prior(self) -> Prior:
        """The prior of a Bayesian consumer; a risk-averse one has none."""
        if self._prior is None:
            raise InputError(
                "a risk-averse consumer has no prior: judge a mechanism for it with worst_loss, or "
                "give a Bayesian consumer"
            )
        return self._prior

    @property
    def support(self) -> Ints:
        """The answers held possible: S, or those that the prior gives a probability."""
        if self._support is None and self._prior is None:
            if self.loss.size > LIMITS.row:
                raise TooLarge(
                    f"a list of possible answers has at most {LIMITS.row}, got {self.loss.size}"
                )
            self._support = frozen(np.arange(self.loss.size))
        return self._support if self._support is not None else self.prior.support

    @classmethod
    def of(
        cls,
        graph: AnswerGraph,
        *,
        prior: Any = None,
        support: Any = None,
        loss: Any = "binary",
        name: str = "",
        folder: FilePath = ".",
    ) -> Consumer:
        """Return a consumer of a query's answers; texts are read with the answer graph.

        Parameters
        ----------
        graph
            The answer graph.
        prior
            Anything that :func:`~tightrope.consumers.prior` reads; uniform by default.
        support
            Anything that :func:`~tightrope.consumers.support` reads; then the consumer is
            risk-averse, and no prior may be given.
        loss
            Anything that :func:`~tightrope.consumers.loss` reads.
        name
            What the consumer is called.
        folder
            Where relative files are looked for.

        Examples
        --------
        >>> from tightrope.graphs import PathPower
        >>> Consumer.of(PathPower(6), prior="binomial(.3)", loss="absolute")
        <Bayesian consumer: Prior over 6 answers, absolute loss>
        >>> Consumer.of(PathPower(6), support="2..4").support.tolist()
        [2, 3, 4]
        """
        cost = read_loss(loss, graph, folder=folder)
        if support is None:
            belief = "uniform" if prior is None else prior
            known = read_prior(belief, graph, folder=folder)
            return cls(prior=known, loss=cost, name=name)
        if prior is not None:
            raise InputError("a consumer has either a prior or a support, got both")
        return cls(support=_read_support(support, graph), loss=cost, name=name)

    def __repr__(self) -> str:
        if self._prior is None:
            possible = self.loss.size if self.all_answers else len(self.support)
            kind = "risk-averse"
            known = f"{possible} of {self.loss.size} answers"
        else:
            kind = "Bayesian"
            known = f"{type(self.prior).__name__} over {self.prior.size} answers"
        name = f" {self.name}" if self.name else ""
        return f"<{kind} consumer{name}: {known}, {self.loss.name} loss>"


def _matrix(value: Any) -> Loss:
    if isinstance(value, str) or callable(value):
        raise InputError(
            f"the loss {str(value)[:40]!r} needs the answer graph: "
            "use Consumer.of(graph, loss=…) or loss(…, graph)"
        )
    return MatrixLoss(value)


def _check_support(support: Iterable[int], size: int) -> Ints:
    nodes = list(support) if isinstance(support, Iterable) else [support]
    if not nodes:
        raise InputError("a support needs at least one possible answer, got none")
    for node in nodes:
        # bool is an int in Python; True is no node.
        is_whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
        if not is_whole or not 0 <= node < size:
            raise InputError(f"a support holds nodes 0 … {size - 1}, got {node!r}")
    distinct = np.unique(np.array(nodes, dtype=np.int64))
    if len(distinct) < len(nodes):
        twice, count = Counter(map(int, nodes)).most_common(1)[0]
        raise InputError(f"a support names each answer once, got {twice} {count} times")
    return frozen(distinct)


def support(value: Any, graph: AnswerGraph) -> Sequence[int]:
    """Return the nodes of the possible answers of a risk-averse consumer.

    Parameters
    ----------
    value
        ``"all"``, answers and ranges of answers such as ``"0,3,5..8"`` (ends included, in node
        order), or an iterable of answers. A tuple answer is written ``(2,0)``.
    graph
        The answer graph.

    Examples
    --------
    >>> from tightrope.graphs import PathPower
    >>> support("0,3..5", PathPower(8)), support([7], PathPower(8))
    ([0, 3, 4, 5], [7])
    """
    if isinstance(value, str):
        if value.strip() == "all":
            return range(graph.size)
        return [
            node
            for start, part in comma_parts(value)
            for node in _span(start, part, value, graph)
        ]
    if not isinstance(value, Iterable):
        raise InputError(
            f"a support must be a text or a list of answers, got {value!r}"
        )
    return [find_answer(graph, label) for label in value]


_read_support = support


def _span(start: int, part: str, text: str, graph: AnswerGraph) -> range:
    """Return the nodes of one answer or of one range of answers."""
    place = start + len(part) - len(part.lstrip())
    if not part.strip():
        raise TextError("expected an answer", text, start)
    first, dots, last = part.partition("..")
    try:
        low = find_answer(graph, first.strip())
        high = find_answer(graph, last.strip()) if dots else low
    except InputError as wrong:
        raise TextError(f"{wrong},", text, place) from None
    # Ends are answers in node order: a falling range would be empty without notice.
    if high < low:
        raise TextError("expected a range that rises", text, place)
    return range(low, high + 1)


def read_consumers(path: FilePath, graph: AnswerGraph) -> tuple[Consumer, ...]:
    r"""Return the consumers that a file lists: one mechanism may have to serve many.

    Parameters
    ----------
    path
        JSON (by the ending ``.json``): a list of objects with ``loss`` (binary by default), and
        ``prior`` (uniform by default) or ``support``, and optionally ``name``. Otherwise CSV
        whose header has some of these words; an empty field is as if it were not there. Each
        value is written as :meth:`Consumer.of` reads it; ``file:FILE`` starts from the folder
        of the list.
    graph
        The answer graph.

    Examples
    --------
    >>> import tempfile
    >>> from tightrope.graphs import PathPower
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("name,prior,support,loss\nmayor,binomial(.3),,absolute\n")
    ...     _ = file.write("press,,0..2,binary\n"), file.flush()
    ...     read_consumers(file.name, PathPower(6))
    (<Bayesian consumer mayor: Prior over 6 answers, absolute loss>,
     <risk-averse consumer press: 3 of 6 answers, binary loss>)
    """
    listed = _from_json(path) if is_json(path) else _from_csv(path)
    if not listed:
        raise InputError(f"{path} must list at least one consumer, got none")
    consumers: dict[str, Consumer] = {}
    for number, fields in enumerate(listed, start=1):
        name = str(fields.pop("name", "") or f"consumer {number}")
        if name in consumers:
            raise InputError(
                f"{path} must give each consumer its own name, got {name!r} again"
            )
        with blamed(f"{path}, {name}"):
            unknown = sorted(map(str, fields.keys() - set(_FIELDS)))
            if unknown:
                raise InputError(
                    f"a consumer has {', '.join(_FIELDS)}, got {unknown[0][:40]!r}"
                )
            consumers[name] = Consumer.of(
                graph, **fields, name=name, folder=Path(path).parent
            )
    return tuple(consumers.values())


def _from_json(path: FilePath) -> list[dict[str, Any]]:
    data = read_json(path)
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise InputError(f"{path} must hold a list of objects, one for each consumer")
    return [
        {key: value for key, value in item.items() if value is not None}
        for item in data
    ]


def _from_csv(path: FilePath) -> list[dict[str, Any]]:
    (_, header), *rows = read_rows(path)
    header = [word.lower() for word in header]
    if not set(header) <= set(_FIELDS) or len(set(header)) < len(header):
        raise InputError(
            f"{path} must start with a header of {', '.join(_FIELDS)}, "
            f"got {','.join(header)[:60]!r}"
        )
    return [
        {word: value for word, value in zip(header, fields, strict=True) if value}
        for _, fields in rows
    ]
