"""Results share memory with arguments only where a table says so, and only where PyTorch's do."""

import inspect
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from expressions import arguments, evaluate, expressions, name_of, names_in, torch
from thoroughness import NIGHTLY

import lucidgrad as lg
from lucidgrad.core import device

#: Views: what is written into one changes the other, and the history of both knows.
VIEWS = """
reshape view view_as flatten ravel unflatten Flatten Unflatten squeeze unsqueeze expand_dims atleast_1d atleast_2d
atleast_3d permute permute_dims transpose swapaxes T mT t matrix_transpose moveaxis movedim diagonal narrow select
split chunk array_split unbind unstack index einsum expand expand_as broadcast_to broadcast_arrays meshgrid real
imag detach data swapdims unsqueeze adjoint mH H tensor_split hsplit vsplit dsplit split_with_sizes broadcast_tensors
reshape_as
""".split()

#: Not always a copy: the argument itself, where nothing is to be done.
MAYBE_ITSELF = """
contiguous to to_device cpu type_as double float half int long bool astype asarray as_tensor from_dlpack from_numpy
numpy dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout Dropout Dropout1d Dropout2d
Dropout3d AlphaDropout FeatureAlphaDropout Identity Sequential adaptive_avg_pool2d type resolve_conj resolve_neg
cartesian_prod
""".split()

#: Views whose elements may share memory with one another.
STRETCHED = "expand expand_as broadcast_to broadcast_arrays broadcast_tensors meshgrid".split()

#: Where PyTorch's result shares memory and ours is a copy, with the reason.
COPIES = {
    "conj": "PyTorch's is a mark that later functions heed; ours is computed",
    "positive": "the standard's function; PyTorch returns the argument",
    "conj_physical": "as conj",
    "+x": "as positive",
    "sum_to_size": "a sum, if only over no axis",
    "view_as_real": "parts that are written have a history as x.real and x.imag",
    "view_as_complex": "as view_as_real",
    "unfold": "windows may overlap, and memory that elements share can't be written",
}

#: Public names that give no tensor that could share memory, or take none.
WITHOUT = {
    "lg": """
        __array_namespace_info__ arange are_deterministic_algorithms_enabled bartlett_window blackman_window empty eye
        compile export import_program hamming_window hann_window kaiser_window finfo full get_default_device
        get_default_dtype get_float32_matmul_precision get_num_threads get_rng_state iinfo is_grad_enabled
        is_inference_mode_enabled linspace
        load manual_seed ones rand randint randn randperm save set_default_device set_default_dtype
        set_float32_matmul_precision set_num_threads
        set_rng_state show_config use_deterministic_algorithms zeros
    """,
    "lg.fft": "fftfreq rfftfreq",
    "x": """
        backward coalesce cuda dense_dim detach_ dim element_size indices is_coalesced is_complex
        is_floating_point is_inference is_pinned item new numel
        pin_memory record_stream register_hook register_post_accumulate_grad_hook requires_grad_ retain_grad sparse_dim
        to_dense tolist values zero_grad
    """,
    "nn": """
        Buffer Container DataParallel Module ModuleDict ModuleList Parameter ParameterDict ParameterList RNNBase
        RNNCellBase CTCLoss
        MaxUnpool1d MaxUnpool2d MaxUnpool3d TransformerDecoder TransformerEncoder UninitializedBuffer
        UninitializedParameter
    """,
}


def _public(namespace):
    spaces = {"lg": lg, "lg.linalg": lg.linalg, "lg.fft": lg.fft, "special": lg.special, "F": lg.nn.functional}
    if namespace == "nn":
        return [name for name in lg.nn.__all__ if inspect.isclass(getattr(lg.nn, name))]
    if namespace == "x":
        found = [name for name in dir(lg.Tensor) if not name.startswith("_") and callable(getattr(lg.Tensor, name))]
        return [name for name in found if not name.endswith("_")]  # those write, on purpose
    found = [(name, getattr(spaces[namespace], name)) for name in spaces[namespace].__all__]
    return [name for name, value in found if callable(value) and not inspect.isclass(value)]


@pytest.mark.parametrize("namespace", ["lg", "lg.linalg", "lg.fft", "special", "F", "nn", "x"])
def test_every_public_name_has_a_call(namespace):
    text = " | ".join(expressions())
    heads = ("x.", "row.", "v.", "u.", "s.", "b.", "q.", "m.", "stack.", "z.", "pair.", "one.")
    heads = heads if namespace == "x" else (f"{namespace}.",)
    without = WITHOUT.get(namespace, "").split()
    missing = [
        name
        for name in _public(namespace)
        if name not in without and not any(f"{head}{name}(" in text for head in heads)
    ]
    assert not missing


