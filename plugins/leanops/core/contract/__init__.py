"""The topic's contract: what its schema.json says, loaded and checked as a whole."""

from leanops.core.contract.loading import load, loaded
from leanops.core.contract.model import Column, Contract

__all__ = ["Column", "Contract", "load", "loaded"]
