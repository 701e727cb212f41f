"""What stands in the stubs of the doors: PyTorch's and NumPy's parameters, by name, and results that are no tensor."""

#: What a parameter takes, by name, in the doors; one that is missing here is as in `meanings`.
PARAMETERS = {
    "A": "ArrayLike",
    "N": "int",
    "accumulate": "bool",
    "array": "Data",
    "as_tuple": "bool",
    "assume_unique": "bool",
    "atol": "float",
    "axes": "Axes",
    "axis0": "int",
    "axis1": "int",
    "axis2": "int",
    "base": "float",
    "bias": "ArrayLike",
    "bins": "ArrayLike | Sequence[float] | Sequence[int] | Sequence[Tensor] | str",
    "chunks": "int",
    "compute_uv": "bool",
    "copy": "bool",
    "correction": "float",
    "count": "int",
    "d": "float",
    "data": "Data",
    "ddof": "float",
    "decimals": "int",
    "deg": "int",
    "density": "bool",
    "descending": "bool",
    "device": "DeviceLike | int",
    "dim": "Axes",
    "dims": "int | Sequence[int] | Sequence[Sequence[int]] | Tensor",
    "driver": "str",
    "dx": "ArrayLike",
    "edge_order": "int",
    "end": "ArrayLike",
    "equal_nan": "bool",
    "f": "str | os.PathLike[str] | IO[bytes]",
    "full": "bool",
    "full_matrices": "bool",
    "generator": "Generator",
    "get_infos": "bool",
    "hermitian": "bool",
    "high": "int",
    "include_self": "bool",
    "increasing": "bool",
    "index": "ArrayLike",
    "indexing": "str",
    "indices": "ArrayLike | Sequence[int] | Sequence[Sequence[int]]",
    "indices_or_sections": "int | Sequence[int] | Tensor",
    "input_lengths": "ArrayLike | Sequence[int]",
    "interpolation": "str",
    "invert": "bool",
    "k": "int",
    "keepdim": "bool",
    "keepdims": "bool",
    "largest": "bool",
    "layout": "object",
    "left": "bool",
    "low": "int",
    "map_location": "object",
    "max": "ArrayLike",
    "memory_format": "object",
    "method": "str",
    "min": "ArrayLike",
    "minlength": "int",
    "mode": "str",
    "ndmin": "int",
    "norm": "str",
    "normalized_shape": "Sequence[int]",
    "num_groups": "int",
    "num_samples": "int",
    "obj": "object",
    "offset": "int",
    "order": "str",
    "out": "Tensor | tuple[Tensor, ...]",
    "out_int32": "bool",
    "output_size": "Shape",
    "p": "ArrayLike",
    "padding_idx": "int",
    "periodic": "bool",
    "pickle_module": "object",
    "pin_memory": "bool",
    "pivot": "bool",
    "pivoting": "bool",
    "reduction": "str | int",
    "replacement": "bool",
    "requires_grad": "bool",
    "return_counts": "bool",
    "return_index": "bool",
    "return_inverse": "bool",
    "returned": "bool",
    "right": "bool",
    "rounding_mode": "str",
    "rowvar": "bool",
    "rtol": "float",
    "s": "Sequence[int] | ArrayLike",
    "shape": "Shape",
    "shifts": "int | Sequence[int]",
    "side": "str",
    "size": "Shape",
    "sizes": "Sequence[int]",
    "sorted": "bool",
    "sparse": "bool",
    "sparse_grad": "bool",
    "split_size_or_sections": "int | Sequence[int]",
    "split_sizes": "Sequence[int]",
    "stable": "bool",
    "start": "ArrayLike",
    "step": "ArrayLike",
    "swap": "bool",
    "target_lengths": "ArrayLike | Sequence[int]",
    "tensors": "Sequence[Tensor]",
    "train": "bool",
    "training": "bool",
    "transpose": "bool",
    "unbiased": "bool",
    "unitriangular": "bool",
    "unpack_data": "bool",
    "unpack_pivots": "bool",
    "upper": "bool",
    "use_input_stats": "bool",
    "weights_only": "bool",
    "window_length": "int",
    "with_replacement": "bool",
    "zero_infinity": "bool",
}

#: What NumPy's functions compute with may be a list, too.
NUMPY = "Data"

