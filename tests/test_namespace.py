"""The namespace is that of the Array API standard: names, signatures, attributes, inspection, DLPack.

The official suite says more (`tests.conformance`); this is what can be said at once.
"""

import array
import inspect
import math
import operator
import re
from pathlib import Path

import numpy as np
import pytest

import lucidgrad as lg

#: Functions of the standard's version 2025.12: names, a colon, their parameters.
MAIN = """
    arange: (start, /, stop=None, step=1, *, dtype=None, device=None)
    asarray: (obj, /, *, dtype=None, device=None, copy=None)
    empty ones zeros: (shape, *, dtype=None, device=None)
    empty_like ones_like zeros_like: (x, /, *, dtype=None, device=None)
    eye: (n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
    from_dlpack: (x, /, *, device=None, copy=None)
    full: (shape, fill_value, *, dtype=None, device=None)
    full_like: (x, /, fill_value, *, dtype=None, device=None)
    linspace: (start, stop, /, num, *, dtype=None, device=None, endpoint=True)
    meshgrid: (*arrays, indexing='xy')
    tril triu: (x, /, *, k=0)
    astype: (x, dtype, /, *, copy=True, device=None)
    can_cast: (from_, to, /)
    finfo iinfo: (type, /)
    isdtype: (dtype, kind)
    result_type: (*arrays_and_dtypes)
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan
    log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan
    tanh trunc matrix_transpose nonzero unique_all unique_counts unique_inverse unique_values: (x, /)
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum
    minimum multiply nextafter not_equal pow remainder subtract matmul: (x1, x2, /)
    clip: (x, /, min=None, max=None)
    take: (x, indices, /, *, axis=None)
    take_along_axis: (x, indices, /, *, axis=-1)
    tensordot: (x1, x2, /, *, axes=2)
    vecdot: (x1, x2, /, *, axis=-1)
    broadcast_arrays: (*arrays)
    broadcast_shapes: (*shapes)
    broadcast_to: (x, /, shape)
    concat stack: (arrays, /, *, axis=0)
    expand_dims squeeze: (x, /, axis)
    flip: (x, /, *, axis=None)
    moveaxis: (x, source, destination, /)
    permute_dims: (x, /, axes)
    repeat: (x, repeats, /, *, axis=None)
    reshape: (x, /, shape, *, copy=None)
    roll: (x, /, shift, *, axis=None)
    tile: (x, repetitions, /)
    unstack: (x, /, *, axis=0)
    argmax argmin count_nonzero max mean min all any: (x, /, *, axis=None, keepdims=False)
    searchsorted: (x1, x2, /, *, side='left', sorter=None)
    where: (condition, x1, x2, /)
    isin: (x1, x2, /, *, invert=False)
    argsort sort: (x, /, *, axis=-1, descending=False, stable=True)
    cumulative_sum cumulative_prod: (x, /, *, axis=None, dtype=None, include_initial=False)
    prod sum: (x, /, *, axis=None, dtype=None, keepdims=False)
    std var: (x, /, *, axis=None, correction=0.0, keepdims=False)
    diff: (x, /, *, axis=-1, n=1, prepend=None, append=None)
"""

LINALG = """
    cholesky: (x, /, *, upper=False)
    cross vecdot: (x1, x2, /, *, axis=-1)
    det eig eigh eigvals eigvalsh inv matrix_transpose slogdet svdvals: (x, /)
    diagonal: (x, /, *, offset=0)
    matmul outer solve: (x1, x2, /)
    matrix_norm: (x, /, *, keepdims=False, ord='fro')
    matrix_power: (x, n, /)
    matrix_rank pinv: (x, /, *, rtol=None)
    qr: (x, /, *, mode='reduced')
    svd: (x, /, *, full_matrices=True)
    tensordot: (x1, x2, /, *, axes=2)
    trace: (x, /, *, offset=0, dtype=None)
    vector_norm: (x, /, *, axis=None, keepdims=False, ord=2)
"""

FFT = """
    fft ifft rfft irfft hfft ihfft: (x, /, *, n=None, axis=-1, norm='backward')
    fftn ifftn rfftn irfftn: (x, /, *, s=None, axes=None, norm='backward')
    fftfreq rfftfreq: (n, /, *, d=1.0, dtype=None, device=None)
    fftshift ifftshift: (x, /, *, axes=None)
"""

METHODS = """
    abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt index int invert le
    lshift lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor
"""

REFLECTED = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"

