"""Mechanism files taken apart and put together again, with a digest that fits."""

import numpy as np

from tightrope.certify.make import encode


def nodes_of(made):
    """Return how many numbers a column of weights has; 1 where none are listed."""
    return 1 if made.kind in ("lattice", "scores", "tuples") else made.shape[0]


def unpack(made):
    """Return the header and the sections of a mechanism, to be changed."""
    file = made._file
    header = {
        name: value for name, value in file.raw_header.items() if name != "sections"
    }
    nodes = nodes_of(made)
    return header, {
        name: np.concatenate(list(file.pieces(name, nodes))) for name in file.places
    }


def forged(made, header=(), **sections):
    """Return the bytes of a mechanism with fields and sections changed; ``None`` drops one."""
    told, arrays = unpack(made)
    kept = {
        name: array for name, array in (arrays | sections).items() if array is not None
    }
    return encode(told | dict(header), kept, nodes_of(made))