#: The same where a function means something else by a name.
EXCEPTIONS = {
    **{f"{name}.running_{kind}": "ArrayLike | None" for name in ("torch.batch_norm", "torch.instance_norm")
       for kind in ("mean", "var")},
    **dict.fromkeys(["torch.batch_norm.weight", "torch.batch_norm.bias"], "ArrayLike | None"),
    **{f"torch.{name}.{end}": "int | Sequence[int]" for name in ("moveaxis", "movedim")
       for end in ("source", "destination")},
    **{f"torch.{name}.tensors": "Tensor | Sequence[Tensor]" for name in ("block_diag", "broadcast_tensors",
       "cartesian_prod", "meshgrid")},
    **dict.fromkeys(["torch.binomial.count", "torch.binomial.prob"], "ArrayLike"),
    "numpy.apply_along_axis.func1d": "Callable[..., Any]",
    "numpy.apply_over_axes.func": "Callable[..., Any]",
    "numpy.can_cast.from_": "Data | DTypeLike",
    "numpy.clip.a_max": "Data | None",
    "numpy.clip.a_min": "Data | None",
    "numpy.gradient.f": "Data",
    "numpy.histogramdd.range": "Sequence[tuple[float, float] | None] | None",
    "numpy.interp.left": "float",
    "numpy.interp.right": "float",
    "numpy.pad.mode": "str",
    "numpy.pad.pad_width": "Data | dict[int, int | tuple[int, int]]",
    "numpy.piecewise.funclist": "Sequence[Callable[..., Any] | float]",
    "numpy.polyint.k": "Data",
    "numpy.tensordot.axes": "int | Sequence[int] | Sequence[Sequence[int]]",
    "torch.can_cast.from_": "DTypeLike",
    "torch.finfo.type": "DTypeLike",
    "torch.gradient.spacing": "float | Sequence[float] | Sequence[Tensor]",
    "torch.histogramdd.range": "Sequence[float]",
    "torch.iinfo.type": "DTypeLike",
    "torch.index_put.indices": "Sequence[Tensor]",
    "torch.index_reduce.reduce": "str",
    "torch.norm.p": "float | str",
    "torch.promote_types.type2": "DTypeLike",
    "torch.rrelu.lower": "float",
    "torch.rrelu_.lower": "float",
    "torch.rrelu_.upper": "float",
    "torch.rrelu.upper": "float",
    "torch.scatter.reduce": "str",
    "torch.scatter_reduce.reduce": "str",
    "torch.broadcast_shapes.shapes": "int | Sequence[int]",
}  # fmt: skip

