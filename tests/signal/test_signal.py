"""Windows, short-time transforms and convolutions: SciPy's values, differences, and PyTorch's where it is installed."""

import warnings

import numpy as np
import pytest
import scipy.signal
from golden import peer

import lucidgrad as lg
from lucidgrad import signal
from lucidgrad.signal import windows

torch = peer("torch")

#: PyTorch's windows and SciPy's, by name and options.
WINDOWS = [
    ("bartlett", {}, ("bartlett",)),
    ("blackman", {}, ("blackman",)),
    ("cosine", {}, ("cosine",)),
    ("exponential", {"tau": 2.5}, ("exponential", None, 2.5)),
    ("gaussian", {"std": 1.7}, ("gaussian", 1.7)),
    ("general_cosine", {"a": [0.4, 0.35, 0.25]}, ("general_cosine", [0.4, 0.35, 0.25])),
    ("general_hamming", {"alpha": 0.7}, ("general_hamming", 0.7)),
    ("hamming", {}, ("hamming",)),
    ("hann", {}, ("hann",)),
    ("kaiser", {"beta": 8.0}, ("kaiser", 8.0)),
    ("nuttall", {}, ("nuttall",)),
]


@pytest.mark.parametrize(("name", "options", "other"), WINDOWS, ids=[w[0] for w in WINDOWS])
def test_windows(name, options, other):
    for M in (0, 1, 2, 5, 8):
        for sym in (True, False):
            y = getattr(windows, name)(M, **options, sym=sym, dtype=lg.float64)
            expected = getattr(scipy.signal.windows, other[0])(M, *other[1:], sym=sym)
            np.testing.assert_allclose(y.numpy(), expected, rtol=1e-13, atol=1e-15)
            theirs = getattr(torch.signal.windows, name)(M, **options, sym=sym, dtype=torch.float64)
            np.testing.assert_allclose(y.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)
    assert getattr(windows, name)(3, **options).dtype == lg.float32
    assert getattr(windows, name)(3, **options, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match=f"{name}: given M=-1"):
        getattr(windows, name)(-1, **options)
    with pytest.raises(ValueError, match=f"{name}: given dtype int64"):
        getattr(windows, name)(3, **options, dtype=lg.int64)


def test_windows_that_grow_do_not_overflow():
    np.testing.assert_allclose(windows.kaiser(5, beta=900.0, dtype=lg.float64)[2].item(), 1.0)
    with pytest.raises(ValueError, match="center"):
        windows.exponential(3, center=1)


def test_windows_of_the_root():
    for name in ("bartlett", "blackman", "hann", "hamming"):
        for periodic in (True, False):
            found = getattr(lg, f"{name}_window")(7, periodic, dtype=lg.float64)
            np.testing.assert_allclose(found.numpy(), scipy.signal.get_window(name, 7, periodic), atol=1e-15)
    np.testing.assert_allclose(lg.kaiser_window(6, beta=3.0).numpy(), scipy.signal.get_window(("kaiser", 3.0), 6), 1e-6)
    np.testing.assert_allclose(lg.hamming_window(4, True, 0.6, 0.3).numpy(), [0.3, 0.6, 0.9, 0.6], 1e-6)
    with pytest.raises(RuntimeError, match="hann_window: given window_length=-1"):
        lg.hann_window(-1)


# -- short-time transforms -----------------------------------------------------------------------------
_rng = np.random.default_rng(2)
_LINE, _LINES = _rng.normal(size=30), _rng.normal(size=(2, 31))
_COMPLEX = _rng.normal(size=30) + 1j * _rng.normal(size=30)
_WINDOW = 0.2 + _rng.random(6)

TRANSFORMS = [
    (_LINE, {"n_fft": 8}),
    (_LINES, {"n_fft": 8, "hop_length": 3, "win_length": 6, "window": _WINDOW}),
    (_LINE, {"n_fft": 7, "win_length": 6, "window": _WINDOW, "normalized": True, "pad_mode": "replicate"}),
    (_LINE, {"n_fft": 8, "win_length": 6, "window": _WINDOW, "onesided": False, "pad_mode": "constant"}),
    (_LINES, {"n_fft": 6, "window": _WINDOW, "center": False, "hop_length": 1}),
    (_COMPLEX, {"n_fft": 6, "window": _WINDOW, "hop_length": 2, "pad_mode": "circular"}),
    (_LINE, {"n_fft": 8, "win_length": 6, "window": _WINDOW, "center": False, "align_to_window": True}),
]


