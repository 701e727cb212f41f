"""Calls of PyTorch's functions by their own names of arguments: one or more of each function of the door.

A row is ``names: argument=value, ...``; what the values' names stand for is in `everyday` and `GIVEN`. Each row is a
call with all arguments by name, and one with as many as possible by position.
"""

import ast
import inspect
import re

import door_everyday
import numpy as np
from ops import everyday

import lucidgrad.torch as door

#: More arrays, beside those of `everyday`: single precision, integers of several widths, truth values, special numbers.
GIVEN = everyday.GIVEN | {
    "f": everyday.GIVEN["x"].astype("float32"),
    "g": everyday.GIVEN["y"].astype("float32"),
    "h": np.asarray([[3, -1, 2, 7], [0, 5, -4, 1], [6, 2, 8, -3]], dtype="int32"),
    "byte": np.asarray([[3, 200, 2, 7], [0, 5, 4, 100], [60, 2, 80, 3]], dtype="uint8"),
    "ties": np.asarray([[2.0, 1.0, 2.0, 1.0], [3.0, 3.0, 0.0, 0.0], [1.0, 1.0, 1.0, 4.0]]),
    "holes": np.where(everyday.GIVEN["mask"], everyday.GIVEN["x"], np.nan),
    "spd": everyday.GIVEN["m"] @ everyday.GIVEN["m"].T + np.eye(4),
    "sym": everyday.GIVEN["m"] + everyday.GIVEN["m"].T,
    "tri": np.tril(everyday.GIVEN["m"]) + 3 * np.eye(4),
    "tall": everyday._numbers(21, 5, 3),
    "cube": everyday._numbers(22, 2, 4, 4) + 3 * np.eye(4),
    "tens": everyday._numbers(23, 2, 3, 6) + 0.0,
    "idx": np.asarray([[0, 2, 1, 0], [2, 1, 0, 1]]),
    "line8": everyday._numbers(24, 16),
    "vec3": everyday._numbers(25, 2, 3),
}

