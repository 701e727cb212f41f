"""Calls of every public function, method and module, as text that both lucidgrad and PyTorch can read.

``lg`` stands for the library's root, ``F`` for its ``nn.functional``; `ARGUMENTS` says what the other names are.
An expression that PyTorch can't read (NumPy's names, the standard's) is checked without it.
"""

import functools
import re
from typing import Any

import numpy as np

import lucidgrad as lg

try:
    import torch
except ImportError:  # not in the test extra
    torch = None

_rng = np.random.default_rng(5)


def _numbers(*shape: int) -> np.ndarray:
    """Distinct numbers between 0.1 and 0.9."""
    n = int(np.prod(shape))
    return np.asarray(_rng.permutation(0.1 + 0.8 * (np.arange(n) + 0.5) / max(n, 1)).reshape(shape))


_square = _numbers(3, 3) + 2 * np.eye(3)

#: The tensors in expressions.
ARGUMENTS: dict[str, np.ndarray] = {
    "x": _numbers(3, 4),
    "w": _numbers(3, 4) - 0.5,
    "v": _numbers(4),
    "u": _numbers(3),
    "s": _numbers(),
    "row": _numbers(1, 3),
    "one": _numbers(1),
    "flat": _numbers(1, 1),
    "b": _numbers(2, 3, 4),
    "q": _numbers(2, 4, 3),
    "q4": _numbers(2, 3, 4),
    "m": _square,
    "spd": _square @ _square.T,
    "stack": np.stack([_square, 2 * _square]),
    "z": _numbers(3, 4) + 1j * _numbers(3, 4),
    "empty": _numbers(0, 4),
    "line": _numbers(2, 4, 6),
    "img": _numbers(2, 4, 6, 6),
    "vol": _numbers(1, 2, 4, 4, 4),
    "k1": _numbers(3, 4, 1),
    "k2": _numbers(3, 4, 1, 1),
    "k3": _numbers(3, 2, 1, 1, 1),
    "t1": _numbers(4, 3, 1),
    "t2": _numbers(4, 3, 1, 1),
    "t3": _numbers(2, 3, 1, 1, 1),
    "heads": _numbers(2, 2, 5, 4),
    "table": _numbers(6, 3),
    "c": _numbers(4),
    "d": _numbers(4),
    "gates": _numbers(16, 4),
    "gates3": _numbers(12, 4),
    "square4": _numbers(4, 4),
    "in4": _numbers(12, 4),
    "bias12": _numbers(12),
    "n": np.asarray([[0, 1, 2, 1], [2, 2, 0, 1], [0, 0, 1, 2]]),
    "k": np.asarray([2, 0, 1]),
    "pair": np.asarray([0, 1, 2, 1]),
    "mask": np.asarray([[True, False, True, True], [False, True, False, True], [True, True, False, False]]),
    "yes": np.asarray([True, False, True]),
    "all3": np.ones((3, 4), bool),
    "sign": np.asarray([1.0, -1.0, 1.0]),
}

UNARY = """
abs acos acosh asin asinh atan atanh ceil conj cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 expit floor
i0 imag isfinite isinf isnan lgamma log log10 log1p log2 logical_not logit logsumexp nan_to_num negative positive
rad2deg real reciprocal relu round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc angle
entr celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus
softshrink softsign tanhshrink clone ravel flatten sort argsort median nanmedian nanmax nanmean nanmin nanprod
nanstd nansum nanvar max min sum prod mean std var all any amax amin argmax argmin count_nonzero norm diff flipud
fliplr rot90 tril triu trace diag diagflat diag_embed diagonal matrix_transpose atleast_1d atleast_2d atleast_3d
squeeze nonzero argwhere unique unique_all unique_counts unique_inverse unique_values corrcoef cov ediff1d ptp
average std_mean var_mean zeros_like ones_like empty_like rand_like randn_like asarray as_tensor nancumsum trapezoid
histc unbind unstack mode bernoulli flip tensor histogram absolute arccos arccosh arcsin arcsinh arctan arctanh fix
neg conj_physical isneginf isposinf isreal is_complex is_conj is_floating_point is_inference is_neg is_signed is_tensor
numel get_device resolve_conj resolve_neg detach frac frexp t adjoint aminmax cumulative_trapezoid gradient msort pdist
unique_consecutive trapz block_diag rrelu dropout alpha_dropout feature_alpha_dropout
""".split()

BINARY = """
add atan2 copysign divide equal floor_divide fmod greater greater_equal heaviside hypot less less_equal logaddexp
logaddexp2 logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder rsub
subtract xlogy float_power eq ge gt le lt ne isclose allclose array_equal kron result_type isin div true_divide mul sub
arctan2 fmax fmin clamp_max clamp_min ldexp complex polar dist cosine_similarity pairwise_distance is_same_size
""".split()

_F_UNARY = """
celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu sigmoid silu
softplus softshrink softsign tanh tanhshrink rrelu dropout alpha_dropout
""".split()

_METHODS_UNARY = """
abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil clone conj cos cosh
digamma erf erfc erfinv exp expm1 floor i0 isfinite isinf isnan lgamma log log10 log1p log2 logical_not logit
nan_to_num neg negative reciprocal relu round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc detach cpu
contiguous double float half int long bool flatten ravel t flipud fliplr rot90 tril triu diag diagflat diag_embed
diagonal squeeze sort argsort max min sum prod mean std var all any amax amin argmax argmin count_nonzero norm
median nanmedian nanmean nansum nonzero argwhere unique corrcoef cov numpy histc unbind mode adjoint aminmax angle
bernoulli bfloat16 byte cdouble cfloat char conj_physical data_ptr deg2rad diff exp2 fix frac frexp get_device
hardshrink histogram is_conj is_contiguous is_neg is_signed isneginf isposinf isreal msort ndimension nelement positive
rad2deg resolve_conj resolve_neg sgn short signbit storage_offset stride type unique_consecutive is_shared
""".split()