def _shares(one, other, where):
    if one.device != other.device:
        return False
    arrays = one.array, other.array
    return bool(np.shares_memory(*(arrays if where == "cpu" else map(_addresses, arrays))))


def _addresses(array):
    """A NumPy array at the addresses of one on CUDA, not to be read."""
    interface = {"strides": array.strides, "shape": array.shape, "typestr": array.dtype.str, "version": 3}
    return np.asarray(SimpleNamespace(__array_interface__={**interface, "data": (array.data.ptr, True)}))


def _peers(expression):
    """Whether any of PyTorch's results shares memory; None where it can't read the expression."""
    if torch is None:
        return None
    given = arguments(torch, names_in(expression))
    try:
        results = evaluate(torch, expression, given)
    except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):
        return None
    pointers = {given[name].untyped_storage().data_ptr() for name in names_in(expression)}
    return any(y.numel() and y.untyped_storage().data_ptr() in pointers for y in results)


def _broken(expression, where="cpu"):
    """What is wrong with the memory of an expression's results, as words."""
    given, name = arguments(lg, names_in(expression), where=where), name_of(expression)
    results = evaluate(lg, expression, given)
    shares = any(_shares(y, given[x], where) for y in results for x in names_in(expression))
    views = name in VIEWS or name in MAYBE_ITSELF
    if shares and not views:
        yield "shares memory with an argument"
    peers = _peers(expression) if where == "cpu" else None
    if peers is not None and shares > peers:
        yield "shares memory, PyTorch's does not"
    if peers is not None and shares < peers and name not in COPIES:
        yield "is a copy, PyTorch's is not"
    if name not in STRETCHED and not all(device.by_array[type(y.array)].writable(y.array) for y in results):
        yield "can't be written"
    distinct = list({id(y): y for y in results}.values())
    pairs = [(a, b) for i, a in enumerate(distinct) for b in distinct[:i]]
    if not views and any(_shares(a, b, where) for a, b in pairs):
        yield "has results that share memory"


def _all_broken(chosen, where="cpu"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {e: words for e in chosen if (words := list(_broken(e, where)))}


@pytest.mark.parametrize("start", ["lg.", "F.", "nn.", "special.", ""])
def test_results_share_memory_only_as_declared(start):
    spaces = ("lg.", "F.", "nn.", "special.")
    chosen = [e for e in expressions() if (e.startswith(start) if start else not e.startswith(spaces))]
    assert not _all_broken(chosen)


#: Functions that only move elements: of these the law is tried on CUDA, too (all of them in nightly runs).
MOVES = """
repeat tile flip flipud fliplr rot90 roll pad diag diff concat cat stack hstack vstack dstack column_stack
pixel_shuffle pixel_unshuffle channel_shuffle matrix_power triu tril clone
""".split()


def test_results_share_memory_only_as_declared_on_cuda():
    known = [*VIEWS, *MOVES, "contiguous", "to", "astype", "asarray"]
    chosen = [e for e in expressions() if (NIGHTLY and "nn." not in e) or name_of(e) in known]
    elsewhere = ("numpy", "cpu", "bfloat16")  # what leaves the device, and the dtype that is refused there by name
    assert not _all_broken([e for e in chosen if name_of(e) not in elsewhere and "numpy" not in e], "cuda")


def test_tables_hold_no_idle_entries():
    called = {name_of(e) for e in expressions()}
    assert not (set(VIEWS) | set(MAYBE_ITSELF) | set(COPIES) | set(STRETCHED)) - called


#: Of these the gradients are the seed, or parts or copies of it.
LINEAR = [call.strip() for call in """
x + w | x - w | x * 1 | lg.stack([x, w]) | x.sum() + w.sum() | x.reshape(12) | x.T | x.clone() | lg.concat([x, w])
| lg.where(mask, x, w) | x.expand(2, 3, 4) | x[1:] | x.real | lg.flip(x)
""".split("|")]  # fmt: skip


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_have_memory_of_their_own(create_graph):
    broken = {}
    for expression in LINEAR:
        given = arguments(lg, names_in(expression), requires_grad=True)
        (y,) = evaluate(lg, expression, given)
        seed = lg.ones_like(y.detach())
        y.backward(seed, create_graph=create_graph)
        others = [seed, y, *(t for leaf in given.values() for t in (leaf, leaf.grad) if t is not None)]
        for name in names_in(expression):
            g = given[name].grad
            if g is not None and any(o is not g and np.shares_memory(g.array, o.array) for o in others):
                broken.setdefault(expression, []).append(name)
            if g is not None and not device.by_array[type(g.array)].writable(g.array):
                broken.setdefault(expression, []).append(f"{name} can't be written")
    assert not broken