def _options(space, options):
    tensor = lg.tensor if space is lg else torch.tensor
    return {k: tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}


def _by_sums(x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
             onesided=None, align_to_window=None):  # fmt: skip
    """The formula, frequency by frequency."""
    hop, size = hop_length or n_fft // 4, win_length or n_fft
    left = (n_fft - size) // 2
    wide = np.zeros(n_fft)
    wide[left : left + size] = 1 if window is None else window
    lead = [(0, 0)] * (x.ndim - 1)
    if center:
        modes = {"replicate": "edge", "circular": "wrap"}
        x = np.pad(x, [*lead, (n_fft // 2, n_fft // 2)], modes.get(pad_mode, pad_mode))
    if align_to_window:
        x = np.pad(x, [*lead, (left, n_fft - size - left)])
    count = 1 + (x.shape[-1] - n_fft) // hop
    pieces = np.stack([x[..., k * hop : k * hop + n_fft] * wide for k in range(count)], -1)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(n_fft), np.arange(n_fft)) / n_fft)
    y = turns @ pieces / (np.sqrt(n_fft) if normalized else 1)
    return y if onesided is False or np.iscomplexobj(x) else y[..., : n_fft // 2 + 1, :]


@pytest.mark.parametrize("case", range(len(TRANSFORMS)))
def test_stft(case):
    x, options = TRANSFORMS[case]
    leaf = lg.tensor(x, requires_grad=True)
    y = lg.stft(leaf, **_options(lg, options), return_complex=True)
    np.testing.assert_allclose(y.detach().numpy(), _by_sums(x, **options), rtol=1e-10, atol=1e-10)
    parts = leaf.stft(**_options(lg, options), return_complex=False)
    np.testing.assert_array_equal(parts[..., 1].detach().numpy(), y.detach().numpy().imag)
    if x.ndim == 1:
        assert lg.autograd.gradcheck(lambda x: lg.stft(x, **_options(lg, options), return_complex=True), (leaf,))
    theirs = torch.tensor(x, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = torch.stft(theirs, **_options(torch, options), return_complex=True)
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-10, atol=1e-10)
    (lg.abs(y) ** 3).sum().backward()
    (z.abs() ** 3).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), theirs.grad.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", range(6))
@pytest.mark.filterwarnings("ignore")
def test_istft(case):
    x, options = TRANSFORMS[case]
    spectrum = lg.stft(lg.tensor(x), **_options(lg, options), return_complex=True)
    back = {k: v for k, v in options.items() if k != "pad_mode"}
    back |= {"return_complex": True} if np.iscomplexobj(x) else {}
    for more in ({}, {"length": 20}, {} if "win_length" in options else {"length": 50}):
        leaf = spectrum.detach().requires_grad_()
        y = leaf.istft(**_options(lg, back), **more)
        known = min(y.shape[-1], 20)
        np.testing.assert_allclose(y[..., :known].detach().numpy(), x[..., :known], rtol=1e-9, atol=1e-9)
        theirs = torch.tensor(spectrum.numpy(), requires_grad=True)
        z = torch.istft(theirs, **_options(torch, back), **more)
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-10, atol=1e-10)
        (lg.abs(y) ** 3).sum().backward()
        (z.abs() ** 3).sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), theirs.grad.numpy(), rtol=1e-9, atol=1e-9)