DTYPES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
"""


def table(text):
    """Names and signatures of a text."""
    found = {}
    for names, parameters in re.findall(r"([\w\s]+): (\(.*\))", text):
        scope = {}
        exec(f"def function{parameters}: pass", scope)
        found |= dict.fromkeys(names.split(), inspect.signature(scope["function"]))
    return found


FUNCTIONS = [
    *((lg, name, signature) for name, signature in table(MAIN).items()),
    *((lg.linalg, name, signature) for name, signature in table(LINALG).items()),
    *((lg.fft, name, signature) for name, signature in table(FFT).items()),
]


@pytest.mark.parametrize(
    ("space", "name", "signature"), FUNCTIONS, ids=[f"{space.__name__}.{name}" for space, name, _ in FUNCTIONS]
)
def test_functions_have_the_standards_parameters(space, name, signature):
    own = inspect.signature(getattr(space, name)).parameters
    places = list(own.values())
    for place, wanted in enumerate(signature.parameters.values()):
        if wanted.kind is wanted.KEYWORD_ONLY:
            assert own[wanted.name].kind in (wanted.KEYWORD_ONLY, wanted.POSITIONAL_OR_KEYWORD)
            assert own[wanted.name].default == wanted.default, wanted.name
        elif wanted.kind is wanted.POSITIONAL_OR_KEYWORD:
            assert (places[place].name, places[place].kind) == (wanted.name, wanted.kind)
        elif places[place].kind is not wanted.VAR_POSITIONAL:
            assert places[place].kind in (wanted.POSITIONAL_ONLY, wanted.POSITIONAL_OR_KEYWORD)


def test_the_lists_are_whole():
    assert [len(table(text)) for text in (MAIN, LINALG, FFT)] == [135, 25, 14]


def test_constants_and_dtypes():
    assert (lg.e, lg.pi, lg.inf, lg.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(lg.nan)
    for name in DTYPES.split():
        dtype = getattr(lg, name)
        assert lg.zeros(2, dtype=dtype).dtype == dtype == name
        assert hash(dtype) == hash(lg.zeros(2, dtype=dtype).dtype)


def test_attributes_and_operators():
    x = lg.ones((2, 3))
    assert (x.shape, x.ndim, x.size, x.dtype, x.device) == ((2, 3), 2, 6, lg.float32, "cpu")
    assert x.T.shape == x.mT.shape == (3, 2)
    for name in METHODS.split():
        assert callable(getattr(x, f"__{name}__"))
    for name in REFLECTED.split():
        assert callable(getattr(x, f"__r{name}__"))
        assert callable(getattr(x, f"__i{name}__"))
    assert x.to_device(x.device) is x


@pytest.mark.parametrize("where", ["cpu", "strict"])
def test_numbers_of_python(where):
    one = lg.asarray(1, device=where)
    assert (bool(one), int(one), float(one), complex(one), operator.index(one)) == (True, 1, 1.0, 1 + 0j, 1)
    with pytest.raises(TypeError):
        operator.index(lg.asarray(1.0, device=where))
    with pytest.raises(ValueError, match="elements"):
        bool(lg.ones(2, device=where))


# -- versions and inspection ---------------------------------------------------------------------------
def test_versions():
    x = lg.ones(2)
    assert lg.__array_api_version__ == "2025.12"
    assert x.__array_namespace__() is lg
    assert x.__array_namespace__(api_version=None) is x.__array_namespace__(api_version="2025.12") is lg
    earlier = x.__array_namespace__(api_version="2024.12")
    assert earlier is x.__array_namespace__(api_version="2024.12")
    assert earlier.__array_api_version__ == "2024.12"
    assert earlier.sin is lg.sin
    assert earlier.linalg is lg.linalg
    assert type(earlier.meshgrid(x, x)) is list
    assert type(lg.meshgrid(x, x)) is tuple
    assert type(earlier.__array_namespace_info__().devices()) is list
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="1999.12")


def test_info():
    info = lg.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.default_device() in info.devices()
    assert lg.zeros((1,) * 64).ndim == 64
    defaults = info.default_dtypes()
    assert defaults["real floating"] == lg.asarray(1.0).dtype
    assert defaults["complex floating"] == lg.asarray(1j).dtype
    assert defaults["integral"] == lg.asarray(1).dtype
    assert defaults["indexing"] == lg.argmax(lg.ones(2)).dtype
    assert list(info.dtypes()) == DTYPES.split()
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
    assert list(info.dtypes(kind=("bool", "complex floating"), device="cpu")) == ["bool", "complex64", "complex128"]
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="wooden")


def test_default_dtypes_follow_the_setting():
    lg.set_default_dtype(lg.float64)
    try:
        defaults = lg.__array_namespace_info__().default_dtypes()
        assert (defaults["real floating"], defaults["complex floating"]) == (lg.float64, lg.complex128)
        assert lg.result_type(lg.int32, 1.0) == lg.float64
    finally:
        lg.set_default_dtype(lg.float32)


# -- data types ------------------------------------------------------------------------------------------
def test_data_type_functions():
    assert lg.isdtype(lg.uint8, "integral")
    assert lg.isdtype(lg.float64, (lg.float32, "real floating"))
    assert not lg.isdtype(lg.bool, ("numeric", lg.int8))
    assert lg.isdtype(lg.ones(1).dtype, lg.float32)
    assert lg.result_type(lg.int8, lg.uint8) == lg.int16
    assert lg.result_type(lg.ones(2), lg.float64, 1) == lg.float64
    assert lg.result_type(lg.asarray([1]), 2.5) == lg.float32
    assert lg.result_type(lg.float64, 1j) == lg.complex128
    assert lg.result_type(lg.int32, 1j) == lg.complex64
    assert lg.result_type(lg.bool, 1) == lg.int64
    assert lg.can_cast(lg.ones(2), lg.float64)
    assert not lg.can_cast(lg.complex64, lg.float64)
    limits = lg.finfo(lg.ones(2, dtype=lg.complex64))
    assert (limits.bits, limits.eps, limits.dtype) == (32, 2.0**-23, lg.float32)
    assert limits.max == -limits.min == float(np.finfo("float32").max)
    assert (lg.iinfo(lg.int8).min, lg.iinfo(lg.uint64).max) == (-128, 2**64 - 1)
    for call in (lambda: lg.finfo(lg.int8), lambda: lg.iinfo(lg.float32), lambda: lg.isdtype(3, "bool")):
        with pytest.raises(TypeError, match="given"):
            call()
    with pytest.raises(ValueError, match="kind"):
        lg.isdtype(lg.float32, "wooden")
    with pytest.raises(ValueError, match="at least one"):
        lg.result_type(1.0)


def test_result_type_says_what_operators_do():
    numbers = (True, 2, 2.5, 1j)
    for name in DTYPES.split():
        x = lg.ones(2, dtype=name)
        for number in numbers:
            if not (name == "bool" and number is True):
                assert (x * number).dtype == lg.result_type(x, number), (name, number)


BINARY = (
    "add atan2 copysign divide floor_divide hypot logaddexp maximum minimum multiply nextafter pow remainder subtract"
)
COMPARE = "equal greater greater_equal less less_equal not_equal"


@pytest.mark.parametrize("name", BINARY.split() + COMPARE.split())
def test_python_numbers_beside_an_array(name):
    op, x = getattr(lg, name), lg.asarray([1.0, 2.0])
    for y in (op(x, 2.0), op(2.0, x), op(x, 2), op(2, x)):
        assert y.shape == (2,)
        assert y.dtype == (lg.bool if name in COMPARE else lg.float32)


def test_bits_and_logic_beside_a_python_number():
    x = lg.asarray([1, 2], dtype=lg.uint8)
    assert lg.bitwise_or(x, 4).dtype == lg.bitwise_left_shift(1, x).dtype == lg.uint8
    assert lg.logical_and(True, lg.asarray([True, False])).tolist() == [True, False]


def test_infinite_quotients():
    x = lg.asarray([math.inf, -math.inf, 1.0, -1.0])
    assert (x // 2).tolist() == [math.inf, -math.inf, 0.0, -1.0]
    small = (x[2:] // lg.asarray([-math.inf, math.inf])).tolist()
    assert small == [0.0, 0.0]
    assert [math.copysign(1, v) for v in small] == [-1, -1]
    assert lg.expm1(lg.asarray([complex(math.inf, 0)])).tolist() == [complex(math.inf, 0)]


def test_sums_of_small_integers():
    assert lg.sum(lg.ones(2, dtype=lg.uint8)).dtype == lg.uint64
    assert lg.prod(lg.ones(2, dtype=lg.int8)).dtype == lg.int64
    assert lg.sum(lg.ones(2, dtype=lg.float32)).dtype == lg.float32


# -- creation and casting ----------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [lg.zeros, lg.ones, lg.empty])
def test_shapes_in_every_form(make):
    for y in (make((2, 3)), make([2, 3]), make(2, 3), make(shape=(2, 3))):
        assert y.shape == (2, 3)
    assert make(3).shape == make(shape=3).shape == (3,)
    assert make(()).shape == ()


def test_astype():
    x = lg.asarray([1.0, 2.0], dtype=lg.float32)
    x.requires_grad_()
    assert lg.astype(x, lg.float32, copy=False) is not None
    y = lg.astype(x, lg.float64, device="strict")
    assert (y.dtype, y.device) == (lg.float64, "strict")
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_clip_by_position_and_by_name():
    x = lg.asarray([-1.0, 0.5, 2.0])
    assert lg.clip(x, 0, 1).tolist() == lg.clip(x, min=0, max=1).tolist() == [0.0, 0.5, 1.0]
    assert lg.clip(x, max=1).tolist() == [-1.0, 0.5, 1.0]


# -- sets and searching --------------------------------------------------------------------------------------
@pytest.mark.parametrize("where", ["cpu", "strict"])
def test_sets(where):
    x = lg.asarray([[3.0, 1.0], [3.0, 2.0]], device=where).requires_grad_()
    found = lg.unique_all(x)
    assert [part.tolist() for part in found] == [[1.0, 2.0, 3.0], [1, 3, 0], [[2, 0], [2, 1]], [1, 1, 2]]
    assert lg.unique_counts(x)._fields == ("values", "counts")
    assert lg.unique_inverse(x)._fields == ("values", "inverse_indices")
    lg.sum(lg.unique_values(x) * lg.asarray([1.0, 2.0, 3.0], device=where)).backward()
    assert x.grad.tolist() == [[3.0, 1.0], [0.0, 2.0]]
    assert lg.isin(x, lg.asarray([1.0, 2.0], device=where), invert=True).tolist() == [[True, False], [True, False]]


def test_every_nan_is_a_value():
    found = lg.unique_counts(lg.asarray([math.nan, 1.0, math.nan]))
    assert found.counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("where", ["cpu", "strict"])
def test_searchsorted(where):
    x, v = lg.asarray([3.0, 1.0, 2.0], device=where), lg.asarray([[0.5, 2.0], [2.5, 9.0]], device=where)
    order = lg.argsort(x)
    assert lg.searchsorted(lg.sort(x), v).tolist() == [[0, 1], [2, 3]]
    assert lg.searchsorted(x, v, side="right", sorter=order).tolist() == [[0, 2], [2, 3]]
    assert lg.searchsorted(lg.asarray([1, 2, 3]), 2).tolist() == 1
    with pytest.raises(ValueError, match="side"):
        lg.searchsorted(x, v, side="middle")
    with pytest.raises(ValueError, match="one dimension"):
        lg.searchsorted(v, x)


# -- DLPack ----------------------------------------------------------------------------------------------------
def test_dlpack_out():
    x = lg.ones(3)
    host = np.from_dlpack(x)
    assert np.shares_memory(host, x.array)
    assert not np.shares_memory(np.from_dlpack(x, copy=True), x.array)
    assert x.__dlpack_device__() == (1, 0)
    assert x.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=True) is not None
    with pytest.raises(BufferError, match="detach"):
        lg.ones(2, requires_grad=True).__dlpack__()


def test_dlpack_in():
    host = np.arange(3.0)
    x = lg.from_dlpack(host)
    assert np.shares_memory(x.array, host)
    assert not np.shares_memory(lg.from_dlpack(host, copy=True).array, host)
    assert lg.from_dlpack(host, device="cpu", copy=False).device == "cpu"
    own = lg.ones(2, requires_grad=True)
    assert lg.from_dlpack(own) is own
    y = lg.from_dlpack(lg.ones(2, device="strict"), device="cpu")
    assert (y.device, y.tolist()) == ("cpu", [1.0, 1.0])


def test_what_may_fail_has_a_reason():
    files = sorted((Path(__file__).parent / "conformance").glob("xfails*.txt"))
    assert len(files) == 2
    for line in (line for file in files for line in file.read_text(encoding="utf-8").splitlines()):
        assert line.startswith("#") or re.fullmatch(r"array_api_tests/\w+\.py::\S.*  # \S.*", line)


# -- data with tensors in it -----------------------------------------------------------------------------------
def test_asarray_of_sequences_with_tensors():
    x = lg.ones((), dtype=lg.float64, requires_grad=True)
    y = lg.asarray([[x, 2], [True, x * 3.0]])
    assert (y.dtype, y.tolist()) == (lg.float64, [[1.0, 2.0], [1.0, 3.0]])
    y.sum().backward()
    assert x.grad.item() == 4.0
    one = lg.asarray(1)
    assert lg.asarray([one, 2.5]).dtype == lg.float32
    assert lg.asarray([lg.asarray(True), 2]).tolist() == [1, 2]
    assert lg.asarray([1j, lg.asarray(1.0)]).dtype == lg.complex64
    assert lg.asarray([lg.ones(2, device="strict"), [1, 2]]).device == "strict"
    assert lg.asarray([one, 2], dtype=lg.float64).dtype == lg.float64
    with pytest.raises(ValueError, match="copy=False"):
        lg.asarray([x], copy=False)


def test_asarray_keeps_the_dtype_of_data_that_has_one():
    data = array.array("d", [1.0, 2.0])
    shared = lg.asarray(data, copy=False)
    data[0] = 5.0
    assert (shared.dtype, shared.tolist()) == (lg.float64, [5.0, 2.0])
    assert lg.asarray(np.float64(1)).dtype == lg.float64
    with pytest.raises(ValueError, match="copy=False"):
        lg.asarray([1.0], copy=False)
