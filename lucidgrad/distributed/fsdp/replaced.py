"""Parameters that were replaced by shards: whoever still has one is told so when it is used."""

from typing import Any

import lucidgrad as lg

_ARRAY: Any = lg.Tensor.array  # type: ignore[misc]


def _refuse() -> Any:
    raise RuntimeError(
        "given a parameter that fully_shard has replaced by its shard: whoever uses it, such as an optimiser, was made "
        "before; make it after fully_shard, of the module's parameters()"
    )


class ReplacedParameter(lg.Tensor):
    """A parameter that is no longer one: it has neither values nor a gradient.

    An optimiser that was made too early would find no gradients, and silently do nothing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.distributed.fsdp.replaced import replace
    >>> w = lg.nn.Parameter(lg.ones(2))
    >>> optimiser = lg.optim.SGD([w], lr=0.1)
    >>> replace(w)
    >>> optimiser.step()
    Traceback (most recent call last):
        ...
    RuntimeError: given a parameter that fully_shard has replaced by its shard: ...
    """

    __slots__ = ()

    array: Any = property(lambda self: _refuse(), lambda self, value: _refuse())
    grad: Any = property(lambda self: _refuse(), lambda self, value: _refuse())
    data: Any = property(lambda self: _refuse(), lambda self, value: _refuse())
    shape: Any = property(lambda self: _refuse())
    is_leaf: Any = property(lambda self: _refuse())

    def __repr__(self) -> str:
        return "<a parameter that fully_shard has replaced>"


def replace(parameter: Any) -> None:
    """Take the values of a parameter, and let it refuse all use."""
    nothing = lg.empty(0).array
    parameter.requires_grad_(False)
    _ARRAY.__set__(parameter, nothing)
    parameter.__class__ = ReplacedParameter
