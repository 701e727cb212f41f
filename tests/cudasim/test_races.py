"""Races between threads of a kernel are found, those that are planted, and no others."""

import json
import sys

import pytest

from .processes import ROOT, python, run

#: Name of a kernel -> its body, and what is said of it: None for those without a race. ``y`` is a block's own, ``all``
#: is not.
KERNELS = {
    "shared_without_barrier": ("parts[t] = x[t]; y[t] = parts[63 - t];", "in shared memory"),
    "shared_with_barrier": ("parts[t] = x[t]; __syncthreads(); y[t] = parts[63 - t];", None),
    "one_barrier_of_two": (
        "for (int k = 0; k < 2; ++k) { parts[t] = x[t] + k; __syncthreads(); y[t] += parts[63 - t]; }", "writes it",
    ),
    "both_barriers": (
        "for (int k = 0; k < 2; ++k) { parts[t] = x[t] + k; __syncthreads(); y[t] += parts[63 - t]; __syncthreads(); }",
        None,
    ),
    "dynamic_shared": ("own[t] = x[t]; y[t] = own[t ^ 32];", "dynamic shared"),
    "lanes_without_meeting": ("parts[t] = x[t]; y[t] = parts[t ^ 1];", "no barrier"),
    "lanes_that_shuffle": ("parts[t] = __shfl_xor_sync(~0u, x[t], 1); y[t] = parts[t ^ 1];", "no barrier"),
    "lanes_that_meet": ("parts[t] = x[t]; __syncwarp(); y[t] = parts[t ^ 1];", None),
    "warps_don_t_meet": ("parts[t] = x[t]; __syncwarp(); y[t] = parts[t ^ 32];", "no barrier"),
    "two_blocks": ("all[t] += x[t];", "nothing orders the blocks"),
    "two_blocks_apart": ("y[t] += x[t];", None),
    "atomics": ("atomicAdd(all + t % 3, x[t]);", None),
    "atomics_and_a_plain_read": ("atomicAdd(all, 1.0f); y[65 + t] = all[0];", "changes (atomic)"),
    "threads_of_a_block": ("if (blockIdx.x == 0) y[t / 2] = x[t];", "both of block 0"),
    "neighbours_in_a_word": ("((char *)all)[blockIdx.x + 2 * t] = (char)x[t];", None),
    "last_block": (
        "if (t == 0) { all[2 + blockIdx.x] = x[0]; __threadfence(); last = atomicAdd((int *)all, 1) == 1; }"
        "__syncthreads(); if (last && t == 0) all[1] = all[2] + all[3];", None,
    ),
    "last_block_without_fence": (
        "if (t == 0) { all[2 + blockIdx.x] = x[0]; last = atomicAdd((int *)all, 1) == 1; } __syncthreads();"
        "if (last && t == 0) all[1] = all[2] + all[3];", "nothing orders the blocks",
    ),
}  # fmt: skip

PROGRAM = """
import json, sys
import cupy
code = "".join(
    f'extern "C" __global__ void {name}(const float *x, float *all) {{ float *y = all + 64 * blockIdx.x; '
    '__shared__ float parts[64]; __shared__ bool last; extern __shared__ float own[]; const int t = threadIdx.x; '
    f'(void)parts; (void)own; (void)last; (void)y; {body} }}'
    for name, (body, _) in KERNELS.items()
)
module, found = cupy.RawModule(code=code), {}
x = cupy.arange(64, dtype="float32")
for name in KERNELS:
    cudasim.reset()
    module.get_function(name)((2,), (64,), (x, cupy.zeros(256, "float32")), shared_mem=256)
    cupy.cuda.Device().synchronize()
    found[name] = cudasim.races()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    done = python(f"KERNELS = {KERNELS!r}\n{PROGRAM}", races=True)
    assert done.returncode == 0, done.stderr
    assert "cudasim: race in kernel two_blocks" in done.stderr  # said at once, too
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", KERNELS)
def test_planted_races_are_found_and_no_others(name, found):
    said = KERNELS[name][1]
    if said is None:
        assert found[name] == []
    else:
        assert any(said in text for text in found[name]), found[name]
        assert all(text.startswith(f"kernel {name}: byte ") for text in found[name])


def test_the_kernels_of_lucidgrad_have_none():
    """Every hand-written kernel, in all shapes that it is tried with; and a step of training."""
    done = python(
        f"""
        import sys
        sys.path.insert(0, {str(ROOT / "tests")!r})
        import numpy as np
        import lucidgrad as lg
        lg.zeros(1, device="cuda")
        from kernels import cases, comparison, lists, products
        from lucidgrad.determinism import use_deterministic_algorithms
        for name in cases.CASES:
            for case in cases.CASES[name]:
                if not case.large:
                    comparison.compare(name, case, "float32")
        with products.always():
            for name in ("attention", "attention_pull"):
                for case in cases.narrow(name == "attention_pull"):
                    comparison.compare(name, case, "float32")
        use_deterministic_algorithms(True)
        for name in ("take_put", "put_along_axis_add", "attention_pull"):
            for case in cases.CASES[name]:
                if not case.large:
                    comparison.compare(name, case, "float32")
        use_deterministic_algorithms(False)
        for name in ("norm_parts", "clip_all", "unscale_all", "move_all"):
            lists.check(name)
        layer = lg.nn.Linear(5, 3).to("cuda")
        optimizer = lg.optim.Adam(layer.parameters())
        for _ in range(2):
            (layer(lg.ones((4, 5), device="cuda")) ** 2).mean().backward()
            optimizer.step()
        lg.cuda.synchronize()
        assert cudasim.races() == [], cudasim.races()
        print("clean")
        """,
        races=True,
    )
    assert done.stdout.strip() == "clean", done.stderr[-3000:]


def test_a_test_with_a_race_fails(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import cupy\n"
        "KERNEL = 'extern \"C\" __global__ void all_at_once(float *y) { y[0] = (float)threadIdx.x; }'\n"
        "def test_race():\n"
        "    cupy.RawKernel(KERNEL, 'all_at_once')((1,), (32,), (cupy.zeros(1, 'float32'),))\n"
        "def test_none():\n"
        "    assert float(cupy.ones(3).sum()) == 3\n"
    )
    done = run(sys.executable, "-m", "pytest", "-q", "--cudasim", "--cudasim-races", "-p", "no:cacheprovider",
               str(tmp_path / "test_it.py"), cwd=tmp_path)  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "threads of a kernel race" in done.stdout
