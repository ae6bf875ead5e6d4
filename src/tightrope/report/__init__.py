"""Pictures and reports: what is drawn, the Matplotlib plots, the HTML page, texts of results.

Nothing is imported here: a command that prints one number need not load what draws.

>>> from tightrope.graphs import Cycle
>>> from tightrope.report.plots import plot_graph
>>> plot_graph(Cycle(5)).get_title()
'cycle(5): 5 answers'
"""
