"""PyTorch's functions at the root that make tensors, or ask about dtypes.

How an array lies in memory is not chosen here, so ``layout``, ``pin_memory`` and ``memory_format`` are looked at and
left aside: there is one layout, the dense one.
"""

MAKING = """
zeros ones: (*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False)
    = lg.@(*size, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
empty: (*size, memory_format=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.empty(*size, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
full: (size, fill_value, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False)
    = lg.full(size, fill_value, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
zeros_like ones_like empty_like: (input, *, memory_format=None, dtype=None, layout=None, device=None,
    pin_memory=False, requires_grad=False)
    = lg.@(input, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
full_like: (input, fill_value, *, memory_format=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.full_like(input, fill_value, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
arange: (start=None, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = own.arange(start, end, step, layout, dtype=dtype, device=device, requires_grad=requires_grad)
range: (start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = own.closed_range(start, end, step, layout, dtype=dtype, device=device, requires_grad=requires_grad)
linspace: (start, end, steps, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.linspace(start, end, steps, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
logspace: (start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.logspace(start, end, steps, base=base, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
eye: (n, m=None, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False)
    = lg.eye(n, m, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
tensor: (data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)
    = lg.tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
as_tensor: (data, *, dtype=None, device=None)
    = lg.as_tensor(data, dtype, device)
asarray: (obj, *, dtype=None, device=None, copy=None, requires_grad=False)
    = lg.asarray(obj, dtype=dtype, device=device, copy=copy, requires_grad=bool(requires_grad))
scalar_tensor: (s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False)
    = lg.scalar_tensor(s, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
from_numpy: (ndarray)
    = lg.from_numpy(ndarray)
frombuffer: (buffer, *, dtype, count=-1, offset=0, requires_grad=False)
    = lg.frombuffer(buffer, dtype=dtype, count=count, offset=offset, requires_grad=requires_grad)
from_dlpack: (ext_tensor, *, device=None, copy=None)
    = lg.from_dlpack(ext_tensor, device=device, copy=copy)
tril_indices triu_indices: (row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.@(row, col, offset, dtype=dtype, device=device)
bartlett_window blackman_window hann_window: (window_length, periodic=True, *, dtype=None, layout=None, device=None,
    pin_memory=False, requires_grad=False)
    = lg.@(window_length, periodic, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
hamming_window: (window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None,
    pin_memory=False, requires_grad=False)
    = lg.hamming_window(window_length, periodic, alpha, beta, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
kaiser_window: (window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.kaiser_window(window_length, periodic, beta, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
"""

RANDOM = """
rand randn: (*size, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.@(*size, generator=generator, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
rand_like randn_like: (input, *, generator=None, memory_format=None, dtype=None, layout=None, device=None,
    pin_memory=False, requires_grad=False)
    = lg.@(input, generator=generator, dtype=dtype, device=device,
        requires_grad=requires_grad if layout is None else own.dense(layout, requires_grad))
randint: (low=None, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
    pin_memory=False, requires_grad=False)
    = own.randint(low, high, size, layout, generator=generator, dtype=dtype, device=device)
randint_like: (input, low=None, high=None, *, generator=None, memory_format=None, dtype=None, layout=None, device=None,
    pin_memory=False, requires_grad=False)
    = own.randint_like(input, low, high, layout, generator=generator, dtype=dtype, device=device)
randperm: (n, *, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False)
    = lg.randperm(n, generator=generator, dtype=dtype, device=device)
normal: (mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
    pin_memory=False, requires_grad=False)
    = own.drawn(lg.normal(mean, std, size, generator=generator, dtype=dtype, device=device))
        .requires_grad_(requires_grad if layout is None else own.dense(layout, requires_grad))
bernoulli: (input, p=None, *, generator=None, out=None)
    = lg.bernoulli(input, generator=generator) if p is None else own.bernoulli(input, p, generator)
poisson: (input, generator=None)
    = lg.poisson(input, generator)
binomial: (count, prob, generator=None)
    = lg.binomial(count, prob, generator)
multinomial: (input, num_samples, replacement=False, *, generator=None, out=None)
    = lg.multinomial(input, num_samples, replacement, generator=generator)
"""

DTYPES = """
can_cast: (from_, to)
    = own.can_cast(from_, to)
result_type: (tensor, other)
    = lg.result_type(tensor, other)
is_tensor: (obj)
    = lg.is_tensor(obj)
"""
