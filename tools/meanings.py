"""What stands in the stubs where the code's own annotations say ``Any``, or nothing.

Arrays are of a library that the code does not know, so that its annotations are loose, and errors are made of them.
The public names are stricter: a parameter's name says what it takes, and what differs from that is listed by function.
"""

#: What a parameter takes, by name; one that is missing here takes an array or a number.
PARAMETERS = {
    "arrays_and_dtypes": "ArrayLike | DTypeLike",
    "as_tuple": "bool",
    "axes": "Sequence[int]",
    "axis": "Axes",
    "buffer": "bytearray | bytes | memoryview",
    "copy": "bool",
    "correction": "float",
    "data": "Data",
    "decimals": "int",
    "destination": "int | Sequence[int]",
    "device": "DeviceLike | None",
    "diagonal": "int",
    "dim": "Axes",
    "dims": "Sequence[int]",
    "generator": "Generator",
    "implicit": "object",
    "layout": "object",
    "memory_format": "object",
    "sparse_grad": "object",
    "dtype": "DTypeLike | None",
    "from_": "Array | DTypeLike",
    "high": "int",
    "indices_or_sections": "int | Sequence[int]",
    "inputs": "Tensor | GradientEdge | Iterable[Tensor | GradientEdge]",
    "keepdim": "bool",
    "keepdims": "bool",
    "kind": "DTypeLike | tuple[DTypeLike, ...]",
    "left": "float",
    "obj": "Data",
    "offset": "int",
    "optimize": "bool | str | Sequence[object]",
    "ord": "float | str",
    "pad_width": "int | Sequence[int] | Sequence[Sequence[int]]",
    "q": "ArrayLike | Sequence[float]",
    "range": "tuple[float, float]",
    "repeats": "int | Sequence[int] | Array",
    "repetitions": "Shape",
    "rounding_mode": 'Literal["floor", "trunc"]',
    "right": "float",
    "shape": "Shape",
    "shapes": "Shape",
    "shift": "int | Sequence[int]",
    "side": 'Literal["left", "right"]',
    "size": "Shape",
    "sizes": "Shape",
    "split_size": "int | Sequence[int]",
    "state": "dict[str, object]",
    "stream": "object",
    "to": "DTypeLike",
    "type": "Array | DTypeLike",
    "type1": "DTypeLike",
    "type2": "DTypeLike",
}

