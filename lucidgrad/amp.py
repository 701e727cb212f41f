"""Mixed precision: `autocast` lets matrix products run in 16 bits, `GradScaler` keeps small gradients from vanishing.

Which precision an operation runs in is said where it is declared (``precision="low"`` or ``"full"``).
"""

import functools
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import lucidgrad as lg
from lucidgrad.core.device import Device
from lucidgrad.core.dtype import named
from lucidgrad.core.modes import Block, Precision, precision, set_casting, state
from lucidgrad.levels.layer import Layer
from lucidgrad.levels.traced import current, unless
from lucidgrad.ops.lists import unscale_all
from lucidgrad.ops.precision import in_precision, rounded_once
from lucidgrad.refusals import guard as _guard
from lucidgrad.shards import shard_of

__all__ = [
    "GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "in_precision", "is_autocast_enabled",
    "rounded_once",
]  # fmt: skip

_HALVES = ("float16", "bfloat16")


class _Casting:
    """What an operation does with its inputs under autocast: by device, which dtypes become which."""

    def __init__(self, targets: dict[str, Any], cache: dict[int, Any] | None) -> None:
        self.targets, self.cache = targets, cache
        self.low = {device: _to(dtype, ("float32", *_HALVES)) for device, dtype in targets.items()}
        self.full = {device: _to(named("float32"), _HALVES) for device in targets}

    def __call__(self, primitive: Any, args: Iterable[Any]) -> tuple[Any, ...]:
        """The arguments of a primitive in the precision that it runs in."""
        tables = self.low if primitive.precision == "low" else self.full
        return tuple(self._cast(x, tables) if isinstance(x, lg.Tensor) else x for x in args)

    def _cast(self, x: Any, tables: dict[str, dict[Any, Any]]) -> Any:
        table = tables.get(x.device.type)
        dtype = None if table is None else table.get(str(x.dtype))
        if dtype is None:
            return x
        if self.cache is None or tables is self.full or not _lasts(x):
            return lg.astype(x, dtype)
        kept = self.cache.get(id(x))
        if kept is None or kept[1] != (x._version, dtype):
            kept = self.cache[id(x)] = x, (x._version, dtype), lg.astype(x, dtype)
        return kept[2]

    def again(self) -> "_Casting":
        """The same without what was cast already: for a part that runs a second time."""
        return _Casting(self.targets, None if self.cache is None else {})


def _to(target: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: target for name in names if name != str(target)}


def _lasts(x: Any) -> bool:
    """Whether a cast of a tensor serves a second time: that of a parameter, with its history."""
    return state.recording and x.requires_grad and x.is_leaf and x._alias is None and not isinstance(x.array, Layer)


class autocast(Block):
    """A context, or decorator, in which operations choose their precision.

    Matrix products, convolutions and attention run in 16 bits; exponentials, logarithms, powers, softmax, norms, losses
    and sums in float32; others in the widest dtype they are given. Casts are operations like any other: gradients
    arrive in the parameters' own dtype. Run backward outside of it.

    Parameters
    ----------
    device_type
        ``"cuda"`` or ``"cpu"``: tensors on other devices are left as they are.
    dtype
        The 16-bit dtype: by default bfloat16, which needs ml_dtypes, on the CPU and on CUDA devices that have it (of
        compute capability 8 and above), and float16 on other CUDA devices.
    enabled
        False: in this part operations run in the dtypes of their inputs.
    cache_enabled
        Whether parameters are cast once for all their uses in the outermost context; by default they are.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((2, 2), requires_grad=True)
    >>> with lg.autocast("cpu", dtype=lg.float16):
    ...     y = w @ w
    ...     loss = y.sum()
    >>> y.dtype, loss.dtype
    (dtype('float16'), dtype('float32'))
    >>> loss.backward()
    >>> w.grad.dtype
    dtype('float32')
    """

    def __init__(
        self, device_type: Any, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, (str, Device)):
            raise ValueError(f"autocast: device_type is a {type(device_type).__name__}, expected a name such as 'cuda'")
        self.device = Device(device_type).type
        self.enabled, self.cache_enabled = enabled, cache_enabled
        self.dtype = None if not enabled and dtype is None else _chosen(self.device, dtype)
        if enabled and str(self.dtype) not in _HALVES:
            warnings.warn(f"autocast: dtype is {self.dtype}, expected float16 or bfloat16; it is off", stacklevel=2)
            self.enabled = enabled = False
        super().__init__()

    def _changes(self) -> Any:
        before = state.casting
        targets = {} if before is None else dict(before.targets)
        targets.pop(self.device, None)
        if self.enabled:
            targets[self.device] = self.dtype
        cache: dict[int, Any] | None = {} if before is None else before.cache
        if self.cache_enabled is not None:
            cache = (cache if cache is not None else {}) if self.cache_enabled else None
        return ((precision, Precision(_Casting(targets, cache))),)

    @property
    def _result(self) -> Any:
        return self

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, run in this context."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            before = precision.get()
            try:
                with self:
                    return function(*args, **kwargs)
            finally:  # again: an exception may come between the function and the end of the block
                precision.set(before)

        return wrapped


