"""What the door has beside functions: dtypes, constructors, switches, seeds, printing, testing, paths to modules."""

import importlib
import importlib.util
import io
import logging
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import lucidgrad as lg
import lucidgrad.torch as torch
from lucidgrad import printing
from lucidgrad.torch import flags, places

LIBRARIES = [torch] + ([importlib.import_module("torch")] if importlib.util.find_spec("torch") else [])


@pytest.fixture(autouse=True)
def restored():
    yield
    for library in LIBRARIES:
        library.set_default_dtype(library.float32)
    printing.options.clear()


#: Expressions and what they are, with PyTorch as well.
EXPRESSIONS = {
    # dtypes
    "torch.float32.is_floating_point, torch.long.is_floating_point": (True, False),
    "torch.bfloat16.is_floating_point, torch.bfloat16.is_signed": (True, True),
    "torch.cfloat.is_complex, torch.double.is_complex": (True, False),
    "torch.uint8.is_signed, torch.bool.is_signed": (False, False),
    "torch.int8.is_signed, torch.half.is_signed": (True, True),
    "torch.double.itemsize, torch.int.itemsize, torch.half.itemsize, torch.bool.itemsize": (8, 4, 2, 1),
    "torch.complex64.to_real() == torch.float32, torch.float64.to_complex() == torch.cdouble": (True, True),
    "torch.float is torch.float32, torch.long is torch.int64, torch.short is torch.int16": (True, True, True),
    "torch.ones(2).dtype is torch.float32, torch.ones(2).dtype == torch.float64": (True, False),
    "torch.ones(2, dtype=torch.long).dtype.is_floating_point, torch.ones(2).dtype.is_floating_point": (False, True),
    "{torch.float32: 1}[torch.ones(2).dtype], len({torch.float, torch.ones(2).dtype})": (1, 1),
    "isinstance(torch.ones(1).dtype, torch.dtype), isinstance(1, torch.dtype)": (True, False),
    "torch.finfo(torch.float32).resolution, torch.finfo(torch.float64).resolution": (1e-6, 1e-15),
    "torch.finfo(torch.float16).resolution, torch.finfo(torch.bfloat16).resolution": (1e-3, 1e-2),
    "torch.finfo().bits, torch.finfo(torch.float16).max, torch.iinfo(torch.int8).min": (32, 65504.0, -128),
    "torch.finfo(torch.float32).tiny == torch.finfo(torch.float32).smallest_normal": True,
    # shapes
    "torch.Size([2, 3]).numel(), torch.Size([2, 3]) == torch.ones(2, 3).shape": (6, True),
    "tuple(torch.Size([2]) + (3,)), tuple(torch.Size([1, 2])[1:]), torch.Size([1, 2])[1:].numel()": ((2, 3), (2,), 2),
    "torch.ones(2, 3).size().numel(), torch.ones(2, 3, 4).size()[1:].numel()": (6, 12),
    "tuple(torch.Tensor(torch.ones(2, 3).size()).shape), tuple(torch.ones(1).new(torch.ones(4).size()).shape)": (
        (2, 3), (4,)),
    "isinstance(torch.ones(2).shape, torch.Size), isinstance([2], torch.Size)": (True, False),
    # constructors
    "torch.Tensor([1, 2]).tolist()": [1.0, 2.0],
    "tuple(torch.Tensor(2, 3).shape), tuple(torch.Tensor().shape)": ((2, 3), (0,)),
    "tuple(torch.Tensor(torch.Size([2, 3])).shape), torch.Tensor(np.ones(2)).dtype == torch.float32": ((2, 3), True),
    "torch.LongTensor([1, 2]).dtype == torch.int64, tuple(torch.LongTensor(3).shape)": (True, (3,)),
    "torch.BoolTensor([1, 0]).tolist(), torch.ByteTensor([3]).dtype == torch.uint8": ([True, False], True),
    "torch.FloatTensor.dtype == torch.float32, torch.FloatTensor.is_cuda": (True, False),
    "isinstance(torch.ones(2), torch.FloatTensor), isinstance(torch.ones(2), torch.LongTensor)": (True, False),
    "isinstance(torch.ones(2), torch.cuda.FloatTensor), isinstance(1, torch.FloatTensor)": (False, False),
    "isinstance(torch.ones(2), torch.Tensor)": True,
    "isinstance(torch.nn.Parameter(torch.ones(1)), torch.Tensor)": True,
    "isinstance([1], torch.Tensor), issubclass(torch.nn.Parameter, torch.Tensor)": (False, True),
    "type(torch.ones(2)) == torch.Tensor, {torch.Tensor: 1}[type(torch.ones(2))]": (True, 1),
    "torch.ones(2).type(), torch.ones(2).long().type(), torch.ones(2).type('torch.IntTensor').dtype == torch.int32": (
        "torch.FloatTensor", "torch.LongTensor", True),
    "torch.ones(2).type(torch.DoubleTensor).dtype == torch.float64": True,
    "torch.ones(2).double().new([1, 2]).dtype == torch.float64, tuple(torch.ones(2).new(2, 3).shape)": (True, (2, 3)),
    # devices
    "str(torch.device('cuda', 0)), torch.device('cuda:1').index, torch.device('cpu').type": ("cuda:0", 1, "cpu"),
    "torch.device(type='cpu') == torch.device('cpu'), torch.device('cpu') == torch.device('cuda')": (True, False),
    "torch.ones(2).to('cpu', torch.float64, True).dtype == torch.float64": True,
    "torch.ones(2).is_sparse, torch.ones(2).is_meta, torch.ones(2).is_quantized, torch.ones(2).is_cuda": (False,) * 4,
    # layouts
    "torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last).sum().item()": 8.0,
    "torch.ones(1, 2, 2, 2).contiguous(memory_format=torch.contiguous_format).sum().item()": 8.0,
    "torch.ones(2).clone(memory_format=torch.preserve_format).tolist()": [1.0, 1.0],
    "torch.ones(2, 2).is_contiguous(memory_format=torch.contiguous_format)": True,
    "torch.ones(1, 2, 3, 4).is_contiguous(memory_format=torch.channels_last)": False,
    "torch.ones(1, 3, 4, 2).permute(0, 3, 1, 2).is_contiguous(memory_format=torch.channels_last)": True,
    "torch.nn.Linear(2, 2).to(memory_format=torch.channels_last).in_features": 2,
    "repr(torch.channels_last), repr(torch.strided)": ("torch.channels_last", "torch.strided"),
    # seeds
    "torch.manual_seed(7).initial_seed(), torch.initial_seed(), torch.default_generator.initial_seed()": (7, 7, 7),
    "torch.Generator().manual_seed(3).initial_seed()": 3,
    "torch.seed() == torch.initial_seed()": True,
    "(torch.manual_seed(1), torch.rand(2).tolist())[1] == (torch.manual_seed(1), torch.rand(2).tolist())[1]": True,
    # elsewhere
    "type(torch.backends.cudnn.benchmark), type(torch.backends.cuda.matmul.allow_tf32)": (bool, bool),
    "torch.backends.mps.is_available()": False,
    "torch.get_float32_matmul_precision()": "highest",
    "torch.jit.is_scripting(), torch.compiler.is_compiling()": (False, False),
    "torch.distributed.is_available() and torch.distributed.is_initialized()": False,
    "int(torch.__version__.split('.')[0]) >= 2, torch.version.hip": (True, None),
    "torch.typename(torch.ones(2)), torch.typename(3)": ("torch.FloatTensor", "int"),
    "torch.autograd.Variable(torch.ones(2), requires_grad=True).requires_grad": True,
    "torch.nn.modules.utils._pair(3), torch.nn.modules.utils._triple((1, 2, 3))": ((3, 3), (1, 2, 3)),
    "isinstance(torch.nn.BatchNorm2d(2), torch.nn.modules.batchnorm._BatchNorm)": True,
    "isinstance(torch.nn.Conv2d(1, 1, 1), torch.nn.modules.conv._ConvNd)": True,
    "isinstance(torch.nn.L1Loss(), torch.nn.modules.loss._Loss)": True,
    "list(torch.nn.DataParallel(torch.nn.Linear(2, 1)).state_dict())": ["module.weight", "module.bias"],
    "issubclass(torch.optim.lr_scheduler._LRScheduler, torch.optim.lr_scheduler.LRScheduler)": True,
    "torch.utils.data.Dataset[int] is not None, torch.utils.data.DataLoader[int] is not None": (True, True),
}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression, library):
    assert eval(expression, {"torch": library, "np": np}) == EXPRESSIONS[expression]


