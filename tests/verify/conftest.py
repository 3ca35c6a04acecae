"""The stand-in for the engine answers questions; what it stands beside is a stand-in, too."""

from tests.standin.conftest import stand_in_for_transformers

__all__ = ["stand_in_for_transformers"]