_METHODS_BINARY = """
add atan2 arctan2 copysign div divide true_divide eq floor_divide fmod ge gt hypot isclose allclose le logaddexp
logaddexp2 logical_and logical_or logical_xor lt maximum minimum mul multiply ne pow remainder sub subtract xlogy
float_power equal kron type_as view_as expand_as clamp_max clamp_min dist fmax fmin greater greater_equal heaviside
inner is_same_size is_set_to ldexp less less_equal nextafter not_equal reshape_as
""".split()

#: Written out: degenerate arguments (one repetition, no padding, the same size) on purpose.
CALLS = """
lg.repeat(x, 1) | lg.repeat(x, 1, axis=0) | lg.repeat(x, 2, axis=1) | lg.repeat(row, 2, axis=0)
lg.repeat(v, k.sum()) | lg.tile(x, (1, 1)) | lg.tile(row, (2, 1)) | lg.tile(x, (1,)) | lg.tile(x, ())
lg.tile(x, (2, 1, 1)) | lg.tile(s, ()) | x.repeat(1, 1) | row.repeat(2, 1) | x.repeat(2, 1, 1) | x.repeat(1, 1, 1)
flat.repeat(3, 3) | s.repeat(2) | empty.repeat(1, 1) | lg.repeat(x, (1, 1, 1), axis=0) | lg.repeat(one, 3)
lg.repeat(s, 1) | lg.linalg.matrix_power(m, 1) | lg.linalg.matrix_power(m, 0) | lg.linalg.matrix_power(m, 2)
lg.linalg.matrix_power(m, -1) | lg.linalg.matrix_power(stack, 1) | F.pixel_shuffle(img, 1) | F.pixel_shuffle(img, 2)
F.pixel_unshuffle(img, 1) | F.pixel_unshuffle(img, 2) | F.channel_shuffle(img, 1) | F.channel_shuffle(img, 2)
F.channel_shuffle(img, 4) | F.pad(img, (0, 0, 0, 0), mode='circular') | F.pad(img, (0, 0, 0, 0), mode='replicate')
F.pad(img, (0, 0, 0, 0), mode='reflect') | F.pad(img, (0, 0)) | F.pad(img, (1, 0), value=2.0)
F.pad(img, (0, 0), value=2.0) | F.pad(img, (1, 1, 1, 1), mode='reflect') | F.pad(img, (-1, 0))
F.pad(img, (1, 1, 0, 0), mode='circular') | F.pad(img, ()) | F.pad(img, (1, 1, 1, 1), mode='replicate')
lg.pad(x, 0) | lg.pad(x, 0, mode='edge') | lg.pad(x, 0, mode='wrap') | lg.pad(x, 0, constant_values=1)
lg.pad(x, 1, mode='edge') | lg.pad(x, 1) | lg.roll(x, 0) | lg.roll(x, 0, 0) | lg.roll(x, 4, 1) | lg.roll(x, 1, 0)
x.roll(0, 0) | lg.roll(s, 1) | lg.roll(x, 0, axis=0) | lg.flip(x, axis=0) | lg.flip(x, axis=()) | x.flip(0)
x.flip((0, 1)) | lg.flip(row, axis=0) | lg.rot90(x, 0) | lg.rot90(x, 1) | lg.rot90(x, 2) | x.rot90(4)
lg.concat([x]) | lg.cat([x]) | lg.cat([x, empty]) | lg.cat([empty, x]) | lg.stack([x]) | lg.hstack([x])
lg.vstack([x]) | lg.dstack([x]) | lg.column_stack([x]) | lg.cat([x, x]) | lg.concat([x, x], axis=1) | lg.hstack([v])
lg.vstack([v]) | lg.split(x, 3) | lg.split(x, 1) | x.split(3) | x.split(1, 1) | x.split([1, 2]) | x.chunk(1)
x.chunk(2, 1) | lg.chunk(x, 1) | lg.array_split(x, 1) | lg.array_split(x, 2) | x.narrow(0, 0, 3)
lg.narrow(x, 0, 1, 1) | x.select(0, 1) | lg.select([x > 0.5], [w], 0.0) | x.sum_to_size(3, 4) | x.sum_to_size(1, 4)
x.unfold(1, 2, 1) | x.unfold(1, 4, 4) | lg.unfold(x, 0, 1, 1) | x.unfold(1, 1, 1) | x.expand(3, 4)
row.expand(2, 3) | x.expand(2, 3, 4) | x.expand(-1, -1) | s.expand(1) | one.expand(3) | lg.broadcast_to(x, (3, 4))
lg.broadcast_to(row, (2, 3)) | lg.broadcast_arrays(x, v) | lg.broadcast_arrays(x) | lg.meshgrid(u, v, indexing='ij')
lg.meshgrid(u, v) | lg.meshgrid(u) | x.reshape(3, 4) | x.reshape(-1) | x.reshape(4, 3) | lg.reshape(x, (12,))
x.view(2, 6) | x.T.reshape(12) | lg.ravel(x.T) | x.T.flatten() | x.T.contiguous() | x[:, 1].contiguous()
x.T.T.contiguous() | row.T.contiguous() | x.T.contiguous().T | s.contiguous() | empty.T.contiguous() | x.T.ravel()
v.flatten() | lg.flatten(x, 0, 1) | lg.flatten(b, 1) | x.flatten(1) | s.flatten() | s.ravel()
lg.unflatten(x, 1, (2, 2)) | x.unflatten(1, (4,)) | lg.flatten(x.T) | x.permute(0, 1) | x.permute(1, 0)
lg.permute_dims(x, (0, 1)) | lg.moveaxis(b, 0, 0) | lg.movedim(b, 0, 1) | b.moveaxis(0, 0) | b.movedim(0, -1)
lg.transpose(x) | x.transpose(0, 1) | lg.swapaxes(x, 0, 1) | x.swapaxes(0, 0) | x.T | x.mT | b.mT
lg.expand_dims(x, axis=0) | x.unsqueeze(0) | lg.squeeze(row, 0) | row.squeeze(0) | x.squeeze() | x.squeeze(0)
lg.squeeze(x, ()) | lg.diagonal(x, 0) | b.diagonal(0, 1, 2) | lg.diag(m) | lg.diag(v) | m.diag(1) | lg.diag_embed(v)
flat.diagonal() | lg.diag(flat) | lg.linalg.diagonal(m) | lg.astype(x, x.dtype) | lg.astype(x, x.dtype, copy=False)
x.to(x.dtype) | x.to('cpu') | x.to(x) | x.type_as(w) | x.to(x.dtype, copy=True) | x.to_device('cpu') | x.double()
x.data | x.real | z.real | z.imag | lg.real(x) | lg.real(z) | lg.imag(z) | lg.conj(z) | z.conj() | x.conj()
x.conjugate() | z.conjugate() | x.astype(lg.float32) | x.astype(lg.float64) | x.copy()
lg.positive(x) | lg.asarray(x) | lg.asarray(x, copy=True) | lg.asarray(x, copy=False) | lg.tensor(x)
lg.as_tensor(x) | lg.from_dlpack(x) | lg.from_numpy(x.numpy()) | lg.asarray(x.numpy()) | x[...] | x[:] | x[0]
x[0:3] | x[:, None] | x[[0, 1, 2]] | x[mask] | x[k] | x[::-1] | x[0, 0] | x[all3] | x[:, k] | x[None] | s[...]
s[None] | x[()] | lg.take(x, k, axis=0) | x.index_select(0, k) | lg.index_select(x, 0, k) | lg.gather(x, 0, n)
x.gather(1, n) | lg.take_along_axis(x, n, axis=0) | lg.take_along_dim(x, n, 0) | x.take_along_dim(n, 0)
x.masked_fill(mask, 0.0) | lg.masked_fill(x, mask, s) | x.masked_fill(~all3, 1.0) | x.masked_select(mask)
lg.masked_select(x, all3) | lg.masked_scatter(x, mask, w) | x.masked_scatter(~all3, w) | x.scatter(0, n, w)
lg.scatter(x, 0, n, 1.0) | x.scatter_add(0, n, w) | lg.scatter_add(x, 0, n[:0], w[:0])
lg.scatter_reduce(x, 0, n, w, 'sum') | x.scatter_reduce(0, n[:0], w[:0], 'amax') | x.index_add(0, k, w)
lg.index_add(x, 0, k[:0], w[:0]) | x.index_copy(0, k, w) | lg.index_copy(x, 0, k[:0], w[:0])
x.index_fill(0, k, 0.0) | lg.index_fill(x, 0, k[:0], 0.0) | x.index_put((k,), w) | lg.index_put(x, (k[:0],), w[:0])
lg.searchsorted(v.sort()[0], v) | lg.bucketize(v, u.sort()[0]) | lg.digitize(v, u.sort()[0]) | lg.where(mask, x, w)
lg.where(all3, x, w) | x.where(all3, w) | lg.clamp(x, 0.0, 1.0) | lg.clip(x, None, 5.0) | x.clamp(min=0.0)
x.clip(0.0, 9.0) | lg.clip(x) | lg.clip(x, w, x) | lg.lerp(x, w, 0.0) | lg.lerp(x, w, 0.5) | x.lerp(w, 1.0)
lg.threshold(x, -1.0, 0.0) | x.nan_to_num() | lg.nan_to_num(x, nan=1.0) | lg.add(x, 0) | lg.multiply(x, 1) | x + 0
x * 1 | x / 1 | x - 0 | x ** 1 | lg.pow(x, 1) | x.pow(1) | lg.float_power(x, 1) | x.add(w, alpha=0)
x.sub(w, alpha=1) | +x | -x | x // 1 | x % 2 | 1 - x | 1 / x | 2 ** x | x @ v | lg.maximum(x, x) | lg.round(x)
abs(x) | lg.sum(x, axis=()) | x.sum(0) | row.sum(0) | lg.sum(row, axis=0) | lg.mean(row, axis=0)
lg.prod(row, axis=0) | lg.max(row, axis=0) | row.amax(0) | row.max(0) | row.mean(0) | lg.amin(row, axis=0)
lg.std(x, axis=0) | lg.var(x, axis=0) | lg.average(x, axis=0, weights=u) | lg.prod(x, axis=()) | lg.max(x, axis=())
lg.any(mask, axis=()) | row.prod(0) | row.median(0) | row.mode(0) | row.kthvalue(1, 0) | lg.kthvalue(row, 1, 0)
row.nanmedian(0) | row.logsumexp(0) | lg.logsumexp(row, axis=0) | s.sum() | s.max() | lg.quantile(x, 0.5)
x.quantile(0.5, 0) | row.quantile(0.5, 0) | lg.percentile(x, 50) | lg.nanquantile(x, 0.5) | x.nanquantile(0.5)
lg.nanpercentile(x, 50) | row.min(0) | lg.cumsum(x, 0) | lg.cumprod(x, 0) | row.cumsum(0) | row.cumprod(0)
lg.cumulative_sum(row, axis=0) | lg.cumulative_prod(row, axis=0) | row.cummax(0) | row.cummin(0)
row.logcumsumexp(0) | lg.logcumsumexp(x, 0) | lg.diff(x, n=0) | lg.diff(x, n=1) | lg.nancumsum(x, axis=0)
lg.cummax(x, 0) | lg.cummin(x, 0) | row.sort(0) | lg.sort(row, axis=0) | x.sort(1) | x.topk(2) | row.topk(1, 0)
lg.topk(x, 4) | one.sort() | s.unique() | lg.sort(s.reshape(1)) | lg.argsort(x) | lg.tril(x, 9) | lg.triu(x, -9)
x.tril(9) | x.triu(-9) | lg.kron(flat, x) | lg.outer(u, v) | lg.inner(v, v) | lg.dot(v, v) | lg.vdot(v, v)
lg.vecdot(x, x) | lg.matmul(x, v) | lg.mm(x, x.T) | lg.mv(x, v) | lg.bmm(b, q) | lg.addmm(m, x, x.T)
lg.addmm(m, x, x.T, alpha=0) | lg.baddbmm(stack, b, q) | lg.addcmul(x, w, w, value=0) | lg.addcdiv(x, w, w, value=0)
x.addcmul(w, w) | x.addcdiv(w, w) | x.matmul(v) | x.mm(x.T) | v.dot(v) | u.outer(v) | m.addmm(x, x.T)
stack.baddbmm(b, q) | b.bmm(q) | x.mv(v) | v.vdot(v) | x.kron(flat) | lg.einsum('ij->ij', x)
lg.einsum('ij->ji', x) | lg.einsum('ii->i', m) | lg.einsum('ij,j->i', x, v) | lg.einsum('...', x)
lg.einsum('i->i', v) | lg.einsum('ij->', x) | lg.einsum('bij->bij', b) | lg.tensordot(x, v, axes=1)
lg.tensordot(x, s, axes=0) | lg.linalg.tensordot(x, v, axes=1) | lg.convolve(v, u) | lg.convolve(v, one)
lg.interp(u, v.sort()[0], c) | lg.cdist(x, x) | lg.vander(u) | lg.vander(u, 1) | lg.polygamma(1, x) | x.polygamma(1)
lg.bincount(pair) | pair.bincount() | lg.multinomial(u, 2) | lg.softmax(x, axis=1) | lg.log_softmax(x, axis=1)
x.softmax(1) | x.log_softmax(1) | one.softmax(0) | one.log_softmax(0) | lg.softmax(row, axis=0)
lg.bitwise_and(n, n) | lg.bitwise_or(n, n) | lg.bitwise_xor(n, n) | lg.bitwise_invert(n)
lg.bitwise_left_shift(n, n * 0) | lg.bitwise_right_shift(n, n * 0) | n & 3 | n << 0 | ~n | lg.full_like(x, 1.0)
lg.full((2, 2), s) | lg.normal(x, 1.0) | lg.broadcast_shapes((1,), (3,)) | lg.can_cast(x, x.dtype)
lg.isdtype(x.dtype, 'real floating') | lg.uniform(0.0, 1.0, (2,)) | x.histc(3) | x.unique(return_inverse=True)
lg.addbmm(m, b, q) | lg.addmv(u, x, v) | lg.addr(x, u, v) | m.addbmm(b, q) | u.addmv(x, v) | x.addr(u, v)
lg.addmv(u, x, v, alpha=0) | lg.logspace(0, 1, 3) | lg.promote_types(x.dtype, n.dtype) | lg.randint_like(n, 3)
lg.scalar_tensor(2.0) | lg.tril_indices(2, 3) | lg.triu_indices(2, 3) | lg.vmap(lg.sin)(x)
lg.adaptive_avg_pool1d(line, 6) | lg.avg_pool1d(line, 1) | lg.bilinear(x, x, b.transpose(0, 1)[:, :1].repeat(1, 4, 1))
lg.channel_shuffle(img, 1)
lg.conv1d(line, k1) | lg.conv2d(img, k2) | lg.conv3d(vol, k3) | lg.conv_transpose1d(line, t1)
lg.conv_transpose2d(img, t2) | lg.conv_transpose3d(vol, t3) | lg.group_norm(img, 1) | lg.layer_norm(x, (4,))
lg.rms_norm(x, (4,)) | lg.max_pool1d(line, 1) | lg.max_pool2d(img, 1) | lg.max_pool3d(vol, 1) | lg.pixel_shuffle(img, 1)
lg.pixel_unshuffle(img, 1) | lg.prelu(x, one) | x.prelu(one) | lg.cartesian_prod(u, v) | lg.combinations(u)
lg.combinations(u, 1) | lg.block_diag(x, v) | lg.unravel_index(k, (2, 3)) | lg.gcd(n, n) | lg.lcm(n, n) | pair.gcd(pair)
pair.lcm(pair) | pair.bitwise_and(pair) | pair.bitwise_or(pair) | pair.bitwise_xor(pair) | pair.bitwise_not()
pair.bitwise_left_shift(0) | pair.bitwise_right_shift(0) | lg.bitwise_not(n) | lg.view_as_real(z)
lg.view_as_complex(b[..., :2] * 1) | lg.diagonal_scatter(m, u) | lg.select_scatter(x, v, 0, 1) | lg.slice_scatter(x, w)
lg.slice_scatter(x, w[:0], 0, 0, 0) | m.diagonal_scatter(u) | x.select_scatter(v, 0, 1) | x.slice_scatter(w)
lg.index_reduce(x, 0, k, w, 'amax') | x.index_reduce(0, k[:0], w[:0], 'prod') | lg.nonzero_static(x, size=2)
x.nonzero_static(size=2) | lg.put(x, k, u) | lg.put(x, k[:0], u[:0]) | x.put(k, u) | x.take(k) | x.take(n)
lg.repeat_interleave(x, 1) | lg.repeat_interleave(x, 1, 0) | lg.repeat_interleave(k) | x.repeat_interleave(1, 1)
lg.split_with_sizes(x, [3]) | x.split_with_sizes([1, 2]) | lg.tensor_split(x, 1) | x.tensor_split(2, 1)
lg.hsplit(x, 2) | x.hsplit(1) | lg.vsplit(x, 3) | x.vsplit([1]) | lg.dsplit(b, 2) | b.dsplit(1) | lg.histogramdd(x, 2)
lg.renorm(x, 2, 0, 9.0) | x.renorm(2, 0, 0.1) | lg.broadcast_tensors(x, v) | lg.concatenate([x]) | lg.ger(u, v)
u.ger(v) | lg.permute(x, (0, 1)) | lg.row_stack([x]) | lg.swapdims(x, 0, 1) | x.swapdims(0, 0) | lg.unsqueeze(x, 0)
lg.is_nonzero(s) | s.is_nonzero() | x.broadcast_to(3, 4) | x.broadcast_to(2, 3, 4) | m.cross(m) | u.multinomial(2)
x.narrow_copy(0, 0, 3) | x.new_empty(2) | x.new_full((2,), 1.0) | x.new_ones(2) | x.new_tensor(x) | x.new_zeros(2)
x.tile(1, 1) | row.tile(2, 1) | x.trace() | x.type(x.dtype) | lg.frombuffer(bytearray(8), dtype=lg.float64)
lg.atleast_1d(x, v) | lg.round(x, decimals=1) | x.mH | m.H | lg.add(x, w, alpha=0)
lg.div(x, w, rounding_mode='floor')
lg.unbind(x, 0) | x.unbind(1) | lg.heaviside(x, w) | lg.linalg.trace(m) | lg.linalg.vecdot(x, x)
lg.linalg.outer(u, v) | lg.linalg.matmul(x, v) | lg.linalg.matrix_transpose(x) | lg.linalg.cholesky(spd)
lg.linalg.cond(m) | lg.linalg.cross(m, m) | lg.linalg.det(m) | lg.linalg.eig(m) | lg.linalg.eigh(spd)
lg.linalg.eigvals(m) | lg.linalg.eigvalsh(spd) | lg.linalg.inv(m) | lg.linalg.lstsq(m, m) | lg.linalg.matrix_norm(m)
lg.linalg.matrix_rank(m) | lg.linalg.pinv(m) | lg.linalg.qr(m) | lg.linalg.slogdet(m) | lg.linalg.solve(m, m)
lg.linalg.svd(m) | lg.linalg.svdvals(m) | lg.linalg.vector_norm(one) | lg.linalg.inv(flat) | lg.linalg.det(flat)
lg.linalg.cholesky(flat) | lg.fft.fft(v) | lg.fft.fft(one) | lg.fft.fft(z, n=1) | lg.fft.fftn(x)
lg.fft.fftshift(x) | lg.fft.fftshift(one) | lg.fft.ifftshift(x) | lg.fft.fftshift(x, axes=()) | lg.fft.hfft(z)
lg.fft.ifft(v) | lg.fft.ifftn(x) | lg.fft.ihfft(v) | lg.fft.irfft(z) | lg.fft.irfftn(z) | lg.fft.rfft(v)
lg.fft.rfftn(x) | lg.fft.fftn(z, axes=()) | lg.fft.ifft(z[:, :1]) | lg.fft.fft(z, n=4)
lg.lobpcg(spd) | lg.poisson(m.abs()) | lg.binomial(m.abs(), m.abs().clamp(max=1))
lg.svd_lowrank(m, 3) | lg.pca_lowrank(m, center=False)
lg.linalg.cholesky_ex(spd) | lg.linalg.inv_ex(m) | lg.linalg.solve_ex(m, m) | lg.linalg.lu_factor_ex(m)
lg.linalg.ldl_factor_ex(spd) | lg.linalg.ldl_factor(spd) | lg.linalg.ldl_solve(*lg.linalg.ldl_factor(spd), m)
lg.linalg.lu(m) | lg.linalg.lu_factor(m) | lg.linalg.lu_solve(*lg.linalg.lu_factor(m), m) | lg.linalg.matrix_exp(m)
lg.linalg.lu_solve(*lg.linalg.lu_factor(flat), flat, left=False) | lg.linalg.multi_dot([m, m]) | lg.linalg.norm(x)
lg.linalg.householder_product(m, u) | lg.linalg.solve_triangular(m, m, upper=True) | lg.linalg.tensorinv(m, ind=1)
lg.linalg.solve_triangular(flat, flat, upper=True, left=False) | lg.linalg.tensorsolve(m, u) | lg.linalg.vander(v)
lg.linalg.solve(m, m, left=False) | lg.linalg.qr(m, mode='r') | lg.linalg.eigvalsh(spd, UPLO='U')
lg.linalg.vander(u, N=2) | lg.linalg.norm(one) | lg.linalg.matrix_norm(flat, dim=(0, 1))
lg.linalg.diagonal(m, dim1=0, dim2=1) | lg.cholesky(spd) | lg.cholesky_inverse(m) | lg.cholesky_solve(m, m) | lg.det(m)
lg.geqrf(m) | lg.inverse(m) | lg.logdet(spd) | lg.lu(m) | lg.lu_solve(m, *lg.lu(m)) | lg.lu_unpack(*lg.lu(m))
lg.matrix_exp(m) | lg.matrix_power(m, 1) | lg.orgqr(m, u) | lg.ormqr(m, u, m) | lg.pinverse(m) | lg.qr(m)
lg.slogdet(m) | lg.svd(m) | lg.triangular_solve(m, m) | lg.trapz(x) | lg.svd(m, compute_uv=False)
lg.lu_unpack(*lg.lu(m), unpack_data=False) | lg.cumulative_trapezoid(x) | lg.ger(u, v) | lg.addbmm(m, stack, stack)
lg.addmv(u, x, v) | lg.addr(x, u, v) | lg.chain_matmul(m) | lg.chain_matmul(m, m)
lg.renorm(x, 2, 0, 9.0) | lg.renorm(x, 2, 0, 0.1) | lg.correlate(v, u) | lg.correlate(v, one)
lg.stft(v, 4, 1, return_complex=True) | lg.stft(v, 1, 1, return_complex=True, center=False, onesided=False)
lg.istft(lg.stft(v, 4, 1, return_complex=True), 4, 1) | lg.istft(z[:3, :2], 4, 1) | m.det() | m.logdet() | m.slogdet()
m.inverse() | m.pinverse() | m.matrix_power(1) | m.matrix_exp() | m.cholesky() | m.cholesky_solve(m)
m.qr() | m.cholesky_inverse() | m.svd() | m.geqrf() | m.orgqr(u) | m.ormqr(u, m) | m.lu() | m.lu_solve(*m.lu())
x.renorm(2, 0, 9) | m.triangular_solve(m) | m.addbmm(stack, stack) | u.addmv(x, v) | x.addr(u, v) | u.ger(v)
m.cholesky_solve(flat[0] * m) | v.stft(4, 1, return_complex=True) | z.istft(4, 1) | lg.fft.fft2(x) | lg.fft.ifft2(x)
lg.fft.rfft2(x) | lg.fft.irfft2(z) | lg.fft.hfft2(z) | lg.fft.ihfft2(x) | lg.fft.hfftn(z) | lg.fft.ihfftn(x)
F.adaptive_avg_pool1d(line, 6) | F.adaptive_avg_pool2d(img, 6) | F.adaptive_avg_pool2d(img, (None, None))
F.adaptive_avg_pool3d(vol, 4) | F.adaptive_max_pool1d(line, 6) | F.adaptive_max_pool2d(img, 6)
F.adaptive_max_pool3d(vol, 4) | F.adaptive_max_pool2d(img, 3, return_indices=True) | F.adaptive_avg_pool2d(img, 2)
F.avg_pool1d(line, 1) | F.avg_pool2d(img, 1) | F.avg_pool3d(vol, 1) | F.max_pool1d(line, 1) | F.max_pool2d(img, 1)
F.max_pool3d(vol, 1) | F.max_pool2d(img, 2) | F.avg_pool2d(img, 2) | F.lp_pool1d(line, 2.0, 1)
F.lp_pool2d(img, 1.0, 1) | F.lp_pool3d(vol, 2.0, 2) | F.max_pool1d(line, 2) | F.max_pool3d(vol, 2)
F.max_unpool1d(*F.max_pool1d(line, 1, return_indices=True), 1)
F.max_unpool2d(*F.max_pool2d(img, 2, return_indices=True), 2)
F.max_unpool3d(*F.max_pool3d(vol, 2, return_indices=True), 2) | F.interpolate(img, size=6)
F.interpolate(img, scale_factor=1.0) | F.interpolate(img, scale_factor=1.0, mode='bilinear')
F.interpolate(img, size=6, mode='bicubic') | F.interpolate(img, size=6, mode='area')
F.interpolate(img, size=6, mode='nearest-exact') | F.interpolate(line, size=6, mode='linear')
F.upsample(img, size=6) | F.interpolate(img, scale_factor=2.0)
F.interpolate(img, size=6, mode='bilinear', align_corners=True) | F.dropout(x, 0.0) | F.dropout(x, 0.5, False)
F.dropout(x, 1.0) | F.alpha_dropout(x, 0.0) | F.alpha_dropout(x, 0.5, False) | F.feature_alpha_dropout(img, 0.0)
F.feature_alpha_dropout(img, 0.5, False) | F.dropout1d(line, 0.0) | F.dropout1d(line, 0.5, False)
F.dropout2d(img, 0.0) | F.dropout2d(img, 0.5, False) | F.dropout3d(vol, 0.0) | F.dropout3d(vol, 0.5, False)
F.dropout(empty, 0.5) | F.alpha_dropout(x, 0.0, True) | F.dropout(x, 0.0, True)
F.feature_alpha_dropout(img, 0.0, True) | F.dropout2d(img, 0.0, True) | F.batch_norm(img, c, d)
F.batch_norm(img, None, None, training=True) | F.instance_norm(img) | F.group_norm(img, 1) | F.layer_norm(x, (4,))
F.layer_norm(x, (4,), v, c) | F.rms_norm(x, (4,)) | F.local_response_norm(img, 1) | F.normalize(x)
F.normalize(x, p=1.0) | F.cosine_similarity(x, w) | F.pairwise_distance(x, w) | F.batch_norm(img, c, d, c, d)
F.group_norm(img, 2, c, d) | F.conv1d(line, k1) | F.conv2d(img, k2) | F.conv3d(vol, k3)
F.conv_transpose1d(line, t1) | F.conv_transpose2d(img, t2) | F.conv_transpose3d(vol, t3) | F.linear(x, square4)
F.bilinear(u.unsqueeze(0), u.unsqueeze(0), stack) | F.fold(F.unfold(img, 1), (6, 6), 1) | F.unfold(img, 1)
F.unfold(img, 2) | F.fold(F.unfold(img, 2), (6, 6), 2) | F.binary_cross_entropy(x, x, reduction='none')
F.binary_cross_entropy_with_logits(x, x, reduction='none') | F.cosine_embedding_loss(x, w, sign, reduction='none')
F.cross_entropy(x, k, reduction='none') | F.gaussian_nll_loss(x, w, x, reduction='none')
F.hinge_embedding_loss(u, sign, reduction='none') | F.huber_loss(x, w, reduction='none')
F.kl_div(x, x, reduction='none') | F.l1_loss(x, w, reduction='none')
F.margin_ranking_loss(u, u, sign, reduction='none') | F.mse_loss(x, w, reduction='none')
F.multi_margin_loss(x, k, reduction='none') | F.multilabel_margin_loss(x, n, reduction='none')
F.multilabel_soft_margin_loss(x, x, reduction='none') | F.nll_loss(x, k, reduction='none')
F.poisson_nll_loss(x, x, reduction='none') | F.smooth_l1_loss(x, w, reduction='none')
F.soft_margin_loss(u, sign, reduction='none') | F.triplet_margin_loss(x, w, x, reduction='none')
F.triplet_margin_with_distance_loss(x, w, x, reduction='none') | F.mse_loss(s, s) | F.l1_loss(one, one)
F.nll_loss(flat, k[1:2], reduction='none') | F.l1_loss(x, w) | F.cross_entropy(x, k)
F.hinge_embedding_loss(u, sign) | F.mse_loss(x, w, reduction='sum')
F.ctc_loss(F.log_softmax(line, 2), pair.reshape(4, 1) * 0 + 1, pair * 0 + 2, pair * 0 + 1, reduction='none')
F.celu_(x.clone()) | F.elu_(x.clone()) | F.hardtanh_(x.clone()) | F.leaky_relu_(x.clone()) | F.relu_(x.clone())
F.rrelu_(x.clone()) | F.selu_(x.clone()) | F.threshold_(x.clone(), 0.0, 0.0) | F.relu(x.clone(), inplace=True)
F.embedding(n, table) | F.embedding_bag(n, table) | F.one_hot(pair) | F.glu(x) | F.gumbel_softmax(x)
F.gumbel_softmax(one) | F.softmax(x, 1) | F.log_softmax(x, 1) | F.softmin(x, 1) | F.prelu(x, one) | F.prelu(img, c)
F.threshold(x, -1.0, 0.0) | F.rrelu(x, training=True) | F.hardtanh(x, 0.0, 1.0) | F.softplus(x, threshold=0.0)
F.gelu(x, approximate='tanh') | F.elu(x, 1.0) | F.scaled_dot_product_attention(heads, heads, heads)
F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
F.scaled_dot_product_attention(heads, heads, heads, attn_mask=heads[0, 0, :, :1])
F.multi_head_attention_forward(q4, q4, q4, 4, 2, in4, bias12, None, None, False, 0.0, square4, c)
special.fdtr(x, x, x) | special.fdtrc(x, x, x)
special.betainc(x, x, x) | special.betaincc(x, x, x) | special.multigammaln(x + 2, 1)
special.multigammaln(x + 2, 2) | special.polygamma(1, x) | lg.mvlgamma(x + 2, 1) | x.mvlgamma(1)
special.chebyshev_polynomial_t(x, 1) | special.chebyshev_polynomial_u(x, 1) | special.chebyshev_polynomial_v(x, 1)
special.chebyshev_polynomial_w(x, 1) | special.shifted_chebyshev_polynomial_t(x, 1)
special.shifted_chebyshev_polynomial_u(x, 1) | special.shifted_chebyshev_polynomial_v(x, 1)
special.shifted_chebyshev_polynomial_w(x, 1) | special.hermite_polynomial_h(x, 1)
special.hermite_polynomial_he(x, 1) | special.laguerre_polynomial_l(x, 1) | special.legendre_polynomial_p(x, 1)
special.chebyshev_polynomial_u(x, 0) | special.laguerre_polynomial_l(x, 3) | special.legendre_polynomial_p(x, 1)
lg.igamma(x, x) | lg.igammac(x, x) | x.igamma(x) | x.igammac(x)
special.softmax(x, axis=1) | special.log_softmax(x, axis=1) | special.logsumexp(row, axis=0)
F.gru_cell(x, x, gates3, gates3) | F.lstm_cell(x, (x, w), gates, gates) | F.rnn_tanh_cell(x, x, square4, square4)
F.rnn_relu_cell(x, x, square4, square4)
F.grid_sample(img, img[:, :1, :, :2], align_corners=True) | F.affine_grid(b[:, :2, :3], (2, 1, 2, 2), True)
F.grouped_mm(b, q)
F.pdist(x) | F.conv_tbc(b, q, u) | F.linear_cross_entropy(x, w, k) | F.native_channel_shuffle(img, 1)
F.fractional_max_pool2d(img, 1, 6) | F.fractional_max_pool3d(vol, 1, 4) | F.upsample_nearest(img, 6)
F.fractional_max_pool2d_with_indices(img, 2, 3) | F.fractional_max_pool3d_with_indices(vol, 2, 2)
F.upsample_bilinear(img, 6) | F.max_pool1d_with_indices(line, 1) | F.max_pool2d_with_indices(img, 1)
F.max_pool3d_with_indices(vol, 1) | F.adaptive_max_pool1d_with_indices(line, 6)
F.adaptive_max_pool2d_with_indices(img, 6) | F.adaptive_max_pool3d_with_indices(vol, 4)
"""

