"""The studio: a local page to design, compare, prove and release in a browser.

The page reads fields, calls one library function for each thing it shows, and draws the result.
"""
