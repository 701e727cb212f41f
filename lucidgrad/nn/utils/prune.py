"""Pruning: elements or whole channels of a weight that a mask keeps at zero.

A pruned module keeps the weight as ``<name>_orig``, which is trained, and a mask ``<name>_mask``; their product is
computed before each call.
"""

import numbers
from collections.abc import Iterable, Iterator
from typing import Any, Self

import lucidgrad as lg
from lucidgrad.nn.module import Module
from lucidgrad.nn.utils.computed import ComputedWeight
from lucidgrad.nn.utils.vectors import parameters_to_vector
from lucidgrad.refusals import guard as _guard

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


def _count(amount: Any, size: int) -> int:
    """How many of so many an amount is: a number, or a share."""
    count = int(amount) if isinstance(amount, numbers.Integral) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return count


def _checked(amount: Any) -> Any:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    return amount


def _zeroed(mask: lg.Tensor, places: lg.Tensor) -> lg.Tensor:
    """A mask with zeros at places of its flat form."""
    flat = lg.index_fill(lg.reshape(mask.detach(), (-1,)), 0, places, 0)
    made: lg.Tensor = lg.reshape(flat, mask.shape)
    return made


# -- methods -------------------------------------------------------------------------------------
class BasePruningMethod(ComputedWeight):
    """What prunes a tensor: a subclass has a ``PRUNING_TYPE`` and a ``compute_mask(t, default_mask)``.

    ``PRUNING_TYPE`` says what a further pruning looks at: ``"unstructured"`` at elements that are left,
    ``"structured"`` at channels along ``dim`` that are left, ``"global"`` at everything.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.reshape(-1)[::2] = 0
    ...         return mask
    >>> layer = lg.nn.Linear(2, 2)
    >>> method = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    PRUNING_TYPE: str

    def compute_mask(self, t: lg.Tensor, default_mask: lg.Tensor) -> lg.Tensor:
        """The mask for a tensor of scores, on top of another one."""
        raise TypeError(f"{type(self).__name__} does not say which elements it prunes: define compute_mask")

    @property
    def _tensor_name(self) -> str:
        return self.name

    @_tensor_name.setter
    def _tensor_name(self, name: str) -> None:
        self.name = name

    def value(self, module: Module) -> lg.Tensor:
        """The tensor with its mask."""
        return self.apply_mask(module)

    def apply_mask(self, module: Module) -> lg.Tensor:
        """The tensor that a module keeps, times its mask."""
        mask, orig = getattr(module, f"{self.name}_mask"), getattr(module, f"{self.name}_orig")
        made: lg.Tensor = mask.to(orig.dtype) * orig
        return made

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: lg.Tensor | None = None, **kwargs: Any
    ) -> "BasePruningMethod":
        """Prune a parameter of a module, maybe for the second time; arguments are those of the method."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method.name = name
        value = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != value.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {type(module).__name__}: given "
                f"{importance_scores.shape}, expected {value.shape}"
            )
        before = BasePruningMethod.of(module, name)
        if before is not None:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            method = container.extended(method)
        elif name not in module._parameter_names:
            raise ValueError(f"prune: {name!r} is not a parameter of {type(module).__name__}")
        scores = (value if importance_scores is None else importance_scores).detach()
        mask = lg.ones_like(value.detach()) if before is None else getattr(module, f"{name}_mask").detach().clone()
        mask = method.compute_mask(scores, default_mask=mask)
        # nothing was changed so far: a method that fails leaves the module as it was
        if before is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", value)
        else:
            before.detach_from(module)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: lg.Tensor, default_mask: lg.Tensor | None = None, importance_scores: lg.Tensor | None = None
    ) -> lg.Tensor:
        """A pruned version of a tensor."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t: given {importance_scores.shape}, expected "
                f"{t.shape}"
            )
        mask = lg.ones_like(t.detach()) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        made: lg.Tensor = t * self.compute_mask(scores.detach(), default_mask=mask)
        return made

    def remove(self, module: Module) -> None:
        """Make the pruned tensor an ordinary parameter again; what was pruned stays zero."""
        orig = getattr(module, f"{self.name}_orig")
        value = self.apply_mask(module).detach()
        for part in (self.name, f"{self.name}_orig", f"{self.name}_mask"):
            delattr(module, part)
        orig.data = value
        module.register_parameter(self.name, orig)


class PruningContainer(BasePruningMethod):
    """Several prunings of one tensor, one after the other; the last one is for what the others left.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils import prune
    >>> layer = lg.nn.Linear(2, 2)
    >>> for _ in range(2):
    ...     layer = prune.l1_unstructured(layer, "weight", amount=1)
    >>> layer.weight_mask.sum().item()
    2.0
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self.name = args[0].name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add one more."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self.name != method.name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self.name}' to PruningContainer. Found "
                f"'{method.name}'"
            )
        self._pruning_methods += (method,)

    def extended(self, method: BasePruningMethod) -> Self:
        """The same with one more."""
        made = type(self)()
        made.name, made._pruning_methods = self.name, self._pruning_methods
        made.add_pruning_method(method)
        return made

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: lg.Tensor, default_mask: lg.Tensor) -> lg.Tensor:
        """The mask of the last method for what is left, on top of that of the others."""
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype).clone()
        key: Any = ...
        if method.PRUNING_TYPE == "unstructured":
            key = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            axis = _axis(t, method.dim)
            left = default_mask.sum(axis=tuple(k for k in range(t.ndim) if k != axis)) != 0
            key = (*(slice(None),) * axis, left)
        elif method.PRUNING_TYPE != "global":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[key] = method.compute_mask(t[key], default_mask=default_mask[key]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes a mask of ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.prune.Identity().prune(lg.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: lg.Tensor, default_mask: lg.Tensor) -> lg.Tensor:
        """The other mask."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Parameters
    ----------
    amount : int or float
        How many elements, or which share of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.count_nonzero(lg.nn.utils.prune.RandomUnstructured(amount=3).prune(lg.ones(8))).item()
    5
    """

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        self.amount = _checked(amount)

    def _scores(self, t: lg.Tensor) -> lg.Tensor:
        """What is smallest is pruned."""
        return lg.rand(t.shape, device=t.device)

    def compute_mask(self, t: lg.Tensor, default_mask: lg.Tensor) -> lg.Tensor:
        """The mask without the elements of the lowest scores."""
        count = _count(self.amount, int(t.size))
        return _zeroed(default_mask, lg.argsort(lg.reshape(self._scores(t), (-1,)))[:count])


class L1Unstructured(RandomUnstructured):
    """Prunes the elements of the smallest size.

    Parameters
    ----------
    amount : int or float
        How many elements, or which share of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.prune.L1Unstructured(amount=1).prune(lg.tensor([1.0, -0.5, 2.0])).tolist()
    [1.0, -0.0, 2.0]
    """

    def _scores(self, t: lg.Tensor) -> lg.Tensor:
        found: lg.Tensor = lg.abs(t)
        return found


class RandomStructured(BasePruningMethod):
    """Prunes channels at random.

    Parameters
    ----------
    amount : int or float
        How many channels, or which share of them.
    dim : int
        The axis of the channels.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.prune.RandomStructured(amount=1).prune(lg.ones((2, 3))).sum().item()
    4.0
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        self.amount, self.dim = _checked(amount), dim

    def _scores(self, t: lg.Tensor, axis: int) -> lg.Tensor:
        """What is smallest is pruned."""
        return lg.rand(t.shape[axis], device=t.device)

    def compute_mask(self, t: lg.Tensor, default_mask: lg.Tensor) -> lg.Tensor:
        """The mask without the channels of the lowest scores."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.ndim} dims"
            )
        axis = _axis(t, self.dim)
        places = lg.argsort(self._scores(t, axis))[: _count(self.amount, t.shape[axis])]
        return lg.index_fill(default_mask, axis, places, 0)


