r"""Consumers: the people who read the answer [C, §2.3].

A *Bayesian* consumer has a prior :math:`\pi` and a loss :math:`\ell`, and minimises
:math:`\sum_i \pi_i \sum_k X_{ik}\,\ell(i,k)`. A *risk-averse* consumer knows a set S of possible
answers, and minimises :math:`\max_{i \in S} \sum_k X_{ik}\,\ell(i,k)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.consumers.losses import Loss, MatrixLoss
from tightrope.consumers.priors import DensePrior, Prior
from tightrope.errors import InputError
from tightrope.graphs import AnswerGraph


class Consumer:
    """Somebody who reads the answer: ``Consumer(prior=…, loss=…)`` or ``(support=…, loss=…)``.

    With a prior it is :class:`Bayesian`, with a support :class:`RiskAverse`. Texts such as
    ``"binomial(.3)"`` need the answer graph: :meth:`of`.

    Attributes
    ----------
    loss
        The loss.
    name
        What the consumer is called in tables.

    Examples
    --------
    >>> Consumer(prior=Prior.uniform(3), loss=Loss.binary(3))
    <Bayesian: UniformPrior over 3 answers, binary loss>
    >>> Consumer(support=[0, 2], loss=Loss.binary(3))
    <RiskAverse: 2 of 3 answers, binary loss>
    """

    loss: Loss
    name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Consumer:
        """Choose the kind by the words given: ``prior`` or ``support``."""
        if cls is not Consumer:
            return super().__new__(cls)
        if args or ("prior" in kwargs) == ("support" in kwargs) or "loss" not in kwargs:
            raise InputError(
                "a consumer needs a loss and either a prior or a support: "
                "Consumer(prior=…, loss=…) or Consumer(support=…, loss=…)"
            )
        return super().__new__(Bayesian if "prior" in kwargs else RiskAverse)

    @staticmethod
    def of(
        graph: AnswerGraph,
        *,
        prior: Any = None,
        support: Any = None,
        loss: Any = "binary",
        name: str = "",
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

        Examples
        --------
        >>> from tightrope.graphs import PathPower
        >>> Consumer.of(PathPower(6), prior="binomial(.3)", loss="absolute")
        <Bayesian: DensePrior over 6 answers, absolute loss>
        >>> Consumer.of(PathPower(6), support="2..4").support.tolist()
        [2, 3, 4]
        """
        from tightrope.consumers.loss_text import loss as read_loss
        from tightrope.consumers.prior_text import prior as read_prior
        from tightrope.consumers.support_text import support as read_support

        found = read_loss(loss, graph)
        if support is None:
            known = read_prior("uniform" if prior is None else prior, graph)
            return Bayesian(known, found, name=name)
        if prior is not None:
            raise InputError("a consumer has a prior or a support, got both")
        return RiskAverse(read_support(support, graph), found, name=name)

    def __repr__(self) -> str:
        kind = type(self).__name__ + (f" {self.name}" if self.name else "")
        return f"<{kind}: {self._knowledge()}, {self.loss.name} loss>"

    def _knowledge(self) -> str:
        raise NotImplementedError


class Bayesian(Consumer):
    """A consumer with a prior over the answers.

    Parameters
    ----------
    prior
        A :class:`Prior`, or its probabilities.
    loss
        A :class:`Loss`, or its matrix.
    name
        What the consumer is called.

    Examples
    --------
    >>> Bayesian([0.5, 0.25, 0.25], [[0, 1], [1, 0], [1, 0]]).loss.guess_count
    2
    """

    def __init__(self, prior: Any, loss: Any, *, name: str = "") -> None:
        self.prior = prior if isinstance(prior, Prior) else DensePrior(prior)
        self.loss = _loss(loss)
        self.name = name
        if self.prior.size != self.loss.size:
            raise InputError(
                f"prior and loss must be over the same answers, got {self.prior.size} "
                f"probabilities and {self.loss.size} rows of losses"
            )

    def _knowledge(self) -> str:
        return f"{type(self.prior).__name__} over {self.prior.size} answers"


class RiskAverse(Consumer):
    """A consumer who knows which answers are possible, and fears the worst of them.

    Parameters
    ----------
    support
        The nodes of the possible answers.
    loss
        A :class:`Loss`, or its matrix.
    name
        What the consumer is called.

    Examples
    --------
    >>> RiskAverse([4, 2], Loss.binary(6)).support.tolist()
    [2, 4]
    """

    def __init__(self, support: Iterable[int], loss: Any, *, name: str = "") -> None:
        self.loss = _loss(loss)
        self.support = _check_support(support, self.loss.size)
        self.name = name

    def _knowledge(self) -> str:
        return f"{len(self.support)} of {self.loss.size} answers"


def _loss(value: Any) -> Loss:
    if isinstance(value, Loss):
        return value
    if isinstance(value, str) or callable(value):
        raise InputError(
            f"the loss {str(value)[:40]!r} needs the answer graph: "
            "use Consumer.of(graph, loss=…) or loss(…, graph)"
        )
    return MatrixLoss(value)


def _check_support(support: Iterable[int], size: int) -> NDArray[np.int64]:
    nodes = list(support) if isinstance(support, Iterable) else [support]
    if not nodes:
        raise InputError("a support needs at least one possible answer, got none")
    for node in nodes:
        whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
        if not whole or not 0 <= node < size:
            raise InputError(f"a support holds nodes 0 … {size - 1}, got {node!r}")
    out = np.unique(np.array(nodes, dtype=np.int64))
    if len(out) < len(nodes):
        twice, count = Counter(map(int, nodes)).most_common(1)[0]
        raise InputError(f"a support names each answer once, got {twice} {count} times")
    out.flags.writeable = False
    return out
