"""What a new contract changes, how much that matters, and what it would cost to redo."""

from leanops.core.compatibility.comparison import compared
from leanops.core.compatibility.report import Change, Comparison, Level, Rebuild

__all__ = ["Change", "Comparison", "Level", "Rebuild", "compared"]
