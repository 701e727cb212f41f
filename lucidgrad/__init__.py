"""lucidgrad: an autograd engine in which a derivative rule is an ordinary array program, written once.

The names of the Array API standard have its meaning; other names have NumPy's, or else PyTorch's.
"""

import importlib as _importlib
import sys as _sys
import typing as _typing
from math import e, inf, nan, pi

from .autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .backends import cpu as _cpu  # makes the back ends known
from .callers import caller as _caller  # makes warnings point at users' lines
from .core.device import Device as device, get_default_device, set_default_device
from .core.dtype import get_default_dtype, named as _named, set_default_dtype
from .core.engine import tape_namespace as _tape_namespace
from .core.errors import DeviceError, GradArgError, OutOfMemoryError
from .tensor import Tensor  # isort: split

from . import autograd
from .refusals import guard as _guard

bool, int8, int16, int32, int64 = map(_named, ("bool", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(_named, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(_named, ("float16", "float32", "float64"))
complex64, complex128 = map(_named, ("complex64", "complex128"))

newaxis = None

if _typing.TYPE_CHECKING:
    from .creation import tensor
else:
    del tensor  # the module of this name; the function is loaded when it is asked for

_tape_namespace.public = _sys.modules[__name__]

#: Names that are loaded when they are first asked for: modules, and what belongs to them.
_LATER = {
    "cudasim": ".cudasim",
    "custom_vjp": ".autograd.function",
    "cuda": ".cuda",
    "distributed": ".distributed",
    "distributions": ".distributions",
    "fft": ".fft",
    "files": ".files",
    "func": ".func",
    "hips": ".hips",
    "GradScaler": ".amp",
    "amp": ".amp",
    "autocast": ".amp",
    "bfloat16": ".backends.cpu.bfloat16",
    "compile": ".compiling",
    "export": ".compiling",
    "import_program": ".compiling",
    "linalg": ".linalg",
    "load": ".files",
    "nn": ".nn",
    "numpy": ".numpy",
    "optim": ".optim",
    "profiler": ".profiler",
    "random": ".random",
    "save": ".files",
    "signal": ".signal",
    "special": ".special",
    "torch": ".torch",
    "typing": ".typing",
    "utils": ".utils",
    "vmap": ".func",
    "viz": ".viz",
}

#: The same of functions, by modules: a family is imported with the first of its functions.
_FUNCTIONS = {
    ".config": "__version__ get_num_threads set_num_threads show_config",
    ".creation": """
        arange as_tensor asarray empty empty_like eye from_dlpack from_numpy frombuffer full full_like is_tensor
        linspace logspace ones ones_like scalar_tensor tensor zeros zeros_like
    """,
    ".datatypes": "can_cast finfo iinfo isdtype promote_types result_type",
    ".determinism": """
        are_deterministic_algorithms_enabled get_float32_matmul_precision set_float32_matmul_precision
        use_deterministic_algorithms
    """,
    ".distributions.counts": "binomial poisson",
    ".inspection": "__array_api_version__ __array_namespace_info__",
    ".linalg": "cholesky cross det matrix_exp matrix_power slogdet",
    ".nn.functional": """
        adaptive_avg_pool1d alpha_dropout avg_pool1d bilinear channel_shuffle conv1d conv2d conv3d
        conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity dropout feature_alpha_dropout
        group_norm layer_norm max_pool1d max_pool2d max_pool3d pairwise_distance pixel_shuffle pixel_unshuffle
        prelu rms_norm rrelu
    """,
    ".ops.combinations": "block_diag cartesian_prod combinations tril_indices triu_indices unravel_index",
    ".ops.counting": "bincount bucketize digitize histc histogram unique",
    ".ops.curves": "convolve correlate cumulative_trapezoid ediff1d interp trapezoid",
    ".ops.elementwise.activation": """
        celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu
        sigmoid silu softplus softshrink softsign tanhshrink threshold
    """,
    ".ops.elementwise.arithmetic": """
        add addcdiv addcmul deg2rad div divide floor_divide fmod lerp multiply negative positive rad2deg
        reciprocal remainder rsub square subtract
    """,
    ".ops.elementwise.choice": "clamp clamp_max clamp_min clip fmax fmin maximum minimum nan_to_num where",
    ".ops.elementwise.comparison": """
        allclose array_equal bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
        bitwise_xor eq equal ge greater greater_equal gt isclose isfinite isinf isnan isneginf isposinf isreal
        le less less_equal logical_and logical_not logical_or logical_xor lt ne not_equal signbit
    """,
    ".ops.elementwise.complex": "abs angle conj copysign hypot imag real sgn sign",
    ".ops.elementwise.composition": "complex frac frexp gcd lcm ldexp polar view_as_complex view_as_real",
    ".ops.elementwise.copies": "astype clone",
    ".ops.elementwise.exponential": """
        exp exp2 expm1 float_power log log10 log1p log2 logaddexp logaddexp2 pow rsqrt sqrt xlogy
    """,
    ".ops.elementwise.rounding": "ceil floor heaviside nextafter round trunc",
    ".ops.elementwise.trigonometric": "acos acosh asin asinh atan atan2 atanh cos cosh sin sinc sinh tan tanh",
    ".ops.indexing.placement": """
        diagonal_scatter index_reduce nonzero_static put repeat_interleave select_scatter slice_scatter
    """,
    ".ops.indexing.scattering": "index_copy index_fill index_put masked_scatter scatter_reduce",
    ".ops.indexing.selection": "gather index_add index_select masked_fill masked_select scatter scatter_add",
    ".ops.indexing.taking": "take take_along_axis",
    ".ops.linalg.chains": "addbmm addmv addr chain_matmul ger",
    ".ops.linalg.classics": "inverse logdet lu lu_solve orgqr pinverse qr renorm svd",
    ".ops.linalg.einsum": "einsum",
    ".ops.linalg.equations": "cholesky_inverse cholesky_solve triangular_solve",
    ".ops.linalg.factors": "geqrf lu_unpack ormqr",
    ".ops.linalg.norms": "cdist norm",
    ".ops.linalg.products": "addmm baddbmm bmm dot inner kron matmul mm mv outer tensordot trace vdot vecdot",
    ".ops.linalg.subspaces": "lobpcg pca_lowrank svd_lowrank",
    ".ops.quantiles": "kthvalue median mode nanmedian nanpercentile nanquantile percentile quantile",
    ".ops.reduction": "all amax amin any argmax argmin count_nonzero logsumexp max mean min prod std sum var",
    ".ops.scan": "cummax cummin cumulative_prod cumulative_sum diff logcumsumexp",
    ".ops.sets": "isin unique_all unique_counts unique_inverse unique_values",
    ".ops.shape.arrangement": """
        argwhere diag diag_embed diagflat fliplr flipud narrow rot90 select take_along_dim unbind unfold vander
    """,
    ".ops.shape.diagonals": "diagonal tril triu",
    ".ops.shape.joining": """
        array_split cat chunk column_stack concat dstack hstack pad repeat split split_with_sizes stack tile
        unstack vstack
    """,
    ".ops.shape.layout": """
        atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to expand_dims flatten flip
        matrix_transpose meshgrid moveaxis movedim permute_dims ravel reshape roll squeeze swapaxes transpose
        unflatten
    """,
    ".ops.shape.partition": "adjoint dsplit hsplit t tensor_split vsplit",
    ".ops.softmax": "log_softmax softmax",
    ".ops.sorting": "argsort nonzero searchsorted sort topk",
    ".ops.special.bessel": "i0",
    ".ops.special.entropy": "entr expit logit",
    ".ops.special.error": "erf erfc erfinv",
    ".ops.special.gamma": "digamma lgamma mvlgamma polygamma",
    ".ops.special.incomplete": "igamma igammac",
    ".ops.statistics": """
        average corrcoef cov cumprod cumsum nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar ptp
        std_mean var_mean
    """,
    ".ops.summaries": "aminmax dist gradient histogramdd msort pdist unique_consecutive",
    ".random": """
        bernoulli Generator get_rng_state manual_seed multinomial normal rand rand_like randint randint_like
        randn randn_like randperm set_rng_state uniform
    """,
    ".signal.spectra": "bartlett_window blackman_window hamming_window hann_window istft kaiser_window stft",
}
_LATER |= {name: module for module, names in _FUNCTIONS.items() for name in names.split()}

#: Methods of tensors that are functions, too.
_METHODS = """
detach get_device is_complex is_conj is_floating_point is_inference is_neg is_nonzero is_same_size is_signed numel
resolve_conj resolve_neg
""".split()

#: Other names of the same functions.
_ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "bitwise_not": "bitwise_invert", "broadcast_tensors": "broadcast_arrays",
    "concatenate": "concat", "conj_physical": "conj", "fix": "trunc",
    "mul": "multiply", "neg": "negative", "permute": "permute_dims", "row_stack": "vstack",
    "sub": "subtract", "swapdims": "swapaxes", "trapz": "trapezoid", "true_divide": "divide",
    "unsqueeze": "expand_dims",
}  # fmt: skip


def __getattr__(name: str) -> _typing.Any:
    if name in _LATER:
        module = _importlib.import_module(_LATER[name], __name__)
        found = module if _LATER[name] == f".{name}" else getattr(module, name)
    elif f".{name}" in _FUNCTIONS:  # a module of functions, which can be reached without being a name of its own
        found = _importlib.import_module(f".{name}", __name__)
    elif name in _ALIASES:
        found = getattr(_sys.modules[__name__], _ALIASES[name])
    elif name in _METHODS:
        found = getattr(Tensor, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=_sys.modules[__name__])
    globals()[name] = found
    _guard(__name__, (name,))
    return globals()[name]


#: Modules are public where they are named; others are here because something was imported from them.
_MODULES = [name for name, found in vars().items() if isinstance(found, type(_sys))]

__all__ = [name for name in dir() if not name.startswith("_") and name not in _MODULES] + [
    "autograd",
    *_LATER,
    *_ALIASES,
    *_METHODS,
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_guard(__name__, __all__)