def _chosen(device: str, dtype: Any) -> Any:
    if dtype is None:
        dtype = "bfloat16" if device == "cpu" or (device == "cuda" and _has_bfloat16()) else "float16"
    if str(dtype) != "bfloat16":
        return named(dtype) if isinstance(dtype, str) else dtype
    try:
        return lg.bfloat16
    except AttributeError as error:
        raise ImportError(f"autocast on the CPU is in bfloat16 unless told otherwise: {error}") from None


def _has_bfloat16() -> bool:
    """Whether the CUDA device multiplies bfloat16, and NumPy knows it."""
    return lg.cuda.is_available() and lg.cuda.get_device_capability() >= (8, 0) and hasattr(lg, "bfloat16")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations on a device choose their precision.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> with lg.autocast("cpu", dtype=lg.float16):
    ...     lg.amp.is_autocast_enabled("cpu"), lg.amp.is_autocast_enabled("cuda")
    (True, False)
    """
    return state.casting is not None and device_type in state.casting.targets


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that autocast lowers to on a device: the current one, or the default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> with lg.autocast("cpu", dtype=lg.float16):
    ...     lg.amp.get_autocast_dtype("cpu")
    dtype('float16')
    """
    found = None if state.casting is None else state.casting.targets.get(device_type)
    return _chosen(device_type, None) if found is None else found


# -- functions with a backward of their own ------------------------------------------------------
def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Decorate the ``forward`` of an `lucidgrad.autograd.Function` that is used under autocast.

    Parameters
    ----------
    fwd
        The method.
    device_type
        The device whose autocast is meant.
    cast_inputs
        A dtype: floating-point tensors on the device are cast to it, and the method runs without autocast. None: it
        runs as it is called.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Cube(lg.autograd.Function):
    ...     @staticmethod
    ...     @lg.amp.custom_fwd(device_type="cpu", cast_inputs=lg.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     @lg.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * g * x**2
    >>> x = lg.tensor([2.0], requires_grad=True)
    >>> with lg.autocast("cpu", dtype=lg.float16):
    ...     y = Cube.apply(x.half())
    >>> y.backward()
    >>> y.dtype, x.grad
    (dtype('float32'), tensor([12.]))
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._autocast = state.casting
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(ctx, *args, **kwargs)
        ctx._autocast = None
        with autocast(device_type, enabled=False):
            args, kwargs = _cast_all((args, kwargs), device_type, cast_inputs)
            return fwd(ctx, *args, **kwargs)

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Decorate the ``backward`` that belongs to a `custom_fwd`: it runs under the autocast that forward ran under.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Double(lg.autograd.Function):
    ...     @staticmethod
    ...     @lg.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     @lg.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = lg.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any) -> Any:
        before = state.casting
        then = ctx._autocast
        set_casting(None if then is None else then.again())
        try:
            return bwd(ctx, *args)
        finally:
            set_casting(before)

    return backward


def _cast_all(tree: Any, device: str, dtype: Any) -> Any:
    def cast(part: Any) -> Any:
        if isinstance(part, lg.Tensor):
            single = part.is_floating_point() and str(part.dtype) != "float64"
            return part.to(dtype) if single and part.device.type == device else part
        return part

    return lg.func.trees.map(cast, tree)