def test_every_name_of_the_tables_is_there():
    for name in torch.__all__:
        assert getattr(torch, name, None) is not None or name in ("newaxis",), name
    for module, paths in places.PATHS.items():
        for path in paths.split():
            found = importlib.import_module(f"lucidgrad.torch.{path}")
            assert found is importlib.import_module(f"lucidgrad.{module}"), path


@pytest.mark.skipif(len(LIBRARIES) == 1, reason="needs torch")
def test_paths_are_torch_s():
    for paths in places.PATHS.values():
        for path in paths.split():
            assert importlib.util.find_spec(f"torch.{path}") is not None, path


def test_dtypes_go_everywhere():
    for name in ("float16", "float32", "float64", "int64", "bool", "complex64"):
        dtype = getattr(torch, name)
        assert (
            lg.zeros(2, dtype=dtype).dtype
            == torch.zeros(2).to(dtype).dtype
            == torch.tensor([1], dtype=dtype).dtype
            == name
        )
        assert pickle.loads(pickle.dumps(dtype)) == dtype
    assert torch.nn.Linear(2, 1, dtype=torch.float64).weight.dtype == torch.double


def test_numpy_is_left_alone_until_the_door_opens():
    code = "import lucidgrad, numpy; assert not hasattr(numpy.dtype('f4'), 'is_complex'); import lucidgrad.torch; " \
        "assert numpy.dtype('c8').is_complex and not numpy.dtype('U3').is_floating_point"  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# -- constructors --------------------------------------------------------------------------------
