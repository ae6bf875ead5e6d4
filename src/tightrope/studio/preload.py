"""What the process is prepared with that jobs are copies of.

>>> import tightrope.studio.preload
"""

import highspy  # noqa: F401
import scipy.linalg
import scipy.signal
import scipy.sparse.linalg  # noqa: F401

import tightrope.axioms
import tightrope.certify.make
import tightrope.consumers
import tightrope.optimize
import tightrope.proofs
import tightrope.report.layouts
import tightrope.studio.making  # noqa: F401