CALLS = """
abs absolute angle arcsinh arctan asinh atan ceil cos cosh deg2rad erf erfc exp exp2 expm1 fix floor frac i0 isneginf
isposinf neg negative rad2deg reciprocal sgn sigmoid sign signbit sin sinc sinh square tan tanh trunc
conj_physical: input=x
abs ceil cos exp floor neg reciprocal sigmoid sign sin sqrt square tanh trunc signbit isposinf logical_not: input=h
abs sqrt exp sign: input=f
acos arccos arcsin arctanh asin atanh erfinv log log10 log1p log2 logit rsqrt sqrt digamma lgamma: input=p
acosh arccosh: input=p + 1.5
abs angle conj cos exp imag log real sin sqrt square tanh isfinite isnan isreal conj_physical sgn: input=z
bitwise_not: input=n ; input=mask
logical_not: input=x ; input=mask
isfinite isinf isnan isposinf isneginf: input=odd
conj imag isfinite isinf isnan isreal positive relu selu: input=x if '@' != 'imag' else z
arctan2 atan2 copysign eq fmax fmin fmod ge greater greater_equal gt hypot ldexp le less less_equal logaddexp logaddexp2
logical_and logical_or logical_xor lt maximum minimum mul multiply ne not_equal remainder true_divide
: input=x, other=y ; input=x.detach(), other=u.detach()
floor_divide: input=x.detach(), other=y.detach() ; input=n, other=3
eq fmod ge gt le lt mul ne remainder true_divide: input=x, other=0.7 ; input=n, other=3 ; input=h, other=q[:4]
mul maximum add sub: input=f, other=g ; input=f, other=x ; input=f, other=h ; input=h, other=byte
add sub mul div maximum atan2 eq hypot lt true_divide xlogy rsub: input=f.abs(), other=s ; input=s, other=f.abs()
pow: input=f.abs(), exponent=s ; input=s, exponent=f
mul add eq sub maximum floor_divide: input=h, other=q[1] ; input=byte, other=i[0] + 1
add mul sub: input=f, other=z[0, 0] ; input=h, other=s ; input=f, other=q[0]
add mul div: input=z.detach().to(torch.complex64), other=s ; input=mask, other=q[0]
bitwise_and bitwise_or bitwise_xor gcd lcm: input=n, other=o
bitwise_and bitwise_or bitwise_xor: input=mask, other=~mask
bitwise_left_shift bitwise_right_shift: input=n, other=i[:, None] ; input=n, other=1
nextafter: input=x.detach(), other=y.detach()
xlogy: input=x, other=p ; input=x, other=2.0
add sub subtract: input=x, other=y, alpha=2 ; input=x, other=1.5 ; input=n, other=o, alpha=3 ; input=x, other=y
div divide: input=x, other=y ; input=n, other=o, rounding_mode='floor' ; input=x, other=2.0, rounding_mode='trunc' ;
    input=n, other=2
igamma igammac: input=p.detach(), other=p + 0.5
float_power: input=p, exponent=2.5 ; input=n, exponent=2
pow: input=p, exponent=x ; input=p, exponent=2 ; input=h, exponent=2
heaviside: input=x.detach(), values=u.detach()
polygamma: n=1, input=p + 0.5
mvlgamma: input=p + 2, p=3
round: input=x ; input=x, decimals=1 ; input=x * 100, decimals=-1 ; input=h
lerp: input=x, end=y, weight=0.3 ; input=x, end=y, weight=p
addcdiv addcmul: input=x, tensor1=y, tensor2=p ; input=x, tensor1=y, tensor2=p, value=0.5
clamp clip: input=x, min=-0.5, max=0.5 ; input=x, max=u ; input=x, min=0.1 ; input=n, min=0, max=5
clamp_max: input=x, max=0.5
clamp_min: input=x, min=0.5
nan_to_num: input=odd ; input=odd, nan=1.0, posinf=2.0, neginf=3.0
logit: input=p, eps=0.2
celu: input=x, alpha=0.5
hardshrink: input=x, lambd=0.7
threshold: input=x, threshold=0.1, value=20.0
rrelu: input=x, lower=0.2, upper=0.2, training=False
frexp: input=x
complex: real=x, imag=y
polar: abs=p, angle=x
view_as_complex: input=pairs
view_as_real: input=z
allclose isclose: input=x, other=x + 1e-7 ; input=x, other=y, rtol=0.1, atol=10.0, equal_nan=True
equal: input=x, other=x ; input=x, other=y
isin: elements=n, test_elements=o ; elements=n, test_element=7, assume_unique=False, invert=True
where: condition=mask ; condition=mask, input=x, other=y
where: condition=mask, input=f, other=0.0 ; condition=mask, input=x, other=0
clone: input=x
fill: input=x, value=2.5
sum nansum: input=x ; input=x, dim=1 ; input=x, dim=(0, 1), keepdim=True ; input=n, dim=0 ; input=byte ; input=mask ;
    input=f, dtype=torch.float64
sum: input=x, dim=() ; input=h, dim=1 ; input=b, dim=[0, 2] ; input=x, dim=1, keepdim=True, dtype=torch.float32
nansum nanmean: input=holes, dim=1 ; input=holes
prod: input=x ; input=x, dim=1, keepdim=True ; input=byte, dim=0 ; input=h ; input=x, dim=0, dtype=torch.float32
mean nanmean: input=x ; input=x, dim=1, keepdim=True ; input=x, dim=(0, 1) ; input=f, dim=0, dtype=torch.float64
mean: input=n, dtype=torch.float32
all any: input=mask ; input=mask, dim=1 ; input=mask, dim=0, keepdim=True ; input=x ; input=byte, dim=0 ; input=mask,
    dim=(0, 1)
amax amin: input=x ; input=x, dim=1 ; input=b, dim=(0, 2), keepdim=True ; input=n, dim=0 ; input=ties, dim=1
argmax argmin: input=x ; input=x, dim=1 ; input=x, dim=0, keepdim=True
aminmax: input=x ; input=x, dim=1, keepdim=True
max min: input=x ; input=x, dim=1 ; input=x, dim=0, keepdim=True ; input=x, other=y ; input=n ; input=n, dim=1 ; input=f
median nanmedian: input=x ; input=x, dim=1 ; input=x, dim=0, keepdim=True ; input=n, dim=1
nanmedian: input=holes ; input=holes, dim=1
mode: input=ties ; input=ties, dim=0, keepdim=True
kthvalue: input=x, k=2 ; input=x, k=1, dim=0, keepdim=True
topk: input=x, k=2 ; input=x, k=2, dim=0, largest=False, sorted=True
logsumexp: input=x, dim=1 ; input=x, dim=(0, 1), keepdim=True
std var: input=x ; input=x, dim=1 ; input=x, dim=1, unbiased=False ; input=x, unbiased=False ; input=x, dim=0,
    correction=2 ; input=x, dim=(0, 1), keepdim=True ; input=f
std_mean var_mean: input=x ; input=x, dim=1 ; input=x, dim=1, unbiased=False ; input=x, unbiased=False ; input=x,
    dim=0, correction=2, keepdim=True
quantile nanquantile: input=x, q=0.3 ; input=x, q=w[:2].detach() / 3, dim=1, keepdim=True ; input=x, q=0.5, dim=0,
    interpolation='lower'
norm: input=x ; input=x, p=1, dim=1 ; input=x, p=float('inf'), dim=0, keepdim=True ; input=x, p='nuc' ; input=f,
    dtype=torch.float64
dist: input=x, other=y ; input=x, other=y, p=3
count_nonzero: input=n ; input=n, dim=1 ; input=n, dim=(0, 1)
trace: input=m ; input=h
cov: input=x ; input=x, correction=0, fweights=j + 1 ; input=x, aweights=u.detach().abs()
corrcoef: input=x
trapezoid trapz: y=x ; y=x, dx=0.5, dim=0 ; y=x, x=u
cumulative_trapezoid: y=x ; y=x, dx=0.5, dim=0 ; y=x, x=y
gradient: input=x ; input=u ; input=x, spacing=2.0 ; input=x, dim=1 ; input=x, spacing=[0.5, 2.0], edge_order=2 ;
    input=x, spacing=[v.sort()[0].detach(), u.sort()[0].detach()]
gradient: input=x, dim=(1, 0), edge_order=1 ; input=x, spacing=0.5, dim=[0] ; input=x,
    spacing=(u.sort()[0].detach(),), dim=1
bincount: input=j ; input=j, weights=u.detach(), minlength=6 ; input=j, minlength=2
histc: input=x.detach(), bins=5 ; input=x.detach(), bins=4, min=-1, max=1
histogram: input=x.detach(), bins=4 ; input=x.detach(), bins=3, range=(-2.0, 2.0), weight=p.detach(), density=True ;
    input=x.detach(), bins=ranks[0].detach()
histogramdd: input=pairs.detach(), bins=[2, 3] ; input=pairs.detach(), bins=[2, 2], range=[-2.0, 2.0, -3.0, 3.0],
    weight=v.detach() + 3, density=True
bucketize: input=x, boundaries=ranks[0] ; input=x, boundaries=ranks[0], right=True, out_int32=True
searchsorted: sorted_sequence=ranks[0], input=x ; sorted_sequence=ranks, input=b[:, 0], right=True ;
    sorted_sequence=w, input=u, side='right', sorter=w.argsort() ; sorted_sequence=ranks[0], input=x, out_int32=True
cumsum cumprod: input=x, dim=1 ; input=n, dim=0 ; input=byte, dim=1 ; input=x, dim=0, dtype=torch.float32 ;
    input=mask, dim=0
cummax cummin logcumsumexp: input=x, dim=1 ; input=x, dim=0
softmax log_softmax: input=x, dim=1 ; input=f, dim=0, dtype=torch.float64
sort: input=x ; input=x, dim=0, descending=True ; input=ties, stable=True, dim=1 ; input=ties, stable=True,
    descending=True
argsort: input=x ; input=x, dim=0, descending=True ; input=ties, stable=True, dim=1, descending=True
msort: input=x
unique: input=q ; input=rows, dim=0 ; input=q, sorted=True, return_inverse=True, return_counts=True ; input=rows,
    return_counts=True, dim=1
unique_consecutive: input=q ; input=q, return_inverse=True, return_counts=True ; input=rows, dim=0
diff: input=x ; input=x, n=2, dim=0 ; input=x, n=1, dim=1, prepend=y, append=row * v[:, None]
renorm: input=x, p=2, dim=0, maxnorm=1.5
adjoint argwhere detach fliplr flipud ravel resolve_conj resolve_neg t: input=x
get_device is_complex is_conj is_floating_point is_inference is_neg is_signed numel: input=x
is_nonzero: input=s
is_same_size: input=x, other=y
broadcast_to: input=x, size=(2, 3, 4)
reshape: input=x, shape=(2, 6) ; input=x, shape=(-1,)
permute: input=b, dims=(2, 0, 1)
transpose swapdims: input=b, dim0=0, dim1=2
swapaxes: input=b, axis0=0, axis1=2
moveaxis movedim: input=b, source=0, destination=2 ; input=b, source=(0, 1), destination=(1, 2)
squeeze: input=x[:, None] ; input=x[None], dim=0 ; input=x[None], dim=1 ; input=x[None, :, None], dim=(0, 2)
unsqueeze: input=x, dim=1 ; input=x, dim=-1
flatten: input=b ; input=b, start_dim=1, end_dim=2
unflatten: input=x, dim=1, sizes=(2, 2) ; input=x, dim=1, sizes=(2, -1)
flip: input=x, dims=(0,) ; input=x, dims=[0, 1]
roll: input=x, shifts=2 ; input=x, shifts=1, dims=0 ; input=x, shifts=(1, -1), dims=(0, 1)
rot90: input=x ; input=x, k=2, dims=(1, 0)
tile: input=x, dims=(2,) ; input=x, dims=(2, 1, 2)
tril triu: input=x ; input=x, diagonal=1 ; input=b, diagonal=-1
diag: input=u ; input=x, diagonal=1 ; input=u, diagonal=-1
diagflat: input=u ; input=x, offset=1
diag_embed: input=x ; input=x, offset=1, dim1=0, dim2=2
diagonal: input=x ; input=b, offset=1, dim1=0, dim2=2
diagonal_scatter: input=m, src=u ; input=m, src=v, offset=1, dim1=0, dim2=1
cat concat concatenate: tensors=(x, y) ; tensors=[x, y], dim=1 ; tensors=(f, x) ; tensors=(n, f)
stack: tensors=(x, y) ; tensors=[x, y], dim=2 ; tensors=(f, g), dim=-1
column_stack dstack hstack row_stack vstack: tensors=(x, y) ; tensors=(u, u)
split: tensor=x, split_size_or_sections=2 ; tensor=x, split_size_or_sections=[1, 3], dim=1
split_with_sizes: input=x, split_sizes=[1, 2] ; input=x, split_sizes=[1, 3], dim=1
chunk: input=x, chunks=2 ; input=x, chunks=3, dim=1
tensor_split: input=x, sections=2 ; input=x, indices=(1, 3), dim=1
hsplit: input=x, sections=2 ; input=x, indices=(1, 3)
vsplit: input=m, sections=2 ; input=x, indices=(1,)
dsplit: input=b, sections=2 ; input=b, indices=(1,)
unbind: input=x ; input=x, dim=1
combinations: input=u ; input=v, r=2, with_replacement=True
repeat_interleave: input=x, repeats=2 ; input=x, repeats=i, dim=0 ; repeats=i ; input=x, repeats=i, dim=0, output_size=3
gather: input=x, dim=0, index=idx ; input=x, dim=1, index=idx.clamp(max=2), sparse_grad=False
scatter: input=x, dim=0, index=idx, src=y[:2] ; input=x, dim=0, index=idx, value=2.5 ; input=x.detach(), dim=1,
    index=idx, src=y.detach(), reduce='add'
scatter_add: input=x, dim=0, index=idx, src=y[:2]
scatter_reduce: input=x, dim=0, index=idx, src=y[:2], reduce='amax' ; input=x, dim=0, index=idx, src=y[:2],
    reduce='mean', include_self=False
index_add: input=x, dim=0, index=i, source=y ; input=x, dim=1, index=j, source=y, alpha=0.5
index_copy: input=x, dim=0, index=i, source=y
index_fill: input=x, dim=1, index=i, value=0.5
index_put: input=x, indices=(i, j[:3]), values=v ; input=x, indices=(i,), values=row, accumulate=True
index_reduce: input=x, dim=1, index=j, source=y, reduce='amax' ; input=x, dim=1, index=j, source=y, reduce='mean',
    include_self=False
index_select: input=x, dim=1, index=j ; input=x, dim=0, index=i
masked_fill: input=x, mask=mask, value=0.5 ; input=x, mask=mask, value=s
masked_scatter: input=x, mask=mask, source=y
masked_select: input=x, mask=mask
narrow: input=x, dim=1, start=1, length=2
nonzero: input=n ; input=mask, as_tuple=True ; input=s
nonzero_static: input=mask, size=4 ; input=mask, size=12, fill_value=7
put: input=x, index=i, source=v ; input=x, index=j, source=u, accumulate=True
select: input=x, dim=1, index=-1
select_scatter: input=x, src=u, dim=0, index=1
slice_scatter: input=x, src=row, dim=0, start=1, end=2 ; input=x, src=x[:, :2] * 2, dim=1, start=0, end=4, step=2
take: input=x, index=j
take_along_dim: input=x, indices=j[None], dim=1 ; input=x, indices=j
matmul: input=x, other=m ; input=x, other=u ; input=b, other=c
inner: input=x, other=y
kron: input=x, other=m
dot: input=u, tensor=u * 2
vdot: input=z[0], other=z[1]
mv: input=x, vec=u
outer ger: input=v, vec2=u
mm: input=x, mat2=m
bmm: input=b, mat2=c
addmm: input=x, mat1=x, mat2=m ; input=u, mat1=x, mat2=m, beta=0.5, alpha=2
addmv: input=v, mat=x, vec=u ; input=v, mat=x, vec=u, beta=0.5, alpha=2
addr: input=x, vec1=v, vec2=u, beta=0.5, alpha=2
addbmm: input=v, batch1=b, batch2=c, beta=0.5, alpha=2
baddbmm: input=v, batch1=b, batch2=c, beta=0.5, alpha=2
tensordot: a=x, b=y, dims=2 ; a=b, b=c, dims=([0, 2], [0, 1]) ; a=x, b=m, dims=1
cross: input=b, other=b * b, dim=1 ; input=vec3, other=vec3 * vec3 ; input=b, other=b * b
det inverse matrix_exp slogdet logdet: input=m
geqrf: input=m.detach()
matrix_power: input=m, n=3 ; input=m, n=-2
cholesky: input=spd ; input=spd, upper=True
cholesky_inverse: input=tri.tril() ; input=tri.tril().mT, upper=True
cholesky_solve: input=m, input2=tri.tril() ; input=m, input2=tri.tril().mT, upper=True
triangular_solve: input=m, A=tri.mT ; input=m, A=tri, upper=False, transpose=True, unitriangular=False
lu_solve: input=m, LU_data=torch.linalg.lu_factor(m)[0], LU_pivots=torch.linalg.lu_factor(m)[1]
lu_unpack: LU_data=torch.linalg.lu_factor(m)[0], LU_pivots=torch.linalg.lu_factor(m)[1] ;
    LU_data=torch.linalg.lu_factor(m)[0], LU_pivots=torch.linalg.lu_factor(m)[1], unpack_data=True,
    unpack_pivots=False
qr: input=tall ; input=m, some=False
svd: input=tall.detach(), some=True, compute_uv=False
orgqr: input=torch.geqrf(tall.detach())[0], input2=torch.geqrf(tall.detach())[1]
ormqr: input=torch.geqrf(m.detach())[0], input2=torch.geqrf(m.detach())[1], input3=m, left=True, transpose=True
dropout alpha_dropout feature_alpha_dropout: input=x, p=0.5, train=False
layer_norm: input=x, normalized_shape=(4,), weight=u, bias=u, eps=1e-3, cudnn_enable=True
rms_norm: input=x, normalized_shape=(4,), weight=u, eps=1e-3
group_norm: input=img, num_groups=2, weight=u, bias=u, eps=1e-3, cudnn_enabled=True
batch_norm: input=img, weight=u, bias=u, running_mean=None, running_var=None, training=True, momentum=0.1, eps=1e-3,
    cudnn_enabled=True
batch_norm: input=img, weight=None, bias=None, running_mean=u.detach(), running_var=u.detach().abs(), training=False,
    momentum=0.1, eps=1e-3, cudnn_enabled=True
instance_norm: input=img, weight=u, bias=u, running_mean=None, running_var=None, use_input_stats=True, momentum=0.1,
    eps=1e-3, cudnn_enabled=True
embedding: weight=m, indices=j ; weight=m, indices=j, padding_idx=2, scale_grad_by_freq=True, sparse=False
kl_div: input=x, target=p ; input=x, target=p.log(), reduction=2, log_target=True
binary_cross_entropy_with_logits: input=x, target=p.detach() ; input=x, target=p.detach(), weight=p.detach(),
    pos_weight=u.detach().abs(), reduction=0
cosine_embedding_loss: input1=x, input2=y, target=v.detach().sign(), margin=0.1, reduction=1 ; input1=x, input2=y,
    target=v.detach().sign()
hinge_embedding_loss: input=x, target=y.detach().sign(), margin=0.7, reduction=2 ; input=x, target=y.detach().sign()
margin_ranking_loss: input1=x, input2=y, target=y.detach().sign(), margin=0.1, reduction=0 ; input1=x, input2=y,
    target=y.detach().sign()
poisson_nll_loss: input=x, target=p.detach() * 3, log_input=True, full=False, eps=1e-8, reduction=1
triplet_margin_loss: anchor=x, positive=y, negative=p, margin=1.0, p=2.0, eps=1e-6, swap=True, reduction=1 ; anchor=x,
    positive=y, negative=p
ctc_loss: log_probs=img[0].permute(1, 0, 2).log_softmax(2), targets=idx.clamp(max=2)[:, :3].repeat(2, 1) + 1,
    input_lengths=torch.tensor([6, 6, 5, 6]), target_lengths=torch.tensor([2, 3, 1, 2]), blank=0, reduction=2,
    zero_infinity=False
adaptive_max_pool1d: input=line, output_size=3
"""