_SPECIAL_UNARY = """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 spherical_bessel_j0 k0 k0e k1 k1e round j0 j1 y0 y1 modified_bessel_i0
modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1
cosm1 digamma entr erf erfc erfcinv erfcx erfinv exp10 exp2 expit expm1 exprel gamma gammaln i0 i0e i1 i1e log1p
log_expit log_ndtr logit ndtr ndtri psi sinc softplus logsumexp
""".split()
_SPECIAL_BINARY = """
beta betaln boxcox boxcox1p gammainc gammaincc huber inv_boxcox kl_div logaddexp pseudo_huber rel_entr xlog1py xlogy
zeta
""".split()

#: Modules: what they are called with, and how they are made.
MODULES = """
img: AdaptiveAvgPool2d(None) | AdaptiveAvgPool2d(6) | AdaptiveMaxPool2d(6) | AvgPool2d(1) | MaxPool2d(1)
img: LPPool2d(1, 1) | CircularPad2d(0) | ReflectionPad2d(0) | ReplicationPad2d(0) | ZeroPad2d(0)
img: ConstantPad2d(0, 1.0) | Dropout2d(0.0) | Dropout2d(0.5) | FeatureAlphaDropout(0.5) | PixelShuffle(1)
img: PixelUnshuffle(1) | ChannelShuffle(1) | Softmax2d() | BatchNorm2d(4) | InstanceNorm2d(4) | GroupNorm(1, 4)
img: LocalResponseNorm(1) | Conv2d(4, 2, 1) | ConvTranspose2d(4, 2, 1) | Unfold(1) | Upsample(6)
img: UpsamplingBilinear2d(6) | UpsamplingNearest2d(6)
vol: AdaptiveAvgPool3d(None) | AdaptiveAvgPool3d(4) | AdaptiveMaxPool3d(4) | AvgPool3d(1) | MaxPool3d(1)
vol: LPPool3d(1, 1) | CircularPad3d(0) | ReflectionPad3d(0) | ReplicationPad3d(0) | ZeroPad3d(0)
vol: ConstantPad3d(0, 1.0) | Dropout3d(0.5) | BatchNorm3d(2) | InstanceNorm3d(2) | Conv3d(2, 2, 1)
vol: ConvTranspose3d(2, 2, 1)
line: AdaptiveAvgPool1d(6) | AdaptiveMaxPool1d(6) | AvgPool1d(1) | MaxPool1d(1) | LPPool1d(1, 1) | CircularPad1d(0)
line: ReflectionPad1d(0) | ReplicationPad1d(0) | ZeroPad1d(0) | ConstantPad1d(0, 1.0) | Dropout1d(0.5)
line: BatchNorm1d(4) | InstanceNorm1d(4) | Conv1d(4, 2, 1) | ConvTranspose1d(4, 2, 1) | GRU(6, 3) | LSTM(6, 3)
line: RNN(6, 3)
x: CELU() | ELU() | GELU() | GLU() | Hardshrink(0.0) | Hardsigmoid() | Hardswish() | Hardtanh(-9, 9)
x: LeakyReLU(1.0) | LogSigmoid() | LogSoftmax(1) | Mish() | PReLU() | RReLU(1.0, 1.0) | ReLU() | ReLU6() | SELU()
x: SiLU() | Sigmoid() | Softmax(1) | Softmin(1) | Softplus() | Softshrink(0.0) | Softsign() | Tanh() | Tanhshrink()
x: Threshold(-1, 0) | Dropout(0.0) | AlphaDropout(0.0) | Dropout(0.5) | AlphaDropout(0.5) | Identity() | Flatten()
x: Flatten(0) | Unflatten(1, (4,)) | LayerNorm(4) | RMSNorm(4) | Linear(4, 4) | Sequential() | GRUCell(4, 3)
x: LSTMCell(4, 3) | RNNCell(4, 3) | TransformerEncoderLayer(4, 2, 4)
b[:, :, :1].repeat(1, 1, 6): Fold((2, 3), 1)
x, x: Bilinear(4, 4, 2) | Transformer(4, 2, 1, 1, 4) | TransformerDecoderLayer(4, 2, 4) | BCELoss()
x, x: BCEWithLogitsLoss() | KLDivLoss(reduction='sum') | PoissonNLLLoss() | MultiLabelSoftMarginLoss()
x, w: CosineSimilarity() | PairwiseDistance() | MSELoss() | L1Loss() | HuberLoss() | SmoothL1Loss()
n: Embedding(3, 2) | EmbeddingBag(3, 2)
x, x, x: MultiheadAttention(4, 2)
x, k: CrossEntropyLoss() | NLLLoss() | MultiMarginLoss()
x, w, x: GaussianNLLLoss() | TripletMarginLoss() | TripletMarginWithDistanceLoss()
u, sign: HingeEmbeddingLoss() | SoftMarginLoss()
u, u, sign: MarginRankingLoss()
x, n: MultiLabelMarginLoss()
x, w, sign: CosineEmbeddingLoss()
img: LazyConv2d(2, 1) | LazyConvTranspose2d(2, 1) | LazyBatchNorm2d() | LazyInstanceNorm2d() | SyncBatchNorm(4)
img: FractionalMaxPool2d(1, 6)
vol: LazyConv3d(2, 1) | LazyConvTranspose3d(2, 1) | LazyBatchNorm3d() | LazyInstanceNorm3d() | FractionalMaxPool3d(1, 4)
line: LazyConv1d(2, 1) | LazyConvTranspose1d(2, 1) | LazyBatchNorm1d() | LazyInstanceNorm1d()
x: LazyLinear(4)
x, k: AdaptiveLogSoftmaxWithLoss(4, 5, [2]) | LinearCrossEntropyLoss(4, 3) | NLLLoss2d()
"""


