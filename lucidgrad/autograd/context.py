"""What the ``forward`` of a `Function` leaves for ``backward``."""

from typing import Any

from lucidgrad.tensor import Tensor


class FunctionCtx:
    """What ``forward`` leaves for ``backward``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Square(lg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * g
    >>> x = lg.tensor([3.0], requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor([6.])
    """

    needs_input_grad: tuple[bool, ...] = ()
    _saved: tuple[Tensor | None, ...] = ()
    _given: tuple[Tensor | None, ...] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _fixed: tuple[Tensor, ...] = ()
    _constants: tuple[Any, ...] = ()
    _materialize = True
    _nodes: tuple[Any, ...] = ()  # those of the inputs
    _fork: Any = None  # the node that keeps what was saved, weakly

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``backward``, which finds them in ``ctx.saved_tensors``."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward: given a {type(t).__name__}, expected tensors; store it on ctx")
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``; the same as `save_for_backward` here."""
        self._saved = self._saved or tensors

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:  # None where that was kept, which its owner knows
        """What `save_for_backward` kept: in ``backward``, and until it is freed also as ``grad_fn.saved_tensors``."""
        if self._given is not None or self._fork is None:
            return self._saved if self._given is None else self._given  # type: ignore[return-value]
        fork = self._fork()
        if fork is None:
            raise RuntimeError("saved_tensors: the graph that kept them is gone; keep an output of the call")
        return fork.recipe.unpacked(fork)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._fixed = tensors

    def mark_constant(self, *values: Any) -> None:
        """Say which kept values do not depend on the inputs, so that second derivatives need no history of them."""
        self._constants = values

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for outputs that nothing depends on."""
        self._materialize = value
