"""Expressions in HIPS autograd's namespace: values and derivatives beside finite differences and beside autograd."""

import importlib
import importlib.util
import warnings

import numpy as plain
import pytest
from hips_peer import HAS_AUTOGRAD

import lucidgrad.hips as ours

THEIRS = importlib.import_module("autograd") if HAS_AUTOGRAD else None
MODULES = "numpy scipy.special scipy.stats scipy.linalg scipy.signal"


def names_of(door):
    """What an expression may name, by the words that programs import it under."""
    found = {path.rpartition(".")[2]: importlib.import_module(f"{door.__name__}.{path}") for path in MODULES.split()}
    return {"np": found.pop("numpy"), "plain": plain, **found}


NAMES = {door: names_of(door) for door in (ours, THEIRS) if door is not None}

rs = plain.random.RandomState(0)
X = rs.uniform(0.2, 0.9, (3, 4))  # where all elementary functions are smooth
V = X[0].copy()
S = (lambda m: m @ m.T + 3 * plain.eye(3))(rs.uniform(-1, 1, (3, 3)))  # symmetric, with eigenvalues apart
M = S + rs.uniform(-0.3, 0.3, (3, 3))
Z = X + 1j * rs.uniform(-0.5, 0.5, (3, 4))
for name, value in {"X": X, "V": V, "S": S, "M": M, "Z": Z}.items():
    for names in NAMES.values():
        names[name] = value

ELEMENTARY = """
abs absolute arccos arcsin arcsinh arctan arctanh cbrt cos cosh deg2rad degrees exp exp2 expm1 fabs log log10 log1p
log2 negative positive rad2deg radians reciprocal sign sin sinc sinh sqrt square tan tanh floor ceil rint trunc
nan_to_num real conj angle
""".split()