def expressions() -> list[str]:
    """All calls of functions and methods."""
    made = [f"lg.{name}(x)" for name in UNARY] + [f"lg.{name}(x, w)" for name in BINARY]
    made += [f"F.{name}(x)" for name in _F_UNARY]
    made += [f"x.{name}()" for name in _METHODS_UNARY] + [f"x.{name}(w)" for name in _METHODS_BINARY]
    made += [f"special.{name}(x)" for name in _SPECIAL_UNARY] + [f"special.{name}(x, x)" for name in _SPECIAL_BINARY]
    made += [call.strip() for line in CALLS.split("\n")[1:-1] for call in line.split(" | ")]
    for given, hows in (line.rsplit(": ", 1) for line in MODULES.split("\n")[1:-1]):
        made += [f"nn.{how.strip()}{mode}({given})" for how in hows.split(" | ") for mode in ("", ".eval()")]
    return list(dict.fromkeys(made))


def name_of(expression: str) -> str:
    """The function, method or module whose result an expression is."""
    while expression.endswith(")"):  # drop the arguments of the last call
        depth, at = 0, len(expression)
        while at := at - 1:
            depth += {")": 1, "(": -1}.get(expression[at], 0)
            if not depth:
                break
        if at == 0 or not re.search(r"\w$|\)$", expression[:at]):
            break
        expression = expression[:at].removesuffix(".eval()")
    if expression.endswith("]"):
        return "index"
    found = re.fullmatch(r"(?:.*[\w\])]\.)?([A-Za-z_]\w*)", expression)
    return found.group(1) if found else expression


def arguments(library: Any, names: list[str], requires_grad: bool = False, where: str = "cpu") -> dict[str, Any]:
    """Fresh tensors for an expression with these names."""
    make = functools.partial(lg.asarray, device=where) if library is lg else torch.from_numpy
    made = {name: make(np.array(ARGUMENTS[name])) for name in names}
    if requires_grad:
        for name, value in made.items():
            if ARGUMENTS[name].dtype.kind in "fc":
                value.requires_grad_()
    return made


def names_in(expression: str) -> list[str]:
    """The tensors of an expression."""
    words = re.findall(r"(?<![\w.'])[A-Za-z_]\w*", expression)
    return [name for name in dict.fromkeys(words) if name in ARGUMENTS]


def evaluate(library: Any, expression: str, given: dict[str, Any]) -> list[Any]:
    """The tensors that an expression gives, in PyTorch float64 as in lucidgrad."""
    scope = {"lg": library, "nn": library.nn, "F": library.nn.functional, "special": library.special, **given}
    library.manual_seed(0)
    return list(tensors_in(eval(expression, scope), library.Tensor))


def tensors_in(value: Any, kind: type) -> Any:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part, kind)
