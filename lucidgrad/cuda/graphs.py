"""CUDA graphs under PyTorch's names: work is recorded once, and launched as one call again and again.

What a graph computes with is where it was when it was recorded: write new inputs into the same tensors. Numbers that
change from step to step, learning rates, the numbers of steps and where random numbers begin, are not part of it: every
launch takes those of its time.
"""

import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import lucidgrad as lg
from lucidgrad.autograd import Function, grad
from lucidgrad.callers import is_own
from lucidgrad.core import device as _devices
from lucidgrad.func import trees
from lucidgrad.refusals import guard as _guard

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

_MODES = ("global", "thread_local", "relaxed")


def _captures() -> Any:
    return _devices.backend_named("cuda").captures


def is_current_stream_capturing() -> bool:
    """Whether work of this thread is being recorded, and not done.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.cuda.is_current_stream_capturing()
    False
    """
    return _devices.is_loaded("cuda") and _captures().now() is not None


def graph_pool_handle() -> Any:
    """A pool of memory for several graphs that are never launched at the same time, for their ``pool``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     pool = lg.cuda.graph_pool_handle()
    ...     a, b = lg.cuda.CUDAGraph(), lg.cuda.CUDAGraph()
    ...     with lg.cuda.graph(a, pool=pool):
    ...         x = lg.ones(3, device="cuda")
    ...     with lg.cuda.graph(b, pool=a.pool()):
    ...         y = x * 2
    """
    return _devices.backend_named("cuda").cuda.MemoryPool()


class CUDAGraph:
    """Work that was recorded, and is done with every `replay`.

    Record with `lucidgrad.cuda.graph`. A graph holds the memory that was taken while recording; results are overwritten
    by the next `replay`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     g, x = lg.cuda.CUDAGraph(), lg.zeros(3, device="cuda")
    ...     _ = x + 1  # once as it is: kernels are compiled
    ...     with lg.cuda.graph(g):
    ...         y = x + 1
    ...     _ = x.fill_(5.0)
    ...     g.replay()
    ...     assert y.tolist() == [6.0, 6.0, 6.0]
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._recorded: Any = None
        self._recording: Any = None
        self._before: Any = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Record the work of this thread from now on, which must be in a stream of its own.

        Parameters
        ----------
        pool
            Where memory comes from: what `graph_pool_handle` or `pool` of another graph gave.
        capture_error_mode
            Accepted. What can't be recorded is refused in this thread; other threads may do what they want.
        """
        if capture_error_mode not in _MODES:
            raise ValueError(f"capture_error_mode: given {capture_error_mode!r}, expected one of {', '.join(_MODES)}")
        if self._recorded is not None or self._recording is not None:
            raise RuntimeError("this graph was recorded already; reset() it, or make another one")
        made = _captures().Capture(pool)
        made.begin()
        self._recording = made

    def capture_end(self) -> None:
        """End the recording; raises if it met something that can't be recorded, and leaves no graph then."""
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        made, self._recording = self._recording, None
        if made is None:
            raise RuntimeError("capture_end: nothing is being recorded; call capture_begin() first")
        made.end(error)
        self._recorded = made

    def replay(self) -> None:
        """Do the recorded work on the current stream: one launch."""
        if self._recorded is None:
            raise RuntimeError("replay: nothing was recorded; record it with lucidgrad.cuda.graph(g) first")
        _captures().refuse("another graph is launched", "record what that does, instead")
        self._recorded.launch()

    def reset(self) -> None:
        """Forget what was recorded; its memory is free again once the device is done with it."""
        if self._recording is not None:
            raise RuntimeError("reset: the graph is being recorded; end that first")
        self._recorded = None

    def pool(self) -> Any:
        """The pool that its memory comes from, for other graphs."""
        found = self._recorded or self._recording
        if found is None:
            raise RuntimeError("pool: nothing was recorded yet; record it with lucidgrad.cuda.graph(g) first")
        return found.pool

    def debug_dump(self, debug_path: Any) -> None:
        """Write a picture of what was recorded as text, in the language of Graphviz."""
        if self._recorded is None:
            raise RuntimeError("debug_dump: nothing was recorded; record it with lucidgrad.cuda.graph(g) first")
        with open(debug_path, "w", encoding="utf-8") as file:
            file.write(self._recorded.graph.debug_dot_str())

    def enable_debug_mode(self) -> None:
        """Accepted: `debug_dump` is always possible."""


