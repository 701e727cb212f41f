"""Tensors that belong to a module: parameters, which are trained, and buffers, which are not."""

from typing import Any

import lucidgrad as lg

__all__ = ["Buffer", "Parameter"]


class _Role(type(lg.Tensor)):  # type: ignore[misc]
    """The class of classes whose instances are plain tensors with a mark.

    A tensor of a subclass would leave the fast path of the compiled operators, so a parameter's type is Tensor.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        role = getattr(instance, "_role", None) if isinstance(instance, lg.Tensor) else None
        return role is not None and issubclass(role, cls)


def _marked(role: type, data: Any, requires_grad: bool) -> Any:
    if data is None:
        data = lg.empty(0)
    elif not isinstance(data, lg.Tensor):
        data = lg.asarray(data)
    made = data.detach()
    made._role = role
    return made if requires_grad is False else made.requires_grad_(requires_grad)


class Parameter(lg.Tensor, metaclass=_Role):
    """A tensor that is trained: a module it is assigned to lists it in ``parameters()``.

    It shares the memory of ``data``. Its type is Tensor, so that it is as fast as one; ``isinstance(p, Parameter)``
    tells it from others.

    Parameters
    ----------
    data : Tensor
        The values.
    requires_grad : bool
        Whether gradients are wanted.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.Parameter(lg.ones(2))
    >>> (3 * w).sum().backward()
    >>> w.grad
    tensor([3., 3.])
    >>> isinstance(w, lg.nn.Parameter), isinstance(w * 1, lg.nn.Parameter)
    (True, False)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> "Parameter":  # noqa: D102
        return _marked(cls, data, requires_grad)


class Buffer(lg.Tensor, metaclass=_Role):
    """A tensor that a module keeps without training it: assigned to a module, it becomes one of its buffers.

    Parameters
    ----------
    data : Tensor
        The values.
    persistent : bool
        Whether it is part of the module's ``state_dict``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> module = lg.nn.Module()
    >>> module.steps = lg.nn.Buffer(lg.zeros(1))
    >>> dict(module.named_buffers())
    {'steps': Buffer containing:
    tensor([0.])}
    """

    __slots__ = ()
    persistent = True

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> "Buffer":  # noqa: D102
        return _marked(cls if persistent else _Passing.Buffer, data, requires_grad=False)


class _Passing:
    """Where the class of buffers that are not part of the state has its name from."""

    class Buffer(Buffer):
        __slots__ = ()
        persistent = False
