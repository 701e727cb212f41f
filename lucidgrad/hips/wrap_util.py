"""Operators on functions of one argument, made into operators on functions of several."""

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["unary_to_nary"]


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """Let ``operator(function of x, x)`` take a function of several arguments, and the number of the one that is meant.

    The result is ``operator(function, argnum=0)``, which gives a function of all arguments. ``argnum`` may be a tuple
    or a list of numbers: then ``x`` is the tuple of those arguments.

    Examples
    --------
    >>> from lucidgrad.hips.wrap_util import unary_to_nary
    >>> @unary_to_nary
    ... def doubled(function, x):
    ...     return function(2 * x)
    >>> doubled(lambda a, b: a - b, argnum=1)(10, 3)
    4
    """

    @functools.wraps(unary_operator)
    def nary_operator(fun: Callable[..., Any], argnum: Any = 0, *more: Any, **options: Any) -> Callable[..., Any]:
        if not callable(fun):
            raise TypeError(f"{unary_operator.__name__}: given a {type(fun).__name__}, expected a function")
        several = isinstance(argnum, (tuple, list))
        numbers = tuple(argnum) if several else (argnum,)
        for n in numbers:
            if not isinstance(n, int):
                raise TypeError(
                    f"{unary_operator.__name__}: argnum is {argnum!r}, expected the number of an argument, or several"
                )

        def of_all(*args: Any, **kwargs: Any) -> Any:
            if any(not -len(args) <= n < len(args) for n in numbers):
                raise TypeError(
                    f"{unary_operator.__name__}: argnum is {argnum!r}, the function was given {len(args)} arguments"
                )

            def of_chosen(x: Any) -> Any:
                given = list(args)
                for n, value in zip(numbers, x if several else (x,), strict=True):
                    given[n] = value
                return fun(*given, **kwargs)

            chosen = tuple(args[n] for n in numbers)
            return unary_operator(of_chosen, chosen if several else chosen[0], *more, **options)

        of_all.__name__ = f"{unary_operator.__name__}_of_{getattr(fun, '__name__', 'function')}_wrt_argnum_{argnum}"
        of_all.__doc__ = f"{unary_operator.__name__} of {getattr(fun, '__name__', 'a function')}, argument {argnum}."
        return of_all

    return nary_operator