def test_old_constructors_do_not_guess():
    with pytest.raises(TypeError, match=r"new_empty\(\(2, 3\)\) or new_tensor\(\[2, 3\]\)"):
        torch.Tensor(torch.ones(2, 3).shape)  # a shape in PyTorch, whose shapes can be told from tuples
    with pytest.raises(TypeError, match="given a tensor of float32, expected one of int64"):
        torch.LongTensor(torch.ones(2))
    x = torch.ones(2)
    assert torch.FloatTensor(x).data_ptr() == x.data_ptr()
    torch.set_default_tensor_type("torch.DoubleTensor")
    assert torch.Tensor([1]).dtype == torch.float64 and lg.get_default_device() == "cpu"
    torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(1).dtype == torch.float32


def test_a_number_is_a_device_of_cuda():
    assert torch.device(1) == "cuda:1" and lg.device(0).type == "cuda"
    for wrong in (True, 1.5, -1):
        with pytest.raises((TypeError, RuntimeError), match="device: given"):
            torch.device(wrong)


def test_methods_can_be_given_to_the_class():
    torch.Tensor.twice = lambda self: self * 2
    assert torch.ones(2).twice().tolist() == lg.ones(2).twice().tolist() == [2.0, 2.0]
    del torch.Tensor.twice
    assert not hasattr(lg.Tensor, "twice")

    class Own(torch.Tensor):
        pass

    assert not isinstance(torch.ones(2), Own) and issubclass(Own, lg.Tensor)


# -- switches ------------------------------------------------------------------------------------
def test_switches_keep_their_values_and_say_once_that_they_choose_nothing(caplog):
    flags._said.clear()
    with caplog.at_level(logging.DEBUG, "lucidgrad.torch"):
        for value in (True, False):
            torch.backends.cudnn.benchmark = value
            torch.backends.cuda.matmul.allow_tf32 = value
            assert importlib.import_module("lucidgrad.torch.backends.cudnn").benchmark is value
        torch.set_float32_matmul_precision("high")
    assert [record.getMessage().split()[0] for record in caplog.records] == [
        "torch.backends.cudnn.benchmark", "torch.backends.cuda.matmul.allow_tf32", "torch.set_float32_matmul_precision",
    ]  # fmt: skip
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="expected 'highest', 'high' or 'medium'"):
        torch.set_float32_matmul_precision("exact")


