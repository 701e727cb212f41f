"""`grad` and `backward`: arguments are checked here, completely, before the walk begins."""

import functools
import numbers
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import box, complexes, floats, node_of
from lucidgrad.core.engine import Walk, tape_namespace, tied
from lucidgrad.core.errors import GradArgError
from lucidgrad.core.items import Meta, meta_of
from lucidgrad.core.plan import Plan
from lucidgrad.levels import batching
from lucidgrad.levels.layer import Layer, Level, run
from lucidgrad.tensor import Tensor

from .accumulation import accumulate, keep
from .edges import GradientEdge
from .modes import enable_grad, no_grad

TensorOrEdge = Tensor | GradientEdge


def grad(
    outputs: TensorOrEdge | Iterable[TensorOrEdge],
    inputs: TensorOrEdge | Iterable[TensorOrEdge],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    chunk_size: int | None = None,
) -> tuple[Tensor | None, ...]:
    """Gradients of the (weighted) sum of ``outputs`` with respect to ``inputs``; no ``.grad`` is touched.

    Parameters
    ----------
    outputs, inputs
        A tensor, a `GradientEdge`, or an iterable of them. Inputs may be interior tensors.
    grad_outputs
        The weight of each output: a tensor or array of its shape, a number (which fills that shape), or None for
        ones, which only an output with one element may have.
    retain_graph
        Keep the graph for further calls; None means ``create_graph``.
    create_graph
        Make the results differentiable, also with respect to the seeds.
    allow_unused
        Give None for inputs that the outputs do not depend on instead of raising; None means ``materialize_grads``.
    is_grads_batched
        The first axis of every seed is a batch: the results have it too, computed in one walk.
    materialize_grads
        Give zeros instead of None for unused inputs.
    chunk_size
        With ``is_grads_batched``: walk for so many seeds at a time, which bounds the memory that it takes.

    Returns
    -------
    tuple
        One gradient per input, always a tuple.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (g,) = lg.autograd.grad((x**3).sum(), x, create_graph=True)
    >>> g.tolist()
    [3.0, 12.0, 27.0]
    >>> lg.autograd.grad(g.sum(), x)[0].tolist()
    [6.0, 12.0, 18.0]
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs=False is deprecated and ignored: gradients of all leaves are what backward() accumulates",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if chunk_size is not None:
        return _in_chunks(
            outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, is_grads_batched,
            materialize_grads, chunk_size,
        )  # fmt: skip
    found, _ = differentiate(
        outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, is_grads_batched, materialize_grads,
        create_graph,
    )  # fmt: skip
    return found


def differentiate(
    outputs: TensorOrEdge | Iterable[TensorOrEdge],
    inputs: TensorOrEdge | Iterable[TensorOrEdge],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool | None = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    ties: bool = False,
) -> tuple[tuple[Tensor | None, ...], bool]:
    """The gradients, and whether a graph of them was made: None asks for one if the outputs depend on other leaves.

    ``ties``: constant gradients can be differentiated, too, to zeros.
    """
    allow = bool(materialize_grads if allow_unused is None else allow_unused)
    starts = _sequence(inputs, "inputs")
    if not starts:
        raise GradArgError("grad requires non-empty inputs.")
    level = _Level(is_grads_batched)
    raw = create_graph is False  # else they are tensors
    roots = None if is_grads_batched else _lone_root(outputs, grad_outputs, raw)
    if roots is None:
        raw = False
        ends = _sequence(outputs, "outputs")
        roots = _roots("outputs", ends, grad_outputs, "grad_outputs", level, skip=allow)
    nodes = _input_nodes(starts, "inputs")
    plan = Plan(map(_first, roots), nodes)
    unused = not plan.reached.issuperset(nodes)
    for i, (node, start) in enumerate(zip(nodes, starts, strict=True)) if unused else ():
        if node not in plan.reached:
            if not allow:
                raise GradArgError(
                    f"One of the differentiated Tensors appears to not have been used in the graph: inputs[{i}] "
                    f"does not lead to the outputs. Set allow_unused=True if this is the desired behavior."
                )
            if materialize_grads and isinstance(start, GradientEdge):
                raise GradArgError("materialize_grads cannot be used when the given input is a GradientEdge")
    plan.check_alive()
    if create_graph is None:
        create_graph = plan.needed is not None
    walk = Walk(plan, create_graph, create_graph if retain_graph is None else retain_graph)
    if is_grads_batched:
        with Level("grad with is_grads_batched=True") as level.number:
            walk.run(_enter(roots, level, create_graph))
            found = [_leave(walk.arrived.get(node), level, create_graph) for node in nodes]
    else:
        walk.run(roots if create_graph or raw else _raw_seeds(roots))
        found = list(map(walk.arrived.get, nodes))
        if not create_graph:
            homes = device.by_array
            found = [None if g is None else box(homes[type(g)].settle(g)) for g in found]
    if (materialize_grads or not allow) and not walk.arrived.keys() >= set(nodes):  # reached with slope zero: zeros
        found = [_zeros(x, create_graph) if g is None and isinstance(x, Tensor) else g for g, x in zip(found, starts)]
    if ties:
        found = [tied(g, n) if g is not None and g._node is None else g for g, n in zip(found, nodes)]
    return tuple(found), create_graph


def _in_chunks(
    outputs: Any,
    inputs: Any,
    seeds: Any,
    retain: bool | None,
    create: bool,
    allow: bool | None,
    batched: bool,
    materialize: bool,
    size: int,
) -> tuple[Tensor | None, ...]:
    """The same for parts of the batch, one after the other; the last walk frees the graph."""
    if not batched or size < 1:
        raise GradArgError(
            f"chunk_size is {size} with is_grads_batched={batched}; expected a positive number, and a batch"
        )
    ends, starts = _sequence(outputs, "outputs"), _sequence(inputs, "inputs")
    given = [seeds] if isinstance(seeds, Tensor) or _is_array(seeds) else list(seeds or ())
    counts = {tuple(seed.shape)[:1] for seed in given if hasattr(seed, "shape")}
    if len(counts) != 1 or () in counts:  # the usual checks have the words for it
        return grad(ends, starts, seeds, retain, create, True, allow, True, materialize)
    ((count,),) = counts
    parts = []
    for first in range(0, max(count, 1), size):
        part = [seed[first : first + size] if hasattr(seed, "shape") else seed for seed in given]
        keep = retain if first + size >= count else True
        parts.append(grad(ends, starts, part, keep, create, True, materialize or allow, True))
    found: list[Tensor | None] = []
    for start, column in zip(starts, zip(*parts, strict=True), strict=True):
        if column[0] is not None:
            found.append(column[0] if len(column) == 1 else tape_namespace.concat(*column, axis=0))
        else:
            found.append(_zeros(start, create) if materialize and isinstance(start, Tensor) else None)
    return tuple(found)


def backward(
    tensors: TensorOrEdge | Iterable[TensorOrEdge],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: TensorOrEdge | Iterable[TensorOrEdge] | None = None,
) -> None:
    """Add the gradients of the (weighted) sum of ``tensors`` to ``.grad`` of the leaves, or of ``inputs`` only.

    If anything raises, no ``.grad`` has changed (but for leaves with post-accumulate hooks that have fired).

    Parameters
    ----------
    tensors, grad_tensors
        The roots and their weights, as in `grad`.
    retain_graph
        Keep the graph for further calls; None means ``create_graph``.
    create_graph
        Make the gradients differentiable.
    inputs
        Accumulate into these tensors only; they need not be leaves.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> lg.autograd.backward((x * x).sum())
    >>> x.grad.tolist()
    [2.0, 4.0, 6.0]
    """
    retain = create_graph if retain_graph is None else retain_graph
    roots = _lone_root(tensors, grad_tensors, not create_graph)
    if roots is None:
        ends = _sequence(tensors, "tensors")
        roots = _roots("tensors", ends, grad_tensors, "grad_tensors", _Level(False), skip=False)
        roots = roots if create_graph else _raw_seeds(roots)
    targets: list[Tensor] | None = None
    wanted = None
    if inputs is not None:
        starts = _sequence(inputs, "inputs")
        if not starts:
            raise GradArgError("`inputs` argument to `backward()` cannot be empty.")
        wanted = _input_nodes(starts, "inputs")
        targets = list({id(t): t for t in map(_tensor_of, starts, wanted)}.values())
    plan = Plan(map(_first, roots), wanted)
    plan.check_alive()
    walk = Walk(plan, create_graph, retain, accumulate=accumulate)
    walk.then.append(functools.partial(_write, targets))
    walk.run(roots)


def _write(targets: list[Tensor] | None, walk: Walk) -> None:
    """Add what arrived to ``.grad``."""
    arrived = walk.arrived
    if targets is None and not walk.retained and not walk.create_graph and keep(arrived):
        return
    if targets is None:
        owners = [(tensor, leaf) for leaf in arrived if (tensor := leaf.tensor()) is not None]
    else:
        owners = [(tensor, node) for tensor in targets if (node := node_of(tensor)) in arrived]
    for k, (tensor, g) in enumerate(walk.retained):
        if targets is None or all(tensor is not t for t in targets):
            arrived[k] = g
            owners.append((tensor, k))
    accumulate(arrived, owners, walk.create_graph)


# -- arguments -----------------------------------------------------------------------------------
def _lone_root(end: Any, seed: Any, raw: bool) -> list[tuple[Any, Any]] | None:
    """The usual case in short: one root, and its seed as an array or a tensor. None: another.

    A seed is a tensor like the root, or None, which stands for 1 if the root is a real number.
    """
    array = end.array if type(end) is Tensor else None
    if array is None or (seed is None and array.shape != ()):
        return None
    node, dtype = end._node if end._alias is None else node_of(end), array.dtype
    if node is None or dtype not in floats:
        return None
    if seed is not None:
        g: Any = seed.array if type(seed) is Tensor else None
        kind = type(array)
        if type(g) is not kind or kind in device.layers or kind in device.places:
            return None
        return [(node, g if raw else seed)] if g.shape == array.shape and g.dtype == dtype else None
    if dtype in complexes:
        return None
    if isinstance(array, Layer):
        seed = run("ones_like", array)
    else:
        home = device.by_array[type(array)]
        seed = home.full((), 1, dtype, home.device_of(array))
    return [(node, seed if raw else box(seed))]


class _Level:
    """The batch level of a call with batched seeds."""

    def __init__(self, batched: bool) -> None:
        self.batched = batched
        self.number = 0  # given when the walk begins
        self.size = 0  # not known before the first seed

    def __bool__(self) -> bool:
        return self.batched


_TENSORS, _NO_ALIAS = {Tensor}, {None}
_NUMBERS = ("float", "bfloat", "int", "uint", "complex", "bool")
_NO_LISTS = (str, bytes, bytearray, memoryview, Set)
_alias_of, _node_of = operator.attrgetter("_alias"), operator.attrgetter("_node")
_array_of, _shape_of, _dtype_of = map(operator.attrgetter, ("array", "shape", "dtype"))
_first, _second = operator.itemgetter(0), operator.itemgetter(1)


def _sequence(given: Any, name: str) -> list[Any]:
    if type(given) is Tensor:
        return [given]
    if type(given) is list or type(given) is tuple:
        pass
    elif isinstance(given, Mapping):
        raise TypeError(f"{name}: given a dict, expected a Tensor or a sequence of them; pass list(d.values())")
    elif isinstance(given, (Tensor, GradientEdge)):
        given = [given]
    elif not isinstance(given, Iterable):
        raise TypeError(
            f"{name}: given {type(given).__name__}, expected a Tensor, a GradientEdge or an iterable of them"
        )
    items = list(given)
    plain = set(map(type, items)) == _TENSORS
    for i, item in enumerate(items) if not plain else ():
        if not isinstance(item, (Tensor, GradientEdge)):
            raise TypeError(f"{name}[{i}]: given {type(item).__name__}, expected a Tensor or a GradientEdge")
    return items


def _input_nodes(starts: Sequence[TensorOrEdge], name: str) -> list[Any]:
    if set(map(type, starts)) == _TENSORS and set(map(_alias_of, starts)) == _NO_ALIAS:
        nodes = list(map(_node_of, starts))
        if None not in nodes:
            return nodes
    return [_input_node(start, i, name) for i, start in enumerate(starts)]


def _input_node(start: TensorOrEdge, i: int, name: str) -> Any:
    node = start.resolve() if isinstance(start, GradientEdge) else node_of(start)
    if node is None:
        raise GradArgError(
            f"One of the differentiated Tensors does not require grad: {name}[{i}]; "
            f"make it with requires_grad=True before it is used"
        )
    return node


def _tensor_of(start: TensorOrEdge, node: Any) -> Tensor:
    if isinstance(start, Tensor):
        return start
    tensor = node.tensor() if hasattr(node, "tensor") else None
    if tensor is None:
        raise GradArgError("backward: a GradientEdge in inputs must be that of a leaf that still exists")
    return tensor


def _roots(
    name: str, ends: Sequence[TensorOrEdge], seeds: Any, seeds_name: str, level: _Level, skip: bool
) -> list[tuple[Any, Tensor]]:
    """Pairs of node and seed, each seed checked against its output."""
    if not ends:
        raise GradArgError(f"{name} is empty, expected at least one Tensor")
    if seeds is None:
        given: Sequence[Any] = [None] * len(ends)
    elif type(seeds) is list or type(seeds) is tuple:
        given = seeds
    elif isinstance(seeds, Mapping):
        raise TypeError(f"{seeds_name}: given a dict, expected one seed per output")
    elif isinstance(seeds, (Tensor, numbers.Number)) or _is_array(seeds):
        given = [seeds]
    elif isinstance(seeds, Iterable) and not isinstance(seeds, _NO_LISTS) and not hasattr(seeds, "dtype"):
        given = list(seeds)
    else:
        raise TypeError(f"{seeds_name}: given {_kind(seeds)}, expected one seed per output, in a list")
    if len(given) != len(ends):
        raise GradArgError(
            f"got {len(ends)} tensors and {len(given)} gradients: {seeds_name} must be the same length as {name}"
        )
    roots = _plain_roots(ends, given) if not level.batched else None
    if roots is not None:
        return roots
    roots = []
    for i, (end, seed) in enumerate(zip(ends, given, strict=True)):
        if isinstance(end, GradientEdge):
            node, meta = end.resolve(), end.meta()
        else:
            node, meta = node_of(end), meta_of(end.array)
        if node is None:
            if skip:
                continue
            raise GradArgError(
                f"element {i} of tensors does not require grad and does not have a grad_fn: {name}[{i}] does not "
                f"depend on a tensor with requires_grad=True, or was computed under no_grad()"
            )
        seed = _seed(seed, meta, f"{seeds_name}[{i}]", f"{name}[{i}]", level)
        if isinstance(end, Tensor) and isinstance(end.array, Layer) and not isinstance(seed.array, Layer):
            if given[i] is None:  # one seed for all that stands behind the output
                seed = box(run("ones_like", end.array))
            else:
                seed = tape_namespace.zeros_like(box(end.array)) + seed
        roots.append((node, seed))
    return roots


def _plain_roots(ends: Sequence[TensorOrEdge], seeds: Sequence[Any]) -> list[tuple[Any, Tensor]] | None:
    """The usual case in short: arrays of one kind, and seeds of their shapes and dtypes. None: anything else."""
    if set(map(type, ends)) != _TENSORS or set(map(type, seeds)) != _TENSORS:
        return None
    ys, gs, nodes = list(map(_array_of, ends)), list(map(_array_of, seeds)), list(map(_node_of, ends))
    kinds = {*map(type, ys), *map(type, gs)}
    if len(kinds) > 1 or not kinds.isdisjoint(device.layers) or not kinds.isdisjoint(device.places):
        return None
    if list(map(_shape_of, ys)) == list(map(_shape_of, gs)):
        same = list(map(_dtype_of, ys)) == list(map(_dtype_of, gs)) and set(map(_alias_of, ends)) == _NO_ALIAS
        return list(zip(nodes, seeds)) if same and None not in nodes else None
    return None


def _is_array(value: Any) -> bool:
    return device.recognise(value) is not None or any(b.accepts(value) for b in set(device.by_array.values()))


def _is_welcome(array: Any, meta: Meta | None) -> bool:
    """Whether an array comes from NumPy, CuPy or the library of an output's device: others have tapes of their own."""
    library = device.library_of(array)
    return library in (None, "cuda") or (meta is not None and str(meta.device).partition(":")[0] == library)