class LnStructured(RandomStructured):
    """Prunes the channels of the smallest norm.

    Parameters
    ----------
    amount : int or float
        How many channels, or which share of them.
    n : int or float
        The p of the norm.
    dim : int
        The axis of the channels.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> lg.nn.utils.prune.LnStructured(amount=1, n=2, dim=1).prune(x).tolist()
    [[3.0, 0.0], [4.0, 0.0]]
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: lg.Tensor, axis: int) -> lg.Tensor:
        order = 2 if self.n == "fro" else self.n
        found: lg.Tensor = lg.linalg.vector_norm(t, ord=order, axis=tuple(k for k in range(t.ndim) if k != axis))
        return found


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask prunes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.prune.CustomFromMask(lg.tensor([1.0, 0.0])).prune(lg.tensor([3.0, 4.0])).tolist()
    [3.0, 0.0]
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: lg.Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: lg.Tensor, default_mask: lg.Tensor) -> lg.Tensor:
        """The two masks together."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"given a mask of shape {self.mask.shape} for a tensor of shape {default_mask.shape}, expected the same"
            )
        made: lg.Tensor = default_mask * self.mask.to(default_mask.dtype)
        return made


def _axis(t: lg.Tensor, dim: int) -> int:
    if not -t.ndim <= dim < t.ndim:
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return dim % t.ndim


