"""Ask: from SQL, public facts and ε to published numbers with their error, in one step.

>>> from tightrope.asking import planning
>>> planning.usual_error("sum(100,5)", "change-one", 1)
15
"""

from tightrope.asking.answers import Answer as Answer
from tightrope.asking.planning import (
    Plan as Plan,
    ask as ask,
    ask_all as ask_all,
    plan as plan,
)