def _name_of(dtype: Any) -> str:
    return getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]


def _kind(value: Any) -> str:
    """What a seed is that can't be used."""
    kind, dtype = type(value), getattr(value, "dtype", None)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return name if dtype is None else f"{name} of dtype {dtype}"


def _seed(seed: Any, meta: Meta | None, who: str, whose: str, level: _Level) -> Tensor:
    if seed is None:
        return _implicit_seed(meta, who, whose, level)
    if not isinstance(seed, Tensor) and isinstance(seed, numbers.Complex):  # NumPy's scalars are numbers, too
        if meta is None:
            raise GradArgError(f"{who}: a number needs an output whose shape is known; pass a Tensor")
        if level:
            raise GradArgError(
                f"{who}: given a number, expected a Tensor with a batch axis, as is_grads_batched=True says"
            )
        if not isinstance(seed, numbers.Real) and meta.dtype not in complexes:
            raise GradArgError(f"{who}: given a complex number, expected a real one: {whose} has dtype {meta.dtype}")
        backend = device.backend_named(meta.device)
        return box(backend.full(meta.shape, seed, meta.dtype, meta.device))
    if isinstance(seed, Tensor):
        if meta is not None and seed.device != meta.device:
            raise GradArgError(
                f"{who} is on {seed.device} and {whose} on {meta.device}; move the seed with .to({str(meta.device)!r})"
            )
    elif _is_array(seed) and _name_of(seed.dtype).startswith(_NUMBERS) and _is_welcome(seed, meta):
        here = "cpu" if meta is None else meta.device
        backend, home = device.backend_named(here), device.by_array.get(type(seed))
        moved = home is not None and home is not backend
        seed = box(backend.receive(seed, home, here, False) if moved else backend.asarray(seed, where=here))
    else:
        raise TypeError(f"{who}: given {_kind(seed)}, expected a Tensor, an array of numbers, a number or None")
    return seed if meta is None else _checked_seed(seed, meta, who, whose, level)


