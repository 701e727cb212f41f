"""Derivatives of functions of arrays: HIPS autograd's operators, by lucidgrad's transforms.

For complex numbers HIPS autograd multiplies cotangents by the matrix of derivatives where PyTorch, and so lucidgrad,
multiplies by its conjugate: so cotangents are conjugated on the way in and on the way out.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from lucidgrad import func
from lucidgrad.creation import asarray, ones_like
from lucidgrad.func import trees
from lucidgrad.tensor import Tensor
from lucidgrad.utils.checkpoint import checkpoint as _checkpoint

from . import numpy as np
from .boxes import Box, closed, closed_tree, library, opened
from .wrap_util import unary_to_nary

__all__ = [
    "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "jacobian", "make_ggnvp", "make_hvp",
    "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict", "tensor_jacobian_product", "value_and_grad",
    "vector_jacobian_product",
]  # fmt: skip


# -- between arrays and tensors ------------------------------------------------------------------
def given(x: Any) -> Any:
    """A tree of arguments for a transform: tensors for boxes, arrays and numbers as they are."""
    return trees.map(_given, x)


def _given(x: Any) -> Any:
    if isinstance(x, Box):
        return x.tensor
    if type(x) in (float, complex):  # as NumPy's numbers, derivatives have a shape and a dtype
        return library.result_type(x).type(x)
    if isinstance(x, Tensor) or getattr(x, "dtype", library.dtype(object)).kind in "fc":
        return x
    what = f"an array of dtype {x.dtype}" if hasattr(x, "dtype") else f"a {type(x).__name__}"
    raise TypeError(f"can't differentiate with respect to {what}; expected floating-point numbers, e.g. 3.0 for 3")


def of_tensors(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function of boxes as one of tensors, which transforms call."""

    def function(*args: Any) -> Any:
        return as_tensors(fun(*map(closed_tree, args)))

    return function


def as_tensors(tree: Any) -> Any:
    """A tree of boxes, arrays and numbers as one of tensors."""
    return trees.map(_tensor, tree)


def _tensor(x: Any) -> Tensor:
    return x.tensor if isinstance(x, Box) else asarray(library.asarray(x)) if not isinstance(x, Tensor) else x


def conjugated(tree: Any) -> Any:
    """A tree of cotangents in the other convention of what they are for complex numbers."""
    return trees.map(lambda g: g.conj() if g is not None and g.dtype.kind == "c" else g, tree)


def _scalar(fun: Callable[..., Any], who: str = "grad", aux: bool = False) -> Callable[..., Any]:
    """The function, which must give one real number."""

    def function(x: Any) -> Any:
        result = fun(closed_tree(x))
        y = result[0] if aux else result
        if not isinstance(y, Box):
            warnings.warn("Output seems independent of input.", stacklevel=4)
        value = _tensor(y)
        if value.size != 1 or value.dtype.kind == "c":
            raise TypeError(
                f"{who}: the function returned shape {value.shape}, {value.dtype}; expected one real number. Try "
                f"jacobian, elementwise_grad or holomorphic_grad"
            )
        return (value, trees.map(opened, result[1])) if aux else value

    return function