#: The same where a function means something else by a name.
EXCEPTIONS = {
    "Tensor.argmax.dim": "int | None",
    "Tensor.random_.from_": "int",
    "frombuffer.dtype": "DTypeLike",
    "histogramdd.bins": "int | Sequence[int] | Sequence[Array]",
    "histogramdd.range": "Sequence[float] | Sequence[tuple[float, float]]",
    "is_tensor.obj": "object",
    "searchsorted.out_int32": "bool",
    "searchsorted.right": "bool",
    "Tensor.argmin.dim": "int | None",
    "Tensor.cumprod.dim": "int | None",
    "Tensor.cumsum.dim": "int | None",
    "Tensor.cuda.device": "DeviceLike | int | None",
    **{
        f"{name}{end}": "int | Sequence[int] | Tensor"
        for name in ("dsplit", "hsplit", "vsplit", "tensor_split", "Tensor.dsplit", "Tensor.hsplit", "Tensor.vsplit")
        for end in (".indices_or_sections", ".sections")
    },
    **dict.fromkeys(
        ["split_with_sizes.split_sizes", "Tensor.split_with_sizes.split_sizes"], "int | Sequence[int] | Tensor"
    ),
    "Tensor.moveaxis.source": "int | Sequence[int]",
    "Tensor.movedim.source": "int | Sequence[int]",
    "Tensor.norm.p": "float | str",
    "Tensor.permute.dims": "int | Sequence[int]",
    "Tensor.repeat.repeats": "int | Sequence[int]",
    "Tensor.to_device.device": "DeviceLike",
    "Tensor.__contains__.value": "ArrayLike",
    "Tensor.__getitem__.key": "Key",
    "Tensor.__setitem__.key": "Key",
    "Tensor.__array__.dtype": "DTypeLike | None",
    "Tensor.__dlpack__.dl_device": "tuple[int, int] | None",
    "Tensor.__dlpack__.max_version": "tuple[int, int] | None",
    "Tensor.__dlpack__.stream": "object",
    "Tensor.__deepcopy__.memo": "dict[int, object]",
    "autograd.backward.grad_tensors": "ArrayLike | Sequence[ArrayLike | None] | None",
    "autograd.explain.grad_outputs": "ArrayLike | Sequence[ArrayLike | None] | None",
    "autograd.grad.grad_outputs": "ArrayLike | Sequence[ArrayLike | None] | None",
    "autograd.gradcheck.inputs": "Tensor | Sequence[object]",
    "autograd.gradgradcheck.inputs": "Tensor | Sequence[object]",
    "digitize.bins": "ArrayLike | Sequence[float]",
    "from_dlpack.x": "SupportsDLPack",
    "from_numpy.array": "np.ndarray[Any, Any] | np.generic",
    "fft.fftfreq.dtype": "DTypeLike | None",
    "histogram.bins": "ArrayLike | Sequence[float]",
    "isdtype.dtype": "DTypeLike",
    "linalg.cond.p": "float | str",
    "export.args": "Sequence[object]",
    "export.fn": "Callable[..., object]",
    "export.kwargs": "Mapping[str, object]",
    "export.path": "str | os.PathLike[str] | IO[bytes]",
    "import_program.path": "str | os.PathLike[str] | IO[bytes]",
    "load.map_location": "DeviceLike | Mapping[str, DeviceLike]",
    "load.path": "str | os.PathLike[str] | IO[bytes]",
    "moveaxis.source": "int | Sequence[int]",
    "movedim.source": "int | Sequence[int]",
    "nn.functional.grouped_mm.out_dtype": "DTypeLike | None",
    "norm.p": "float | str",
    "save.obj": "object",
    "save.path": "str | os.PathLike[str] | IO[bytes]",
    "set_default_dtype.dtype": "DTypeLike",
    "tensordot.axes": "int | Sequence[int] | Sequence[Sequence[int]]",
    "tensordot.dims": "int | Sequence[int] | Sequence[Sequence[int]]",
    "linalg.tensordot.axes": "int | Sequence[int] | Sequence[Sequence[int]]",
    "linalg.tensordot.dims": "int | Sequence[int] | Sequence[Sequence[int]]",
    "transpose.axes": "Sequence[int]",
}

#: What a function gives, if that is neither a tensor nor said by its annotation.
RESULTS = {
    **{
        f"nn.functional.{kind}max_pool{n}d_with_indices": "tuple[Tensor, Tensor]"
        for n in (1, 2, 3)
        for kind in ("", "adaptive_", "fractional_")
        if (kind, n) != ("fractional_", 1)
    },
    "Tensor.__array__": "np.ndarray[Any, Any]",
    "Tensor.__array_namespace__": "ModuleType",
    "Tensor.__contains__": "bool",
    "Tensor.__cuda_array_interface__": "dict[str, Any]",
    "Tensor.__dlpack__": "CapsuleType",
    "Tensor.__dlpack_device__": "tuple[int, int]",
    "Tensor.__reduce_ex__": "tuple[Any, ...]",
    "Tensor.array": "Any",
    "Tensor.chunk": "tuple[Tensor, ...]",
    "Tensor.dim": "int",
    "Tensor.dtype": "DType",
    "Tensor.element_size": "int",
    "Tensor.geqrf": "GeqrfResult",
    "Tensor.is_complex": "bool",
    "Tensor.is_floating_point": "bool",
    "Tensor.lu": "tuple[Tensor, Tensor]",
    "Tensor.qr": "QRResult",
    "Tensor.slogdet": "SlogdetResult",
    "Tensor.svd": "USVResult",
    "Tensor.triangular_solve": "TriangularSolveResult",
    "Tensor.item": "Any",  # a number of the kind that the dtype says
    "Tensor.numel": "int",
    "Tensor.numpy": "np.ndarray[Any, Any]",
    "Tensor.split": "tuple[Tensor, ...]",
    "Tensor.tolist": "Any",  # nested lists, or a number
    "autograd.grad": "tuple[Tensor, ...]",
    "get_default_dtype": "DType",
    "gradient": "Tensor | tuple[Tensor, ...]",
    "is_complex": "bool",
    "is_floating_point": "bool",
    "numel": "int",
    "promote_types": "DType",
    "get_rng_state": "dict[str, object]",
    "load": "Any",  # whatever was saved
    "lu": "tuple[Tensor, Tensor]",
    "qr": "QRResult",
    "result_type": "DType",
}

