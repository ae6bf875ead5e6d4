"""Pictures and reports. Matplotlib is loaded by the functions that draw.

>>> from tightrope.report import plot_graph
"""

from tightrope.report.files import save_plot
from tightrope.report.graphs import plot_graph

__all__ = ["plot_graph", "save_plot"]
