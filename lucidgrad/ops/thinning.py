"""`thin`: a part of the elements, the rest zero; what dropout does once it has drawn."""

from typing import Any

from lucidgrad.core.primitive import ELEMENTWISE, primitive


@primitive(ELEMENTWISE, vjp=(lambda xp, g, i, *, scale: xp.thin(g, i, scale=scale), None))
def thin(xp: Any, x: Any, i: Any, /, *, scale: float = 1.0) -> Any:
    """``x * scale`` where i is true, and zero elsewhere; only i is kept, a byte per element.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.thinning import thin
    >>> x = lg.ones(2, requires_grad=True)
    >>> thin(x, lg.asarray([True, False]), scale=2.0).sum().backward()
    >>> x.grad
    tensor([2., 0.])
    """
    return xp.where(i, x * scale, 0)