_BOOLS = "allclose equal is_complex is_conj is_floating_point is_inference is_neg is_nonzero is_same_size is_signed"
_PAIRS = "cummax cummin kthvalue mode sort topk"
_PARTS = "broadcast_tensors chunk dsplit hsplit meshgrid split split_with_sizes tensor_split unbind vsplit unsafe_chunk"
_PARTS += " unsafe_split unsafe_split_with_sizes"
#: What a function gives, if that is no tensor.
RESULTS = {
    **{f"torch.{name}": "bool" for name in f"{_BOOLS} is_tensor can_cast".split()},
    **{f"torch.{name}": "int" for name in ("get_device", "numel")},
    **{f"torch.{name}": "ValuesAndIndices" for name in _PAIRS.split()},
    **{f"torch.{name}": "tuple[Tensor, ...]" for name in _PARTS.split()},
    **{f"torch.{name}": "tuple[Tensor, Tensor]" for name in ("adaptive_max_pool1d", "std_mean", "var_mean")},
    **{f"torch.{name}": "DType" for name in ("promote_types", "result_type", "get_default_dtype")},
    "torch.aminmax": "MinAndMax",
    "torch.frexp": "MantissaAndExponent",
    "torch.geqrf": "GeqrfResult",
    "torch.gradient": "tuple[Tensor, ...]",
    "torch.histogram": "Histogram",
    "torch.histogramdd": "Histogram",
    "torch.lobpcg": "LobpcgResult",
    "torch.lu": "tuple[Tensor, Tensor]",
    "torch.lu_unpack": "LUResult",
    "torch.qr": "QRResult",
    "torch.slogdet": "SlogdetResult",
    "torch.svd": "USVResult",
    "torch.triangular_solve": "TriangularSolveResult",
    "torch.unravel_index": "tuple[Tensor, ...]",
    "torch.load": "Any",  # whatever was saved
    "torch.get_rng_state": "dict[str, object]",
    "torch.linalg.cholesky_ex": "CholeskyExResult",
    "torch.linalg.eig": "EigResult",
    "torch.linalg.eigh": "EighResult",
    "torch.linalg.inv_ex": "InvExResult",
    "torch.linalg.ldl_factor": "LDLFactorResult",
    "torch.linalg.ldl_factor_ex": "LDLFactorExResult",
    "torch.linalg.lstsq": "LstsqResult",
    "torch.linalg.lu": "LUResult",
    "torch.linalg.lu_factor": "LUFactorResult",
    "torch.linalg.lu_factor_ex": "LUFactorExResult",
    "torch.linalg.qr": "QRResult",
    "torch.linalg.slogdet": "SlogdetResult",
    "torch.linalg.solve_ex": "SolveExResult",
    "torch.linalg.svd": "SVDResult",
    **{f"numpy.{name}": "bool" for name in "allclose array_equal array_equiv can_cast iscomplexobj isrealobj".split()},
    **{f"numpy.{name}": "tuple[Tensor, ...]" for name in """
        broadcast_arrays diag_indices diag_indices_from ix_ meshgrid nonzero tril_indices tril_indices_from
        triu_indices triu_indices_from unravel_index unstack
        """.split()},
    **{f"numpy.{name}": "list[Tensor]" for name in "array_split dsplit hsplit split vsplit".split()},
    **{f"numpy.{name}": "DType" for name in ("min_scalar_type", "result_type")},
    "numpy.broadcast_shapes": "tuple[int, ...]",
    "numpy.common_type": "type[Any]",
    "numpy.einsum_path": "tuple[Any, str]",
    "numpy.gradient": "Any",  # a tensor, or a tuple of one for each axis
    "numpy.histogram": "tuple[Tensor, Tensor]",
    "numpy.histogram2d": "tuple[Tensor, Tensor, Tensor]",
    "numpy.histogramdd": "tuple[Tensor, Any]",
    "numpy.linalg.eig": "EigResult",
    "numpy.linalg.eigh": "EighResult",
    "numpy.linalg.lstsq": "tuple[Tensor, Tensor, Tensor, Tensor]",
    "numpy.linalg.slogdet": "SlogdetResult",
    "numpy.unique_all": "UniqueAll",
    "numpy.unique_counts": "UniqueCounts",
    "numpy.unique_inverse": "UniqueInverse",
}  # fmt: skip

#: Flags that change what a function gives: their names, and what it gives where one of them is set.
FLAGS = {
    **{f"torch.max_pool{n}d": (("return_indices",), "tuple[Tensor, Tensor]") for n in (1, 2, 3)},
    "torch.lu": (("get_infos",), "tuple[Tensor, Tensor, Tensor]"),
    "torch.nonzero": (("as_tuple",), "tuple[Tensor, ...]"),
    "torch.unique": (("return_inverse", "return_counts"), "tuple[Tensor, ...]"),
    "torch.unique_consecutive": (("return_inverse", "return_counts"), "tuple[Tensor, ...]"),
    "numpy.average": (("returned",), "tuple[Tensor, Tensor]"),
    "numpy.intersect1d": (("return_indices",), "tuple[Tensor, Tensor, Tensor]"),
    "numpy.linspace": (("retstep",), "tuple[Tensor, Tensor]"),
    "numpy.polyfit": (("full", "cov"), "tuple[Any, ...]"),
    "numpy.unique": (("return_index", "return_inverse", "return_counts"), "tuple[Tensor, ...]"),
}