#: Flags that change what a function gives: their names, and what it gives where one of them is set.
FLAGS = {
    "Tensor.nonzero": (("as_tuple",), "tuple[Tensor, ...]"),
    "Tensor.unique": (("return_inverse", "return_counts"), "tuple[Tensor, ...]"),
    "Tensor.lu": (("get_infos",), "tuple[Tensor, Tensor, Tensor]"),
    "Tensor.unique_consecutive": (("return_inverse", "return_counts"), "tuple[Tensor, ...]"),
    "autograd.grad": (("allow_unused",), "tuple[Tensor | None, ...]"),
    "lu": (("get_infos",), "tuple[Tensor, Tensor, Tensor]"),
    "average": (("returned",), "tuple[Tensor, Tensor]"),
    "nn.functional.adaptive_max_pool1d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "nn.functional.adaptive_max_pool2d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "nn.functional.adaptive_max_pool3d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "nn.functional.fractional_max_pool2d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "nn.functional.fractional_max_pool3d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "nn.functional.max_pool1d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "nn.functional.max_pool2d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "nn.functional.max_pool3d": (("return_indices",), "tuple[Tensor, Tensor]"),
    "special.logsumexp": (("return_sign",), "tuple[Tensor, Tensor]"),
    "unique": (("return_index", "return_inverse", "return_counts"), "tuple[Tensor, ...]"),
    "unique_consecutive": (("return_inverse", "return_counts"), "tuple[Tensor, ...]"),
}

#: Functions that hand what they don't know on to another one, which says what that may be.
HANDED_ON = {"rand_like": "rand", "randn_like": "randn"}

_EXTREME = (
    "(self) -> Tensor",
    "(self, dim: int, keepdim: bool = False) -> ValuesAndIndices",
    "(self, axis: int, *, keepdims: bool = False) -> ValuesAndIndices",
    "(self, dim: tuple[int, ...] | list[int], keepdim: bool = False) -> Tensor",
    "(self, axis: tuple[int, ...] | list[int], *, keepdims: bool = False) -> Tensor",
)
_MIDDLE = (
    "(self, dim: None = None, keepdim: bool = False) -> Tensor",
    "(self, dim: int, keepdim: bool = False) -> ValuesAndIndices",
    "(self, axis: int, *, keepdims: bool = False) -> ValuesAndIndices",
)
_EACH = (
    "(x: ArrayLike, /) -> Tensor",
    "(x: ArrayLike, y: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]",
    "(arrays: Sequence[ArrayLike], /) -> tuple[Tensor, ...]",
)
_RANDOMNESS = 'Literal["error", "different", "same"] = "error"'
_DIMS = "int | tuple[object, ...] | list[object] | dict[str, object] | None"
_ONE = "argnums: Literal[0] = 0"
_SEVERAL = "argnums: int | Sequence[int]"
_FIRST, _WHOLE = "Callable[Concatenate[_T, _P], {}]", "Callable[_P, {}]"


def _jacobian(more: str) -> tuple[str, ...]:
    """The heads of a function that gives Jacobians: of tensors they are tensors, of trees they are trees."""
    plain = more.replace("has_aux: bool", "has_aux: Literal[False]")
    return (
        f"(func: Callable[Concatenate[Tensor, _P], Tensor], {_ONE}, {plain}) "
        "-> Callable[Concatenate[Tensor, _P], Tensor]",
        f"(func: {_WHOLE.format('Any')}, argnums: int | Sequence[int] = 0, {more}) -> {_WHOLE.format('Any')}",
    )


