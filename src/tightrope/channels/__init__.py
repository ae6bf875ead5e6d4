"""Channels: from true answers to reported outputs.

>>> from tightrope.channels import Channel
>>> Channel([[0.75, 0.25], [0.25, 0.75]]).column(0).tolist()
[0.75, 0.25]
"""

from tightrope.channels.base import Channel, DenseChannel

__all__ = ["Channel", "DenseChannel"]