def test_compile_makes_programs_and_jit_gives_what_it_is_given():
    def f(x):
        return x + 1

    model = torch.nn.Linear(2, 2)
    compiled = torch.compile(model, mode="max-autotune", fullgraph=True)
    assert isinstance(compiled, torch.nn.Module) and list(compiled.state_dict()) == [
        "_orig_mod.weight",
        "_orig_mod.bias",
    ]
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(1, 2)), model(torch.ones(1, 2)))
        assert torch.compile(dynamic=True)(f)(torch.ones(1)).item() == torch.compile(f)(torch.ones(1)).item() == 2
    assert torch.compile(f, disable=True) is f
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # where a value is read, nobody is told, as in PyTorch
        assert torch.compile(lambda x: x if x.sum() > 0 else -x)(-torch.ones(2)).tolist() == [1, 1]
    assert torch.jit.script(f) is f and torch.jit.trace(model, torch.ones(2)) is model
    assert torch.jit.ignore(f) is f and torch.jit.ignore(drop=True)(f) is f and torch.compiler.disable(f) is f
    with pytest.raises(TypeError, match="expected PyTorch's options"):
        torch.compile(f, speed="high")
    with pytest.raises(TypeError, match="expected a function or a module"):
        torch.compile(3)


def test_without_a_device_mixed_precision_for_cuda_is_off(monkeypatch):
    monkeypatch.setattr(lg.cuda, "is_available", lambda: False)
    for make in (torch.amp.GradScaler, torch.cuda.amp.GradScaler, lambda: torch.GradScaler("cuda")):
        with pytest.warns(UserWarning, match="CUDA, which is not available"):
            scaler = make()
        assert not scaler.is_enabled() and scaler.get_scale() == 1.0
    for make in (torch.cuda.amp.autocast, lambda: torch.autocast("cuda", dtype=torch.bfloat16)):
        with pytest.warns(UserWarning, match="CUDA, which is not available"):
            context = make()
        with context:
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    assert torch.GradScaler("cpu").is_enabled()
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.is_autocast_enabled("cpu") and (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float16


@pytest.mark.cuda
def test_names_of_cuda():
    x = torch.cuda.FloatTensor([1.0, 2.0])
    assert x.is_cuda and isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor)
    assert x.type() == "torch.cuda.FloatTensor" and x.type(torch.LongTensor).device == "cpu"
    assert torch.ones(2).type(torch.cuda.DoubleTensor).is_cuda and torch.ones(2).to(0).device == x.device
    properties = torch.cuda.get_device_properties(0)
    assert properties.total_memory == torch.cuda.mem_get_info()[1] and properties.name in repr(properties)
    assert torch.cuda.max_memory_reserved() >= torch.cuda.memory_allocated() > 0
    assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == torch.cuda.memory_allocated()
    assert "allocated_bytes" in torch.cuda.memory_summary() and torch.cuda.get_arch_list()[0].startswith("sm_")
    torch.cuda.seed_all()
    states, first = torch.cuda.get_rng_state_all(), torch.rand(2, device="cuda")
    torch.cuda.set_rng_state_all(states)
    assert torch.equal(first, torch.rand(2, device="cuda"))
    torch.cuda.manual_seed_all(5)
    assert torch.cuda.initial_seed() == 5
    assert torch.accelerator.current_accelerator().type == "cuda" and torch.accelerator.device_count() > 0
    assert torch.version.cuda == lg.cuda.version() and torch.version.cuda.count(".") == 1


# -- seeds, files, printing ----------------------------------------------------------------------
def test_a_part_of_a_program_draws_from_its_own_numbers():
    torch.manual_seed(3)
    with torch.random.fork_rng():
        inside = torch.rand(3)
    with torch.random.fork_rng(enabled=False):
        outside = torch.rand(3)
    assert torch.equal(inside, outside) and not torch.equal(outside, torch.rand(3))
    state = torch.get_rng_state()
    first = torch.rand(2)
    torch.set_rng_state(state)
    assert torch.equal(first, torch.rand(2))
    generator = torch.Generator()
    assert generator.seed() == generator.initial_seed()
    a = torch.rand(2, generator=generator)
    assert torch.equal(a, torch.rand(2, generator=generator.manual_seed(generator.initial_seed())))


