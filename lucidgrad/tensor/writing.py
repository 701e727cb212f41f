"""How a method becomes one that writes into the tensor itself."""

import inspect
from collections.abc import Callable
from typing import Any

from lucidgrad import inplace, ops
from lucidgrad.core import dtype as dtypes
from lucidgrad.refusals import guarded


def twin(op: Any, name: str) -> Callable[..., Any]:
    """The method that writes what another one gives into the tensor itself."""
    made = _written_back(op, name)
    primitive = getattr(op, "primitive", None)
    if primitive is not None and primitive.differentiable:
        made = _in_place(op, made)
    made.__name__, made.__qualname__ = name, name
    signature = inspect.signature(op)
    first, *others = signature.parameters.values()
    parameters = [first.replace(name="self", kind=inspect.Parameter.POSITIONAL_ONLY), *others]
    made.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    made.__doc__ = f"`{name.removesuffix('_')}`, written into the tensor itself."
    return made if primitive is not None else guarded(made)


def _in_place(op: Any, back: Callable[..., Any]) -> Callable[..., Any]:
    """The twin of a primitive; with more arguments than arrays the result is written back."""
    most = len(op.primitive.arrays) - 1

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        return back(self, *args, **keywords) if keywords or len(args) > most else inplace.update(op, self, *args)

    return method


def _written_back(op: Any, name: str) -> Callable[..., Any]:
    """The twin of a function made of others, or without a derivative: rules keep a copy of what is overwritten."""

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        y = op(ops.elementwise.copies.clone(self), *args, **keywords)
        if y.shape != self.shape:
            raise RuntimeError(
                f"{name}: the result has shape {y.shape}, which does not fit into the tensor's {self.shape}"
            )
        if dtypes.rank(y.dtype) > dtypes.rank(self.dtype):
            raise RuntimeError(
                f"{name}: a result of dtype {y.dtype} can't be written into a tensor of dtype {self.dtype}"
            )
        return self.copy_(y)

    return method
