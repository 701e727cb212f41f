"""Where the door's names are that are no functions of tensors: by module, beside this one or in lucidgrad."""

#: Submodules, each with a file or folder beside this one, or with one of the same name in lucidgrad.
MODULES = """
accelerator amp autograd backends compiler cuda distributed distributions fft func jit linalg multiprocessing nn optim
profiler random serialization signal special testing utils version
""".split()

#: Names at the root by the module they are taken from; a leading dot means one beside this file.
NAMES = {
    "lucidgrad": """
        Generator are_deterministic_algorithms_enabled device e enable_grad get_default_device get_default_dtype
        get_float32_matmul_precision get_num_threads get_rng_state inf inference_mode is_grad_enabled
        is_inference_mode_enabled manual_seed nan
        newaxis no_grad OutOfMemoryError pi set_default_device set_default_dtype set_float32_matmul_precision
        set_grad_enabled set_num_threads set_rng_state use_deterministic_algorithms vmap
    """,
    "lucidgrad.printing": "set_printoptions",
    "lucidgrad.random": "initial_seed seed",
    ".amp": "GradScaler autocast get_autocast_dtype is_autocast_enabled",
    ".compiler": "compile",
    ".dtypes": """
        bfloat16 bool cdouble cfloat complex128 complex64 double dtype finfo float float16 float32 float64 half iinfo
        int int16 int32 int64 int8 long short uint16 uint32 uint64 uint8
    """,
    ".flags": """
        channels_last channels_last_3d contiguous_format get_num_interop_threads layout memory_format preserve_format
        set_flush_denormal set_num_interop_threads set_warn_always strided
    """,
    ".kinds": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor DoubleTensor FloatTensor
        HalfTensor IntTensor LongTensor ShortTensor Tensor set_default_tensor_type
    """,
    ".roots": "default_generator typename",
    ".serialization": "load save",
    ".sizes": "Size",
    ".version": "__version__",
}

#: PyTorch's paths to modules that have other names in lucidgrad, by the module that stands there.
PATHS = {
    "autograd.anomaly": "autograd.anomaly_mode",
    "autograd.modes": "autograd.grad_mode",
    "distributions": """
        distributions.bernoulli distributions.beta distributions.binomial distributions.categorical
        distributions.cauchy distributions.chi2 distributions.continuous_bernoulli distributions.dirichlet
        distributions.exp_family distributions.exponential distributions.fishersnedecor distributions.gamma
        distributions.generalized_pareto distributions.geometric distributions.gumbel distributions.half_cauchy
        distributions.half_normal distributions.independent distributions.inverse_gamma distributions.kumaraswamy
        distributions.laplace distributions.lkj_cholesky distributions.log_normal distributions.logistic_normal
        distributions.lowrank_multivariate_normal distributions.mixture_same_family distributions.multinomial
        distributions.multivariate_normal distributions.negative_binomial distributions.normal
        distributions.one_hot_categorical distributions.pareto distributions.poisson distributions.relaxed_bernoulli
        distributions.relaxed_categorical distributions.studentT distributions.transformed_distribution
        distributions.uniform distributions.von_mises distributions.weibull distributions.wishart
    """,
    "nn.activation": "nn.modules.activation",
    "nn.adaptive": "nn.modules.adaptive",
    "nn.containers": "nn.modules.container",
    "nn.convolution": "nn.modules.conv nn.modules.fold",
    "nn.distances": "nn.modules.distance",
    "nn.dropout": "nn.modules.dropout",
    "nn.embedding": "nn.modules.sparse",
    "nn.flattening": "nn.modules.flatten",
    "nn.linear": "nn.modules.linear",
    "nn.losses": "nn.modules.loss",
    "nn.normalisation": "nn.modules.batchnorm nn.modules.instancenorm nn.modules.normalization",
    "nn.padding": "nn.modules.padding",
    "nn.pooling": "nn.modules.pooling",
    "nn.recurrence": "nn.modules.rnn",
    "nn.resampling": "nn.modules.channelshuffle nn.modules.pixelshuffle nn.modules.upsampling",
    "nn.transformer": "nn.modules.transformer",
    "nn.utils": "nn.utils.clip_grad nn.utils.convert_parameters",
    "optim": """
        optim.adadelta optim.adagrad optim.adamax optim.adamw optim.asgd optim.nadam optim.radam optim.rmsprop
        optim.rprop
    """,
    "profiler": "autograd.profiler",
    "utils.data": "utils.data.dataloader utils.data.dataset utils.data.distributed utils.data.sampler",
}