def test_save_and_load_take_torch_s_arguments():
    file = io.BytesIO()
    torch.save({"w": torch.ones(2), "dtype": torch.float16}, file, pickle_protocol=4)
    file.seek(0)
    kept = torch.load(file, map_location=lambda storage, location: storage, weights_only=True, mmap=False)
    assert kept["w"].tolist() == [1.0, 1.0] and kept["dtype"] is torch.float16
    file, state = (
        io.BytesIO(),
        {"best": np.float64(0.5), "step": np.int64(3), "ok": np.bool_(True), "nan": np.float32("nan")},
    )
    torch.save({**state, "size": torch.ones(2, 3).size(), "shape": torch.Size([4])}, file)
    file.seek(0)
    kept = torch.load(file)
    assert math.isnan(kept.pop("nan"))
    assert kept == {"best": 0.5, "step": 3, "ok": True, "size": (2, 3), "shape": (4,)}
    assert [type(value) for value in kept.values()] == [float, int, bool, tuple, tuple]
    with pytest.raises(TypeError, match="Linear"):
        torch.save(torch.nn.Linear(1, 1), io.BytesIO())


SHOWN = [
    (dict(precision=2), [1 / 3, 0.5], "tensor([0.33, 0.50])"),
    (dict(precision=2, sci_mode=True), [1 / 3, 1.0], "tensor([3.33e-01, 1.00e+00])"),
    (dict(precision=2, sci_mode=False), [0.25, 1e-6, 1000.0], "tensor([   0.25,    0.00, 1000.00])"),
    (dict(threshold=3, edgeitems=1), [1.0, 2.0, 3.0, 4.0], "tensor([1., ..., 4.])"),
    (dict(linewidth=20), [1.0, 2.0, 3.0, 4.0], "tensor([1., 2., 3.,\n        4.])"),
    (dict(profile="full"), [1.0] * 2000, None),
]


@pytest.mark.parametrize(("options", "values", "text"), SHOWN)
def test_what_was_set_for_printing_holds_for_tensors_alone(options, values, text):
    before = str(np.array(values))
    torch.set_printoptions(**options)
    shown = repr(torch.tensor(values))
    assert shown == text if text is not None else shown.count("1.") == 2000
    assert str(np.array(values)) == before
    with pytest.raises(ValueError, match="expected one of default, short, full"):
        torch.set_printoptions(profile="long")
    with pytest.raises(ValueError, match="expected a number of at least 0"):
        torch.set_printoptions(precision=-1)


@pytest.mark.parametrize("where", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda), "strict"])
def test_what_was_set_for_printing_holds_on_every_device(where):
    torch.set_printoptions(precision=1)
    assert "[0.2, 0.5]" in repr(torch.tensor([0.25, 0.5], device=where))
    assert "[0.2, 0.5]" in repr(torch.tensor([0.25, 0.5]).bfloat16())


# -- testing -------------------------------------------------------------------------------------
CLOSE = [
    "[1., 2., 3.], [1., 2.0000001, 3.]", "[1., 2.], [1., 2.5]", "[[1., 2.], [3., 4.]], [[1., 2.], [7., 0.]]",
    "[1, 2], [1, 3]", "1., 2.", "1, 2", "[0.], [1e-6]", "[0.5], [0.]", "[inf], [1.]", "[inf], [inf]", "[nan], [nan]",
    "[True, False], [True, True]", "[1 + 1j], [1 + 2j]", "[], []", "[1., 2.], [1., 2., 3.]",
]  # fmt: skip


def verdict(library, code):
    scope = {"torch": library, "np": np, "close": library.testing.assert_close, "nan": np.nan, "inf": np.inf}
    try:
        exec(code, scope)
    except (AssertionError, TypeError, ValueError) as error:
        lines = str(error).split("\n")
        return type(error).__name__, [line.split(" difference: ")[0].split(" (up to")[0] for line in lines]
    return "passes"


