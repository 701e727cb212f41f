"""`Tensor`: an array of any back end with its place on the tape."""

import weakref
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex

from lucidgrad import ops, printing
from lucidgrad.core import device as devices, dispatch, dtype
from lucidgrad.core.box import INFERENCE, Box
from lucidgrad.core.device import Device, copying, located
from lucidgrad.core.dispatch import bound, box, floats, node_of
from lucidgrad.core.dtype import known as known_dtypes
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.items import meta_of
from lucidgrad.core.modes import leave, state, unusual
from lucidgrad.core.tape import GraphNode, Handle, Leaf, edge_of, version
from lucidgrad.extents import Size
from lucidgrad.inplace import assign
from lucidgrad.keys import is_array, is_batched_mask, is_static, parted, parts_of, raw_key
from lucidgrad.levels.dual import without_tangents
from lucidgrad.levels.layer import Layer
from lucidgrad.refusals import describe, guard_methods, refuse_method

from .deferred import Further
from .inplace import InPlace
from .math import Mathematics
from .operators import Operators
from .shape import Shaping


class TensorType(type):
    """The class of tensors is not called: functions make them. Inside, `blank` does, which costs less than a check."""

    def __call__(self, *args: Any, **kwds: Any) -> Any:
        """Refuse, but for subclasses."""
        if self is not Tensor:
            return super().__call__(*args, **kwds)
        given = ", ".join(describe(value) for value in (*args, *kwds.values())) or "nothing"
        raise TypeError(
            f"Tensor: given {given}, but this class is not called; lg.tensor(data) makes a tensor of numbers, lists or "
            f"arrays, lg.zeros(*sizes) or lg.empty(*sizes) one of a shape"
        )