_OUT = "out: Tensor | None = None"
_OUTS = "out: tuple[Tensor, Tensor] | None = None"
_EXTREME = (
    f"(input: ArrayLike, *, {_OUT}) -> Tensor",
    f"(input: ArrayLike, dim: int, keepdim: bool = False, *, {_OUTS}) -> ValuesAndIndices",
    f"(input: ArrayLike, other: Array, *, {_OUT}) -> Tensor",
)
_MIDDLE = (
    "(input: ArrayLike) -> Tensor",
    f"(input: ArrayLike, dim: int, keepdim: bool = False, *, {_OUTS}) -> ValuesAndIndices",
)
_EACH = (
    "(tensor: ArrayLike, /) -> Tensor",
    "(tensor: ArrayLike, second: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]",
    "(tensors: Sequence[ArrayLike], /) -> tuple[Tensor, ...]",
)
_MADE = (
    f"{_OUT}, dtype: DTypeLike | None = None, layout: object | None = None, device: DeviceLike | int | None = None, "
    "pin_memory: bool = False, requires_grad: bool = False) -> Tensor"
)
_SIZES = (f"(*size: int | Sequence[int], {_MADE}", f"(*, size: Sequence[int], {_MADE}")
_DRAWN = (
    f"(*size: int | Sequence[int], generator: Generator | None = None, {_MADE}",
    f"(*, size: Sequence[int], generator: Generator | None = None, {_MADE}",
)
#: Functions whose results follow from their arguments in a way of their own, written out.
WRITTEN_OUT = {
    **{f"torch.{name}": _EXTREME for name in ("max", "min")},
    **{f"torch.{name}": _MIDDLE for name in ("median", "nanmedian")},
    **{f"torch.atleast_{n}d": _EACH for n in (1, 2, 3)},
    **{f"numpy.atleast_{n}d": (
        "(tensor: Data, /) -> Tensor", "(tensor: Data, second: Data, /, *more: Data) -> tuple[Tensor, ...]"
    ) for n in (1, 2, 3)},
    **{f"torch.{name}": _SIZES for name in ("zeros", "ones")},
    **{f"torch.{name}": _DRAWN for name in ("rand", "randn")},
    "numpy.einsum": (
        "(subscripts: str, /, *operands: Data, optimize: bool | str | Sequence[object] = False) -> Tensor",
        "(operand: Data, sublist: Sequence[object], /, *more: Data | Sequence[object], "
        "optimize: bool | str | Sequence[object] = False) -> Tensor",
    ),
    "numpy.einsum_path": (
        '(subscripts: str, /, *operands: Data, optimize: bool | str | Sequence[object] = "greedy") -> tuple[Any, str]',
    ),
    "numpy.linalg.qr": (
        '(a: Data, mode: Literal["reduced", "complete"] = "reduced") -> QRResult',
        '(a: Data, mode: Literal["r"]) -> Tensor',
    ),
    "numpy.linalg.svd": (
        "(a: Data, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False) -> SVDResult",
        "(a: Data, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False) -> Tensor",
    ),
    "numpy.where": (
        "(condition: Data, x: Data, y: Data, /) -> Tensor",
        "(condition: Data, /) -> tuple[Tensor, ...]",
    ),
    "torch.einsum": (
        "(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor",
        "(operand: Tensor, sublist: Sequence[int], /, *more: Tensor | Sequence[int]) -> Tensor",
    ),
    "torch.randint": (
        f"(low: int, high: int, size: Shape, *, generator: Generator | None = None, {_MADE}",
        f"(high: int, size: Shape, *, generator: Generator | None = None, {_MADE}",
    ),
    "torch.where": (
        f"(condition: Tensor, input: ArrayLike, other: ArrayLike, *, {_OUT}) -> Tensor",
        "(condition: Tensor) -> tuple[Tensor, ...]",
    ),
    "torch.vmap": ("(func: Callable[..., Any], in_dims: object = 0, out_dims: object = 0, "
        'randomness: str = "error", *, chunk_size: int | None = None) -> Callable[..., Any]',),
    "torch.compile": ("(model: Any = None, **options: object) -> Any",),
}  # fmt: skip

#: Where classes are that results are made of.
SOURCES = {
    "lucidgrad.linalg": """
        CholeskyExResult EigResult EighResult InvExResult LDLFactorExResult LUFactorExResult LstsqResult QRResult
        SVDResult SlogdetResult SolveExResult
    """,
    "lucidgrad.ops.conventions": "MantissaAndExponent MinAndMax ValuesAndIndices",
    "lucidgrad.ops.linalg.classics": "USVResult",
    "lucidgrad.ops.linalg.equations": "TriangularSolveResult",
    "lucidgrad.ops.linalg.factors": "GeqrfResult LUFactorResult LUResult",
    "lucidgrad.ops.linalg.indefinite": "LDLFactorResult",
    "lucidgrad.ops.linalg.subspaces": "LobpcgResult",
    "lucidgrad.ops.sets": "UniqueAll UniqueCounts UniqueInverse",
    "lucidgrad.torch.meanings": "Histogram",
}