CASES = [
    *(f"close({pair})" for pair in ("1.0, 1.1", "1, 2", "1, 1.0", "nan, nan", "nan, nan, equal_nan=True")),
    *(f"a, b = {pair}; close(torch.tensor(a), torch.tensor(b))" for pair in CLOSE),
    *(f"a, b = {pair}; close(np.array(a), np.array(b))" for pair in CLOSE[:4]),
    "close(torch.ones(2), torch.ones(2).double())",
    "close(torch.ones(2), torch.ones(2).double(), check_dtype=False)",
    "close([torch.ones(2), torch.zeros(1)], [torch.ones(2), torch.ones(1)])",
    "close(dict(a=torch.ones(2)), dict(b=torch.ones(2)))",
    "close(dict(a=[torch.ones(2)]), dict(a=[torch.zeros(2)]))",
    "close([1, 2], [1])",
    "close(None, None)",
    "close(torch.ones(2), torch.zeros(2), msg='mine')",
    "close(torch.ones(2), torch.zeros(2), msg=lambda text: 'X' + text)",
    "close(torch.ones(2), 1.01 * torch.ones(2), rtol=0.1, atol=0)",
    "close(torch.ones(2), 1.01 * torch.ones(2), rtol=0, atol=0)",
    "close(torch.ones(2, 2).t(), torch.ones(2, 2), check_stride=True)",
    "close(torch.ones(1).half(), 1.001 * torch.ones(1).half())",
    "close(torch.ones(1).half(), 1.01 * torch.ones(1).half())",
    "close(torch.tensor([255], dtype=torch.uint8), torch.tensor([0], dtype=torch.uint8))",
]


@pytest.mark.parametrize("code", CASES)
def test_assert_close_fails_where_torch_s_does_with_its_words(code):
    passes = {
        "2.0000001",
        "1e-6",
        "inf], [inf",
        "[], []",
        "equal_nan",
        "check_dtype=False",
        "None",
        "rtol=0.1",
        "1.001 *",
    }
    expected = any(part in code for part in passes)
    assert (verdict(torch, code) == "passes") == expected
    for library in LIBRARIES[1:]:
        assert verdict(torch, code) == verdict(library, code)


def test_assert_close_refuses_what_it_can_t_compare():
    for a, b in ((torch.ones(2), np.ones(2)), (torch.tensor(1.0), 1.0), ("a", "a"), (object(), 1)):
        with pytest.raises(TypeError, match="expected two tensors, two arrays or two numbers"):
            torch.testing.assert_close(a, b)
    with pytest.raises(ValueError, match="expected both or none"):
        torch.testing.assert_close(torch.ones(1), torch.ones(1), rtol=1e-3)


def test_made_tensors():
    for dtype in (torch.float16, torch.float64, torch.int16, torch.uint8, torch.bool, torch.complex64):
        x = torch.testing.make_tensor(40, 3, dtype=dtype, exclude_zero=True)
        assert x.dtype == dtype and tuple(x.shape) == (40, 3) and bool((x != 0).all())
    y = torch.testing.make_tensor((4, 6), dtype=torch.float32, low=2, high=3, requires_grad=True, noncontiguous=True)
    assert y.requires_grad and not y.is_contiguous() and 2 <= float(y.min()) <= float(y.max()) < 3


# -- several devices -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "devices", [["cpu"], ["cpu", "cpu"], pytest.param(["cuda:0", "cuda:0"], marks=pytest.mark.cuda)]
)
def test_a_batch_that_is_cut_has_the_gradients_of_a_whole_one(devices):
    def made():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).to(devices[0])

    x = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 3)).astype("float32"))
    whole, cut = made(), torch.nn.DataParallel(made(), device_ids=devices)
    for model in (whole, cut):
        model(x.to(devices[0])).pow(2).sum().backward()
    for p, q in zip(whole.parameters(), cut.parameters()):
        assert torch.allclose(p.grad, q.grad, atol=1e-6) and q.grad.device == p.device
    outputs = torch.nn.parallel.data_parallel(lambda_module(), (x.to(devices[0]),), devices)
    assert (
        outputs["sum"].shape == (min(len(devices), 2),) and outputs["rows"].shape == (5, 3) and outputs["name"] == "n"
    )


