"""Python's containers, which may hold what is being differentiated, and questions that look into boxes.

Lists, tuples and dictionaries of boxes are Python's own, so these names are, too.
"""

import builtins as _python
from typing import Any

from .boxes import getval

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

dict, list, tuple = _python.dict, _python.list, _python.tuple


def isinstance(x: Any, kinds: Any) -> bool:
    """Whether a value, or that in a box, is of a type."""
    return _python.isinstance(x, kinds) or _python.isinstance(getval(x), kinds)


def type(x: Any) -> Any:
    """The type of a value, or of that in a box."""
    return _python.type(getval(x))
