"""Tensors that belong to a module: parameters, which are trained, and buffers, which are not.

Those whose shape is not known yet have no array until they are materialised.
"""

from typing import Any, Self

import lucidgrad as lg
from lucidgrad.tensor import TensorType

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "factory_kwargs",
    "is_lazy",
]


class _Role(TensorType):
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


# -- without a shape -----------------------------------------------------------------------------
_ARRAY: Any = lg.Tensor.array  # type: ignore[misc]


class UninitializedTensorMixin(lg.Tensor, metaclass=_Role):
    """A tensor whose shape is not known yet: it has a dtype and a device, and no array that could be used.

    Until it is materialised it is an instance of its own class, not of Tensor's; then it becomes what it stands for,
    and stays the same object.
    """

    __slots__ = ()
    cls_to_become: type

    @property
    def array(self) -> Any:
        """Not there yet: everything that computes asks for it."""
        raise ValueError(
            f"given an {type(self).__name__}, expected a tensor with values: its shape is not known yet; call the "
            f"module on an example first, or materialize() it"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before accessing their attributes."
        )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of a shape; it holds anything."""
        device, dtype = self.device if device is None else device, self.dtype if dtype is None else dtype
        _become(self, lg.Tensor, type(self).cls_to_become, lg.empty(shape, device=device, dtype=dtype))

    # -- what is known: dtype, device, and whether gradients are wanted
    def _placeholder(self) -> lg.Tensor:
        made = lg.empty(0)
        made.array = _ARRAY.__get__(self)
        return made

    @property
    def dtype(self) -> Any:
        """The dtype it will have."""
        return self._placeholder().dtype

    @property
    def device(self) -> Any:
        """Where it will be."""
        return self._placeholder().device

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real floating-point one."""
        return self._placeholder().is_floating_point()

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self._placeholder().is_complex()

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """One of another dtype or for another device."""
        made = self._placeholder().to(*args, **kwargs)
        if (made.dtype, made.device) == (self.dtype, self.device):
            return self
        return type(self)(self.requires_grad, device=made.device, dtype=made.dtype)  # type: ignore[call-arg]

    @property
    def data(self) -> lg.Tensor:
        """Itself: there are no values."""
        return self

    @data.setter
    def data(self, value: Any) -> None:
        _ARRAY.__set__(self, value._placeholder().array)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for gradients, or stop asking."""
        kind = type(self)
        self.__class__ = lg.Tensor  # type: ignore[assignment]
        try:
            lg.Tensor.requires_grad_(self, requires_grad)
        finally:
            self.__class__ = kind
        return self

    def __repr__(self) -> str:
        return f"<Uninitialized{type(self).cls_to_become.__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, str(self.device), str(self.dtype))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = type(self)(self.requires_grad, device=self.device, dtype=self.dtype)  # type: ignore[call-arg]
        return made


def _become(tensor: Any, kind: type, role: type, values: lg.Tensor) -> None:
    """Let a tensor change its class, its role and its values."""
    tensor.__class__, tensor._role = kind, role
    _ARRAY.__set__(tensor, values.array)


def uninitialise(tensor: Any, kind: type) -> None:
    """Undo `UninitializedTensorMixin.materialize`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.parameter import UninitializedParameter, uninitialise
    >>> w = UninitializedParameter()
    >>> w.materialize((2, 3))
    >>> uninitialise(w, UninitializedParameter)
    >>> w
    <UninitializedParameter>
    """
    _become(tensor, kind, kind, lg.empty(0, device=tensor.device, dtype=tensor.dtype))


def is_lazy(param: Any) -> bool:
    """Whether something is a parameter or buffer without a shape.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.parameter import is_lazy
    >>> is_lazy(lg.nn.LazyLinear(2).weight), is_lazy(lg.nn.Linear(3, 2).weight)
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet.

    Its dtype and device may be changed; nothing can be computed with it before `materialize`.

    Parameters
    ----------
    requires_grad : bool
        Whether gradients are wanted.
    device, dtype
        What it is to have.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.UninitializedParameter(dtype="float64")
    >>> w
    <UninitializedParameter>
    >>> w.materialize((2, 3))
    >>> w.shape, w.dtype, isinstance(w, lg.nn.UninitializedParameter), isinstance(w, lg.nn.Parameter)
    ((2, 3), dtype('float64'), False, True)
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:  # noqa: D102
        made: Any = _marked(cls, lg.empty(0, device=device, dtype=dtype), requires_grad)
        made.__class__ = cls
        return made


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet; see `UninitializedParameter`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> mean = lg.nn.UninitializedBuffer()
    >>> mean.materialize(3)
    >>> mean.shape
    (3,)
    """

    __slots__ = ()
    cls_to_become = Buffer

    def __new__(  # noqa: D102
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        role = cls if persistent else _PassingUninitializedBuffer
        made: Any = _marked(role, lg.empty(0, device=device, dtype=dtype), requires_grad)
        made.__class__ = role
        return made


class _PassingUninitializedBuffer(UninitializedBuffer):
    __slots__ = ()
    persistent = False
    cls_to_become = _Passing.Buffer


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments ``device`` and ``dtype`` among those of a module, for functions that make tensors.

    They may also be given together as ``factory_kwargs``; others are refused.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.factory_kwargs({"dtype": "float64", "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': 'float64'}
    """
    given = dict(kwargs or {})
    made = dict(given.pop("factory_kwargs", {}))
    unknown = given.keys() - {"device", "dtype"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    for name, value in given.items():
        if name in made:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        made[name] = value
    return made