def lambda_module():
    class Tree(torch.nn.Module):
        def forward(self, x):
            return {"sum": x.sum(), "rows": x, "name": "n"}

    return Tree()


def test_a_cut_batch_updates_statistics_and_refuses_what_does_not_fit():
    norm = torch.nn.BatchNorm1d(2)
    torch.nn.DataParallel(norm, device_ids=["cpu", "cpu"])(torch.arange(8.0).view(4, 2))
    assert (
        norm.running_mean.tolist() == pytest.approx([0.1, 0.2]) and norm.num_batches_tracked == 1
    )  # of the first part
    with pytest.raises(RuntimeError, match=r"lengths \[1, 4\] along axis 0, expected one"):
        torch.nn.parallel.data_parallel(
            torch.nn.Bilinear(2, 2, 1), (torch.ones(4, 2), torch.ones(1, 2)), ["cpu", "cpu"]
        )


# -- processes -----------------------------------------------------------------------------------
def report(rank, path):
    (path / f"{rank}.txt").write_text(str(torch.ones(rank + 1).sum().item()))


def fail(rank):
    raise SystemExit(3)


def test_spawned_processes(tmp_path):
    torch.multiprocessing.spawn(report, args=(tmp_path,), nprocs=2, start_method="fork")
    assert (tmp_path / "1.txt").read_text() == "2.0"
    with pytest.raises(RuntimeError, match="exit code 3"):
        torch.multiprocessing.spawn(fail, start_method="fork")
    assert torch.multiprocessing.cpu_count() > 0


def test_a_group_of_one(monkeypatch):
    dist = torch.distributed
    with pytest.raises(ValueError, match="not connected yet"):
        dist.get_rank()
    with pytest.raises(RuntimeError, match="world_size=4, but this is process 0 of 1"):
        dist.init_process_group("nccl", world_size=4, rank=0)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="has started 2 processes"):
        dist.init_process_group("nccl")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group(backend="nccl")
    try:
        with pytest.raises(ValueError, match="already"):
            dist.init_process_group(backend="nccl")
        assert (dist.is_initialized(), dist.get_rank(), dist.get_world_size()) == (True, 0, 1)
        assert dist.get_backend() == "nccl"
        x, parts = torch.arange(3.0), [torch.zeros(3)]
        dist.barrier(), dist.all_reduce(x, op=dist.ReduceOp.SUM), dist.broadcast(x, 0), dist.reduce(x, 0)
        dist.all_gather(parts, x)
        assert parts[0].tolist() == x.tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(ValueError, match="given 2 tensors"):
            dist.all_gather([x, x], x)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), device_ids=[0])
        with model.no_sync():
            assert not model.require_backward_grad_sync
            model(torch.ones(3, 2)).sum().backward()
        assert model.require_backward_grad_sync and model.module.bias.grad.tolist() == [3.0]
        assert list(model.state_dict()) == ["module.weight", "module.bias"]
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
def test_processes_share_a_dataset(library):
    sampler = library.utils.data.distributed.DistributedSampler
    shares = {
        (5, 2, False): [[0, 2, 4], [1, 3, 0]],
        (5, 2, True): [[0, 2], [1, 3]],
        (2, 5, False): [[0], [1], [0], [1], [0]],
        (4, 1, False): [[0, 1, 2, 3]],
    }
    for (count, replicas, drop_last), expected in shares.items():
        parts = [sampler(range(count), replicas, r, shuffle=False, drop_last=drop_last) for r in range(replicas)]
        assert [list(part) for part in parts] == expected and len(parts[0]) == len(expected[0])
    shuffled = [sampler(range(12), 3, r, seed=4) for r in range(3)]
    orders = []
    for epoch in (0, 1, 0):
        for part in shuffled:
            part.set_epoch(epoch)
        orders.append([list(part) for part in shuffled])
        assert sorted(i for part in orders[-1] for i in part) == list(range(12))
    assert orders[0] == orders[2] != orders[1]
    with pytest.raises(ValueError, match="rank"):
        sampler(range(4), 2, 2)
    batches = library.utils.data.DataLoader(range(6), batch_size=2, sampler=sampler(range(6), 2, 1, shuffle=False))
    assert [batch.tolist() for batch in batches] == [[1, 3], [5]]
