"""Settings that every test shares."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

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

# Every step of a ledger is forced to the disk, which takes some milliseconds; a test kills
# processes, never the machine, so folders in memory do as well.
MEMORY = Path("/dev/shm")
#: Far more than the tests of a whole run leave.
ROOM = 4 << 30
if (
    "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free > ROOM
):
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # asked for again

# Mechanisms that tests design are kept away from the user's own.
if "TIGHTROPE_CACHE" not in os.environ:
    shelf = tempfile.mkdtemp(prefix="tightrope-shelf-")
    os.environ["TIGHTROPE_CACHE"] = shelf
    atexit.register(shutil.rmtree, shelf, ignore_errors=True)