def test_wrong_transforms():
    x = lg.ones(16)
    for options, words in [
        ({}, "return_complex"),
        ({"return_complex": True, "hop_length": 0}, "hop_length=0"),
        ({"return_complex": True, "win_length": 9}, "win_length=9"),
        ({"return_complex": True, "window": lg.ones(3)}, "vector of size 8"),
        ({"return_complex": True, "align_to_window": True}, "align_to_window"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            lg.stft(x, 8, **options)
    with pytest.raises(RuntimeError, match="expected 1 to 16"):
        lg.stft(x, 17, center=False, return_complex=True)
    spectrum = lg.stft(x, 8, return_complex=True)
    with pytest.raises(RuntimeError, match="expected 4 for n_fft=7"):
        lg.istft(spectrum, 7)
    with pytest.raises(RuntimeError, match="add up to zero"):
        lg.istft(spectrum, 8, window=lg.zeros(8))


def test_the_transforms_have_vmap_and_tangents():
    x = lg.tensor(_LINES)
    window = lg.hann_window(8, dtype=lg.float64)
    f = lambda x: lg.istft(lg.stft(x, 8, window=window, return_complex=True), 8, window=window)
    np.testing.assert_allclose(lg.func.vmap(f)(x).numpy(), f(x).numpy(), atol=1e-12)
    np.testing.assert_allclose(lg.func.jvp(f, (x,), (x,))[1].numpy(), f(x).numpy(), atol=1e-12)


# -- convolution ---------------------------------------------------------------------------------------
SHAPES = [((5,), (3,)), ((3,), (5,)), ((4, 5), (2, 3)), ((2, 3), (4, 5)), ((3, 2, 4), (2, 2, 1)), ((4,), (4,))]


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_convolution(name, shapes):
    for is_complex in (False, True):
        xs = [_rng.normal(size=s) + (1j * _rng.normal(size=s) if is_complex else 0) for s in shapes]
        leaves = [lg.tensor(x, requires_grad=True) for x in xs]
        for mode in ("full", "same", "valid"):
            expected = getattr(scipy.signal, name)(*xs, mode=mode)
            for method in ("auto", "direct", "fft"):
                y = getattr(signal, name)(*leaves, mode=mode, method=method)
                np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-10)
        if not is_complex:
            assert lg.autograd.gradcheck(lambda *xs: getattr(signal, name)(*xs, mode="same"), tuple(leaves))


def test_convolution_along_some_axes():
    x1, x2 = _rng.normal(size=(3, 5)), _rng.normal(size=(1, 4))
    for mode in ("full", "same", "valid"):
        y = signal.fftconvolve(lg.tensor(x1), lg.tensor(x2), mode, axes=1)
        np.testing.assert_allclose(y.numpy(), scipy.signal.fftconvolve(x1, x2, mode, axes=1), atol=1e-12)
        np.testing.assert_array_equal(signal.correlation_lags(5, 4, mode), scipy.signal.correlation_lags(5, 4, mode))
    whole = signal.convolve(lg.asarray([1, 2, 3]), lg.asarray([2, 1]))
    assert whole.dtype == lg.int64 and whole.tolist() == [2, 5, 8, 3]
    with pytest.raises(ValueError, match="larger along all axes"):
        signal.convolve(lg.ones((2, 3)), lg.ones((3, 2)), "valid")
    with pytest.raises(ValueError, match="as many axes"):
        signal.correlate(lg.ones(3), lg.ones((3, 3)))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_numpys_correlation(mode):
    for n, m in [(5, 3), (3, 5), (4, 2), (2, 4), (4, 4)]:
        x1, x2 = (_rng.normal(size=k) + 1j * _rng.normal(size=k) for k in (n, m))
        np.testing.assert_allclose(
            lg.correlate(lg.tensor(x1), lg.tensor(x2), mode).numpy(), np.correlate(x1, x2, mode), atol=1e-12
        )


def test_on_cuda():
    x = lg.tensor(_LINE, device="cuda", requires_grad=True)
    window = lg.hann_window(8, dtype=lg.float64, device="cuda")
    y = lg.istft(lg.stft(x, 8, window=window, return_complex=True), 8, window=window)
    signal.convolve(y, window, "same").sum().backward()
    z = lg.tensor(_LINE, requires_grad=True)
    w = window.cpu()
    signal.convolve(lg.istft(lg.stft(z, 8, window=w, return_complex=True), 8, window=w), w, "same").sum().backward()
    np.testing.assert_allclose(x.grad.numpy(force=True), z.grad.numpy(), atol=1e-12)
