"""The studio: a local page to design, compare, prove and release in a browser.

The page reads fields, calls one library function for each thing it shows, and draws the result.

>>> from tightrope.studio import State
>>> State(question="cycle(5)").epsilon
'ln(2)'
"""

from tightrope.studio.state import History, Reader, State, decode, encode

__all__ = ["History", "Reader", "State", "decode", "encode"]
