"""Settings that every test shares."""

import os
import tempfile

from hypothesis import HealthCheck, settings

# The same examples on every machine and no time limit for one example: a test that fails on a
# loaded machine, or only today, teaches people to run it again. `HYPOTHESIS_PROFILE=search`
# looks at many more, different each time.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", settings.get_profile("repeatable"), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Mechanisms that tests design are kept away from the user's own.
os.environ.setdefault("TIGHTROPE_CACHE", tempfile.mkdtemp(prefix="tightrope-shelf-"))
