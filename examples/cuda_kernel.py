"""A CUDA kernel of one's own
==========================

CUDA kernels of one's own inside an autograd Function: a fused activation, written once for each direction.

``forward`` is a ``cupy.RawKernel``, ``backward`` a ``cupy.ElementwiseKernel``; a tensor's ``.array`` is the CuPy
array, and `lucidgrad.asarray` makes a tensor of one, both without a copy. The result and its gradient are compared
with the same function made of lucidgrad's operations, and a network is trained with it. Without a GPU it runs on the
emulated device.
"""

import functools
import importlib.util
import os
import sys

from running import arguments, finish, picture

import lucidgrad as lg
from lucidgrad import nn

FORWARD = r"""
extern "C" __global__ void fade(const float* x, const float* scale, float* y, int n, int columns) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        float s = scale[i % columns];
        y[i] = x[i] / (1.0f + expf(-s * x[i]));  // x times the logistic function of s x
    }
}
"""


@functools.cache
def kernels():
    """Return the kernel of the value and that of both derivatives; CuPy compiles them at their first launch."""
    import cupy

    backward = cupy.ElementwiseKernel(
        "float32 g, float32 x, float32 s",
        "float32 gx, float32 gs",
        """
        float p = 1.0f / (1.0f + expf(-s * x));
        gx = g * (p + s * x * p * (1.0f - p));
        gs = g * x * x * p * (1.0f - p);
        """,
        "fade_backward",
    )
    return cupy.RawKernel(FORWARD, "fade"), backward


class Fade(lg.autograd.Function):
    """``x * expit(scale * x)`` for a matrix and one scale per column."""

    @staticmethod
    def forward(ctx, x, scale):
        import cupy

        ctx.save_for_backward(x, scale)
        source = cupy.ascontiguousarray(x.array)
        y = cupy.empty_like(source)
        threads = 128
        blocks = (source.size + threads - 1) // threads
        kernels()[0]((blocks,), (threads,), (source, scale.array, y, source.size, source.shape[-1]))
        return lg.asarray(y)

    @staticmethod
    @lg.autograd.function.once_differentiable  # the kernel leaves no history: a second derivative would be wrong
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        gx, gs = kernels()[1](g.array, x.array, scale.array)
        return lg.asarray(gx), lg.asarray(gs.sum(axis=0))


def plain(x, scale):
    """The same of lucidgrad's operations."""
    return x * lg.expit(scale * x)


class FadeLayer(nn.Module):
    """The function with a learned scale."""

    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(lg.ones(columns))

    def forward(self, x):
        return Fade.apply(x, self.scale)


def compare(device):
    """Return the largest difference of value and gradients between the kernels and the operations."""
    x, s, g = (lg.randn(*shape, device=device) for shape in ((50, 16), (16,), (50, 16)))
    differences = []
    outcomes = []
    for function in (Fade.apply, plain):
        a, b = x.clone().requires_grad_(), s.clone().requires_grad_()
        y = function(a, b)
        outcomes.append((y, *lg.autograd.grad(y, (a, b), g)))
    for one, other in zip(*outcomes):
        differences.append((one - other).abs().max().item())
    return max(differences)


def main():
    """Compare, train; return the exit status."""
    if importlib.util.find_spec("cupy") is None:
        print(
            "this example compiles CUDA kernels with CuPy, which is not installed: pip install 'cupy-cuda12x==14.2.*' "
            "(from a clone: pip install '.[cuda12]'); with g++ it then runs without a GPU, too",
            file=sys.stderr,
        )
        return 2
    options = arguments(__doc__, steps=300)
    if options.device == "cpu":
        print("no GPU: starting again on the emulated CUDA device", flush=True)
        os.execv(sys.executable, [sys.executable, *sys.argv, "--emulate"])  # it must be there before CuPy is imported
    difference = compare(options.device)

    x = lg.linspace(-2, 2, 128, device=options.device).reshape(-1, 1)
    y = lg.sin(3 * x)
    network = nn.Sequential(nn.Linear(1, 16), FadeLayer(16), nn.Linear(16, 16), FadeLayer(16), nn.Linear(16, 1))
    network = network.to(options.device)
    optimizer = lg.optim.Adam(network.parameters(), lr=0.02)
    losses = []
    for _ in range(3 if options.quick else options.steps):
        loss = nn.functional.mse_loss(network(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with picture(options.out / "cuda_kernel.png", columns=2) as axes:
        if axes is not None:
            axes[0].semilogy(losses)
            axes[0].set(title="training", xlabel="step", ylabel="mean square error")
            with lg.no_grad():
                fitted = network(x)
            for values, style in ((y, "k-"), (fitted, "--")):
                axes[1].plot(x.cpu().reshape(-1).tolist(), values.cpu().reshape(-1).tolist(), style)
            axes[1].set(title="sin(3x), and the network")
    if difference >= 1e-4:
        print("the kernels and the operations disagree", file=sys.stderr)
        return 1
    return finish(options, ("largest difference from plain operations", difference, 1e-4), ("loss", losses[-1], 0.01))


if __name__ == "__main__":
    sys.exit(main())