class graph:
    """A context in which work is recorded for a `CUDAGraph`, in a stream of its own; nothing is computed meanwhile.

    Do once what is to be recorded before, so that kernels are compiled and optimisers have their states. What can't be
    recorded raises an error that names it: reading values, host data, sorting, factorisations, Fourier transforms. Then
    there is no graph.

    Parameters
    ----------
    cuda_graph
        The graph.
    pool
        Where memory comes from: what `graph_pool_handle` or another graph's ``pool()`` gave; by default its own.
    stream
        The stream to record in; by default a new one.
    capture_error_mode
        Accepted, see `CUDAGraph.capture_begin`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     w = lg.ones(3, device="cuda", requires_grad=True)
    ...     optimizer = lg.optim.Adam([w], lr=0.1)
    ...
    ...     def step():
    ...         optimizer.zero_grad()
    ...         loss = (w * w).sum()
    ...         loss.backward()
    ...         optimizer.step()
    ...         return loss.detach()
    ...
    ...     _ = step()
    ...     g = lg.cuda.CUDAGraph()
    ...     with lg.cuda.graph(g):
    ...         loss = step()
    ...     for _ in range(10):
    ...         g.replay()
    ...     assert loss.item() < 1
    """

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global"
    ) -> None:
        if not isinstance(cuda_graph, CUDAGraph):
            raise TypeError(f"graph: given a {type(cuda_graph).__name__}, expected a lucidgrad.cuda.CUDAGraph")
        self.cuda_graph, self._pool, self._mode = cuda_graph, pool, capture_error_mode
        self._stream = stream

    def __enter__(self) -> None:
        if is_current_stream_capturing():
            raise RuntimeError("a CUDA graph is being recorded in this thread already; end that first")
        side = lg.cuda.Stream() if self._stream is None else self._stream
        self._entered = lg.cuda.stream(side)
        self._entered.__enter__()
        try:
            self.cuda_graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._entered.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.cuda_graph._end(error)
        except BaseException as raised:
            if raised is not error:  # one that was caught inside, or CUDA's word at the end
                raise RuntimeError(f"the CUDA graph could not be recorded: {raised}{_where(raised)}") from raised
        finally:
            self._entered.__exit__(None, None, None)


def _where(error: BaseException) -> str:
    """The line of the user's that an error came from."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not is_own(frame.filename):
            return f" ({frame.filename}, line {frame.lineno})"
    return ""


# -- functions and modules as graphs ---------------------------------------------------------------
def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Functions or modules whose calls, and whose gradients, are one launch each.

    Parameters
    ----------
    callables
        A function or module of tensors, or a tuple of several that are called in this order.
    sample_args
        The arguments of one, as a tuple of tensors, or a tuple of such tuples: shapes, dtypes and ``requires_grad`` of
        all later calls are theirs.
    num_warmup_iters
        How often each is called before it is recorded.
    allow_unused_input
        Whether inputs may have no gradient.
    pool
        Where memory comes from, see `graph_pool_handle`.

    Returns
    -------
    callable or tuple
        The same with recorded calls; a module is changed in place. Results are overwritten by the next call; a module
        that is in another mode than when it was recorded, training or evaluation, is called as it is.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     layer = lg.nn.Linear(3, 2).to("cuda")
    ...     layer = lg.cuda.make_graphed_callables(layer, (lg.ones(4, 3, device="cuda"),))
    ...     layer(lg.zeros(4, 3, device="cuda")).sum().backward()
    ...     assert layer.bias.grad.tolist() == [4.0, 4.0]
    """
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    if len(functions) != len(samples):
        raise ValueError(f"given {len(functions)} callables and {len(samples)} tuples of arguments, expected as many")
    pool = graph_pool_handle() if pool is None else pool
    for function, args in zip(functions, samples, strict=True):
        _check(function, args)
    made = [_Graphed(f, a, num_warmup_iters, allow_unused_input) for f, a in zip(functions, samples, strict=True)]
    for one in made:
        one.record_forward(pool)
    for one in reversed(made):  # in the order in which gradients go, so that memory is shared as it will be
        one.record_backward(pool)
    found = tuple(one.callable() for one in made)
    return found[0] if single else found


def _check(function: Any, args: Any) -> None:
    if not isinstance(args, tuple) or not all(isinstance(leaf, lg.Tensor) for leaf in trees.flatten(args)[0]):
        raise TypeError("make_graphed_callables: sample_args must be a tuple of tensors for each callable")
    if any(leaf.device.type != "cuda" for leaf in trees.flatten(args)[0]):
        raise ValueError("make_graphed_callables: sample_args must be on a CUDA device")
    hooks = getattr(function, "_hooks", None)
    if any(getattr(hooks, purpose, None) for purpose in ("forward_pre", "forward", "backward_pre", "backward")):
        raise RuntimeError("make_graphed_callables: the module has hooks, which a graph would not call; remove them")
    if hasattr(function, "buffers") and any(buffer.requires_grad for buffer in function.buffers()):
        raise RuntimeError("make_graphed_callables: a buffer requires gradients; only parameters may")


