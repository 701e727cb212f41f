"""PyTorch's back ends and their switches. What they choose has no counterpart here: they keep their values."""

import contextlib
from collections.abc import Iterator
from typing import Any

from lucidgrad.determinism import get_float32_matmul_precision, set_float32_matmul_precision
from lucidgrad.torch.flags import Switches

_HERE = __name__


@contextlib.contextmanager
def _flags(**values: Any) -> Iterator[None]:
    """A part of a program with other switches."""
    yield


def _no() -> bool:
    return False


class _Products(Switches):
    """Switches of which one has a meaning: whether products of float32 may use TF32."""

    @property
    def allow_tf32(self) -> bool:
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        set_float32_matmul_precision("high" if value else "highest")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)


cpu = Switches.known(f"{_HERE}.cpu", "The processor.", get_cpu_capability=lambda: "DEFAULT")

cudnn = Switches.known(
    f"{_HERE}.cudnn",
    "cuDNN, which is not used.",
    enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10, fp32_precision="none",
    is_available=_no, version=lambda: None, flags=_flags,
)  # fmt: skip

cuda = Switches.known(
    f"{_HERE}.cuda",
    "CUDA: products and attention.",
    is_built=lambda: True,
    flash_sdp_enabled=_no, mem_efficient_sdp_enabled=_no, cudnn_sdp_enabled=_no, math_sdp_enabled=lambda: True,
    enable_flash_sdp=lambda enabled: None, enable_mem_efficient_sdp=lambda enabled: None,
    enable_cudnn_sdp=lambda enabled: None, enable_math_sdp=lambda enabled: None, sdp_kernel=_flags,
)  # fmt: skip
matmul = _Products.known(
    f"{_HERE}.cuda.matmul",
    "Products of matrices.",
    allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
    fp32_precision="none",
)  # fmt: skip

mps = Switches.known(f"{_HERE}.mps", "Apple's devices, which there are none of.", is_available=_no, is_built=_no)
mkl = Switches.known(f"{_HERE}.mkl", "Intel's library.", is_available=_no)
mkldnn = Switches.known(f"{_HERE}.mkldnn", "Intel's library.", enabled=True, is_available=_no, flags=_flags)
openmp = Switches.known(f"{_HERE}.openmp", "Threads.", is_available=_no)
quantized = Switches.known(f"{_HERE}.quantized", "Small integers.", engine="none", supported_engines=["none"])

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "quantized"]
