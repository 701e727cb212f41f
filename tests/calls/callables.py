"""Every public callable with calls of it that work: found by trying usual arguments, or written down here."""

import contextlib
import enum
import functools
import importlib
import inspect
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import lucidgrad as lg

MODULES = """lucidgrad lucidgrad.linalg lucidgrad.fft lucidgrad.signal lucidgrad.signal.windows lucidgrad.special
    lucidgrad.random lucidgrad.distributions lucidgrad.nn lucidgrad.nn.functional lucidgrad.nn.init lucidgrad.nn.utils
    lucidgrad.nn.utils.rnn lucidgrad.optim lucidgrad.optim.lr_scheduler lucidgrad.optim.swa_utils lucidgrad.autograd
    lucidgrad.autograd.functional lucidgrad.autograd.graph lucidgrad.autograd.forward_ad lucidgrad.func
    lucidgrad.utils.data lucidgrad.utils.checkpoint lucidgrad.utils lucidgrad.files lucidgrad.amp
    lucidgrad.cuda""".split()


# -- arguments -----------------------------------------------------------------------------------
def X(*shape: int, **options: Any) -> lg.Tensor:
    """A tensor of different positive numbers."""
    values = (np.arange(1, np.prod(shape, dtype=int) + 1) * 0.37 % 0.9 + 0.05).reshape(shape)
    return lg.tensor(values, dtype=lg.float32, **options)


def I(*shape: int) -> lg.Tensor:  # noqa: E743
    """A tensor of the indices 0, 1, 0, 1, ..."""
    return lg.tensor((np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape))


def S(n: int) -> lg.Tensor:
    """A symmetric positive definite matrix."""
    return X(n, n) / 8 + X(n, n).mT / 8 + 2 * lg.eye(n)


def B(*shape: int) -> lg.Tensor:
    """A tensor of booleans."""
    return I(*shape) > 0


def P(*shape: int) -> lg.nn.Parameter:
    """A parameter."""
    return lg.nn.Parameter(X(*shape))


def R(*shape: int) -> lg.Tensor:
    """A tensor that requires a gradient."""
    return X(*shape, requires_grad=True)


def C(*shape: int) -> lg.Tensor:
    """A complex tensor."""
    return X(*shape) + 1j


def rows() -> lg.Tensor:
    """A row-sparse gradient, with each row once."""
    w = R(4, 2)
    lg.nn.functional.embedding(lg.tensor([1, 3]), w, sparse=True).sum().backward()
    g: Any = w.grad
    return g.coalesce()


def sgd(**options: Any) -> Any:
    """An optimiser."""
    return lg.optim.SGD([R(2)], lr=0.1, momentum=0.9, **options)


def saved() -> io.BytesIO:
    """A file with a tensor."""
    file = io.BytesIO()
    lg.save(X(2), file)
    file.seek(0)
    return file


def exported() -> io.BytesIO:
    """A file with a program."""
    file = io.BytesIO()
    lg.export(square, (X(2),), file)
    file.seek(0)
    return file


def checkpoint() -> io.BytesIO:
    """A file with a checkpoint."""
    file = io.BytesIO()
    lg.utils.save_checkpoint(file, step=3)
    file.seek(0)
    return file


