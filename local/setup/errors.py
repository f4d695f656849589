"""The one error that setup ends with."""


class SetupError(Exception):
    """Its text is one line: what cannot be done, why, and what to do next."""
