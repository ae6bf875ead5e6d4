"""The four papers: every claim that can be computed, and its reproduction.

>>> from tightrope.papers import all_claims
>>> [claim.row().computed for claim in all_claims("B") if claim.result == "Thm 15, bits"]
['99.0312 bits']
"""

from tightrope.papers.claims import Claim, Found, Row
from tightrope.papers.rows import PAPERS, all_claims, reproduce

__all__ = ["PAPERS", "Claim", "Found", "Row", "all_claims", "reproduce"]
