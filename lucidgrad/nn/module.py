"""`Module`: a function with parameters, buffers and submodules."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import lucidgrad as lg
from lucidgrad.nn.hooks import everywhere, registered
from lucidgrad.nn.members import Members
from lucidgrad.nn.parameter import Buffer, Parameter
from lucidgrad.nn.state import Stateful
from lucidgrad.refusals import refuse_method

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    P = ParamSpec("P", default=...)
    R_co = TypeVar("R_co", covariant=True, default=Any)

    class Forward(Protocol[P, R_co]):
        """What is called with what its ``forward`` takes, and gives what that gives."""

        def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


__all__ = ["Module"]

#: How the names of dtypes start; other words are devices.
_DTYPES = ("bool", "int", "uint", "float", "bfloat", "complex")

KINDS = ("_parameter_names", "_buffer_names", "_module_names")


def _floating(tensor: lg.Tensor) -> bool:
    return tensor.is_floating_point()


def _no_module(owner: Any, given: Any) -> str:
    """Why something can't be a submodule, beginning with PyTorch's words, and what helps."""
    what = f"{type(given).__name__} is not a Module subclass"
    if isinstance(given, type) and issubclass(given, Module):
        return f"{what}: {given.__name__} is the class itself; make a module of it: {given.__name__}()"
    if isinstance(given, (list, tuple)) and all(isinstance(part, Module) for part in given):
        return f"{what}; unpack it: {type(owner).__name__}(*layers)"
    return f"{what}; expected a module, such as nn.ReLU() for the function relu"


class Module(Stateful):
    """The base of all layers and models: define ``__init__``, which assigns parameters and submodules, and ``forward``.

    Parameters, buffers and submodules are ordinary attributes; the module only remembers which names they have.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Scale(lg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = lg.nn.Parameter(lg.tensor(3.0))
    ...
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> scale = Scale()
    >>> scale(lg.ones(4)).sum().backward()
    >>> scale.factor.grad
    tensor(4.)
    """

    training: bool
    _instead: ClassVar[str] = "; define it in the class"  # of `forward`

    def __init__(self) -> None:
        own = self.__dict__
        own["training"] = True
        own["_parameter_names"], own["_buffer_names"], own["_module_names"] = {}, {}, {}
        own["_hooks"] = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes: every subclass defines it."""
        name = type(self).__name__
        raise NotImplementedError(f'Module [{name}] is missing the required "forward" function{self._instead}')

    def __call__(self: "Forward[P, R_co]", *args: "P.args", **kwargs: "P.kwargs") -> "R_co":
        """`forward`, with the hooks around it."""
        try:
            if self._hooks is None and not everywhere:  # type: ignore[attr-defined]
                return self.forward(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)  # type: ignore[attr-defined]
        except Exception as error:
            refuse_method(error, self, self.forward, args, kwargs)
            raise

    # -- attributes
    @property
    def _parameters(self) -> Members:
        return Members(self._parameter_names, self.__dict__)

    @property
    def _buffers(self) -> Members:
        return Members(self._buffer_names, self.__dict__)

    @property
    def _modules(self) -> Members:
        return Members(self._module_names, self.__dict__)

    def _names(self, kind: str, what: str) -> dict[str, Any]:
        found: dict[str, Any] | None = self.__dict__.get(kind)
        if found is None:
            raise AttributeError(
                f"cannot assign {what} before Module.__init__() call; begin {type(self).__name__}.__init__ with "
                f"super().__init__()"
            )
        return found

    def _add(self, kind: str, what: str, name: str, value: Any, note: Any = None) -> None:
        names = self._names(kind, f"{what}s")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in names and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        value = registered(what, self, name, value)
        names[name] = note
        self.__dict__[name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None keeps the name for one that is absent."""
        if param is not None and not isinstance(param, Parameter):
            if not isinstance(param, lg.Tensor):
                raise TypeError(
                    f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                    "(nn.Parameter or None required)"
                )
            hint = "" if param.is_leaf else "; a computed tensor can't be one"
            raise TypeError(f"cannot assign a Tensor to parameter '{name}' (nn.Parameter or None required){hint}")
        self._add("_parameter_names", "parameter", name, param)

    def register_buffer(self, name: str, tensor: lg.Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that moves and is saved with the module, but isn't trained.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> module = lg.nn.Module()
        >>> module.register_buffer("mean", lg.zeros(2))
        >>> module.state_dict()["mean"]
        tensor([0., 0.])
        """
        if tensor is not None and not isinstance(tensor, lg.Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)"
            )
        self._add("_buffer_names", "buffer", name, tensor, persistent)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a submodule."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(_no_module(self, module))
        self._add("_module_names", "module", name, module)

    def register_module(self, name: str, module: "Module | None") -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Module):
            kind, what = "_module_names", "modules"
        elif isinstance(value, Parameter):
            kind, what = "_parameter_names", "parameters"
        elif isinstance(value, Buffer):
            kind, what = "_buffer_names", "buffers"
        else:
            if "_parameter_names" in own:
                self._refuse_stranger(name, value)
                if name in self._buffer_names and value is not None:
                    value = registered("buffer", self, name, value)
            object.__setattr__(self, name, value)
            return
        names = self._names(kind, what)
        if name in names:
            own[name] = registered(what[:-1], self, name, value)
            return
        if hasattr(type(self), name):
            raise KeyError(f"attribute '{name}' already exists")
        self._forget(name)
        if kind == "_buffer_names":
            self.register_buffer(name, value, value._role.persistent)
        else:
            self._add(kind, what[:-1], name, value)

    def _refuse_stranger(self, name: str, value: Any) -> None:
        """Names of parameters and submodules take only these, or None."""
        if value is None:
            return
        for kind, what, expected in (
            ("_parameter_names", "parameter", "nn.Parameter or None expected"),
            ("_module_names", "child module", "nn.Module or None expected"),
            ("_buffer_names", "buffer", "Tensor, nn.Buffer or None expected"),
        ):
            if name in self.__dict__[kind] and not (what == "buffer" and isinstance(value, lg.Tensor)):
                raise TypeError(f"cannot assign '{type(value).__name__}' as {what} '{name}' ({expected})")

    def _forget(self, name: str) -> None:
        self.__dict__.pop(name, None)
        for kind in KINDS:
            self.__dict__[kind].pop(name, None)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        for kind in KINDS:
            self.__dict__[kind].pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes; a shallow copy remembers names of its own."""
        state = self.__dict__.copy()
        for kind in KINDS:
            if kind in state:
                state[kind] = dict(state[kind])
        return state

    # -- the tree
    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """The submodules with their names; one that has several only once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator["Module"]:
        """The submodules."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set["Module"] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        """This module and all its descendants with their full names.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> model = lg.nn.Sequential(lg.nn.Identity(), lg.nn.Sequential(lg.nn.Identity()))
        >>> [name for name, module in model.named_modules()]
        ['', '0', '1', '1.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator["Module"]:
        """This module and all its descendants."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def _named_members(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            own = module.__dict__
            for name in own[kind]:
                value = own[name]
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their full names; one that is shared only once.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> [(name, p.shape) for name, p in lg.nn.Sequential(lg.nn.Linear(2, 3)).named_parameters()]
        [('0.weight', (3, 2)), ('0.bias', (3,))]
        """
        return self._named_members("_parameter_names", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, which an optimiser takes."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, lg.Tensor]]:
        """The buffers with their full names."""
        return self._named_members("_buffer_names", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[lg.Tensor]:
        """The buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> "Module":
        """The descendant with a full name, as in ``"encoder.layers.0"``."""
        found: Module = self
        for part in target.split(".") if target else ():
            if not hasattr(found, part):
                raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
            found = getattr(found, part)
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Put a module in the place with a full name; with ``strict`` there must be one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"given {type(module).__name__}, expected an nn.Module")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str, kind: str, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module.__dict__[kind]:
            raise AttributeError(f"`{name}` is not {what}")
        return getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a full name."""
        return self._get_member(target, "_parameter_names", "an nn.Parameter")

    def get_buffer(self, target: str) -> lg.Tensor:
        """The buffer with a full name."""
        found: lg.Tensor = self._get_member(target, "_buffer_names", "a buffer")
        return found

    def apply(self, fn: Callable[["Module"], None]) -> Self:
        """Call a function on every descendant, then on this module: to initialise, for instance."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- modes
    def compile(self, **options: Any) -> None:
        """Let `forward` run as a program from now on: `lucidgrad.compile`, with its options, in place.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> layer = lg.nn.Linear(2, 1)
        >>> layer.compile()
        >>> layer(lg.ones(3, 2)).shape
        (3, 1)
        """
        self.__dict__["forward"] = lg.compile(self.forward, **options)

    def train(self, mode: bool = True) -> Self:
        """Set training mode for this module and its descendants."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.__dict__["training"] = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for gradients of all parameters, or stop asking."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for parameter in self.parameters():
            parameter.zero_grad(set_to_none)

    # -- conversion
    def _apply(self, fn: Callable[[lg.Tensor], lg.Tensor], recurse: bool = True) -> Self:
        """Replace the values of all parameters, gradients and buffers; the parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        own = self.__dict__
        with lg.no_grad():
            for name in self._parameter_names:
                parameter = own[name]
                if parameter is not None:
                    gradient = None if parameter.grad is None else fn(parameter.grad).detach()
                    parameter.data = fn(parameter)
                    parameter.grad = gradient
            for name in self._buffer_names:
                if own[name] is not None:
                    made = fn(own[name])
                    if isinstance(own[name], Buffer) and not isinstance(made, Buffer):
                        made = Buffer(made)
                    own[name] = made
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device and convert floating-point values to a dtype, in place.

        ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``, or with ``device=`` and ``dtype=``.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.nn.Linear(2, 1).to("float64").weight.dtype
        dtype('float64')
        """
        device, dtype, non_blocking = _destination(args, kwargs)

        def convert(tensor: lg.Tensor) -> lg.Tensor:
            convertible = _floating(tensor) or tensor.is_complex()
            return tensor.to(device=device, dtype=dtype if convertible else None, non_blocking=non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying the values."""
        return self._apply(lambda t: lg.empty_like(t, device=t.device if device is None else device), recurse)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def _to_floating(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype=dtype) if _floating(t) else t)

    def float(self) -> Self:
        """Convert floating-point values to float32."""
        return self._to_floating("float32")

    def double(self) -> Self:
        """Convert floating-point values to float64."""
        return self._to_floating("float64")

    def half(self) -> Self:
        """Convert floating-point values to float16."""
        return self._to_floating("float16")

    def bfloat16(self) -> Self:
        """Convert floating-point values to bfloat16."""
        return self._to_floating("bfloat16")

    def type(self, dst_type: Any) -> Self:
        """Convert all values to a dtype."""
        return self._apply(lambda t: t.to(dtype=dst_type))

    # -- showing
    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What the representation says beside the submodules: defined by a subclass."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        inner = lines + children
        if not inner:
            return f"{self._get_name()}()"
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(inner) + "\n)"

    def _repr_html_(self) -> str:
        """What notebooks show: the submodules, which can be folded, and how many parameters each has."""
        from lucidgrad.notebook import tree

        return tree(self)


def _destination(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
    """The device, the dtype and whether not to wait, of the arguments of `Module.to`."""
    unknown = set(kwargs) - {"device", "dtype", "tensor", "non_blocking", "copy", "memory_format"}
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument {min(unknown)!r}")
    device, dtype, non_blocking = kwargs.get("device"), kwargs.get("dtype"), kwargs.get("non_blocking", False)
    for arg in (*args, *([kwargs["tensor"]] if "tensor" in kwargs else [])):
        if isinstance(arg, lg.Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, bool):
            non_blocking = arg
        elif isinstance(arg, int):
            device = f"cuda:{arg}"
        elif isinstance(arg, lg.device) or (isinstance(arg, str) and not arg.startswith(_DTYPES)):
            device = arg
        elif arg is not None:
            dtype = arg
    if dtype is not None:
        probe = lg.empty(0, dtype=dtype)
        if not (_floating(probe) or probe.is_complex()):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={probe.dtype}"
            )
    return device, dtype, non_blocking