MAKING = """
zeros ones: size=(2, 3) ; size=(2, 3), dtype=torch.int64 ; size=[2], requires_grad=True ; size=(2,),
    layout=torch.strided, device='cpu', pin_memory=False
full: size=(2, 3), fill_value=2.5 ; size=(2,), fill_value=3 ; size=(2,), fill_value=True ; size=(2,), fill_value=1j ;
    size=(2,), fill_value=3, dtype=torch.float64, layout=torch.strided, device='cpu', pin_memory=False,
    requires_grad=False
zeros_like ones_like: input=x ; input=n, dtype=torch.float32 ; input=x, memory_format=torch.preserve_format,
    layout=torch.strided, device='cpu', pin_memory=False, requires_grad=True
full_like: input=x, fill_value=2 ; input=n, fill_value=2 ; input=n, fill_value=2.5, dtype=torch.float64
arange: end=5 ; start=1, end=4 ; start=1.0, end=2.5, step=0.5 ; end=5, dtype=torch.float64 ; start=5, end=1, step=-2
range: start=1, end=4 ; start=0, end=2, step=0.5
linspace: start=0, end=1, steps=5 ; start=3.0, end=-1.0, steps=4, dtype=torch.float64
logspace: start=0, end=2, steps=5 ; start=-1.0, end=1.0, steps=4, base=2.0, dtype=torch.float64
eye: n=3 ; n=2, m=3, dtype=torch.int64
tensor: data=[1, 2] ; data=[[1.0, 2.0]] ; data=True ; data=[1, 2], dtype=torch.float64, device='cpu',
    requires_grad=True ; data=2.5 ; data=[1j] ; data=[]
as_tensor: data=[1, 2] ; data=[1.5], dtype=torch.float64, device='cpu'
asarray: obj=[1, 2] ; obj=[1.5], dtype=torch.float64, copy=True, requires_grad=True
scalar_tensor: s=2.5 ; s=2
tril_indices triu_indices: row=3, col=4 ; row=4, col=3, offset=1, dtype=torch.int32
bartlett_window blackman_window hann_window: window_length=6 ; window_length=5, periodic=False, dtype=torch.float64
hamming_window: window_length=6 ; window_length=5, periodic=False, alpha=0.5, beta=0.5
kaiser_window: window_length=6 ; window_length=5, periodic=False, beta=8.0
can_cast: from_=torch.float32, to=torch.int64 ; from_=torch.float64, to=torch.float32 ; from_=torch.int64,
    to=torch.uint8 ; from_=torch.bool, to=torch.complex64 ; from_=torch.uint8, to=torch.bool
promote_types: type1=torch.int8, type2=torch.uint8 ; type1=torch.int64, type2=torch.float16 ; type1=torch.bool,
    type2=torch.int32 ; type1=torch.float32, type2=torch.complex64
"""