# -- first derivatives ---------------------------------------------------------------------------
@unary_to_nary
def value_and_grad(fun: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """The value of a function that gives one number, and its gradient."""
    value, gradient = func.value_and_grad(_scalar(fun, "value_and_grad"))(given(x))
    return closed(value), closed_tree(conjugated(gradient))


@unary_to_nary
def grad(fun: Callable[..., Any], x: Any) -> Any:
    """The gradient of a function that gives one number, in the structure of the argument.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips import grad
    >>> grad(lambda x: np.sum(np.tanh(x) ** 2))(np.zeros(3))
    array([0., 0., 0.])
    """
    return closed_tree(conjugated(func.grad(_scalar(fun))(given(x))))


@unary_to_nary
def grad_and_aux(fun: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    """The gradient of the first of two results, and the second one."""
    gradient, aux = func.grad(_scalar(fun, "grad_and_aux", aux=True), has_aux=True)(given(x))
    return closed_tree(conjugated(gradient)), closed_tree(aux)


@unary_to_nary
def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The function that pulls cotangents back, and the value: ``(vjp, ans)``."""
    ans, pull = func.vjp(of_tensors(fun), given(x))

    def vjp(g: Any) -> Any:
        return closed_tree(conjugated(pull(conjugated(as_tensors(g)))[0]))

    return vjp, closed_tree(ans)


@unary_to_nary
def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """A function of a direction that gives the value and the derivative in that direction, by forward mode."""

    def jvp(v: Any) -> tuple[Any, Any]:
        start = given(x)
        ans, moved = func.jvp(of_tensors(fun), (start,), (_directions(start, v),))
        return closed_tree(ans), closed_tree(moved)

    return jvp


def _directions(x: Any, v: Any) -> Any:
    """A tree of tangents, with the dtypes of what they belong to."""
    return trees.map(lambda start, step: _tensor(step).to(dtype=start.dtype), x, v)


@unary_to_nary
def make_jvp_reversemode(fun: Callable[..., Any], x: Any) -> Callable[[Any], Any]:
    """A function of a direction that gives the derivative in it, by reverse mode twice."""
    start = given(x)
    _, push = func.linearize(of_tensors(fun), start)
    return lambda v: closed_tree(push(_directions(start, v)))


@unary_to_nary
def deriv(fun: Callable[..., Any], x: Any) -> Any:
    """The derivative along all ones, by forward mode: that of a function of one number."""
    return make_jvp(fun)(x)(trees.map(np.ones_like, x))[1]


@unary_to_nary
def elementwise_grad(fun: Callable[..., Any], x: Any) -> Any:
    """The gradient of the sum of all results: for a function of each element, the derivative at each."""
    ans, pull = func.vjp(of_tensors(fun), given(x))
    if any(y.dtype.kind == "c" for y in trees.flatten(ans)[0]):
        raise TypeError("elementwise_grad: the function returned complex numbers, expected real ones")
    return closed_tree(conjugated(pull(trees.map(lambda y: ones_like(_tensor(y)), ans))[0]))


@unary_to_nary
def holomorphic_grad(fun: Callable[..., Any], x: Any) -> Any:
    """The complex derivative of a holomorphic function."""
    if all(leaf.dtype.kind != "c" for leaf in trees.flatten(given(x))[0]):
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
    return grad(lambda x: np.real(fun(x)))(x)


@unary_to_nary
def jacobian(fun: Callable[..., Any], x: Any) -> Any:
    """The derivatives of all results with respect to all elements, of shape ``(*result.shape, *x.shape)``.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips import jacobian
    >>> jacobian(lambda x: x * x[0])(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    return closed_tree(func.jacrev(of_tensors(fun))(given(x)))


# -- products, and second derivatives ------------------------------------------------------------
@unary_to_nary
def hessian(fun: Callable[..., Any], x: Any) -> Any:
    """The derivatives of the derivatives."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The function that multiplies by the matrix of second derivatives, and the gradient: ``(hvp, gradient)``."""
    return make_vjp(grad(fun))(x)


def _last_is_vector(fun: Callable[..., Any], argnum: Any, product: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the arguments and, last, of a vector: ``product(function of the argument, argument, vector)``."""

    def of_all(*args_and_vector: Any, **kwargs: Any) -> Any:
        *args, vector = args_and_vector
        return unary_to_nary(lambda of_chosen, x: product(of_chosen, x, vector))(fun, argnum)(*args, **kwargs)

    return of_all


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of the arguments and a tensor that gives the product of the second derivatives with it.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips import hessian_vector_product
    >>> hessian_vector_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    return _last_is_vector(fun, argnum, lambda f, x, v: make_hvp(f)(x)[0](v))


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function of the arguments and a tensor that gives the product of it with the Jacobian.

    The axes of the tensor go with the first ones of the result.
    """

    def product(f: Callable[..., Any], x: Any, v: Any) -> Any:
        return jacobian(lambda x: np.tensordot(v, f(x), np.ndim(v)))(x)

    return _last_is_vector(fun, argnum, product)


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product


def _half_of_squares(x: Any) -> Any:
    return 0.5 * np.sum(x**2)


def make_ggnvp(
    f: Callable[..., Any], g: Callable[..., Any] = _half_of_squares, f_argnum: int = 0
) -> Callable[..., Any]:
    """Products with the generalised Gauss-Newton matrix of ``g(f(x))``: J^T H J of f's Jacobian and g's Hessian."""

    @unary_to_nary
    def make(f: Callable[..., Any], x: Any) -> Callable[[Any], Any]:
        pull, y = make_vjp(f)(x)
        curve, _ = make_hvp(g)(y)
        push = make_jvp_reversemode(f)(x)
        return lambda v: pull(curve(push(v)))

    return make(f, f_argnum)


# -- arguments by name ---------------------------------------------------------------------------
def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of a name."""
    names = list(inspect.signature(fun).parameters)
    if argname not in names:
        raise ValueError(f"grad_named: the function has no argument {argname!r}, expected one of {', '.join(names)}")
    return grad(fun, names.index(argname))


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """The gradients with respect to all arguments, by their names.

    Examples
    --------
    >>> from lucidgrad.hips import multigrad_dict
    >>> {name: float(g) for name, g in multigrad_dict(lambda x, y=2.0: x * y)(3.0).items()}
    {'x': 2.0, 'y': 3.0}
    """
    signature = inspect.signature(fun)
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}

    def of_named(named: dict[str, Any]) -> Any:
        bound = signature.bind_partial()
        for name, value in named.items():
            several = kinds.get(name) is inspect.Parameter.VAR_POSITIONAL
            bound.arguments[name] = tuple(value) if several else value
        return fun(*bound.args, **bound.kwargs)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found: dict[str, Any] = grad(of_named)(dict(bound.arguments))
        return found

    return gradients


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes again for its derivative what it would keep otherwise."""

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, shape = trees.flatten((args, kwargs))

        def again(*inner: Any) -> Any:
            given, named = closed_tree(trees.unflatten(shape, inner))
            return as_tensors(fun(*given, **named))

        return closed_tree(_checkpoint(again, *(x.tensor if isinstance(x, Box) else x for x in leaves)))

    return checkpointed