# -- scaling of gradients ------------------------------------------------------------------------
class _Stage(Enum):
    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Multiplies a loss, so that gradients don't vanish in float16, and divides the gradients before a step.

    A step whose gradients overflowed is left out, and the scale is lowered; after many good steps it is raised. Whether
    a step is taken is the one thing that is asked of the device. It is not asked for optimisers that keep all that they
    note there: `SGD`, `Lion`, and those that are made with ``capturable=True``, which count their steps on the device.
    With them, all of it can be recorded in a CUDA graph.

    Parameters
    ----------
    device
        Where the scale is kept; by default on CUDA.
    init_scale
        The first scale.
    growth_factor, backoff_factor
        What the scale is multiplied by after ``growth_interval`` good steps, and after a bad one.
    growth_interval
        After how many good steps in a row the scale grows.
    enabled
        False: every method passes on what it is given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones(2, requires_grad=True)
    >>> optimizer, scaler = lg.optim.SGD([w], lr=0.5), lg.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale((w * w).sum()).backward()
    >>> w.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.detach()
    tensor([0., 0.])
    """

    def __init__(
        self,
        device: Any = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and growth_factor <= 1.0:
            raise AssertionError(f"GradScaler: growth_factor is {growth_factor}, expected more than 1")
        if enabled and backoff_factor >= 1.0:
            raise AssertionError(f"GradScaler: backoff_factor is {backoff_factor}, expected less than 1")
        self._device = Device(device)
        if enabled and self._device.type == "cuda" and not lg.cuda.is_available():
            lg.core.device.located(self._device)  # says what is missing
        self._enabled = enabled
        self._init_scale, self._init_growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._scale: Any = None
        self._growth_tracker: Any = None
        self._optimizers: dict[int, dict[str, Any]] = {}

    # -- settings
    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1 if it is not enabled. Asks the device."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Change what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Change what the scale is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps in a row the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Change after how many good steps in a row the scale grows."""
        self._growth_interval = new_interval

    # -- a step
    def scale(self, outputs: Any) -> Any:
        """A loss, or losses in any nesting of lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, lg.Tensor):
            if self._scale is None:
                self._begin(outputs.device)
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, Iterable):
            parts = [self.scale(part) for part in outputs]
            return parts if isinstance(outputs, list) else tuple(parts)
        raise ValueError(f"GradScaler.scale: given a {type(outputs).__name__}, expected a Tensor, or several")

    def _begin(self, device: Any) -> None:
        if Device(device).type == "cuda":
            lg.core.device.backend_named("cuda").refuse_recording(
                "GradScaler.scale is called for the first time, so that every launch would begin with the first scale",
                "take a step before the recording",
            )
        self._scale = lg.full((), self._init_scale, dtype=lg.float32, device=device)
        self._growth_tracker = lg.full((), self._init_growth_tracker, dtype=lg.int32, device=device)

    def _begun(self, what: str) -> None:
        if self._scale is None:
            raise AssertionError(f"GradScaler.{what}: nothing was scaled yet; call scale(loss).backward() first")

    def _state_of(self, optimizer: Any) -> dict[str, Any]:
        return self._optimizers.setdefault(id(optimizer), {"stage": _Stage.READY, "found_inf": {}})

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, e.g. to clip them before the step."""
        if not self._enabled:
            return
        self._begun("unscale_")
        found = self._state_of(optimizer)
        if found["stage"] is _Stage.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if found["stage"] is _Stage.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        found["found_inf"] = self._divide(optimizer)
        found["stage"] = _Stage.UNSCALED

    def _divide(self, optimizer: Any) -> dict[Any, Any]:
        """Divide gradients in place; by device, whether any of them is infinite or no number, as a tensor."""
        by_device: dict[Any, list[Any]] = {}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    if str(parameter.grad.dtype) == "float16":
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    by_device.setdefault(parameter.grad.device, []).append(parameter.grad)
        bad = {}
        with lg.no_grad():
            inverse = None
            for device, gradients in by_device.items():
                flag = unscale_all(gradients, self._scale.to(device))
                if flag is not None:
                    bad[device] = flag
                    continue
                if inverse is None:
                    inverse = (1 / self._scale.to(lg.float64)).to(lg.float32)
                there = inverse.to(device)
                good = [lg.all(lg.isfinite(g)) for g in gradients]
                bad[device] = lg.logical_not(lg.all(lg.stack(good)))
                for g in gradients:
                    g.mul_(there.to(g.dtype))
            _tell_others(bad, optimizer)
        return bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)`` with gradients that are divided by the scale, unless one of them overflowed."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._begun("step")
        found = self._state_of(optimizer)
        if found["stage"] is _Stage.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if found["stage"] is _Stage.READY:
            self.unscale_(optimizer)
        if not found["found_inf"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        flags = list(found["found_inf"].values())
        found["stage"] = _Stage.STEPPED
        if len(flags) == 1 and current.get() is None and getattr(optimizer, "_step_supports_amp_scaling", False):
            optimizer.grad_scale, optimizer.found_inf = None, flags[0]  # what PyTorch calls them
            try:
                return optimizer.step(*args, **kwargs)
            finally:
                del optimizer.grad_scale, optimizer.found_inf
        if any(flag.is_cuda for flag in flags):
            lg.core.device.backend_named("cuda").refuse_recording(
                f"GradScaler.step asks the device whether a step of {type(optimizer).__name__} is taken",
                "make the optimiser with capturable=True, if it has that, so that it counts its steps on the device, "
                "and take a step before the recording",
            )
        ours = type(optimizer).__module__.startswith("lucidgrad.") and getattr(optimizer, "_compiles", False)
        if len(flags) > 1 or not ours:  # what others write, a program could not leave out
            return None if any(flag.item() for flag in flags) else optimizer.step(*args, **kwargs)
        with unless(flags[0]) as fine:
            return optimizer.step(*args, **kwargs) if fine else None

    def update(self, new_scale: Any = None) -> None:
        """Lower the scale if a step since the last update overflowed, count a good one otherwise; or set a scale."""
        if not self._enabled:
            return
        self._begun("update")
        if new_scale is not None:
            if isinstance(new_scale, lg.Tensor) and (new_scale.size != 1 or new_scale.requires_grad):
                raise ValueError("GradScaler.update: new_scale must be one number that requires no gradient")
            with lg.no_grad():
                self._scale.fill_(float(new_scale))
        else:
            flags = [flag for found in self._optimizers.values() for flag in found["found_inf"].values()]
            if not flags:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(flags)
        self._optimizers.clear()

    def _adapt(self, flags: list[Any]) -> None:
        """The next scale, computed where it is kept: nothing is asked of the device."""
        with lg.no_grad():
            bad = lg.any(lg.stack([flag.to(self._scale.device) for flag in flags]))
            count = lg.where(bad, 0, self._growth_tracker + 1)
            full = count == self._growth_interval
            now = self._scale.to(lg.float64)  # in which what is too much for float32 can be seen
            grown = now * self._growth_factor
            grown = lg.where(lg.logical_and(full, grown <= lg.finfo(lg.float32).max), grown, now)
            self._scale.copy_(lg.where(bad, now * self._backoff_factor, grown).to(lg.float32))
            self._growth_tracker.copy_(lg.where(full, 0, count))

    # -- saving
    def state_dict(self) -> dict[str, Any]:
        """The scale and the settings; empty if it is not enabled. Asks the device."""
        if not self._enabled:
            return {}
        tracker = self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        scale, tracker = float(state_dict["scale"]), int(state_dict["_growth_tracker"])
        growth, backoff, interval = (state_dict[k] for k in ("growth_factor", "backoff_factor", "growth_interval"))
        self._init_scale, self._init_growth_tracker = scale, tracker
        self._growth_factor, self._backoff_factor, self._growth_interval = growth, backoff, interval
        if self._scale is not None:
            with lg.no_grad():
                self._scale.fill_(scale)
                self._growth_tracker.fill_(tracker)


def _tell_others(bad: dict[Any, Any], optimizer: Any) -> None:
    """Of shards, what one rank finds in its rows holds for all: they step, or don't, together."""
    shards = [shard for group in optimizer.param_groups for p in group["params"] if (shard := shard_of(p))]
    if shards:
        from lucidgrad.communication.collectives import all_reduce
        from lucidgrad.communication.groups import ReduceOp

        for group in {id(shard.group): shard.group for shard in shards}.values():
            for flag in bad.values():
                all_reduce(flag, op=ReduceOp.MAX, group=group)


_guard(__name__, __all__)
