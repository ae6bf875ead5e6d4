"""Mechanism files taken apart and put together again, with a digest that fits."""

import numpy as np

from tightrope.certify.make import encode


def unpack(made):
    """Return the header and the sections of a mechanism, to be changed."""
    header = {name: value for name, value in made.header.items() if name != "sections"}
    file, nodes = made._file, made.shape[0]
    return header, {name: np.concatenate(list(file.pieces(name, nodes))) for name in file.places}


def forged(made, header=(), **sections):
    """Return the bytes of a mechanism with fields and sections changed; ``None`` drops one."""
    told, arrays = unpack(made)
    kept = {name: array for name, array in (arrays | sections).items() if array is not None}
    return encode(told | dict(header), kept, made.shape[0])
