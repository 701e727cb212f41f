"""Attention on CUDA: the table of tiles, wide heads, memory, and what is added atomically."""

import re

import cupy
import pytest

import lucidgrad as lg
from lucidgrad import cudasim
from lucidgrad.backends.cuda.kernels import attention, attention_products, attention_sources
from lucidgrad.backends.cuda.kernels.attention_sources import TILES, tile_for
from lucidgrad.core import device
from lucidgrad.ops.attention import attention as attention_op, dropout_flags

from . import cases, products
from .comparison import compare

lg.zeros(1, device="cuda")  # loads the back end
F = lg.nn.functional


@pytest.mark.parametrize("limit", TILES)
def test_tiles_fit(limit):
    for size, widths in TILES[limit].items():
        for width, tile in widths.items():
            down = tile.threads // tile.across
            assert max(tile.shared_bytes(name, width, size) for name in attention_sources.BODIES) <= limit << 10
            assert tile.threads % 32 == 0
            assert 32 % tile.across == 0  # a row's results belong to one warp
            assert tile.own % down == tile.others % down == tile.others % tile.across == tile.others % 4 == 0
            assert width % tile.across == 0


@pytest.mark.parametrize("name", attention_sources.BODIES)
def test_blocks_ask_for_the_shared_memory_that_they_use(name):
    """Arrays lie one after the other: where the last begins, and how long it is, is what a block needs."""
    tile, width, size = TILES[96][4][64], 64, 4
    known = {"BR": tile.own, "BC": tile.others, "WIDE": width + 4, "SCORES": tile.others + 4}
    found = re.findall(r"\*(\w+) = (?:\(A \*\)memory|(\w+) \+ (\w+)(?: \* (\w+))?)[,;]", attention_sources.BODIES[name])
    places = {}
    for array, before, rows, columns in found:
        places[array] = places[before] + known[rows] * known.get(columns, 1) if before else 0
    last = max(places, key=places.get)
    sizes = {"ps": tile.own * known["SCORES"], "ss": tile.own * known["SCORES"], "rests": tile.others}
    assert len(places) >= 4 and (places[last] + sizes[last]) * size == tile.shared_bytes(name, width, size)


def test_the_largest_tile_that_fits_is_taken_if_there_is_work_for_all():
    many = dict(rows=4096, heads=64, processors=100)
    found = [tile_for(128, 4, room, **many) for room in (48, 64, 96, 99, 163, 227)]
    assert found == [TILES[limit][4][128] for limit in (48, 48, 96, 96, 163, 227)]
    assert tile_for(128, 4, 227, rows=128, heads=8, processors=100) == TILES[48][4][128]
    assert tile_for(256, 8, 48, **many) is None
    assert tile_for(256, 8, 99, **many) == TILES[96][8][256]


@pytest.mark.skipif(not cudasim.is_installed(), reason="the emulated device's room is known")
def test_the_device_says_how_much_room_there_is():
    assert attention_sources.shared_room(0) == 163  # of compute capability 8.0


@pytest.fixture
def deterministic():
    lg.use_deterministic_algorithms(True)
    yield
    lg.use_deterministic_algorithms(False)


@pytest.mark.parametrize("heads", cases.WIDE_HEADS, ids=lambda heads: f"{heads[4]}-{heads[5]}")
def test_wide_heads(heads, monkeypatch):
    monkeypatch.setattr(attention, "shared_room", lambda device: 48)
    compare("attention", cases.attending(False, [heads])[0], "float32")
    compare("attention_pull", cases.attending(True, [heads])[0], "float32")


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize(("dtype", "layout"), [("float32", "plain"), ("float64", "plain"), ("float32", "with gaps")])
def test_back_in_a_fixed_order(dtype, layout):
    for case in cases.CASES["attention_pull"]:
        compare("attention_pull", case, dtype, layout)


def test_heads_that_no_tile_is_for_take_the_program():
    heads = ((1,), (1,), 3, 4, 300, 2, None, {})
    compare("attention", cases.attending(False, [heads])[0], "float32")
    compare("attention_pull", cases.attending(True, [heads])[0], "float32")
    many = ((2, 1, 2, 1, 2), (1, 2, 1, 2, 1), 3, 4, 2, 2, None, {})  # leading axes that don't come to four
    compare("attention", cases.attending(False, [many])[0], "float32")


def peak_of(length, dtype, p=0.0):
    """The most memory, in bytes, that forward and backward take beside what was given."""
    q, k, v = (lg.zeros((1, length, 16), dtype=dtype, device="cuda").requires_grad_() for _ in range(3))
    mask = lg.zeros((1, length), dtype=dtype, device="cuda")
    before = lg.cuda.memory_allocated()
    lg.cuda.reset_peak_memory_stats()
    y = F.scaled_dot_product_attention(q, k, v, mask, p, is_causal=True)
    y.backward(lg.ones_like(y))
    return lg.cuda.max_memory_allocated() - before