#: Functions whose results follow from their arguments in a way of their own, written out.
WRITTEN_OUT: dict[str, tuple[str, ...]] = {
    "Tensor.__array_function__": ("(self, function: object, types: object, args: object, keywords: object) -> object",),
    "Tensor.__array_ufunc__": ("(self, ufunc: object, method: str, *inputs: object, **options: object) -> object",),
    "Tensor.max": (*_EXTREME, "(self, other: Array) -> Tensor"),
    "Tensor.min": (*_EXTREME, "(self, other: Array) -> Tensor"),
    "Tensor.median": _MIDDLE,
    "Tensor.nanmedian": _MIDDLE,
    "Tensor.type": (
        "(self, dtype: None = None, non_blocking: bool = False) -> str",
        "(self, dtype: DTypeLike, non_blocking: bool = False) -> Tensor",
    ),
    "Tensor.stride": ("(self, dim: None = None) -> tuple[int, ...]", "(self, dim: int) -> int"),
    "atleast_1d": _EACH,
    "atleast_2d": _EACH,
    "atleast_3d": _EACH,
    "Tensor.to": (
        "(self, *args: DeviceLike | DTypeLike | Tensor | bool | None, device: DeviceLike | None = None, "
        "dtype: DTypeLike | None = None, copy: bool = False, non_blocking: bool = False, "
        "other: Tensor | None = None, memory_format: object | None = None) -> Tensor",
    ),
    "einsum": (
        "(subscripts: str, /, *operands: ArrayLike, optimize: bool | str | Sequence[object] = True) -> Tensor",
        "(operand: ArrayLike, sublist: Sequence[object], /, *arguments: ArrayLike | Sequence[object], "
        "optimize: bool | str | Sequence[object] = True) -> Tensor",
    ),
    "func.functional_call": (
        "(module: _Forward[_R], parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]], "
        "args: object = None, kwargs: Mapping[str, object] | None = None, *, tie_weights: bool = True, "
        "strict: bool = False) -> _R",
    ),
    "func.grad": (
        f"(func: {_FIRST.format('Any')}, {_ONE}, has_aux: Literal[False] = False) -> {_FIRST.format('_T')}",
        f"(func: {_FIRST.format('tuple[Any, _R]')}, {_ONE}, *, has_aux: Literal[True]) "
        f"-> {_FIRST.format('tuple[_T, _R]')}",
        f"(func: {_WHOLE.format('Any')}, {_SEVERAL}, has_aux: bool = False) -> {_WHOLE.format('Any')}",
    ),
    "func.value_and_grad": (
        f"(func: {_FIRST.format('_R')}, {_ONE}, has_aux: bool = False) -> {_FIRST.format('tuple[_R, _T]')}",
        f"(func: {_WHOLE.format('_R')}, {_SEVERAL}, has_aux: bool = False) -> {_WHOLE.format('tuple[_R, Any]')}",
    ),
    "func.grad_and_value": (
        f"(func: {_FIRST.format('_R')}, {_ONE}, has_aux: bool = False) -> {_FIRST.format('tuple[_T, _R]')}",
        f"(func: {_WHOLE.format('_R')}, {_SEVERAL}, has_aux: bool = False) -> {_WHOLE.format('tuple[Any, _R]')}",
    ),
    "func.vjp": (
        "(func: Callable[..., _R], *primals: Any, has_aux: Literal[False] = False) "
        "-> tuple[_R, Callable[..., tuple[Any, ...]]]",
        "(func: Callable[..., tuple[_R, _T]], *primals: Any, has_aux: Literal[True]) "
        "-> tuple[_R, Callable[..., tuple[Any, ...]], _T]",
    ),
    "func.jvp": (
        "(func: Callable[..., _R], primals: Sequence[Any], tangents: Sequence[Any], *, strict: bool = False, "
        "has_aux: Literal[False] = False) -> tuple[_R, _R]",
        "(func: Callable[..., tuple[_R, _T]], primals: Sequence[Any], tangents: Sequence[Any], *, "
        "strict: bool = False, has_aux: Literal[True]) -> tuple[_R, _R, _T]",
    ),
    "func.linearize": ("(func: Callable[_P, _R], *primals: Any) -> tuple[_R, Callable[_P, _R]]",),
    "func.hessian": _jacobian("*, chunk_size: int | None = None"),
    "func.jacfwd": _jacobian(f"has_aux: bool = False, *, randomness: {_RANDOMNESS}, chunk_size: int | None = None"),
    "func.jacrev": _jacobian("*, has_aux: bool = False, chunk_size: int | None = None"),
    "func.vmap": (
        f"(func: Callable[_P, _R], in_dims: {_DIMS} = 0, out_dims: {_DIMS} = 0, randomness: {_RANDOMNESS}, "
        "*, chunk_size: int | None = None) -> Callable[_P, _R]",
    ),
    "func.cond": (
        "(pred: ArrayLike, true_fun: Callable[..., _R], false_fun: Callable[..., _R], *operands: object) -> _R",
    ),
    "func.while_loop": (
        "(cond_fun: Callable[[Any], ArrayLike], body_fun: Callable[[Any], _R], init_val: object) -> _R",
    ),
    "func.fori_loop": (
        "(lower: ArrayLike, upper: ArrayLike, body_fun: Callable[[Tensor, Any], _R], init_val: object, "
        "*, unroll: int | bool | None = None) -> _R",
    ),
    "func.scan": (
        "(f: Callable[[Any, Any], tuple[_R, _T]], init: object, xs: object = None, length: int | None = None, "
        "reverse: bool = False, unroll: int | bool = 1) -> tuple[_R, _T]",
    ),
    "func.map": ("(f: Callable[[Any], _R], xs: object, *, batch_size: int | None = None) -> _R",),
    "func.replace_all_batch_norm_modules_": ("(root: _T) -> _T",),
    "func.stack_module_state": ("(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]",),
}

