"""Pictures and reports. Matplotlib is loaded by the functions that draw.

Every plot is a function ``plot_x(subject, ax=None, …)`` that returns its axes. The names are
loaded on first use.

>>> from tightrope.graphs import Cycle
>>> from tightrope.report import plot_graph
>>> plot_graph(Cycle(5)).get_title()
'cycle(5): 5 answers'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tightrope.report.curves import plot_database_bound, plot_leakage, plot_utility
    from tightrope.report.files import save_plot
    from tightrope.report.graphs import plot_graph
    from tightrope.report.heat import plot_channel
    from tightrope.report.page import html_report
    from tightrope.report.paper_figures import draw_figures
    from tightrope.report.privacy_bounds import plot_bounds
    from tightrope.report.regrets import plot_regret
    from tightrope.report.simplex import plot_region
    from tightrope.report.tight_edges import plot_column_graph

_PUBLIC = {
    "draw_figures": "paper_figures",
    "html_report": "page",
    "plot_bounds": "privacy_bounds",
    "plot_channel": "heat",
    "plot_column_graph": "tight_edges",
    "plot_database_bound": "curves",
    "plot_graph": "graphs",
    "plot_leakage": "curves",
    "plot_region": "simplex",
    "plot_regret": "regrets",
    "plot_utility": "curves",
    "save_plot": "files",
}

__all__ = [
    "draw_figures",
    "html_report",
    "plot_bounds",
    "plot_channel",
    "plot_column_graph",
    "plot_database_bound",
    "plot_graph",
    "plot_leakage",
    "plot_region",
    "plot_regret",
    "plot_utility",
    "save_plot",
]


def __getattr__(name: str) -> Any:
    """Load a public name the first time it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tightrope.report' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tightrope.report.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value