LINALG = """
det inv slogdet: A=m ; A=cube
eigvals matrix_exp: input=m
eigvalsh: input=sym ; input=m, UPLO='U'
cholesky: input=spd ; input=spd, upper=True
cholesky_ex: input=spd ; input=spd, upper=True, check_errors=True
inv_ex: A=m ; A=m, check_errors=True
cond: input=m ; input=m.detach(), p=1
cross: input=vec3, other=vec3 * vec3 ; input=b, other=b * b, dim=1
vecdot: x=x, y=y ; x=x, y=y, dim=0
matmul: input=x, other=m
diagonal: A=b ; A=b, offset=1, dim1=0, dim2=2
householder_product: input=torch.geqrf(tall.detach())[0], tau=torch.geqrf(tall.detach())[1]
ldl_factor: input=sym.detach()
lstsq: input=tall, b=tall[:, :2] * 2 ; input=tall, b=tall * 3, rcond=None, driver='gelsd'
lu lu_factor: A=m ; A=cube, pivot=True
lu_factor_ex: A=m ; A=m, pivot=True, check_errors=True
lu_solve: LU=torch.linalg.lu_factor(m)[0], pivots=torch.linalg.lu_factor(m)[1], B=m ; LU=torch.linalg.lu_factor(m)[0],
    pivots=torch.linalg.lu_factor(m)[1], B=x, left=False, adjoint=True
matrix_norm: input=b ; input=b, ord=1, dim=(0, 2), keepdim=True ; input=x, ord='nuc' ; input=f, dtype=torch.float64
vector_norm: input=x ; input=x, ord=3, dim=1, keepdim=True ; input=x, ord=0 ; input=x, ord=float('inf'), dim=(0, 1)
norm: input=x ; input=x, ord='fro', dim=(0, 1), keepdim=True ; input=x, ord=1, dim=1 ; input=x, ord=2
matrix_power: input=m, n=3
matrix_rank: input=m ; input=m, atol=0.1, rtol=0.1, hermitian=False ; input=m, tol=0.5
pinv: input=tall ; input=tall, rtol=0.01, hermitian=False ; input=tall, rcond=0.01
multi_dot: tensors=(x, m, u) ; tensors=[x, m]
qr: A=tall ; A=m, mode='reduced' ; A=m.detach(), mode='r'
solve: A=m, B=u ; A=m, B=m * 2 ; A=cube, B=cube[:, 0] ; A=m, B=x, left=False
solve_ex: A=m, B=u ; A=m, B=x, left=False, check_errors=True
solve_triangular: input=tri, B=m, upper=False ; input=tri.mT, B=x, upper=True, left=False, unitriangular=False
svd: A=tall.detach(), full_matrices=False
svdvals: A=tall ; A=cube
tensorinv: input=tens.reshape(6, 2, 3) if False else tens, ind=2
tensorsolve: input=tens, other=x[:2, :3]
vander: x=u ; x=u, N=3
"""