def _checked_seed(seed: Tensor, meta: Meta, who: str, whose: str, level: _Level) -> Tensor:
    shape = tuple(seed.array.shape)
    if level:
        if not shape or shape[1:] != tuple(meta.shape) or level.size not in (0, shape[0]):
            raise GradArgError(
                f"If is_grads_batched=True, the first axis of each seed is its batch: {who} has shape {shape}, "
                f"expected ({level.size or 'B'}, *{tuple(meta.shape)}), {whose} having shape {tuple(meta.shape)}"
            )
        level.size = shape[0]
    elif shape != tuple(meta.shape):
        raise GradArgError(
            f"Mismatch in shape: {who} has a shape of {shape} and {whose} has a shape of {tuple(meta.shape)}"
        )
    if (seed.array.dtype in complexes) != (meta.dtype in complexes):
        raise GradArgError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype: "
            f"{who} is {seed.array.dtype}, {whose} is {meta.dtype}"
        )
    return seed if seed.array.dtype == meta.dtype else seed.to(meta.dtype)


def _implicit_seed(meta: Meta | None, who: str, whose: str, level: _Level) -> Tensor:
    if meta is None or meta.size != 1 or level:
        shape = "unknown" if meta is None else tuple(meta.shape)
        raise GradArgError(
            f"grad can be implicitly created only for scalar outputs, and {whose} has shape {shape}; "
            f"give {who}, e.g. lg.ones_like(y), or reduce it first, e.g. y.sum()"
        )
    if meta.dtype in complexes:
        raise GradArgError(
            f"grad can be implicitly created only for real scalar outputs but got {meta.dtype} for {whose}; give {who}"
        )
    if meta.dtype not in floats:
        raise GradArgError(f"{whose} has dtype {meta.dtype}, expected a floating-point output")
    return box(device.backend_named(meta.device).full(meta.shape, 1, meta.dtype, meta.device))


# -- seeds in, gradients out ---------------------------------------------------------------------
def _enter(roots: list[tuple[Any, Tensor]], level: _Level, create_graph: bool) -> list[tuple[Any, Any]]:
    with enable_grad() if create_graph else no_grad():
        roots = [(n, batching.enter_level(g, level=level.number, size=level.size)) for n, g in roots]
    return roots if create_graph else [(node, g.array) for node, g in roots]


def _leave(g: Any, level: _Level, create_graph: bool) -> Tensor | None:
    if g is None:
        return None
    with enable_grad() if create_graph else no_grad():
        g = g if create_graph else box(_settled(g))
        return batching.leave_level(g, level=level.number, size=level.size)


def _raw_seeds(roots: list[tuple[Any, Tensor]]) -> list[tuple[Any, Any]]:
    return list(zip(map(_first, roots), map(_array_of, map(_second, roots))))


def _settled(g: Any) -> Any:
    return device.by_array[type(g)].settle(g)


def _zeros(start: Tensor, create_graph: bool) -> Tensor:
    meta = meta_of(start.array)
    zeros: Tensor = box(device.backend_named(meta.device).zeros(*meta))
    return zeros.requires_grad_() if create_graph else zeros
