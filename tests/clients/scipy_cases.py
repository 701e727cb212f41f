"""Functions of SciPy that accept any conforming namespace, with ``SCIPY_ARRAY_API=1``."""

import numpy as np
from clients import Lazy, numbers

import lucidgrad as lg

constants, fft, integrate = (Lazy(f"scipy.{name}") for name in ("constants", "fft", "integrate"))
linalg, optimize, signal = (Lazy(f"scipy.{name}") for name in ("linalg", "optimize", "signal"))
special, stats, transform = (Lazy(f"scipy.{name}") for name in ("special", "stats", "spatial.transform"))
differentiate, vq = Lazy("scipy.differentiate"), Lazy("scipy.cluster.vq")
elementwise = Lazy("scipy.optimize.elementwise")

A, B = numbers(3, 8, seed=3), numbers(3, 8, seed=4)
P, Q = numbers(3, 8, low=0.2, high=0.9, seed=5), numbers(3, 8, low=0.2, high=0.9, seed=6)
V, T = numbers(8, low=0.2, high=0.9, seed=7), np.sort(numbers(8, low=0.0, high=3.0, seed=8))
TURNS, POINTS = numbers(2, 4, seed=9), numbers(2, 3, seed=10)

CASES = {
    # sums of exponentials, and what the standard's functions are enough for
    "special.logsumexp": (lambda x: special.logsumexp(x, axis=1), A),
    "special.softmax": (lambda x: special.softmax(x, axis=1), A),
    "special.rel_entr": (lambda x, y: special.rel_entr(x, y), P, Q),
    "special.xlogy": (lambda x, y: special.xlogy(x, y), P, Q),
    # moments and other statistics
    "stats.skew": (lambda x: stats.skew(x, axis=1), A),
    "stats.skew(bias=False)": (lambda x: stats.skew(x, axis=1, bias=False), A),
    "stats.kurtosis": (lambda x: stats.kurtosis(x, axis=1), A),
    "stats.kurtosis(bias=False)": (lambda x: stats.kurtosis(x, axis=1, bias=False), A),
    "stats.moment": (lambda x: stats.moment(x, order=3, axis=1), A),
    "stats.describe": (lambda x: stats.describe(x, axis=1).variance, A),
    "stats.variation": (lambda x: stats.variation(x, axis=1), P),
    "stats.sem": (lambda x: stats.sem(x, axis=1), A),
    "stats.zmap": (lambda x, y: stats.zmap(x, y), V, A[0]),
    "stats.gmean": (lambda x: stats.gmean(x, axis=1), P),
    "stats.gmean(weights=)": (lambda x, w: stats.gmean(x, axis=1, weights=w), P, Q),
    "stats.hmean": (lambda x: stats.hmean(x, axis=1), P),
    "stats.pmean": (lambda x: stats.pmean(x, 2.5, axis=1), P),
    "stats.gstd": (lambda x: stats.gstd(x, axis=1), P),
    "stats.tmean": (lambda x: stats.tmean(x, axis=1), A),
    "stats.tvar": (lambda x: stats.tvar(x, axis=1), A),
    "stats.tstd": (lambda x: stats.tstd(x, axis=1), A),
    "stats.tsem": (lambda x: stats.tsem(x, axis=1), A),
    "stats.tmin": (lambda x: stats.tmin(x, axis=1), A),
    "stats.tmax": (lambda x: stats.tmax(x, axis=1), A),
    "stats.trim_mean": (lambda x: stats.trim_mean(x, 0.2, axis=1), A),
    "stats.kstat": (lambda x: stats.kstat(x, 3, axis=1), A),
    "stats.kstatvar": (lambda x: stats.kstatvar(x, 2, axis=1), A),
    "stats.circmean": (lambda x: stats.circmean(x, axis=1), P),
    "stats.circvar": (lambda x: stats.circvar(x, axis=1), P),
    "stats.circstd": (lambda x: stats.circstd(x, axis=1), P),
    "stats.iqr": (lambda x: stats.iqr(x, axis=1), A),
    "stats.quantile": (lambda x: stats.quantile(x, 0.3, axis=1), A),
    "stats.median_abs_deviation": (lambda x: stats.median_abs_deviation(x, axis=1), A),
    "stats.mode": (lambda x: stats.mode(x, axis=1).mode, A),
    "stats.differential_entropy": (lambda x: stats.differential_entropy(x, axis=1), A),
    "stats.entropy(qk)": (lambda x, y: stats.entropy(x, y, axis=1), P, Q),
    "stats.directional_stats": (lambda x: stats.directional_stats(x).mean_direction, A),
    "stats.yeojohnson_llf": (lambda x: stats.yeojohnson_llf(0.5, x), P),
    # integrals and derivatives
    "integrate.trapezoid": (lambda x: integrate.trapezoid(x, axis=1), A),
    "integrate.trapezoid(x=)": (lambda y, x: integrate.trapezoid(y, x=x, axis=1), A, T),
    "integrate.cumulative_trapezoid": (lambda x: integrate.cumulative_trapezoid(x, axis=1), A),
    "integrate.cumulative_trapezoid(x=)": (lambda y, x: integrate.cumulative_trapezoid(y, x=x, initial=0), A, T),
    "integrate.cumulative_simpson": (lambda x: integrate.cumulative_simpson(x, axis=1), A),
    "integrate.cubature": (lambda x: integrate.cubature(lambda s: x[0] * s**2, x[1:2] * 0, x[2:3]).estimate, V),
    "differentiate.derivative": (lambda x: differentiate.derivative(lambda s: s**3, x).df, V),
    "differentiate.jacobian": (lambda x: differentiate.jacobian(lambda s: s**3, x).df, V),
    # signals
    "signal.hilbert": (lambda x: abs(signal.hilbert(x, axis=1)), A),
    "signal.hilbert2": (lambda x: abs(signal.hilbert2(x)), A),
    "signal.envelope": (lambda x: signal.envelope(x[0, :], squared=False), A),
    "signal.resample": (lambda x: signal.resample(x, 5, axis=1), A),
    "signal.fftconvolve": (lambda x, y: signal.fftconvolve(x, y, axes=1), A, B),
    "signal.oaconvolve": (lambda x, y: signal.oaconvolve(x, y, axes=1), A, B),
    "signal.correlate(method='fft')": (lambda x, y: signal.correlate(x, y, method="fft"), A, B),
    "signal.vectorstrength": (lambda x: signal.vectorstrength(x, 1.5)[0], V),
    "signal.freqz": (lambda x: abs(signal.freqz(x)[1]), V),
    "signal.freqs": (lambda x, w: abs(signal.freqs(x, x + 1, w)[1]), V, T),
    "signal.zpk2tf": (lambda x: signal.zpk2tf(x, x, 1.0)[0], V),
    "signal.windows.hann": (lambda x: x * signal.windows.hann(8, xp=x.__array_namespace__()), V),
    # transforms
    **{
        f"fft.{name}": (lambda x, name=name: abs(getattr(fft, name)(x)), A)
        for name in ("fft", "ifft", "rfft", "hfft", "ihfft", "irfft", "fft2", "fftn", "rfftn", "ifftn")
    },
    "fft.fht": (lambda x: fft.fht(x, 0.1, 0.2), A),
    "fft.fftshift": (lambda x: fft.fftshift(x * x), A),
    # geometry, test functions, small helpers
    "linalg.block_diag": (lambda x, y: linalg.block_diag(x, y), A, B),
    "Rotation.from_quat.as_matrix": (lambda x: transform.Rotation.from_quat(x).as_matrix(), TURNS),
    "Rotation.from_rotvec": (lambda x: transform.Rotation.from_rotvec(x).as_matrix(), POINTS),
    "Rotation.apply": (lambda x, y: transform.Rotation.from_quat(x).apply(y), TURNS, POINTS),
    "Rotation.as_euler": (lambda x: transform.Rotation.from_quat(x).as_euler("xyz"), TURNS),
    "Rotation.__mul__": (
        lambda x, y: (transform.Rotation.from_quat(x) * transform.Rotation.from_quat(y)).as_quat(),
        TURNS,
        TURNS[::-1] + 0.1,
    ),
    "Rotation.magnitude": (lambda x: transform.Rotation.from_quat(x).magnitude(), TURNS),
    "RigidTransform": (lambda x: transform.RigidTransform.from_translation(x).as_matrix(), POINTS),
    "Slerp": (lambda x: transform.Slerp([0.0, 1.0], transform.Rotation.from_quat(x))([0.3]).as_quat(), TURNS),
    "optimize.elementwise.find_root": (
        lambda c: elementwise.find_root(lambda x, c: x**2 - c, (0 * c, 0 * c + 2), args=(c,)).x,
        V,
    ),
    "optimize.rosen": (lambda x: optimize.rosen(x), V),
    "optimize.rosen_der": (lambda x: optimize.rosen_der(x), V),
    "optimize.rosen_hess": (lambda x: optimize.rosen_hess(x), V),
    "optimize.rosen_hess_prod": (lambda x: optimize.rosen_hess_prod(x, x), V),
    "constants.convert_temperature": (lambda x: constants.convert_temperature(x, "C", "F"), V),
    "constants.lambda2nu": (lambda x: constants.lambda2nu(x) / 1e8, V),
    "constants.nu2lambda": (lambda x: constants.nu2lambda(x) / 1e8, V),
    "stats.f_oneway": (lambda x, y: stats.f_oneway(x, y, axis=1).statistic, A, B),
    "stats.f_oneway.pvalue": (lambda x, y: stats.f_oneway(x, y, axis=1).pvalue, A, B),
    "stats.zscore": (lambda x: stats.zscore(x, axis=1), A),
    "stats.gzscore": (lambda x: stats.gzscore(x, axis=1), P),
    "stats.lmoment": (lambda x: stats.lmoment(x, axis=1), A),
}

