"""Methods of `Tensor` that are functions: tables of names, looked up when a name is first asked for."""

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lucidgrad.core.engine import tape_namespace
from lucidgrad.refusals import guarded_if_plain

from .naming import NAMES, named
from .writing import twin


class Deferred:
    """A method that is looked up, and put in its own place, when it is first asked for."""

    __slots__ = ("_find", "_name", "_owner")

    def __init__(self, owner: type, name: str, find: Callable[[], Any]) -> None:
        self._owner, self._name, self._find = owner, name, find

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        method = self._find()
        setattr(self._owner, self._name, method)
        return method.__get__(instance, owner)


def name_methods(owner: type) -> None:
    """Give the methods of a class that are functions PyTorch's names of their parameters."""
    for name in NAMES.keys() & vars(owner).keys():
        setattr(owner, name, Deferred(owner, name, functools.partial(named, name, vars(owner)[name])))


#: Methods that are functions at the root, where these have PyTorch's meaning, too.
FUNCTIONS = """
abs absolute acos acosh addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax angle any arccos
arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere asin asinh atan atan2 atanh baddbmm
bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm ceil cholesky
cholesky_inverse cholesky_solve chunk clamp_max clamp_min clone conj conj_physical copysign corrcoef cos cosh
count_nonzero cummax cummin deg2rad det diag_embed diagonal diagonal_scatter diff dist div dot dsplit eq erf erfc
erfinv exp exp2 expm1 fix flatten fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp gather gcd ge
geqrf ger greater greater_equal gt hardshrink heaviside histc histogram hsplit hypot index_add index_copy index_fill
index_put index_reduce index_select inner inverse isclose isfinite isinf isnan isneginf isposinf isreal istft kron
kthvalue lcm ldexp le less less_equal log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet
logical_and logical_not logical_or logical_xor logit logsumexp lt lu lu_solve masked_fill masked_scatter masked_select
matmul matrix_exp matrix_power maximum mean minimum mode msort mul multinomial multiply mv nan_to_num nanmean nansum
narrow ne neg negative nextafter nonzero_static norm not_equal orgqr ormqr outer permute pinverse positive pow prelu
prod put qr rad2deg ravel reciprocal relu remainder renorm repeat_interleave reshape rot90 round rsqrt scatter
scatter_add scatter_reduce select_scatter sgn sigmoid sign signbit sin sinc sinh slice_scatter slogdet softmax
split_with_sizes sqrt square stft sum svd swapaxes swapdims take_along_dim tan tanh tensor_split topk trace
triangular_solve tril triu true_divide trunc unbind unflatten unfold unique_consecutive unsqueeze vdot vsplit xlogy
""".split()

#: Methods that differ from what is called so at the root, by modules; ``method=function`` has another name there.
METHODS = {
    "ops.elementwise.arithmetic": "divide=div",
    "ops.elementwise.comparison": "equal=array_equal",
    "ops.linalg.products": "mm=matmul",
    "ops.shape.arrangement": "select=select_slice sum_to_size",
    "ops.shape.joining": "repeat=tile split=split_by_size",
    "ops.shape.layout": "expand transpose=swapaxes view=reshape",
    "tensor.further": """
        astype bernoulli bfloat16 broadcast_to byte cdouble cfloat char conjugate copy cross data_ptr fill_diagonal_
        get_device is_conj
        is_contiguous is_neg is_nonzero is_same_size is_set_to is_shared is_signed narrow_copy ndimension nelement
        new new_empty new_full new_ones new_tensor new_zeros reshape_as resolve_conj resolve_neg short squeeze_
        storage_offset stride swapaxes_ swapdims_ t_ take tile transpose_ type unsqueeze_
    """,
    "tensor.rows": "_indices _nnz _values coalesce dense_dim indices is_coalesced sparse_dim to_dense values",
    "random": "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_",
}

#: Methods with a twin that writes into the tensor, whose name has an underscore more.
TWINS = """
abs absolute acos acosh addbmm addcdiv addcmul addmm addmv addr arccos arccosh arcsin arcsinh arctan arctan2 arctanh
asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
bitwise_xor ceil clamp_max clamp_min conj_physical copysign cos cosh cumprod cumsum deg2rad digamma div divide eq erf
erfc erfinv exp exp2 expm1 fix float_power floor floor_divide fmod frac gcd ge greater greater_equal gt heaviside
hypot i0 igamma igammac index_add index_copy index_fill index_put index_reduce lcm ldexp le lerp less less_equal
lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit lt masked_scatter multiply mvlgamma
nan_to_num ne neg negative nextafter not_equal polygamma pow put rad2deg reciprocal relu remainder renorm round rsqrt
scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc sinh sqrt square tan tanh tril triu true_divide trunc
xlogy
""".split()


class Further:
    """Methods that are looked up when they are first asked for."""

    __slots__ = ()

    #: Kinds of tensors that PyTorch has: these are of ordinary numbers, and have values.
    is_quantized = is_meta = is_nested = is_mkldnn = is_mps = False

    @property
    def is_sparse(self) -> bool:
        """Whether it holds some rows, and where they are: the gradient of a lookup with ``sparse=True``."""
        return getattr(self.array, "sparse", False)

    if TYPE_CHECKING:  # what is put here below; users' type checkers read the stub

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


def _function(name: str) -> Callable[[], Any]:
    return lambda: named(name, getattr(tape_namespace.public, name))


def _method(module: str, name: str, function: str) -> Callable[[], Any]:
    return lambda: named(name, guarded_if_plain(getattr(importlib.import_module(f"lucidgrad.{module}"), function)))


def _twin(name: str) -> Callable[[], Any]:
    return lambda: twin(getattr(tape_namespace.public.Tensor, name), f"{name}_")


for _name in FUNCTIONS:
    setattr(Further, _name, Deferred(Further, _name, _function(_name)))
for _module, _names in METHODS.items():
    for _pair in _names.split():
        _name, _, _known_as = _pair.partition("=")
        setattr(Further, _name, Deferred(Further, _name, _method(_module, _name, _known_as or _name)))
for _name in TWINS:
    setattr(Further, f"{_name}_", Deferred(Further, f"{_name}_", _twin(_name)))
