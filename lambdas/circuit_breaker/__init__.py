"""Stops a topic whose messages fail, tries a batch after a while, and lets it go on once that passes."""