@pytest.mark.parametrize("p", [0.0, 0.25])
def test_memory_is_linear_in_the_length(monkeypatch, p):
    monkeypatch.setattr(attention._Launcher, "__call__", lambda *args: None)  # what is computed is not asked for
    peaks = [peak_of(length, lg.float32, p) for length in (1024, 2048, 4096)]
    assert peaks[1] <= 2.05 * peaks[0]
    assert peaks[2] <= 2.05 * peaks[1]
    assert peaks[1] < 2048 * 2048  # a byte for each weight


def launched_back(q, k, v):
    y = F.scaled_dot_product_attention(q, k, v)
    seed = lg.ones_like(y)
    with cudasim.counting() as found:
        lg.autograd.grad(y, [q, k, v], seed)
    return found.launches


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
def test_queries_have_a_launch_of_their_own_where_bits_are_to_be_the_same(monkeypatch):
    """Else what belongs to them is added by blocks of keys, in an order that changes."""
    xs = [lg.rand(2, 40, 4, device="cuda").requires_grad_() for _ in range(3)]
    seen = []
    call = attention._Launcher.__call__
    monkeypatch.setattr(attention._Launcher, "__call__", lambda *args: (seen.append(args[1:]), call(*args)))
    assert launched_back(*xs) == {"attention_keys": 1}
    lg.use_deterministic_algorithms(True)
    try:
        assert launched_back(*xs) == {"attention_queries": 1, "attention_keys": 1}
    finally:
        lg.use_deterministic_algorithms(False)
    given = [args[9:13:3] for name, *args in seen if name == "attention_keys"]  # where blocks add, and whether
    assert given[0][0] is not None and given[0][1] is True and given[1] == [None, False]
    text = attention_sources.COMMON + "".join(attention_sources.BODIES.values())
    assert text.count("atomic") == 1 and text.count("if (alone) scatter(") == text.count(" scatter(to_q") == 1


def test_dropout_is_the_same_on_all_devices():
    key = lg.asarray([12345678901234, 2**40 + 5])
    flags = dropout_flags(key, shape=(3, 50), dropout=0.3)
    assert flags.tolist() == dropout_flags(key.to("cuda"), shape=(3, 50), dropout=0.3).tolist()
    assert 0.6 < flags.to(lg.float32).mean().item() < 0.8
    q, k, v = (lg.rand(2, 5, 3, dtype=lg.float64) for _ in range(3))
    options = dict(dropout=0.3, scale=0.4)
    apply = device.backend_named("cuda").kernels["attention"]
    expected = attention_op(q, k, v, None, key, **options)[0]
    found = apply(*(cupy.asarray(x.numpy()) for x in (q, k, v)), None, cupy.asarray(key.numpy()), **options)[0]
    cupy.testing.assert_allclose(found, expected.numpy(), rtol=1e-12)


# -- numbers of 16 bits, by products -------------------------------------------------------------
@pytest.mark.parametrize("layout", ["plain", "with gaps", "backwards"])
@pytest.mark.parametrize("room", [64 << 20, 3 * 16 * 34 * 33, 1], ids=["all heads", "three", "one"])
@pytest.mark.parametrize("name", ["attention", "attention_pull"])
def test_products_give_what_the_program_gives(name, room, layout):
    """One part of weights alone would be off by 20 times what is allowed."""
    with products.always(room) as asked:
        for case in cases.narrow(name == "attention_pull"):
            compare(name, case, "float32", layout)
    assert len(asked) >= 14  # empty ones are left out


def test_a_cotangent_of_logarithms_goes_with_one_that_is_not_of_16_bits():
    """In second derivatives; tiles take them, or a number of 11 bits would be made of one of 24."""
    lg.manual_seed(0)
    given = [lg.randn(shape, device="cuda").half() * 2 for shape in ((2, 9, 16), (2, 40, 16), (2, 40, 16), (2, 9, 16))]

    def second(dtype):
        *xs, h = (x.to(dtype).requires_grad_() for x in given)
        first = lg.autograd.grad(F.scaled_dot_product_attention(*xs), xs, h.detach(), create_graph=True)
        return lg.autograd.grad([(g.to(lg.float32) ** 2).sum() for g in first], xs)

    with products.always() as asked:
        found = second(lg.float16)
    assert len(asked) == 1  # forth; back it is the program
    for y, exact in zip(found, second(lg.float32), strict=True):
        assert (abs(y.to(lg.float32) - exact).max() <= 8e-4 * abs(exact).max()).item()


def halves_of(dtype, *shapes, requires_grad=True):
    lg.manual_seed(0)
    made = [(lg.randn(shape, device="cuda") * 2).to(dtype) for shape in shapes]
    return [x.requires_grad_() for x in made] if requires_grad else made