FFT = """
fft ifft: input=x ; input=z, n=6, dim=0, norm='ortho'
rfft ihfft: input=x ; input=x, n=6, dim=0, norm='forward'
irfft hfft: input=z ; input=z, n=5, dim=0, norm='backward'
fft2 ifft2: input=b ; input=b, s=(4, 5), dim=(0, 2), norm='ortho'
rfft2 ihfft2: input=b ; input=b, s=(4, 5), dim=(0, 2), norm='ortho'
irfft2 hfft2: input=z ; input=z, s=(4, 5), dim=(1, 0)
fftn ifftn: input=b ; input=b, s=(4, 5), dim=(0, 2), norm='ortho'
rfftn ihfftn: input=b ; input=b, dim=(0, 2), norm='ortho'
irfftn hfftn: input=z ; input=z, s=(4, 5), dim=(1, 0), norm='ortho'
fftfreq rfftfreq: n=5 ; n=6, d=0.5, dtype=torch.float64
fftshift ifftshift: input=x ; input=x, dim=1
"""

SPECIAL = """
bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx exp2 expit expm1 gammaln i0 i0e i1 i1e log1p
log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi sinc erfinv
: input=p.detach()
digamma entr erf erfc erfcx exp2 expit expm1 gammaln i0 i0e i1 i1e log1p log_ndtr ndtr ndtri psi sinc erfinv: input=p
airy_ai scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0: x=p.detach()
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w: x=p.detach(),
    n=i[:, None] + 1
gammainc gammaincc: input=p.detach(), other=p.detach() + 0.5
xlog1py xlogy: input=x, other=p ; input=x, other=2.0
zeta: input=p.detach() + 1.5, other=p.detach() + 1
logit: input=p ; input=p, eps=0.2
softmax: input=x, dim=1 ; input=f, dim=0, dtype=torch.float64
log_softmax: input=x, dim=1
logsumexp: input=x, dim=1 ; input=x, dim=(0, 1), keepdim=True
multigammaln: input=p + 2, p=3
polygamma: n=1, input=p + 0.5
round: input=x ; input=x, decimals=1
"""