class Tensor(Box, Operators, Mathematics, Shaping, InPlace, Further, metaclass=TensorType):
    """A multi-dimensional array that records what is done with it.

    Make one with `lucidgrad.tensor`, `lucidgrad.asarray` or the creation functions. Attributes and operators
    are those of the Array API standard, methods those of PyTorch.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ()

    # -- what it is
    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.array.shape)

    @property
    def size(self) -> Size:
        """The number of elements; ``x.size(0)`` is the length of one axis."""
        return Size(tuple(self.array.shape))

    @property
    def dtype(self) -> Any:
        """The dtype, one of NumPy's dtype objects on every device."""
        return devices.by_array[type(self.array)].dtype_of(self.array)

    @property
    def device(self) -> Device:
        """Where the array lives."""
        return devices.by_array[type(self.array)].device_of(self.array)

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.itemsize * self.size

    @property
    def T(self) -> "Tensor":
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ValueError(f"x.T is for two dimensions, this tensor has {self.ndim}; use x.mT or permute_dims")
        return self.mT

    @property
    def mT(self) -> "Tensor":
        """With the last two axes swapped."""
        if self.ndim < 2:
            raise ValueError(f"x.mT swaps the last two axes, this tensor has {self.ndim}")
        return tape_namespace.matrix_transpose(self)

    @property
    def mH(self) -> "Tensor":
        """The conjugate transposes of matrices."""
        return tape_namespace.public.adjoint(self)

    @property
    def H(self) -> "Tensor":
        """The conjugate transpose of a matrix."""
        if self.ndim not in (0, 2):
            raise RuntimeError(f"x.H is for a matrix, this tensor has {self.ndim} dimensions; use x.mH")
        return self.mH if self.ndim else self.conj()

    # -- its place on the tape
    @property
    def requires_grad(self) -> bool:
        """Whether gradients with respect to this tensor are wanted."""
        return node_of(self) is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Ask for gradients with respect to this leaf, or stop asking.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.ones(2).requires_grad_()
        >>> x.requires_grad
        True
        """
        if type(requires_grad) is not bool and str(getattr(requires_grad, "dtype", "")) != "bool":
            raise TypeError(f"requires_grad: given a {type(requires_grad).__name__}, expected a bool")
        node = self._node if self._alias is None else node_of(self)
        if node is None:
            if not requires_grad:
                return self
            if self.array.dtype not in floats:
                raise RuntimeError(
                    f"only Tensors of floating point and complex dtype can require gradients, this one has "
                    f"{self.dtype}; give dtype=lg.float32, or write 1.0 instead of 1"
                )
            if self._alias is INFERENCE and not state.fresh:
                raise RuntimeError("an inference tensor can't require gradients outside inference mode; clone it first")
            self._node = Leaf(self)
        elif not requires_grad:
            if type(node) is not Leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf tensors: this one was computed; use detach()"
                )
            self._node = None
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether nothing was computed to get here: no gradient, or a place where gradients end."""
        node = node_of(self)
        return node is None or type(node) is Leaf

    @property
    def grad_fn(self) -> GraphNode | None:
        """The node that made this tensor; None for leaves."""
        node = node_of(self)
        if node is None or type(node) is Leaf:
            return None
        node.more().meta = meta_of(self.array)  # an edge made from it knows its shape
        return edge_of(node)[0]

    @property
    def output_nr(self) -> int:
        """Which output of ``grad_fn`` this tensor is."""
        node = node_of(self)
        return 0 if node is None else edge_of(node)[1]

    @property
    def grad(self) -> "Tensor | None":
        """The gradient that `backward` accumulated; None before."""
        return getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"grad: given {type(value).__name__}, expected a Tensor or None")
            if value is self:
                raise RuntimeError("a tensor can't be its own gradient")
            if (value.shape, value.dtype, value.device) != (self.shape, self.dtype, self.device):
                raise RuntimeError(
                    f"grad: given shape {value.shape}, {value.dtype} on {value.device}, expected the tensor's own "
                    f"{self.shape}, {self.dtype} on {self.device}"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the accumulated gradient, or fill it with zeros.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.ones(2, requires_grad=True)
        >>> (x * 3).sum().backward()
        >>> x.zero_grad()
        >>> x.grad is None
        True
        """
        if set_to_none or self.grad is None:
            self._grad = None
        else:
            if self._grad._node is not None:
                self._grad = self._grad.detach()
            with tape_namespace.public.no_grad():
                self._grad.zero_()

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Accumulate the gradients of this tensor into ``.grad`` of the leaves; see `lucidgrad.autograd.backward`.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
        >>> (x**2).sum().backward()
        >>> x.grad
        tensor([2., 4.])
        """
        tape_namespace.public.autograd.backward(self, gradient, retain_graph, create_graph, inputs)

    def retain_grad(self) -> None:
        """Keep the gradient of this interior tensor in ``.grad``, too.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.ones(2, requires_grad=True)
        >>> y = x * 3
        >>> y.retain_grad()
        >>> (y * y).sum().backward()
        >>> y.grad
        tensor([6., 6.])
        """
        if _keeps_gradient(self, self._node):  # also of a view that is stale: its history is left as it is
            return
        node = node_of(self)
        if node is None:
            raise RuntimeError("can't retain_grad on a Tensor that has requires_grad=False")
        if type(node) is not Leaf:
            node.more().retain = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether this interior tensor keeps its gradient in ``.grad``."""
        return _keeps_gradient(self, self._node) or _keeps_gradient(self, node_of(self))

    def register_hook(self, hook: Callable[["Tensor"], "Tensor | None"]) -> Handle:
        """Call ``hook(gradient)`` when the gradient of this tensor is complete; it may return another one.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.ones(2, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.register_hook(lambda g: g * 10)
        >>> y.sum().backward()
        >>> x.grad
        tensor([30., 30.])
        """
        node = node_of(self)
        if node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return node.more().add("tensor", hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[["Tensor"], None]) -> Handle:
        """Call ``hook(tensor)`` after `backward` has written this leaf's ``.grad``.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.ones(2, requires_grad=True)
        >>> seen = []
        >>> handle = x.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad.tolist()))
        >>> (x * 3).sum().backward()
        >>> seen
        [[3.0, 3.0]]
        """
        node = node_of(self)
        if node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if type(node) is not Leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return node.more().add("accumulated", hook)

    def detach(self) -> "Tensor":
        """The same memory, outside the graph and without tangents.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> x = lg.ones(2, requires_grad=True)
        >>> lg.detach(x * 2).requires_grad
        False
        """
        made: Tensor = box(self.array if not isinstance(self.array, Layer) else without_tangents(self.array))
        if self._alias is INFERENCE:
            made._alias = INFERENCE
        if copying:
            bound["track_copy"](self, made, "detach", {})
        return leave("detach", self, made) if unusual else made

    def detach_(self) -> "Tensor":
        """Leave the graph.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> y = lg.ones(2, requires_grad=True) * 2
        >>> y.detach_().requires_grad
        False
        """
        if self._alias is not None and self._alias is not INFERENCE:
            raise RuntimeError("detach_: a view can't be detached in place; use detach()")
        leave("detach_", self, self)._node = None
        return self

    @property
    def data(self) -> "Tensor":
        """The same as `detach`."""
        return self.detach()

    @data.setter
    def data(self, value: "Tensor") -> None:
        self.array = value.array
        leave("detach", value, self)

    @property
    def _version(self) -> int:
        return version(self.array)

    def is_inference(self) -> bool:
        """Whether it was made in inference mode.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.is_inference(lg.ones(2))
        False
        """
        return self._alias is INFERENCE

    # -- elsewhere
    def to(
        self,
        *args: Any,
        device: Any = None,
        dtype: Any = None,
        copy: bool = False,
        non_blocking: bool = False,
        other: Any = None,
        memory_format: Any = None,
    ) -> "Tensor":
        """This tensor on another device or of another dtype, or both as another tensor; itself if it is that already.

        By position come the device, the dtype or the other tensor, then ``non_blocking`` and ``copy``. The elements lie
        in memory as they are, whatever ``memory_format`` says.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.tensor([1, 2]).to(lg.float32)
        tensor([1., 2.])
        """
        try:
            flags = 0
            for arg in args if other is None else (other, *args):
                if isinstance(arg, Tensor):
                    device, dtype = arg.device, arg.dtype
                elif type(arg) is str and arg == "bfloat16":  # which is no dtype until it is asked for
                    dtype = tape_namespace.public.bfloat16
                elif isinstance(arg, Device) or (isinstance(arg, str) and arg not in known_dtypes()):
                    device = arg
                elif isinstance(arg, bool):
                    non_blocking, copy, flags = (non_blocking, arg, 2) if flags else (arg, copy, 1)
                elif type(arg) is int:  # of CUDA
                    device = Device("cuda", arg)
                elif arg is not None:
                    dtype = arg
            out = self
            if dtype is not None and dtype != out.dtype:
                out = tape_namespace.astype(out, dtype)
            if device is not None:
                where = located(device)
                if out.device != where:
                    out = tape_namespace.transfer(out, device=str(where), non_blocking=non_blocking)
            return out.clone() if copy and out is self else out
        except Exception as error:
            refuse_method(error, self, self.to, args, {"device": device, "dtype": dtype, "copy": copy})
            raise

    def to_device(self, device: Any, /, *, stream: Any = None) -> "Tensor":
        """The standard's spelling of ``to``.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2).to_device("cpu").device
        device('cpu')
        """
        return self.to(device)

    def cpu(self, memory_format: Any = None) -> "Tensor":
        """On the CPU.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2).cpu().device
        device('cpu')
        """
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> "Tensor":
        """On a CUDA device: the current one, or that of an index or a name."""
        where = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        return self.to(where, non_blocking=non_blocking)

    @property
    def is_cpu(self) -> bool:
        """Whether it is on the CPU."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a CUDA device."""
        return self.device.type == "cuda"

    def pin_memory(self, device: Any = None) -> "Tensor":
        """A copy in page-locked memory, which a GPU reads without a stop on the way; itself if it is there.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> if lg.cuda.is_available():
        ...     assert lg.ones(2).pin_memory().is_pinned()
        """
        if self.is_pinned():
            return self
        return box(devices.backend_named("cuda").pinned(self.numpy()))

    def is_pinned(self, device: Any = None) -> bool:
        """Whether it is in page-locked memory.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2).is_pinned()
        False
        """
        return devices.is_loaded("cuda") and devices.backend_named("cuda").is_pinned(self.array)

    def record_stream(self, stream: Any) -> None:
        """Say that a stream uses this memory, too: it is not given to anything else before that is done.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> if lg.cuda.is_available():
        ...     x, side = lg.ones(2, device="cuda"), lg.cuda.Stream()
        ...     x.record_stream(side)
        """
        devices.by_array[type(self.array)].record_stream(self.array, stream)

    def item(self) -> Any:
        """The only element as a Python number.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.tensor([2.5]).item()
        2.5
        """
        if self.size != 1:
            raise ValueError(f"item: a tensor with {int(self.size)} elements can't become a number; it must have one")
        return self._host().item()

    def tolist(self) -> Any:
        """The values as nested Python lists.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.ones(2, 2).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
        """
        return self._host().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The values as a NumPy array: shared memory on the CPU; ``force`` detaches and copies where needed.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> type(lg.ones(2).numpy()).__name__
        'ndarray'
        """
        if not force:
            if self.requires_grad:
                raise RuntimeError(
                    "numpy: the tensor requires grad, and NumPy would leave the tape; use x.detach().numpy()"
                )
            if self.device != "cpu":
                raise TypeError(f"numpy: the tensor is on {self.device}; use x.cpu().numpy() or x.numpy(force=True)")
        return self._host()

    def _host(self) -> Any:
        return leave("host", self, devices.by_array[type(self.array)].to_numpy(self.array))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.requires_grad:
            raise RuntimeError(
                "numpy: the tensor requires grad, and NumPy would leave the tape; use x.detach().numpy(), or the "
                "function of that name in lucidgrad.numpy, which keeps the history"
            )
        host = self.numpy()
        if dtype is not None and host.dtype != dtype:
            return host.astype(dtype)
        return host.copy() if copy else host

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        if self.requires_grad:
            raise BufferError("can't export a tensor that requires grad; use x.detach()")
        backend, array = devices.by_array[type(self.array)], self.array
        stays = dl_device is None or tuple(dl_device) == tuple(self.__dlpack_device__())
        if copy is False and not stays:
            raise BufferError(f"__dlpack__: the tensor is on {self.device}; to leave it needs a copy, given copy=False")
        if copy and stays:
            array, copy = backend.copy(array), None
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        with backend.at(array):
            return array.__dlpack__(**{name: value for name, value in options.items() if value is not None})

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self.array.__cuda_array_interface__  # arrays on the CPU have none
        if self.requires_grad:
            raise RuntimeError("can't export a tensor that requires grad; use x.detach()")
        return found

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version is None:
            return tape_namespace.public
        return tape_namespace.public.inspection.namespace(api_version)

    def __complex__(self) -> complex:
        return complex(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                f"the truth value of a tensor with {int(self.size)} elements is ambiguous; use .any() or .all()"
            )
        return bool(self.item())

    def __index__(self) -> int:
        value = self.item()
        if not isinstance(value, int):
            raise TypeError(f"only integer tensors can be an index, this one has dtype {self.dtype}")
        return int(value)

    # -- parts
    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator["Tensor"]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(tape_namespace.unstack(self))

    def __contains__(self, value: Any) -> bool:
        return bool(tape_namespace.any(tape_namespace.equal(self, value)).item())

    def __getitem__(self, key: Any) -> "Tensor":
        if is_static(key):
            return tape_namespace.index(self, key=key)
        key, at = parted(raw_key(key, self.array), self.array.shape)
        if at is None:
            return tape_namespace.index(self, key=key)
        return tape_namespace.pick(self, box(at), key=key)

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            raw = key if is_static(key) else raw_key(key, self.array)
            arrays = raw is not key and any(map(is_array, parts_of(raw)))
            if arrays and any(map(is_batched_mask, parts_of(raw))):
                ops.indexing.scattering.write_masked(self, raw, value)
                return
            sizes = tuple(getattr(value, "shape", ()))
            if sizes[:1] == (1,) or len(sizes) > self.ndim:  # as PyTorch: leading axes of length one may be too many
                fits = self.detach()[key].shape
                while len(value.shape) > len(fits):
                    if value.shape[0] != 1:
                        raise ValueError(f"__setitem__: given a value of shape {sizes}, expected one that fits {fits}")
                    value = value[0]
            assign(self, raw, value, parted if arrays else None)
        except Exception as error:
            refuse_method(error, self, self.__setitem__, (key, value), {})
            raise

    # -- showing and keeping
    def __repr__(self) -> str:
        backend = devices.by_array[type(self.array)]
        notes = [] if self.size or self.ndim < 2 else [f"size={self.shape}"]
        if self.dtype not in (dtype.get_default_dtype(), dtype.named("int64"), dtype.named("bool")):
            notes.append(f"dtype={self.dtype}")
        if self.device != "cpu":
            notes.append(f"device={str(self.device)!r}")
        if self.grad_fn is not None:
            notes.append(f"grad_fn={self.grad_fn!r}")
        elif self.requires_grad:
            notes.append("requires_grad=True")
        shown = f"tensor({', '.join([backend.format(self.array, **printing.options), *notes])})"
        role = getattr(self, "_role", None)
        return shown if role is None else f"{role.__name__} containing:\n{shown}"

    def _repr_html_(self) -> str:
        """What notebooks show: shape, dtype and device above what the representation says."""
        from lucidgrad.notebook import preformatted

        return preformatted(f"{self.dtype} {self.shape} on {self.device}", repr(self))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else str(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return _rebuild, (self._host(), str(self.device), self.requires_grad, getattr(self, "_role", None))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tensor":
        if not self.is_leaf:
            raise RuntimeError("only leaf tensors can be deep-copied; detach() or clone() this one")
        made: Tensor = box(devices.by_array[type(self.array)].copy(self.array))
        memo[id(self)] = made
        if self.requires_grad:
            made.requires_grad_()
        role = getattr(self, "_role", None)
        if role is not None:  # as PyTorch's parameters, a copy starts without a gradient
            made._role = role
        elif self.grad is not None:
            made._grad = self.grad.__deepcopy__(memo) if self.grad.is_leaf else self.grad.detach().clone()
        return made

    def __hash__(self) -> int:
        return id(self)


def _rebuild(values: Any, where: str, requires_grad: bool, role: type | None = None) -> Tensor:
    made: Tensor = box(devices.backend_named(where).from_numpy(values, where))
    if role is not None:
        made._role = role
    return made if requires_grad is False else made.requires_grad_(requires_grad)


guard_methods(Tensor, {*vars(Tensor)} - {"record_stream", "zero_grad"})


def _keeps_gradient(x: Tensor, node: Any) -> bool:
    """Whether a tensor's gradient is kept where it arrives at a node."""
    if node is None or type(node) is Leaf or node.extras is None or node.extras.retain is None:
        return False
    return node.extras.retain() is x


dispatch.bound["Tensor"] = Tensor
dispatch.bound["blank"] = type.__call__.__get__(Tensor)  # without a frame