# -- functions -----------------------------------------------------------------------------------
def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask that prunes nothing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> list(lg.nn.utils.prune.identity(lg.nn.Linear(2, 1), "weight").state_dict())
    ['bias', 'weight_orig', 'weight_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter at random: so many, or a share.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.prune.random_unstructured(lg.nn.Linear(2, 3), "weight", amount=1)
    >>> layer.weight_mask.sum().item()
    5.0
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: lg.Tensor | None = None) -> Module:
    """Prune the elements of a parameter that are smallest, or whose scores are: so many, or a share.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.prune.l1_unstructured(lg.nn.Linear(2, 3), "weight", amount=0.5)
    >>> layer.weight_mask.sum().item()
    3.0
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune channels of a parameter, along an axis, at random: so many, or a share.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.prune.random_structured(lg.nn.Linear(2, 3), "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum().item()
    4.0
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: lg.Tensor | None = None
) -> Module:
    """Prune the channels of a parameter, along an axis, with the smallest norm: so many, or a share.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.prune.ln_structured(lg.nn.Linear(2, 3), "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask.sum().item()
    4.0
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: lg.Tensor) -> Module:
    """Prune what a mask prunes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.prune.custom_from_mask(lg.nn.Linear(1, 2), "bias", lg.tensor([0.0, 1.0]))
    >>> layer.bias[0].item() == 0
    True
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: type, importance_scores: dict[Any, Any] | None = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one.

    Parameters
    ----------
    parameters : iterable
        Pairs of a module and a name.
    pruning_method : type
        A method for elements, such as `L1Unstructured`.
    importance_scores : dict, optional
        Scores for pairs; the others' are the values themselves.
    kwargs
        Arguments of the method.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils import prune
    >>> first, second = lg.nn.Linear(2, 2), lg.nn.Linear(2, 1)
    >>> prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=4)
    >>> int(first.weight_mask.sum() + second.weight_mask.sum())
    2
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    method = pruning_method(**kwargs)
    method.name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    values = [getattr(module, name).detach() for module, name in pairs]
    scores = parameters_to_vector([given.get(pair, value) for pair, value in zip(pairs, values, strict=True)])
    masks = [getattr(module, f"{name}_mask", lg.ones_like(t)) for (module, name), t in zip(pairs, values, strict=True)]
    mask = PruningContainer(method).compute_mask(scores.detach(), parameters_to_vector(masks))
    start = 0
    for (module, name), value in zip(pairs, values, strict=True):
        custom_from_mask(module, name, lg.reshape(mask[start : start + int(value.size)], value.shape))
        start += int(value.size)


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one again; what was pruned stays zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils import prune
    >>> layer = prune.random_unstructured(lg.nn.Linear(2, 1), "weight", 1)
    >>> list(prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    method = BasePruningMethod.of(module, name)
    if method is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    method.detach_from(module)
    method.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module or one of its descendants is pruned.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils import prune
    >>> layer = lg.nn.Linear(2, 1)
    >>> prune.is_pruned(layer), prune.is_pruned(prune.identity(layer, "weight"))
    (False, True)
    """
    return any(BasePruningMethod.all_of(one) for one in module.modules())


_guard(__name__, __all__)