#: Calls that rows can't say: several tensors by position, and what is written about elsewhere.
WHOLE = """
torch.atleast_1d(s, u) | torch.atleast_2d([s, u]) | torch.atleast_3d(u) | torch.block_diag(x, u, s)
torch.broadcast_tensors(x, u) | torch.cartesian_prod(u, v) | torch.meshgrid(u, v) | torch.meshgrid([u, v])
torch.meshgrid(u, v, indexing='xy') | torch.chain_matmul(x, m, m) | torch.einsum('ij,kj->ik', x, y)
torch.einsum('ij,kj->ik', [x, y]) | torch.einsum('...ij,...jk->...ik', b, c) | torch.zeros(2, 3) | torch.ones(2, 3)
torch.zeros(()) | torch.empty(2, 3).shape | torch.empty((2, 3), dtype=torch.int32).dtype | torch.rand(2, 3).shape
torch.randn(2, 3, dtype=torch.float64).dtype | torch.rand(size=(2, 3)).shape | torch.randn((4,)).shape
torch.randint(10, (2, 3)).dtype | torch.randint(0, 10, (2, 3)).shape | torch.xlogy(2.0, p) | torch.pow(2.0, x)
torch.where(mask, 1.0, 0.0) | torch.where(mask, 1, 0)
torch.bucketize(0.5, ranks[0]) | torch.special.xlog1py(2.0, p) | torch.randint(3, 4, size=(2,))
torch.randint(low=3, high=4, size=(2,)) | torch.randint(high=1, size=(2,))
torch.randint(3, 4, (2,), dtype=torch.float32)
torch.randperm(5).sort()[0] | torch.randperm(n=3, dtype=torch.int32).dtype | torch.rand_like(x).shape
torch.randn_like(input=f).dtype | torch.randint_like(x, 3, 4) | torch.randint_like(n, high=1)
torch.randint_like(h, low=2, high=3)
torch.normal(mean=x.detach(), std=p.detach() * 0) | torch.normal(2.0, p.detach() * 0) | torch.normal(x.detach(), 0.0)
torch.normal(0.0, 1.0, (2, 3)).shape
torch.normal(mean=0.0, std=1.0, size=(2,), dtype=torch.float64).dtype | torch.bernoulli(p.detach() * 0 + 1)
torch.bernoulli(x.detach(), 1.0)
torch.bernoulli(input=n.double(), p=0.0) | torch.bernoulli(n, 1.0) | torch.bernoulli(h, p=1.0)
torch.multinomial(p, 4).sort()[0]
torch.multinomial(input=u.abs(), num_samples=3, replacement=True).shape
torch.max(x, 1) | torch.max(x, 1, True) | torch.max(x, y) | torch.min(x, 0) | torch.max(x, 1)[0]
torch.max(x, 1).values
torch.max(x, axis=1) | torch.sum(x, axis=1, keepdims=True) | torch.cat((x, y), axis=1) | torch.cumsum(x, axis=0)
torch.softmax(x, axis=1) | torch.stack((x, y), axis=1) | torch.unsqueeze(x, axis=0) | torch.mean(x, axis=(0, 1))
torch.argmax(x, axis=1) | torch.std(x, axis=0) | torch.squeeze(x[None], axis=0) | torch.sum(x=x) | torch.add(x1=x, x2=y)
torch.sort(x, descending=True).indices | torch.sort(ties, dim=1, stable=True) | torch.std(x, False)
torch.var(x, 1, False, True)
torch.std(x, 1, True) | torch.std_mean(x, False) | torch.var(x, (0, 1), correction=0) | torch.tensor_split(x, 2)
torch.tensor_split(w, torch.tensor([1, 4])) | torch.hsplit(x, 2) | torch.vsplit(m, [1]) | torch.dsplit(b, 2)
torch.isin(n, torch.tensor([0, 7])) | torch.where(x > 0, x, y) | torch.where(x > 0, 1.0, 0.0) | torch.where(x > 0)
torch.where(mask, f, s) | torch.where(mask, s, f)
torch.where(mask, f, g.double()) | torch.where(mask, 1, 0.5) | torch.where(mask, x, torch.tensor(0.0))
torch.div(n, 4, rounding_mode='floor') | torch.div(n, 4) | torch.floor_divide(n, 4) | torch.true_divide(n, 4)
torch.arange(5) | torch.arange(1, 4) | torch.arange(0, 1, 0.25) | torch.arange(5.0) | torch.linspace(0, 1, 5)
torch.eye(3)
torch.logspace(0, 1, 3) | torch.full((2,), 1.5) | torch.full([2], 7) | torch.tensor(3) | torch.tensor([True])
torch.tensor([1.0, 2]).dtype | torch.tensor(x.detach()[0]) | torch.as_tensor(x) | torch.is_tensor(x)
torch.is_tensor(3)
torch.result_type(f, 1.0) | torch.result_type(n, 1.0) | torch.result_type(h, byte)
torch.broadcast_shapes((2, 1), (3,))
torch.lu(m)[0] | torch.linalg.eigh(sym).eigenvalues | torch.linalg.eigh(input=sym, UPLO='U')[1].abs()
torch.linalg.svd(tall).S | torch.linalg.svd(A=tall, full_matrices=False)[2].abs() | torch.svd(tall, some=True).V.abs()
torch.linalg.eig(m).eigenvalues.abs().sort()[0] | torch.istft(torch.stft(line8, 8, return_complex=True), 8)
torch.stft(line8, 8, 4, return_complex=True)
torch.stft(line8, n_fft=4, hop_length=2, window=torch.hann_window(4, dtype=torch.float64), return_complex=True)
torch.vander(u.detach()) | torch.vander(u.detach(), N=3, increasing=True) | torch.unravel_index(j, (2, 3))
torch.pinverse(tall)
torch.cdist(x, y) | torch.cdist(x1=x, x2=y, p=1.0) | torch.pdist(x) | torch.pairwise_distance(x, y, p=1, keepdim=True)
torch.cosine_similarity(x1=x, x2=y, dim=0) | torch.rsub(x, y) | torch.rsub(x, 2, alpha=3)
torch.poisson(p.detach() * 0)
torch.binomial(torch.tensor([3.0]), torch.tensor([1.0])) | torch.bilinear(x, y, m[None]) | torch.prelu(x, s.reshape(1))
torch.conv1d(line, weight=k1, stride=2, padding='same' if False else 1) | torch.conv2d(img, k2, groups=1, dilation=2)
torch.conv_transpose1d(line, k1.transpose(0, 1)) | torch.conv_transpose2d(img, k2.transpose(0, 1), stride=2)
torch.avg_pool1d(line, kernel_size=2, stride=1, padding=1, ceil_mode=False, count_include_pad=False)
torch.max_pool1d(line, 3, stride=2, padding=1) | torch.max_pool2d(img, kernel_size=2)
torch.adaptive_avg_pool1d(line, 3)
torch.pixel_shuffle(img, 2) | torch.pixel_unshuffle(img, 2) | torch.channel_shuffle(img, 2) | torch.numel(x)
torch.empty_like(x).shape | torch.empty_like(input=n, dtype=torch.float32).dtype
torch.linalg.ldl_factor_ex(sym.detach())[0] | torch.linalg.ldl_solve(*torch.linalg.ldl_factor(sym.detach()), m.detach())
torch.frombuffer(bytearray(8), dtype=torch.int32) | torch.from_numpy(x.detach().numpy()) | torch.from_dlpack(x.detach())
torch.sum(x * mask) | torch.sum(mask.float(), 1) | torch.clamp(x, min=0) | torch.clamp(x, 0, 1) | torch.abs(n)
torch.relu_(x * 1) | torch.sigmoid_(x * 1) | torch.exp_(x * 1) | torch.zero_(x * 1) | torch.clamp_(x * 1, 0, 1)
torch.celu_(x * 1, alpha=0.5) | torch.selu_(x * 1) | torch.threshold_(x * 1, 0.1, 20.0) | torch.rrelu_(x * 1, 0.2, 0.2)
torch.dropout_(x * 1, 0.5, False) | torch.alpha_dropout_(x * 1, 0.5, False)
torch.feature_alpha_dropout_(x * 1, 0.5, False)
torch.fill_(x * 1, 2.0) | torch.add(2, x) | torch.mul(2, x) | torch.sub(1.0, x) | torch.pow(x.abs(), 2.5)
torch.maximum(x, s)
torch.nn.functional.softmax(x, dim=1) | torch.nn.functional.relu(input=x)
torch.nn.functional.one_hot(j, num_classes=3)
torch.nn.functional.cross_entropy(x, i) | torch.nn.functional.mse_loss(input=x, target=y)
torch.nn.functional.pad(x, (1, 1))
torch.nn.functional.normalize(x, dim=1) | torch.nn.functional.gelu(x, approximate='tanh')
torch.nn.functional.linear(x, m)
torch.nn.functional.layer_norm(x, (4,)) | torch.nn.functional.binary_cross_entropy_with_logits(x, p.detach())
torch.nn.functional.embedding(j, m) | torch.nn.functional.interpolate(img, scale_factor=2)
torch.nn.functional.unfold(img, 2)
torch.nn.functional.scaled_dot_product_attention(b, b, b)
torch.nn.functional.kl_div(x, p.detach(), reduction='batchmean')
"""


