"""The functions of the edge: one folder each, `handler.py` with `handler(event, context)` and what only it needs."""
