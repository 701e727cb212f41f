"""From constraints to transforms: unconstrained parameters of anything.

``biject_to(constraint)`` is a bijection; ``transform_to(constraint)`` need not be one, and is cheaper to optimise in.
"""

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .distribution import unavailable

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Which transform leads into the region of a constraint, by the constraint's class.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> D = lg.distributions
    >>> u = lg.zeros(2, requires_grad=True)
    >>> D.transform_to(D.constraints.interval(1.0, 3.0))(u).tolist()
    [2.0, 2.0]
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Say how to make the transform for a class of constraints; a decorator, if no ``factory`` is given."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"given {constraint!r}, expected a constraint or a class of them")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform for a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            unavailable(f"a transform to {type(constraint).__name__}")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _after(first: Any, loc: Any, scale: Any) -> Any:
    return transforms.ComposeTransform([first, transforms.AffineTransform(loc, scale)])


def _to_interval(c: Any) -> Any:
    bounds = c.lower_bound, c.upper_bound
    unit = all(isinstance(b, (int, float)) for b in bounds) and bounds == (0, 1)
    sigmoid = transforms.SigmoidTransform()
    return sigmoid if unit else _after(sigmoid, bounds[0], bounds[1] - bounds[0])


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda c: transforms.identity_transform)
    for _kind in (constraints.greater_than, constraints.greater_than_eq):
        _registry.register(_kind, lambda c: _after(transforms.ExpTransform(), c.lower_bound, 1))
    _registry.register(constraints.less_than, lambda c: _after(transforms.ExpTransform(), c.upper_bound, -1))
    for _between in (constraints.interval, constraints.half_open_interval):
        _registry.register(_between, _to_interval)
    _registry.register(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
    _registry.register(
        constraints.independent,
        lambda c, to=_registry: transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    _registry.register(
        constraints.cat, lambda c, to=_registry: transforms.CatTransform([to(p) for p in c.cseq], c.dim, c.lengths)
    )
    _registry.register(
        constraints.stack, lambda c, to=_registry: transforms.StackTransform([to(p) for p in c.cseq], c.dim)
    )
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _matrix in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_matrix, lambda c: transforms.PositiveDefiniteTransform())