OF_X = """
x ** 3; 2.0 ** x; x ** x; x ** -2; -x; +x; abs(x - 0.5); 1 / x; x / X; x * 2 - X; x - X; X - x; x % 0.3; x @ x.T
x.T @ X; x // 0.1 * x; x[0]; x[:, 1]; x[1:, ::2]; x[-1, -2]; x[..., 0]; x[None]; x[[0, 2]]; x[[0, 2], [1, 1]]
x[::-1]; x[np.array([0, 0, 2])]; x[X > 0.5]; x[:, [1, 1, 0]]; x[np.arange(3), [0, 1, 2]]; x.T; x.sum()
x.sum(axis=0); x.sum(1); x.mean(0); x.mean(axis=1, keepdims=True); x.std(); x.std(axis=0); x.var()
x.var(axis=1, ddof=1); x.max(); x.max(axis=0); x.min(1); x.prod(); x.prod(axis=0); x.cumsum(); x.cumsum(axis=1)
x.cumprod(); x.reshape((4, 3)); x.reshape(2, -1); x.ravel(); x.flatten(); x.squeeze(); x.transpose()
x.transpose(1, 0); x.transpose((1, 0)); x.dot(X.T); x.repeat(2); x.repeat(2, axis=1); x.swapaxes(0, 1); x.diagonal()
x.trace(); x.clip(0.3, 0.7); x.take([0, 3, 3]); x.astype(complex); x.conj(); x.copy(); x.round(1) * x; x.real
np.sum(x); np.sum(x, axis=0); np.sum(x, axis=(0, 1)); np.sum(x, 1, keepdims=True); np.mean(x); np.mean(x, axis=1)
np.prod(x, axis=1); np.std(x, axis=0); np.var(x, ddof=1); np.max(x, axis=1); np.min(x); np.amax(x); np.median(x) * 2
np.ptp(x, axis=0); np.average(x, axis=0, weights=V[:3]); np.logaddexp(x, X); np.logaddexp2(x, 0.3)
np.arctan2(x, X + 1); np.hypot(x, X); np.maximum(x, 0.5); np.minimum(x, X[::-1] + 0.01); np.fmax(x, 0.5)
np.fmin(0.5, x); np.where(x > 0.5, x, x ** 2); np.where(X > 0.5, x, 0.0)
np.select([x > 0.7, x > 0.4], [x, x ** 2], 0.5); x * plain.ones(4); np.power(x, 2.5); np.add(x, 1)
np.subtract(1, x); np.multiply(x, x); np.divide(2, x); np.true_divide(x, 2); np.mod(x, 0.3); np.remainder(x, 0.4)
np.float_power(x, 3); np.clip(x, 0.3, 0.8); np.dot(x, X.T); np.dot(X[0], x[1]); np.dot(x, 2.0); np.matmul(x, X.T)
np.inner(x, X); np.outer(x[0], V); np.tensordot(x, X, 2); np.tensordot(x, X, ([0], [0])); np.vdot(x, X)
np.einsum("ij,kj->ik", x, X); np.einsum("ij->j", x); np.einsum("ij,ij", x, x); np.kron(x, V)
np.cross(x[:, :3], X[:, :3]); np.reshape(x, (2, 6)); np.reshape(x, -1, order="F"); np.ravel(x); np.transpose(x)
np.swapaxes(x, 0, 1); np.moveaxis(x, 0, 1); np.rollaxis(x, 1); np.expand_dims(x, 1); np.squeeze(x[None])
np.concatenate((x, X)); np.concatenate([x, x ** 2], axis=1); np.stack([x, x]); np.stack([x, X], axis=-1)
np.vstack((x, x)); np.hstack([x, x]); np.dstack((x, x)); np.column_stack((x[0], x[1])); np.append(x, V)
np.append(x, X, axis=0); np.array([x[0, 0], 2.0, x[1, 1]]); np.array([[x[0, 0], 1.0], [x[0, 1], x[1, 0]]])
np.array([x[0], V]); np.array(x); np.split(x, 2, axis=1)[1]; np.array_split(x[0], 3)[0]; np.hsplit(x, 2)[0]
np.vsplit(x, 3)[2]; np.flip(x); np.flipud(x); np.fliplr(x); np.flip(x, axis=1); np.rot90(x); np.roll(x, 1)
np.roll(x, 2, axis=1); np.tile(x, 2); np.tile(x, (2, 1)); np.repeat(x, 2, axis=0); np.pad(x, 1, mode="constant")
np.pad(x, ((1, 0), (0, 2)), mode="constant"); np.diag(x[0]); np.diag(x[:, :3]); np.diagonal(x); np.diagonal(x, 1)
np.trace(x); np.tril(x); np.triu(x, 1); np.cumsum(x); np.cumsum(x, 0); np.cumprod(x, axis=1); np.diff(x)
np.diff(x, n=2, axis=1); np.gradient(x[0]); np.gradient(x, axis=1); np.sort(x); np.sort(x, axis=0)
np.partition(x[0], 2); np.broadcast_to(x[0], (2, 4)); np.full((2,), x[0, 0]); np.atleast_2d(x[0])
np.atleast_1d(x[0, 0]); np.linspace(x[0, 0], x[0, 1], 4); np.meshgrid(x[0], V)[0]; np.take(x, [0, 5]); np.nansum(x)
np.nanmean(x, axis=0); np.cov(x); np.corrcoef(x); np.convolve(x[0], V); np.interp(0.3, [0.0, 1.0], x[0, :2])
np.trapezoid(x); np.linalg.norm(x); np.linalg.norm(x, axis=1); np.linalg.norm(x, 2, 0); np.linalg.norm(x, 'fro')
np.linalg.norm(x[0], 3); np.linalg.norm(x[0], 1); np.linalg.pinv(x); np.linalg.svd(x, full_matrices=False)[1]
np.polyval(x[0], 0.5); np.r_[x[0], 1.0]; np.c_[x[0], x[1]]; np.real(x * 1j + x); np.imag(x * 1j)
np.abs(x * (1 + 1j)); np.real(np.exp(1j * x)); np.angle(x + 1j); np.fft.fft(x).real; np.real(np.fft.ifft(x))
np.abs(np.fft.rfft(x)); np.fft.irfft(x + 0j); np.imag(np.fft.fft2(x)); np.real(np.fft.fftn(x)); np.fft.fftshift(x)
np.fft.ifftshift(x); np.abs(np.fft.fft(x, n=6)); np.real(np.fft.ifft2(x)); np.zeros_like(x) + x; np.ones_like(x) * x
np.full_like(x, 2.0) * x; np.exp(x) * np.isfinite(x); x * np.argmax(x); np.sum(x * (x > 0.5)); np.allclose(x, x) * x
np.count_nonzero(x) * x; np.argsort(x) * x; x.argmax() * x; x.argmin(1)[0] * x; x.shape[0] * x; len(x) * x
x.ndim * x; x.size * x; sum(x); sum(list(x)); [row for row in x][1]; max(x[0, 0], x[0, 1])
np.prod(np.array(np.shape(x))) * x; np.ndim(x) * x; np.size(x) * x; np.iscomplexobj(x) + x
x if x[0, 0] > 0.1 else -x; plain.sin(x); plain.dot(X.T, x); plain.sum(x, axis=0); X.T @ x; X * x
plain.float64(2.0) * x; plain.concatenate([x, X]); special.logsumexp(x); special.logsumexp(x, axis=1)
special.logsumexp(x, axis=0, keepdims=True); special.gammaln(x); special.psi(x); special.erf(x); special.erfinv(x)
special.expit(x); special.logit(x); special.gamma(x); special.i0(x); special.j0(x); special.y1(x)
special.polygamma(2, x); special.betainc(2.0, 3.0, x); special.gammainc(2.0, x); special.iv(1.5, x)
special.jn(2, x); special.rgamma(x); special.betaln(x, 0.4); special.multigammaln(x[0] + 3, 2); special.erfc(x)
special.ive(2.0, x); stats.norm.logpdf(x); stats.norm.logpdf(X, x, 2.0); stats.norm.logpdf(X, 0.1, x)
stats.norm.cdf(x, 0.1, 1.2); stats.norm.logcdf(x); stats.norm.sf(x); stats.norm.logsf(x); stats.norm.pdf(x)
stats.t.logpdf(x, 3.0); stats.t.pdf(x, 4.0); stats.t.logpdf(X, 3.0, x, 2.0); stats.gamma.logpdf(x, 2.5)
stats.gamma.logpdf(X, x + 1); stats.beta.logpdf(x, 2.0, 3.0); stats.beta.logpdf(0.3, x, 2.0)
stats.chi2.logpdf(x, 3.0); stats.poisson.logpmf(3, x); stats.gamma.cdf(x, 2.0)
stats.dirichlet.logpdf(plain.array([0.2, 0.3, 0.5]), x[:, 0]); stats.multivariate_normal.logpdf(x[:, 0], V[:3], S)
stats.multivariate_normal.pdf(x[0], V, 2.0 * plain.eye(4)); signal.convolve(x, X[:2, :2])
signal.convolve(X, x[:2], mode="valid")
"""
OF_S = """
np.linalg.inv(x); np.linalg.det(x); np.linalg.slogdet(x)[1]; np.linalg.solve(x, V[:3]); np.linalg.solve(M, x)
np.linalg.cholesky((x + x.T) / 2); np.linalg.eigh((x + x.T) / 2)[0]; np.linalg.eigh((x + x.T) / 2)[1] ** 2
np.linalg.eigvalsh((x + x.T) / 2); np.linalg.svd(x)[1]; np.linalg.svd(x, compute_uv=False); np.linalg.pinv(x)
np.linalg.matrix_power(x, 3); np.linalg.norm(x, 'nuc'); np.trace(np.linalg.inv(x)); np.linalg.qr(x)[1]
np.linalg.solve(x, M); np.linalg.slogdet(np.stack([x, M]))[1]; np.linalg.inv(np.stack([x, M]))
np.real(np.linalg.eig(x)[0]); np.linalg.multi_dot([x, M, x]); np.linalg.cond(x); linalg.solve_triangular(x, V[:3])
linalg.solve_triangular(x, M, lower=True); linalg.solve_triangular(M, x[:, 0], trans=1)
linalg.solve_sylvester(x, S, M); linalg.solve_sylvester(M, S, x); linalg.expm(x / 4); linalg.inv(x); linalg.det(x)
linalg.solve(x, M); linalg.eigh((x + x.T) / 2)[0]; linalg.svd(x)[1]; linalg.svdvals(x)
linalg.eigvalsh((x + x.T) / 2); linalg.solve(M, x[0]); linalg.cholesky((x + x.T) / 2, lower=True)
stats.multivariate_normal.logpdf(V[:3], X[:, 0], (x + x.T) / 2)
stats.multivariate_normal.entropy(V[:3], (x + x.T) / 2); linalg.sqrtm((x + x.T) / 2)
"""