class _Graphed:
    """A function, its inputs and results in memory that stays, and its two graphs."""

    def __init__(self, function: Any, args: tuple[Any, ...], warmups: int, allow_unused: bool) -> None:
        self.function, self.args, self.warmups, self.allow_unused = function, args, warmups, allow_unused
        leaves, self.tree = trees.flatten(args)
        parameters = list(function.parameters()) if hasattr(function, "parameters") else []
        self.given = len(leaves)
        self.inputs = [leaf.detach().clone().requires_grad_(leaf.requires_grad) for leaf in leaves] + parameters
        self.wanted = [x for x in self.inputs if x.requires_grad]
        self.forward, self.backward = CUDAGraph(), CUDAGraph()
        self.training = getattr(function, "training", None)

    def _call(self) -> list[Any]:
        made = self.function(*trees.unflatten(self.tree, self.inputs[: self.given]))
        outputs, self.shape = trees.flatten(made)
        if not outputs or not all(isinstance(y, lg.Tensor) for y in outputs):
            raise TypeError("make_graphed_callables: a callable must return tensors, in any nesting")
        return outputs

    def _gradients(self, outputs: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        roots = [(y, g) for y, g in zip(outputs, given, strict=True) if g is not None]
        if not roots or not self.wanted:
            return [None] * len(self.wanted)
        ys, gs = zip(*roots, strict=True)
        return list(grad(ys, self.wanted, gs, allow_unused=self.allow_unused))

    def record_forward(self, pool: Any) -> None:
        """Call the function a few times, then record it."""
        side = lg.cuda.Stream()
        side.wait_stream(lg.cuda.current_stream())
        with lg.cuda.stream(side), lg.enable_grad():
            for _ in range(self.warmups):
                outputs = self._call()
                self._gradients(outputs, [lg.ones_like(y) if y.requires_grad else None for y in outputs])
        lg.cuda.current_stream().wait_stream(side)
        with lg.enable_grad(), graph(self.forward, pool):
            self.outputs = self._call()

    def record_backward(self, pool: Any) -> None:
        """Record the gradients."""
        self.incoming = [lg.empty_like(y.detach()) if y.requires_grad else None for y in self.outputs]
        self.slopes: list[Any] = [None] * len(self.wanted)
        if any(g is not None for g in self.incoming) and self.wanted:
            with graph(self.backward, pool):
                self.slopes = self._gradients(self.outputs, self.incoming)
        self.outputs = [y.detach() for y in self.outputs]  # the graph that was recorded needs no history any more

    def _launch(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        with lg.no_grad():
            for own, x in zip(self.inputs, leaves, strict=True):
                if own is not x:
                    own.copy_(x)
        self.forward.replay()
        return tuple(y.detach() for y in self.outputs)

    def _pull(self, given: Sequence[Any]) -> tuple[Any, ...]:
        with lg.no_grad():
            for own, g in zip(self.incoming, given, strict=True):
                if own is not None:
                    own.zero_() if g is None else own.copy_(g)
        self.backward.replay()
        slopes = iter(self.slopes)
        found = [next(slopes) if x.requires_grad else None for x in self.inputs]
        return tuple(None if g is None else g.detach().clone() for g in found)

    def callable(self) -> Callable[..., Any]:
        """What calls the graphs: a function, or the module itself."""
        outer = self
        recording_needed = any(g is not None for g in self.incoming)

        class Replayed(Function):
            @staticmethod
            def forward(ctx: Any, *leaves: Any) -> Any:
                ctx.set_materialize_grads(False)
                made = outer._launch(leaves)
                ctx.mark_non_differentiable(*(y for y, g in zip(made, outer.incoming, strict=True) if g is None))
                return made

            @staticmethod
            @lg.autograd.function.once_differentiable
            def backward(ctx: Any, *given: Any) -> Any:
                return outer._pull(given)

        def call(*args: Any) -> Any:
            leaves, _ = trees.flatten(args)
            if len(leaves) != outer.given or any(
                not isinstance(x, lg.Tensor) or (x.shape, x.dtype) != (own.shape, own.dtype)
                for x, own in zip(leaves, outer.inputs, strict=False)
            ):
                raise TypeError(
                    f"a graphed callable takes tensors of the shapes and dtypes it was recorded with: "
                    f"{', '.join(f'{x.dtype}{list(x.shape)}' for x in outer.inputs[: outer.given])}"
                )
            leaves = [*leaves, *outer.inputs[outer.given :]]
            made = Replayed.apply(*leaves) if recording_needed else outer._launch(leaves)
            return trees.unflatten(outer.shape, list(made))

        if not hasattr(self.function, "forward"):
            return call
        module, plain = self.function, self.function.forward

        def forward(*args: Any, **keywords: Any) -> Any:
            return call(*args) if module.training == outer.training and not keywords else plain(*args, **keywords)

        module.forward = forward
        return module


_guard(__name__, __all__)
