"""``python -m tightrope`` is the same as ``tightrope``."""

import sys

from tightrope.cli import main

if __name__ == "__main__":
    sys.exit(main())