def split(text):
    return [line.strip() for line in text.replace("\n", ";").split(";") if line.strip()]


CASES = [(f"np.{name}(x)", "X") for name in ELEMENTARY]
CASES += [(e, "X") for e in split(OF_X)] + [(e, "S") for e in split(OF_S)]


def one_number(door, code, where):
    """The expression as a function of one array that gives one number."""
    names = NAMES[door]

    def function(x):
        y = eval(code, {**names, "x": x})
        weights = plain.cos(plain.arange(1.0, 1.0 + plain.size(door.tracer.getval(y)))).reshape(names["np"].shape(y))
        return names["np"].sum(names["np"].real(y) * weights)

    return function


def derivatives(door, function, x, direction):
    """The value, the gradient, the derivative in a direction by forward mode, and second derivatives along it."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, compute in {
            "value": lambda: function(x),
            "gradient": lambda: door.grad(function)(x),
            "forward": lambda: door.make_jvp(function)(x)(direction)[1],
            "second": lambda: door.hessian_vector_product(function)(x, direction),
        }.items():
            try:
                found[name] = compute()
            except Exception as error:
                if door is ours:
                    raise
                found[name] = error  # what it lacks is no reference
    return found


def close(a, b, tol):
    plain.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1.0, plain.abs(b).max(initial=0.0)))


@pytest.mark.parametrize(("code", "where"), CASES, ids=[code for code, _ in CASES])
def test_an_expression_has_its_derivatives(code, where):
    x = {"X": X, "S": S}[where].copy()
    direction = rs.uniform(-1, 1, x.shape)
    function = one_number(ours, code, where)
    found = derivatives(ours, function, x, direction)
    assert isinstance(found["gradient"], plain.ndarray) and found["gradient"].dtype == plain.float64
    step = 1e-6
    slope = (function(x + step * direction) - function(x - step * direction)) / (2 * step)
    close(plain.sum(found["gradient"] * direction), slope, 2e-6)
    close(found["forward"], slope, 2e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bend = (ours.grad(function)(x + step * direction) - ours.grad(function)(x - step * direction)) / (2 * step)
    close(found["second"], bend, 2e-5)
    if THEIRS is None:
        return
    for name, value in derivatives(THEIRS, one_number(THEIRS, code, where), x, direction).items():
        if not isinstance(value, Exception) and plain.all(plain.isfinite(value)):
            close(found[name], value, 1e-9)


OF_Z = """
z * z; z ** 3; 1 / z; abs(z); z.conj() * z; z.real; z.imag * z; z @ z.T; np.exp(z); np.log(z); np.sin(z); np.cos(z)
np.sqrt(z); np.tanh(z); np.abs(z) ** 2; np.angle(z); np.conj(z) * 2j; np.real(z) + np.imag(z) ** 2; np.dot(z, Z.T)
np.sum(z, axis=0); np.prod(z); np.mean(z) * z; np.fft.fft(z); np.fft.ifft(z); np.linalg.inv(z[:, :3])
np.linalg.norm(z); np.linalg.solve(z[:, :3], V[:3]); np.linalg.det(z[:, :3]); np.einsum("ij,kj->ik", z, np.conj(z))
np.where(X > 0.5, z, 1j); np.concatenate([z, X]); np.array([z[0, 0], 1.0]); z[1:, ::-1]; np.outer(z[0], V)
z - 2j * X; X * z; np.tensordot(z, X, 2)
"""


@pytest.mark.parametrize("code", split(OF_Z))
def test_an_expression_of_complex_numbers_has_its_gradient(code):
    def energy(door):
        names = NAMES[door]

        def function(z):
            y = eval(code, {**names, "z": z})
            weights = plain.exp(1j * plain.arange(1.0, 1.0 + plain.size(door.tracer.getval(y))))
            return names["np"].sum(names["np"].real(names["np"].reshape(y, (-1,)) * weights))

        return function

    function, step = energy(ours), 1e-6
    found = ours.grad(function)(Z)
    direction = rs.uniform(-1, 1, Z.shape) + 1j * rs.uniform(-1, 1, Z.shape)
    slope = (function(Z + step * direction) - function(Z - step * direction)) / (2 * step)
    close(plain.sum(found * direction).real, slope, 1e-6)  # linear in the direction, without a conjugate
    close(ours.make_jvp(function)(Z)(direction)[1], slope, 1e-6)
    if THEIRS is not None and not code.startswith(("z.conj", "z.real", "z.imag")):  # its boxes lack these
        close(found, THEIRS.grad(energy(THEIRS))(Z), 1e-10)


SHAPES = [(), (1,), (3,), (2, 2), (2, 1, 2)]


@pytest.mark.parametrize("given", SHAPES)
@pytest.mark.parametrize("returned", SHAPES)
def test_jacobians_of_all_shapes(given, returned):
    x = rs.uniform(0.5, 1.5, given)
    x = x if given else float(x)
    weights = rs.uniform(-1, 1, (*returned, *given))

    def make(door):
        np = NAMES[door]["np"]
        axes = tuple(range(len(returned), len(returned) + len(given)))
        return lambda x: np.sum(weights * np.sin(x) * np.mean(x), axis=axes)

    found, second = ours.jacobian(make(ours))(x), ours.jacobian(ours.jacobian(make(ours)))(x)
    assert plain.shape(found) == (*returned, *given) and plain.shape(second) == (*returned, *given, *given)
    step = 1e-6
    for place in plain.ndindex(*given):
        unit = plain.zeros(given)
        unit[place] = step
        column = (make(ours)(x + unit) - make(ours)(x - unit)) / (2 * step)
        close(plain.asarray(found)[(..., *place)], column, 1e-8)
    if THEIRS is not None:
        close(found, THEIRS.jacobian(make(THEIRS))(x), 1e-12)
        close(second, THEIRS.jacobian(THEIRS.jacobian(make(THEIRS)))(x), 1e-12)


@pytest.mark.parametrize("door", list(NAMES), ids=lambda door: door.__name__)
def test_trees_have_gradients_of_every_order(door):
    np = NAMES[door]["np"]
    tree = {"a": [X, 2.0], "b": (V, {"c": 0.5})}

    def f(p):
        return np.sum(p["a"][0] ** 2) * p["a"][1] + np.sum(np.sin(p["b"][0])) * p["b"][1]["c"] ** 3

    g = door.grad(f)(tree)
    close(g["a"][0], 4.0 * X, 1e-12)
    close(g["b"][1]["c"], 0.75 * plain.sum(plain.sin(V)), 1e-12)
    second = door.grad(lambda p: np.sum(door.grad(f)(p)["b"][0] * V) + door.grad(f)(p)["a"][1])(tree)
    close(second["b"][0], -plain.sin(V) * V * 0.125, 1e-12)
    close(second["b"][1]["c"], 0.75 * plain.sum(plain.cos(V) * V), 1e-12)
    close(second["a"][0], 2 * X, 1e-12)