class _Twice(lg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g


def square(x: Any) -> Any:
    """A function to differentiate."""
    return (x * x).sum()


def few(result: Callable[..., Any]) -> Callable[..., Any]:
    """The step of a loop that gives up after a hundred: a number of steps may be wrong and yet a number."""
    left = iter(range(100))

    def step(*args: Any) -> Any:
        if next(left, None) is None:
            raise RuntimeError("enough")
        return result(*args)

    return step


def twice(*args: Any) -> Any:
    """A step of a loop, with a counter or without."""
    return 2 * args[-1]


def pair(c: Any, x: Any) -> Any:
    """A step of a scan."""
    return c, x


def below(x: Any) -> Any:
    """A condition of a loop."""
    return x.sum() < 9


NAMES: dict[str, Any] = {
    "X": X, "I": I, "S": S, "B": B, "P": P, "R": R, "C": C, "sgd": sgd, "rows": rows, "square": square, "lg": lg,
    "nn": lg.nn, "D": lg.distributions, "np": np, "Twice": _Twice, "W": R(3), "O": sgd(), "BytesIO": io.BytesIO,
    "saved": saved, "exported": exported, "checkpoint": checkpoint, "few": few, "twice": twice, "pair": pair,
    "below": below,
}  # fmt: skip

#: What is tried, in this order: arrays, then arrays with numbers, then what some families want.
USUAL = """X(2,3) | X(2,3),X(2,3) | I(2,3) | I(2,3),I(2,3) | S(3) | S(3),S(3) | S(3),X(3) | X(3),X(3) | X(2,3),0 |
    X(2,3),1 | X(2,3),X(2,3),X(2,3) | X(2,3,4) | X(2,3,4),2 | X(2,3,8),2 | X(2,3,4,4) | X(2,3,4,4),2 | X(2,3,4,4,4) |
    X(2,3,4,4,4),2 | X(2,3),0,I(2,3) | X(2,3),0,I(2),1.0 | X(2,3),0,I(2),X(2,3) | X(2,3),0,I(2,3),X(2,3) |
    X(2,3),B(2,3) | X(2,3),B(2,3),1.0 | B(2,3),X(2,3),X(2,3) | B(2,3) | X(2,3),(1,0) | X(2,3),(3,2) | X(2,3),I(2) |
    X(2,3),0,1 | X(2,3),0,0,1 | X(2,3),0.5 | X(2,3),lg.float64 | X(2,3),"float64" | [X(2,3),X(2,3)] | C(3) | C(2,3) |
    R(2,3) | square | square,X(3) | square,R(3) | square,(X(3),) | square,(X(3),),(X(3),) | 3 | (2,3) | 0,1,3 |
    0,3,(2,3) | [1.0,2.0] | np.ones(3) | "cpu" | lg.float32 | lg.float32,lg.float64 | X(4,2,4),X(3,2,3) |
    X(2,3,4,4),X(5,3,2,2) | X(2,3,4,4),X(3,5,2,2) | X(2,3,4),X(5,3,2) | X(2,3,4),X(3,5,2) | X(2,3,4,4,4),X(5,3,2,2,2) |
    X(2,3,4,4,4),X(3,5,2,2,2) | X(2,3),I(2,3),0 | X(2,3),1,2 | X(2,3),X(2,3),I(2) | X(2,3),3 | I(3),3 |
    P(2,3) | P(2,3),0.5 | [R(2)] | [R(2)],0.1 | R(2),0.1 | sgd() | sgd(),2 | sgd(),0.1,10 | sgd(),(lambda n: 1.0) |
    3,4 | 3,4,2 | 2 | 2,4 | 0.5 | 3,4,5 | nn.Linear(2,3) | nn.Linear(2,3),"weight" | [1,2,3] | range(4) | True | 7 |
    X(), | X(),X() | I() | [X(2)],[X(2)] | X(2,3),R(2,3) | R() """.split("|")

_ON_CUDA = """cuda.Stream cuda.current_stream cuda.default_stream cuda.device cuda.get_device_capability
    cuda.get_device_name cuda.get_device_properties cuda.memory_stats cuda.get_rng_state
    cuda.max_memory_allocated cuda.mem_get_info cuda.memory_allocated
    cuda.memory_reserved cuda.reset_peak_memory_stats cuda.set_device cuda.synchronize""".split()

#: Calls of functions, and of the methods that write the same into a tensor.
_TWICE = {
    variant: [source]
    for name, source in {
        "addmm": "X(2,3),X(2,4),X(4,3)",
        "addbmm": "X(2,3),X(2,2,4),X(2,4,3)",
        "addmv": "X(2),X(2,3),X(3)",
        "addr": "X(2,3),X(2),X(3)",
        "baddbmm": "X(2,2,3),X(2,2,4),X(2,4,3)",
        "index_reduce": "X(2,3),0,I(2),X(2,3),'prod'",
        "put": "X(2,3),I(2),X(2)",
        "renorm": "X(2,3),2,0,1.0",
    }.items()
    for variant in (name, f"Tensor.{name}_")
}

#: Calls of what the usual arguments don't fit.
WRITTEN: dict[str, list[str]] = {
    **_TWICE,
    "linalg.householder_product": ["X(3,2),X(2)"],
    "linalg.ldl_solve": ["*lg.linalg.ldl_factor(S(3)),X(3,2)"],
    "linalg.lu_solve": ["*lg.linalg.lu_factor(S(3)),X(3,2)"],
    "linalg.multi_dot": ["[X(2,3),X(3,2)]"],
    "linalg.solve_triangular": ["S(3),X(3,2),upper=True"],
    "linalg.tensorinv": ["X(2,2,4),2"],
    "linalg.tensorsolve": ["X(2,2,4),X(2,2)"],
    "lu_solve": ["X(3,2),*lg.lu(S(3))"],
    "Tensor.lu_solve": ["X(3,2),*lg.lu(S(3))"],
    "Tensor.coalesce": ["rows()"],
    "Tensor.indices": ["rows()"],
    "Tensor.is_coalesced": ["rows()"],
    "Tensor.values": ["rows()"],
    "lu_unpack": ["*lg.lu(S(3))"],
    "ormqr": ["X(3,2),X(2),X(3,4)"],
    "Tensor.ormqr": ["X(3,2),X(2),X(3,4)"],
    "Tensor.orgqr": ["X(3,2),X(2)"],
    "stft": ["X(8),4,return_complex=True"],
    "Tensor.stft": ["X(8),4,return_complex=True"],
    "istft": ["C(3,4),4"],
    "Tensor.istft": ["C(3,4),4"],
    "signal.windows.general_cosine": ["3,a=[0.5,0.5]"],
    "bincount": ["I(4)", "I(4),X(4),minlength=3"],
    "bmm": ["X(2,2,4),X(2,4,3)"],
    "frombuffer": ["bytearray(8),dtype=lg.float32"],
    "nonzero_static": ["X(2,3),size=4"],
    "select_scatter": ["X(2,3),X(3),0,1"],
    "view_as_complex": ["X(3,2)"],
    "Tensor.astype": ["X(2,3),lg.float64"],
    "Tensor.new_full": ["X(2,3),(2,3),1.0"],
    "interp": ["X(3),X(3).cumsum(0),X(3)"],
    "scatter_reduce": ["X(2,3),0,I(2,3),X(2,3),'sum'"],
    "Tensor.scatter_reduce_": ["X(2,3),0,I(2,3),X(2,3),'sum'"],
    "set_rng_state": ["lg.get_rng_state()"],
    "unflatten": ["X(2,4),1,(2,2)"],
    "tensor": ["[1.0,2.0]", "X(2,3)"],
    "nn.GaussianNLLLoss": ["full=True"],
    "nn.ModuleDict": ["{'a':nn.Linear(2,3)}"],
    "nn.ModuleList": ["[nn.Linear(2,3)]"],
    "nn.MultiheadAttention": ["4,2"],
    "nn.ParameterDict": ["{'a':P(2)}"],
    "nn.RNNBase": ["'LSTM',2,3"],
    "nn.RNNCellBase": ["2,3,True,1"],
    "nn.Transformer": ["4,2,1,1,8"],
    "nn.TransformerDecoderLayer": ["4,2,8"],
    "nn.TransformerEncoderLayer": ["4,2,8"],
    "nn.TransformerEncoder": ["nn.TransformerEncoderLayer(4,2,8),2"],
    "nn.TransformerDecoder": ["nn.TransformerDecoderLayer(4,2,8),2"],
    "nn.TripletMarginWithDistanceLoss": ["margin=2.0"],
    "nn.Unflatten": ["1,(2,2)"],
    "nn.functional.batch_norm": ["X(2,3),X(3),X(3)"],
    "bilinear": ["X(2,3),X(2,4),X(5,3,4)"],
    "channel_shuffle": ["X(2,4,3),2"],
    "layer_norm": ["X(2,3),(3,)"],
    "rms_norm": ["X(2,3),(3,)"],
    "nn.functional.ctc_loss": ["X(4,2,3),I(2,2)+1,I(2)+3,I(2)+1"],
    "nn.functional.fold": ["X(1,12,4),(3,3),(2,2)"],
    "nn.functional.gru_cell": ["X(2,3),X(2,4),X(12,3),X(12,4)"],
    "nn.functional.lstm_cell": ["X(2,3),(X(2,4),X(2,4)),X(16,3),X(16,4)"],
    "nn.functional.rnn_relu_cell": ["X(2,3),X(2,4),X(4,3),X(4,4)"],
    "nn.functional.rnn_tanh_cell": ["X(2,3),X(2,4),X(4,3),X(4,4)"],
    "nn.functional.lp_pool1d": ["X(2,3,4),2.0,2"],
    "nn.functional.lp_pool2d": ["X(2,3,4,4),2.0,2"],
    "nn.functional.lp_pool3d": ["X(2,3,4,4,4),2.0,2"],
    "nn.functional.max_unpool1d": ["X(2,3,2),I(2,3,2),2"],
    "nn.functional.max_unpool2d": ["X(2,3,2,2),I(2,3,2,2),2"],
    "nn.functional.max_unpool3d": ["X(2,3,2,2,2),I(2,3,2,2,2),2"],
    "nn.functional.multi_head_attention_forward": [
        "X(3,2,4),X(3,2,4),X(3,2,4),4,2,X(12,4),X(12),None,None,False,0.0,X(4,4),X(4)"
    ],
    "nn.functional.cross_entropy": ["X(2,3),I(2)", "X(2,3),X(2,3)"],
    "nn.functional.nll_loss": ["X(2,3),I(2)"],
    "nn.functional.embedding": ["I(2,3),X(2,4)"],
    "nn.functional.embedding_bag": ["I(2,3),X(2,4)", "I(4),X(2,4),I(2)*2"],
    "nn.functional.interpolate": ["X(2,3,4,4),(2,2)", "X(2,3,4,4),scale_factor=2"],
    "nn.functional.upsample": ["X(2,3,4,4),(2,2)"],
    "nn.functional.upsample_bilinear": ["X(2,3,4,4),(2,2)"],
    "nn.functional.upsample_nearest": ["X(2,3,4,4),(2,2)"],
    "nn.functional.affine_grid": ["X(2,2,3),(2,1,4,4),False"],
    "nn.functional.grid_sample": ["X(2,3,4,4),X(2,2,2,2),align_corners=False"],
    "nn.functional.grouped_mm": ["X(3,2),X(2,2,3),offs=lg.tensor([1,3])", "X(2,2,3),X(2,3,2)"],
    "nn.functional.conv_tbc": ["X(4,2,3),X(2,3,2),X(2)"],
    "nn.functional.linear_cross_entropy": ["X(2,3),X(4,3),I(2)"],
    "nn.functional.native_channel_shuffle": ["X(2,4,3),2"],
    **{
        f"nn.functional.fractional_max_pool{n}d{end}": [f"X(2,3{',4' * n}),2,2"]
        for n in (2, 3)
        for end in ("", "_with_indices")
    },
    "nn.init.calculate_gain": ["'tanh'"],
    "nn.AdaptiveLogSoftmaxWithLoss": ["8,9,[2,5]"],
    "nn.Container": ["a=nn.Linear(2,3)"],
    "nn.FractionalMaxPool2d": ["2,3"],
    "nn.FractionalMaxPool3d": ["2,3"],
    "nn.factory_kwargs": ["{'dtype':'float64'}"],
    "nn.utils.fuse_conv_bn_eval": ["nn.Conv1d(2,3,1).eval(),nn.BatchNorm1d(3).eval()"],
    "nn.utils.fuse_linear_bn_eval": ["nn.Linear(2,3).eval(),nn.BatchNorm1d(3).eval()"],
    "nn.utils.fuse_conv_bn_weights": ["X(3,2,1),X(3),X(3),X(3),1e-5,X(3),X(3)"],
    "nn.utils.fuse_linear_bn_weights": ["X(3,2),X(3),X(3),X(3),1e-5,X(3),X(3)"],
    "nn.utils.remove_spectral_norm": ["nn.utils.spectral_norm(nn.Linear(2,3))"],
    "nn.utils.rnn.PackedSequence": ["X(3),lg.tensor([2,1])"],
    "nn.utils.rnn.pack_padded_sequence": ["X(3,2,4),[3,2]"],
    "nn.utils.rnn.pack_sequence": ["[X(3,2),X(2,2)]"],
    "nn.utils.rnn.pad_packed_sequence": ["nn.utils.rnn.pack_sequence([X(3,2),X(2,2)])"],
    "nn.utils.rnn.unpack_sequence": ["nn.utils.rnn.pack_sequence([X(3,2),X(2,2)])"],
    "nn.utils.rnn.unpad_sequence": ["X(3,2,4),[3,2]"],
    "nn.utils.rnn.invert_permutation": ["lg.tensor([1,2,0])"],
    "nn.utils.remove_weight_norm": ["nn.utils.weight_norm(nn.Linear(2,3))"],
    "nn.utils.skip_init": ["nn.Linear,2,3"],
    "optim.Optimizer": ["[R(2)],{'lr':0.1}"],
    "optim.swap_in_optimizer_params_and_state": ["O,{'x':R(2)},O.state_dict()"],
    "optim.lr_scheduler.ChainedScheduler": ["[lg.optim.lr_scheduler.ConstantLR(sgd())]"],
    "optim.lr_scheduler.MultiStepLR": ["sgd(),[2,4]"],
    "optim.swa_utils.update_bn": ["[X(2,3)],nn.BatchNorm1d(3)"],
    "autograd.grad": ["square(W),W", "square(W),[W],X()"],
    "autograd.backward": ["square(R(3))", "R(3)*2,X(3)"],
    "Tensor.backward": ["square(R(3))", "R(3)*2,X(3)"],
    "autograd.gradcheck": ["square,W.double()"],
    "autograd.gradgradcheck": ["square,W.double()"],
    "func.cond": ["True,square,square,X(3)"],
    "func.fori_loop": ["0,3,few(twice),X(3)"],
    "func.map": ["square,X(2,3)", "square,X(2,3),batch_size=2"],
    "func.scan": ["few(pair),X(3),X(2,3)", "few(pair),X(3),None,2"],
    "func.while_loop": ["below,few(twice),X(3)"],
    "func.functional_call": ["nn.Linear(2,3),{},X(2)"],
    "func.replace_all_batch_norm_modules_": ["nn.BatchNorm1d(2)"],
    "func.stack_module_state": ["[nn.Linear(2,3),nn.Linear(2,3)]"],
    "func.jvp": ["square,(X(3),),(X(3),)"],
    "optim.lr_scheduler.SequentialLR": [
        "O,[lg.optim.lr_scheduler.ConstantLR(O),lg.optim.lr_scheduler.ConstantLR(O)],[2]"
    ],
    "autograd.forward_ad.make_dual": ["X(3),X(3),level=0"],
    "cuda.set_rng_state": ["lg.cuda.get_rng_state()"],
    "cuda.set_stream": ["lg.cuda.current_stream()"],
    "cuda.can_device_access_peer": ["0,1"],
    "cuda.graph": ["lg.cuda.CUDAGraph()"],
    "cuda.make_graphed_callables": ["square,(X(3).cuda(),)"],
    "optim.ZeroRedundancyOptimizer": ["[R(2)],lg.optim.SGD,lr=0.1"],
    "Tensor.record_stream": ["X(2).cuda(),lg.cuda.current_stream()"],
    **{name: ["0"] for name in _ON_CUDA},
    "distributions.AffineTransform": ["X(3),X(3)", "0.0,2.0"],
    "distributions.CatTransform": ["[D.ExpTransform(),D.TanhTransform()],0,[2,1]"],
    "distributions.ComposeTransform": ["[D.ExpTransform(),D.TanhTransform()]"],
    "distributions.CumulativeDistributionTransform": ["D.Normal(0.0,1.0)"],
    "distributions.Distribution": ["(2,),(3,)"],
    "distributions.ExponentialFamily": ["(2,),(3,)"],
    "distributions.Independent": ["D.Normal(X(3),X(3)),1"],
    "distributions.IndependentTransform": ["D.ExpTransform(),1"],
    "distributions.LowRankMultivariateNormal": ["X(3),X(3,2),X(3)"],
    "distributions.MixtureSameFamily": ["D.Categorical(X(3)),D.Normal(X(3),X(3))"],
    "distributions.Multinomial": ["3,X(3)"],
    "distributions.MultivariateNormal": ["X(3),S(3)"],
    "distributions.ReshapeTransform": ["(4,),(2,2)"],
    "distributions.StackTransform": ["[D.ExpTransform(),D.TanhTransform()],0"],
    "distributions.TransformedDistribution": ["D.Normal(X(3),X(3)),[D.ExpTransform()]"],
    "distributions.Wishart": ["4.5,S(3)"],
    "distributions.biject_to": ["D.constraints.positive"],
    "distributions.kl_divergence": ["D.Normal(X(3),X(3)),D.Normal(0.0,1.0)"],
    "distributions.register_kl": ["D.Normal,D.Normal"],
    "distributions.transform_to": ["D.constraints.positive"],
    "utils.data.BatchSampler": ["range(4),2,False"],
    "utils.checkpoint.checkpoint_sequential": ["[nn.Linear(2,2),nn.Linear(2,2)],2,R(2)"],
    "utils.checkpoint.checkpoint": ["square,R(3)"],
    "save": ["X(2),'file'", "X(2),BytesIO()"],
    "load": ["saved()"],
    "export": ["square,(X(2),),BytesIO()"],
    "import_program": ["exported()"],
    "files.metadata": ["saved()"],
    "utils.save_checkpoint": ["BytesIO(),step=3"],
    "utils.load_checkpoint": ["checkpoint()"],
}

#: Calls of modules' ``forward``, by class: how one is made, and what it takes.
FORWARD: dict[str, str] = {
    "AdaptiveLogSoftmaxWithLoss": "8,9,[2,5] | X(2,8),I(2)", "FractionalMaxPool2d": "2,2 | X(2,3,4,4)",
    "LazyLinear": "2 | X(2,3)", "LazyConv2d": "2,2 | X(2,3,4,4)", "LazyBatchNorm1d": " | X(2,3)",
    "LinearCrossEntropyLoss": "3,4 | X(2,3),I(2)",
    "AdaptiveAvgPool2d": "2 | X(2,3,4,4)", "AvgPool2d": "2 | X(2,3,4,4)", "BatchNorm1d": "3 | X(2,3)",
    "BatchNorm2d": "3 | X(2,3,4,4)", "BCELoss": " | X(2,3),X(2,3)", "BCEWithLogitsLoss": " | X(2,3),X(2,3)",
    "Bilinear": "3,4,2 | X(2,3),X(2,4)", "Conv1d": "3,4,2 | X(2,3,4)", "Conv2d": "3,4,2 | X(2,3,4,4)",
    "Conv3d": "3,4,2 | X(2,3,4,4,4)", "ConvTranspose2d": "3,4,2 | X(2,3,4,4)", "CosineSimilarity": " | X(2,3),X(2,3)",
    "CrossEntropyLoss": " | X(2,3),I(2)", "CTCLoss": " | X(4,2,3),I(2,2)+1,I(2)+3,I(2)+1", "Dropout": " | X(2,3)",
    "Dropout2d": " | X(2,3,4,4)", "Embedding": "2,3 | I(4)", "EmbeddingBag": "2,3 | I(4,2)", "Flatten": " | X(2,3)",
    "Fold": "(3,3),(2,2) | X(1,12,4)", "GELU": " | X(2,3)", "GLU": " | X(2,4)", "GRU": "2,3 | X(4,2,2)",
    "GRUCell": "2,3 | X(4,2)", "GroupNorm": "1,3 | X(2,3,4)", "HuberLoss": " | X(2,3),X(2,3)",
    "InstanceNorm2d": "3 | X(2,3,4,4)", "KLDivLoss": " | X(2,3),X(2,3)", "L1Loss": " | X(2,3),X(2,3)",
    "LayerNorm": "3 | X(2,3)", "Linear": "3,2 | X(2,3)", "LocalResponseNorm": "2 | X(2,3,4)", "LSTM": "2,3 | X(4,2,2)",
    "LSTMCell": "2,3 | X(4,2)", "MarginRankingLoss": " | X(3),X(3),X(3)", "MaxPool1d": "2 | X(2,3,4)",
    "MaxPool2d": "2 | X(2,3,4,4)", "MSELoss": " | X(2,3),X(2,3)",
    "MultiheadAttention": "4,2 | X(3,2,4),X(3,2,4),X(3,2,4)",
    "MultiMarginLoss": " | X(2,3),I(2)", "NLLLoss": " | X(2,3),I(2)", "PixelShuffle": "2 | X(2,4,3,3)",
    "PReLU": " | X(2,3)",
    "ReflectionPad2d": "1 | X(2,3,4,4)", "ReLU": " | X(2,3)", "RMSNorm": "3 | X(2,3)", "RNN": "2,3 | X(4,2,2)",
    "RNNCell": "2,3 | X(4,2)", "Sequential": "nn.Linear(2,3) | X(4,2)", "SmoothL1Loss": " | X(2,3),X(2,3)",
    "Softmax": "1 | X(2,3)", "TransformerEncoderLayer": "4,2,8 | X(3,2,4)",
    "TransformerDecoderLayer": "4,2,8 | X(3,2,4),X(3,2,4)", "TripletMarginLoss": " | X(2,3),X(2,3),X(2,3)",
    "Unfold": "2 | X(2,3,4,4)", "Unflatten": "1,(2,2) | X(2,4)", "Upsample": "(2,2) | X(2,3,4,4)",
    "ZeroPad2d": "1 | X(2,3,4,4)",
}  # fmt: skip

#: Callables that are not tried, and why.
LEFT_OUT: dict[str, str] = {
    "Tensor": "is not called: functions make tensors",
    "optim.lr_scheduler.LRScheduler": "is to be derived from",
    "autograd.graph.Handle": "is made by register_hook",
    "autograd.graph.Node": "is made by the engine",
    "autograd.forward_ad.exit_dual_level": "changes the level that others are on",
    "autograd.forward_ad.enter_dual_level": "changes the level that others are on",
    "optim.register_optimizer_step_pre_hook": "stays registered for all that follows",
    "optim.register_optimizer_step_post_hook": "stays registered for all that follows",
    "set_grad_enabled": "a callable is what it decorates",
    "set_num_threads": "holds for all that follows",
    "set_float32_matmul_precision": "holds for all that follows",
    "cuda.set_allocator_backend": "holds for all that follows",
    "cuda.DeviceProperties": "is made by cuda.get_device_properties",
    "autograd.graph.after_backward": "is called while a backward runs",
    "autograd.set_detect_anomaly": "holds for all that follows",
    "utils.data.DataLoader": "its workers are processes; tests/data has its wrong calls",
}


class Call(NamedTuple):
    """A callable, and source text of arguments that it takes."""

    name: str
    function: Callable[..., Any]
    source: str

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, made anew."""
        made: tuple[tuple[Any, ...], dict[str, Any]] = eval(f"pack({self.source})", {**NAMES, "pack": _pack})
        return made


def _pack(*args: Any, **keywords: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return args, keywords


# -- what there is ---------------------------------------------------------------------------------
def public() -> dict[str, Callable[..., Any]]:
    """Every public function, class and method by name, each once."""
    found: dict[str, Callable[..., Any]] = {}
    seen: set[int] = set()
    for module in MODULES:
        space = importlib.import_module(module)
        names = getattr(space, "__all__", None) or [n for n in vars(space) if not n.startswith("_")]
        for name in names:
            value = getattr(space, name)
            if not callable(value) or id(value) in seen or not getattr(value, "__module__", "").startswith("lucidgrad"):
                continue
            if isinstance(value, type) and issubclass(value, (BaseException, tuple, enum.Enum)):
                continue
            seen.add(id(value))
            found[f"{module}.{name}".removeprefix("lucidgrad.")] = value
    for name in dir(lg.Tensor):
        value = getattr(lg.Tensor, name)
        if callable(value) and id(value) not in seen and not name.startswith("_"):
            seen.add(id(value))
            found[f"Tensor.{name}"] = value
    for name, source in FORWARD.items():
        found[f"nn.{name}.forward"] = _forward(getattr(lg.nn, name), source.split("|")[0])
    return found


def _forward(module: type, source: str) -> Callable[..., Any]:
    """The call of a new module."""

    @functools.wraps(module.forward, assigned=())  # type: ignore[attr-defined]
    def call(*args: Any, **keywords: Any) -> Any:
        made, options = Call("", module, source).arguments()
        return module(*made, **options)(*args, **keywords)

    del call.__wrapped__  # type: ignore[attr-defined]
    own = inspect.signature(module.forward)  # type: ignore[attr-defined]
    call.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])  # type: ignore[attr-defined]
    return call


def _works(call: Call) -> bool:
    try:
        args, keywords = call.arguments()
        with restored():
            call.function(*args, **keywords)
    except Exception:
        return False
    return True


def valid(most: int = 2) -> Iterator[Call]:
    """For each public callable up to so many calls that work."""
    for name, function in public().items():
        if name in LEFT_OUT or not parameters(function):
            continue
        written = WRITTEN.get(name, ())
        if name.endswith(".forward"):
            written = [FORWARD[name.split(".")[1]].split("|")[1]]
        calls = [Call(name, function, source) for source in written]
        if not calls:
            usual = (Call(name, function, source.strip()) for source in USUAL)
            calls = list(itertools.islice(filter(_works, usual), most))
        if not calls:
            yield Call(name, function, "")
        yield from calls


@functools.cache
def working() -> tuple[Call, ...]:
    """One call that works of each public callable, found once for all tests."""
    return tuple(call for call in valid(1) if call.source)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """What a call may change for all others is as before."""
    dtype, device = lg.get_default_dtype(), lg.get_default_device()
    with warnings.catch_warnings(), lg.set_grad_enabled(True):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            lg.set_default_dtype(dtype)
            lg.set_default_device(device)


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """What a callable takes; empty where that can't be said."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