def by_products(call, *args, **options):
    with products.always(**options) as asked:
        return call(*args), asked


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
def test_launches_of_products():
    """Forth scores, weights, and two products; back two products, slopes, and twice three; zeros are not needed."""
    q, k, v = (x.to(lg.float32).requires_grad_() for x in halves_of(lg.float16, (2, 40, 4), (2, 33, 4), (2, 33, 4)))
    with products.always():
        for _ in range(2):
            with cudasim.counting() as there:
                y = attention_op(q, k, v, narrow=True)[0]
            seed = lg.ones_like(y)
            with cudasim.counting() as home:
                lg.autograd.grad(y, [q, k, v], seed)
    assert there.launches == {"attention_weights": 1, "cublasGemmStridedBatchedEx": 3}
    assert home.launches == {"attention_slopes": 1, "cublasGemmStridedBatchedEx": 8}
    assert home.synchronisations == there.synchronisations == home.bytes_to_device == there.bytes_to_device == 0


def test_products_are_for_numbers_of_16_bits_alone():
    q, k, v = halves_of(lg.float16, (2, 5, 4), (2, 6, 4), (2, 6, 4))
    wide = [x.detach().to(lg.float32).requires_grad_() for x in (q, k, v)]
    mask = lg.zeros(5, 6, device="cuda", requires_grad=True)

    def asked(*xs, cast=False, **options):
        def call():
            with lg.autocast("cuda", dtype=lg.float16, enabled=cast):
                F.scaled_dot_product_attention(*xs, **options).sum().backward()

        return len(by_products(call)[1])

    assert asked(q, k, v) == asked(q, k, v, is_causal=True) == asked(*wide, cast=True) == 2
    assert asked(*wide) == asked(wide[0], k, v) == asked(q, wide[1], v) == asked(q, k, v, dropout_p=0.5) == 0
    assert asked(q, k, v, attn_mask=mask) == 1  # where it is learned, tiles go back
    assert asked(*(x.detach().to(lg.float64).requires_grad_() for x in (q, k, v)), cast=True) == 0


def test_products_in_programs_and_graphs():
    given = halves_of(lg.float16, (2, 4, 9, 8), (2, 2, 7, 8), (2, 2, 7, 8))
    (h,) = halves_of(lg.float16, (2, 4, 9, 8), requires_grad=False)

    def step():
        y = F.scaled_dot_product_attention(*given, is_causal=True, enable_gqa=True)
        return [y.detach(), *lg.autograd.grad(y, given, h)]

    eager, asked = by_products(step)
    tiles, _ = by_products(step, by_products=False)
    program = lg.compile(step)
    traced = sum(len(by_products(program)[1]) for _ in range(2))
    found, _ = by_products(program)
    graph = lg.cuda.CUDAGraph()
    with products.always(), lg.cuda.graph(graph):
        recorded = step()
    graph.replay()
    assert len(asked) == 2 and traced >= 2
    for y, other, compiled, replayed in zip(eager, tiles, found, recorded, strict=True):
        assert y.dtype == lg.float16
        assert (y == compiled).all().item() and (y == replayed).all().item()
        assert (abs(y - other) <= 2e-3 * abs(other).max()).all().item()


def test_where_products_are_faster(monkeypatch):
    """By a model: see docs/cuda.md."""

    def found(capability, *sizes):
        monkeypatch.setattr(attention_products, "capability", lambda device: capability)
        return attention_products.is_faster(*sizes)

    for length in (256, 512, 1024):
        for capability, width, causal, faster in (
            *((80, 64, False, True), (80, 64, True, False), (80, 128, False, True), (80, 128, True, True)),
            *((90, 64, False, False), (90, 128, False, True), (90, 128, True, False)),
            *((100, 64, False, True), (100, 64, True, False)),
            *((75, 128, False, False), (86, 128, False, False), (89, 128, False, False), (120, 128, False, False)),
        ):
            assert found(capability, 96, length, length, width, causal) is faster, (capability, length, width, causal)
    assert not found(80, 96, 1025, 1024, 128, False) and not found(80, 96, 1024, 1025, 128, False)
    assert not found(80, 8, 128, 128, 64, False)  # launches would take longer
    assert not found(80, 96, 1024, 1024, 32, False)


def test_memory_of_products_does_not_grow_with_heads(monkeypatch):
    monkeypatch.setattr(attention_products.Heads, "launch", lambda *args: None)  # what is computed is not asked for
    monkeypatch.setattr(attention_products, "matmul", lambda *args, **options: None)
    taken = []
    for heads in (16, 64):
        xs = [lg.zeros((heads, 1024, 1), device="cuda").requires_grad_() for _ in range(3)]
        before = lg.cuda.memory_allocated()
        lg.cuda.reset_peak_memory_stats()
        with products.always():
            y = attention_op(*xs, narrow=True)[0]
            y.backward(lg.ones_like(y))
        taken.append(lg.cuda.max_memory_allocated() - before)
    assert 0.95 * attention_products.ROOM <= taken[0] <= taken[1] <= 1.05 * attention_products.ROOM
