"""The class of arrays that are being differentiated, where programs import it from."""

from ..boxes import ArrayBox

__all__ = ["ArrayBox"]