def _rows(text, place):
    """The calls of a table, as text: each in its spellings."""
    for names, lines in re.findall(r"((?:\w+\s+)*\w+)\s*: (.*(?:\n    .*)*)", text):
        rest = re.sub(r"\s+", " ", lines)
        for name in names.split():
            function = eval(f"{place}.{name}", {"torch": door})
            kinds = {key: p.kind for key, p in inspect.signature(function).parameters.items()}
            for arguments in rest.replace("'@'", f"'{name}'").split(" ; "):
                yield f"{place}.{name}({arguments})", f"{place}.{name}({_by_position(arguments, kinds)})"


def _by_position(arguments, kinds):
    """The same arguments by position as far as their order allows."""
    parts = re.split(r", (?=\w+=)", arguments)
    made, order = [], [key for key, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    for place, part in enumerate(parts):
        key, _, value = part.partition("=")
        if len(made) != place or place >= len(order) or order[place] != key:
            return ", ".join([*made, *parts[place:]])
        made.append(value)
    return ", ".join(made)


def expressions():
    """All expressions with their other spellings; those of everyday names are among them."""
    tables = {
        "torch": CALLS + MAKING,
        "torch.linalg": LINALG,
        "torch.fft": FFT,
        "torch.special": SPECIAL,
    }
    made = [call for place, text in tables.items() for call in _rows(text, place)]
    for text in (WHOLE, door_everyday.EXPRESSIONS):
        made += [(e.strip(),) for line in text.strip().split("\n") for e in line.split(" | ")]
    everyday_ones = [e for e in everyday.expressions() if "1e-310" not in e]  # factors overflow there, in some order
    made += [(re.sub(r"\bt\.", "torch.", e),) for e in everyday_ones]
    return {first: list(dict.fromkeys([first, *others])) for first, *others in made}


def first_calls():
    """The first call of each function that is written out, by its whole name: the function and the call."""
    spaces = {"torch": door, "torch.linalg": door.linalg, "torch.fft": door.fft, "torch.special": door.special}
    made = {}
    for expression in expressions():
        node = ast.parse(expression, mode="eval").body
        if isinstance(node, ast.Call):
            space, _, name = ast.unparse(node.func).rpartition(".")
            if space in spaces and name in spaces[space]._TABLE.heads():
                made.setdefault(f"{space}.{name}", (getattr(spaces[space], name), expression))
    return made