#: What comes before the functions of a module's stub.
PREAMBLES = {
    "numpy": """
@type_check_only
class _Ufunc(Protocol):
    __name__: str
    nin: int
    nout: int
    def reduce(
        self, array: Data, /, axis: Axes = 0, dtype: DTypeLike | None = None, *, keepdims: builtins.bool = False
    ) -> Tensor: ...
    def accumulate(self, array: Data, /, axis: int = 0, dtype: DTypeLike | None = None) -> Tensor: ...
    def outer(self, a: Data, b: Data, /) -> Tensor: ...

@type_check_only
class _Joint(Protocol):
    def __getitem__(self, key: object) -> Tensor: ...

@type_check_only
class _Grid(Protocol):
    def __getitem__(self, key: object) -> Any: ...

@type_check_only
class _Ufunc1(_Ufunc, Protocol):
    def __call__(self, x: Data, /, *, dtype: DTypeLike | None = None) -> Tensor: ...

@type_check_only
class _Ufunc2(_Ufunc, Protocol):
    def __call__(self, x1: Data, x2: Data, /, *, axis: int = ..., dtype: DTypeLike | None = None) -> Tensor: ...

@type_check_only
class _Ufunc1Pair(_Ufunc, Protocol):
    def __call__(self, x: Data, /, *, dtype: DTypeLike | None = None) -> tuple[Tensor, Tensor]: ...

@type_check_only
class _Ufunc2Pair(_Ufunc, Protocol):
    def __call__(self, x1: Data, x2: Data, /, *, dtype: DTypeLike | None = None) -> tuple[Tensor, Tensor]: ...
""",
    "func": """
_T = TypeVar("_T", bound=Any, default=Any)
_R = TypeVar("_R", bound=Any, default=Any)
_R_co = TypeVar("_R_co", covariant=True, default=Any)
_P = ParamSpec("_P", default=...)

@type_check_only
class _Forward(Protocol[_R_co]):
    def forward(self, *args: Any, **kwargs: Any) -> _R_co: ...
""",
}
