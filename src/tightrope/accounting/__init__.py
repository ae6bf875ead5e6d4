"""What several releases cost together: trade-off curves, privacy losses, most powerful tests.

>>> from tightrope.accounting import optimal_composition
>>> f"{float(optimal_composition([('0.1', 100)]).epsilon('1e-6')):.9f}"
'4.774567588'
"""

from tightrope.accounting.curves import TradeOff as TradeOff, worst_curve as worst_curve
from tightrope.accounting.losses import (
    PrivacyLoss as PrivacyLoss,
    longest_series as longest_series,
    optimal_composition as optimal_composition,
)
from tightrope.accounting.powerful import (
    most_powerful_test as most_powerful_test,
    partition_selection as partition_selection,
)
