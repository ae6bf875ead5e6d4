"""Consumers: what those who use an answer know, and what a wrong guess costs them.

>>> from tightrope.consumers import Consumer
>>> from tightrope.graphs import PathPower
>>> Consumer.of(PathPower(6), prior="binomial(.3)", loss="absolute").prior.maximum
0.36015...
"""

from tightrope.consumers.consumer import Consumer, read_consumers, support
from tightrope.consumers.evaluate import (
    Remap,
    WorstLoss,
    best_remap,
    expected_loss,
    utility,
    worst_loss,
)
from tightrope.consumers.losses import (
    BinaryLoss,
    CoordinateLoss,
    DistanceLoss,
    Loss,
    MatrixLoss,
    Monotone,
    is_monotone,
    loss,
)
from tightrope.consumers.priors import Prior, ProductPrior, UniformPrior, prior
from tightrope.consumers.regular import (
    Regularity,
    any_prior_bound,
    corner_prior,
    entry_bounds,
    ratio_bound,
    regular_levels,
    regularity,
)

__all__ = [
    "BinaryLoss",
    "Consumer",
    "CoordinateLoss",
    "DistanceLoss",
    "Loss",
    "MatrixLoss",
    "Monotone",
    "Prior",
    "ProductPrior",
    "Regularity",
    "Remap",
    "UniformPrior",
    "WorstLoss",
    "any_prior_bound",
    "best_remap",
    "corner_prior",
    "entry_bounds",
    "expected_loss",
    "is_monotone",
    "loss",
    "prior",
    "ratio_bound",
    "read_consumers",
    "regular_levels",
    "regularity",
    "support",
    "utility",
    "worst_loss",
]
