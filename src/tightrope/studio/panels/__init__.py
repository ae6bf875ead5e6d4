"""The panels of the page, in the order of the work.

>>> [panel.name for panel in panels(None)]
['question', 'privacy', 'readers', 'mechanism', 'proof']
"""

from __future__ import annotations

from typing import Any

from tightrope.studio.panels.mechanism import MechanismPanel
from tightrope.studio.panels.panel import Panel
from tightrope.studio.panels.privacy import PrivacyPanel
from tightrope.studio.panels.proof import ProofPanel
from tightrope.studio.panels.question import QuestionPanel
from tightrope.studio.panels.readers import ReadersPanel


def panels(page: Any) -> list[Panel]:
    """Return the panels of a page.

    >>> len(panels(None))
    5
    """
    kinds = (QuestionPanel, PrivacyPanel, ReadersPanel, MechanismPanel, ProofPanel)
    return [kind(page) for kind in kinds]
