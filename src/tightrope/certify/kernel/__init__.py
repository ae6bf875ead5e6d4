"""The trusted kernel of the judge: what a sceptic reads.

``format`` reads the bytes, ``exponentials`` bounds exp(ε), ``graphs`` derives the answers and
their neighbours, ``weights`` checks rows and privacy, ``consumer`` adds up the loss, ``duals``
checks dual multipliers, and ``verdict`` puts this together. It needs Python and NumPy and no
other room.
"""
