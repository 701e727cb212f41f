"""The cache of generated kernels, by what is known of the arguments of a call; and what is said if making one fails."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from .expression import NeedsValue, Untraceable
from .keys import PARAMETERS, identity

__all__ = ["KernelCache", "report"]

#: Of one program with this many kernels, new values of keywords and numbers make no more: it runs as it is. Making room
#: for them instead would compile in every call of a program whose numbers keep changing.
MOST_KERNELS = 100
_BY_VALUE = object()  # in a cache: the values of numbers belong to the key, too
_NEW = object()
_reported: set[str] = set()


class KernelCache:
    """What one program comes to for different arguments; None where it has to run as it is.

    ``make(*call, by_value)`` gives what runs a call; ``check(*call)`` runs the program as it is, which raises for
    arguments that are wrong.
    """

    def __init__(self, name: str, make: Callable[..., Any], check: Callable[..., Any]) -> None:
        self._name, self._make, self._check = name, make, check
        self._found: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._found)

    def find(self, key: Any, xs: Iterable[Any], *call: Any) -> Any:
        """What runs a call: ``key`` is what is known of it, ``xs`` are the arguments some of which are numbers."""
        found = self._found
        try:
            made = found.get(key, _NEW)
        except TypeError:  # a keyword without a hash
            return None
        if made is _NEW:
            made = self._new(key, call, False)
        if made is _BY_VALUE:
            key = (key, *[identity(x) for x in xs if type(x) in PARAMETERS])
            made = found.get(key, _NEW)
            if made is _NEW:
                made = self._new(key, call, True)
        return made

    def is_by_value(self, key: Any) -> bool:
        """Whether what runs a call of this key depends on the values of its numbers."""
        return self._found.get(key) is _BY_VALUE

    def _new(self, key: Any, call: tuple[Any, ...], by_value: bool) -> Any:
        if len(self._found) >= MOST_KERNELS:
            return None
        made: Any = None
        failure: Exception | None = None
        try:
            made = self._make(*call, by_value)
        except NeedsValue:
            made = None if by_value else _BY_VALUE
        except Untraceable:
            pass
        except Exception as error:
            failure = error
        if failure is not None:
            self._check(*call)
            report(f"the kernel of {self._name}", failure)
        self._found[key] = made
        return made


def report(what: str, error: BaseException | str) -> None:
    """A kernel could not be made, and not by its nature: an error in tests, else a warning in the log, once."""
    if isinstance(error, Exception) and os.environ.get("LUCIDGRAD_STRICT"):
        raise AssertionError(f"{what} can't be made: {type(error).__name__}: {error}") from error
    if what not in _reported:
        _reported.add(what)
        import logging  # it takes its time, and is hardly ever needed

        shown = error if isinstance(error, Exception) else None
        logging.getLogger("lucidgrad").warning("%s can't be made, slower ones serve: %s", what, error, exc_info=shown)