# SciPy calls the functions of lucidgrad.special wherever it meets one of its own on tensors.
_ONE = (
    "cosm1 digamma entr erf erfc erfinv exp10 exp2 expit exprel gamma gammaln i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e "
    "log_ndtr logit ndtr ndtri psi sinc"
).split()
_TWO = "betaln boxcox boxcox1p kl_div xlog1py huber pseudo_huber".split()


def _first(result):
    return result.statistic if hasattr(result, "statistic") else result[0]


SPECIAL = {
    **{f"special.{name}": (lambda x, name=name: getattr(special, name)(x), P) for name in _ONE},
    **{f"special.{name}": (lambda x, y, name=name: getattr(special, name)(x, y), P, Q) for name in _TWO},
    "special.polygamma": (lambda x: special.polygamma(1, x), P),
    "stats.entropy": (lambda x: stats.entropy(x, axis=1), P),
    "stats.pearsonr": (lambda x, y: stats.pearsonr(x, y, axis=1).statistic, A, B),
    "stats.pearsonr.pvalue": (lambda x, y: stats.pearsonr(x, y, axis=1).pvalue, A, B),
    "stats.pointbiserialr": (lambda x, y: _first(stats.pointbiserialr(x, y)), A[0], B[0]),
    "stats.ttest_1samp": (lambda x: stats.ttest_1samp(x, 0.1, axis=1).statistic, A),
    "stats.ttest_1samp.pvalue": (lambda x: stats.ttest_1samp(x, 0.1, axis=1).pvalue, A),
    "stats.ttest_ind": (lambda x, y: stats.ttest_ind(x, y, axis=1).statistic, A, B),
    "stats.ttest_ind.pvalue": (lambda x, y: stats.ttest_ind(x, y, axis=1).pvalue, A, B),
    "stats.ttest_ind.unequal": (lambda x, y: stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue, A, B),
    "stats.levene.pvalue": (lambda x, y: stats.levene(x, y).pvalue, A[0], B[0]),
    "stats.chisquare.pvalue": (lambda x: stats.chisquare(x, axis=1).pvalue, P),
    "special.stdtr": (special.stdtr, P, Q),
    "special.chdtrc": (special.chdtrc, P, Q),
    "special.fdtr": (lambda x, y: special.fdtr(x, y, 1.5), P, Q),
    "special.fdtrc": (lambda x, y: special.fdtrc(x, 2.5, y), P, Q),
    "special.gammainc": (special.gammainc, P, Q),
    "special.gammaincc": (special.gammaincc, P, Q),
    "special.betainc": (lambda x, y: special.betainc(x, y, 0.4), P, Q),
    "special.betaincc": (lambda x, y: special.betaincc(x, y, 0.3), P, Q),
    "special.zeta": (lambda x, y: special.zeta(x + 1.1, y), P, Q),
    "stats.ttest_rel": (lambda x, y: stats.ttest_rel(x, y, axis=1).statistic, A, B),
    "stats.skewtest": (lambda x: _first(stats.skewtest(x, axis=1)), A),
    "stats.kurtosistest": (lambda x: _first(stats.kurtosistest(x, axis=1)), A),
    "stats.normaltest": (lambda x: _first(stats.normaltest(x, axis=1)), A),
    "stats.jarque_bera": (lambda x: _first(stats.jarque_bera(x, axis=1)), A),
    "stats.power_divergence": (lambda x: _first(stats.power_divergence(x, axis=1)), P),
    "stats.chisquare": (lambda x: _first(stats.chisquare(x, axis=1)), P),
    "stats.bartlett": (lambda x, y: _first(stats.bartlett(x, y)), A[0], B[0]),
    "stats.combine_pvalues": (lambda x: _first(stats.combine_pvalues(x)), V),
    "stats.alexandergovern": (lambda x, y: _first(stats.alexandergovern(x, y)), A[0], B[0]),
}
if hasattr(lg, "special"):
    CASES |= SPECIAL

#: These write into an array that a rule keeps: they differentiate where mutation is allowed.
MUTATES = {
    "special.logsumexp(b=)": (lambda x, b: special.logsumexp(x, b=b, axis=1), A, P),
    "special.log_softmax": (lambda x: special.log_softmax(x, axis=1), A),
    "stats.boxcox_llf": (lambda x: stats.boxcox_llf(0.5, x), P),
    "stats.false_discovery_control": (lambda x: stats.false_discovery_control(x), V),
    "integrate.romb": (lambda x: integrate.romb(x, axis=0), numbers(5, 3)),
    "vq.whiten": (lambda x: vq.whiten(x), A),
}
