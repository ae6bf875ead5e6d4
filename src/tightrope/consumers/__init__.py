"""Consumers: what those who use an answer know, and what a wrong guess costs them.

>>> from tightrope.consumers import Consumer
>>> from tightrope.graphs import PathPower
>>> Consumer.of(PathPower(6), prior="binomial(.3)", loss="absolute").prior.maximum
0.36015...
"""

from tightrope.consumers.consumer import (
    Consumer as Consumer,
    read_consumers as read_consumers,
    support as support,
)
from tightrope.consumers.evaluate import (
    best_remap as best_remap,
    expected_loss as expected_loss,
    utility as utility,
)
from tightrope.consumers.losses import (
    Loss as Loss,
    MatrixLoss as MatrixLoss,
    is_monotone as is_monotone,
    loss as loss,
)
from tightrope.consumers.priors import (
    Prior as Prior,
    ProductPrior as ProductPrior,
    prior as prior,
)
from tightrope.consumers.regular import (
    Regularity as Regularity,
    regular_levels as regular_levels,
    regularity as regularity,
)
