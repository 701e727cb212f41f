"""Why a name of PyTorch's means something else here, is missing, or is left out; names of one reason stand together."""

_ROOT = "torch|torch, other functions|Tensor"

#: Names that don't count: the places, a pattern (spaces in it mean nothing), and why.
LEFT_OUT = (
    (_ROOT, r"(quantize|dequantize|fake_quantize|fused_moving_avg|choose_qparams|q_)\w* | quantized_\w+ | int_repr "
     r"| qscheme | is_quantized | empty_quantized", "quantised tensors"),
    (_ROOT, r"\w*(sparse|coalesce)\w* | c?(row|col)_indices(_copy)? | ccol_indices(_copy)? | (dsmm|hsmm|hspmm|saddmm"
     r"|smm|spmm|sspaddmm) | indices(_copy)? | values(_copy)? | dense_dim", "sparse tensors"),
    (_ROOT, r"(\w*mkldnn|cudnn|miopen|fbgemm)_?\w* | is_(mkldnn|vulkan|mps|mtia|maia|xla|xpu|ipu|vulkan_available) "
     r"| xpu | ipu | mtia", "libraries and devices that are PyTorch's inner affair"),
    (_ROOT, r"native_\w+ | \w+_copy | batch_norm_\w+ | unsafe_\w+ | sym_\w+ | slice_inverse | grid_sampler\w* "
     r"| affine_grid_generator | convolution | norm_except_dim | conv_tbc | max_pool1d_with_indices | const_data_ptr "
     r"| constant_pad_nd | is_distributed | hash_tensor | frobenius_norm | nuclear_norm",
     "undocumented: functions that PyTorch's own functions are made of"),
    (_ROOT, r"(lstm|gru|rnn_tanh|rnn_relu)(_cell)? | (batch|group|instance|layer)_norm | dropout | alpha_dropout "
     r"| feature_(alpha_)?dropout | embedding(_bag)? | \w+_loss | kl_div | binary_cross_entropy_with_logits "
     r"| adaptive_max_pool1d | rms_norm",
     "undocumented: the inside of a function of `nn.functional`, which has it with arguments of its own"),
    (_ROOT, r"\w*autocast\w* | import_ir_module\w* | parse_\w+ | merge_type_from_type_comment | unify_type_list | fork "
     r"| wait | \w*anomaly\w* | \w*interop_threads | \w*warn_always\w* | init_num_threads | get_device_module "
     r"| thread_safe_generator | typename | is_storage | set_default_tensor_type | \w*deterministic_debug_mode "
     r"| is_deterministic_algorithms_warn_only_enabled | set_flush_denormal | cond",
     "switches and tools of PyTorch's compiler, threads and devices"),
    (_ROOT, r"is_nested | to_padded_tensor | is_meta | layout | dim_order | as_subclass | module_load | grad_dtype",
     "kinds and layouts of tensors: there is one class of dense ones"),
    (_ROOT, r"reinforce | volatile | name | eig | lstsq | symeig | solve | resize | resize_as | map2?_ | apply_",
     "old names, which PyTorch itself refuses, or does not document"),
    ("nn", r"Container | SyncBatchNorm | factory_kwargs | NLLLoss2d | CrossMapLRN2d "
     r"| LinearCrossEntropy\w+", "old or undocumented"),
    ("nn.functional", r"(handle|has)_torch_function\w* | assert_int_or_pair | boolean_dispatch | DType | ScalingType "
     r"| SwizzleType | Tensor | scaled_(grouped_)?mm | grouped_mm | native_channel_shuffle | conv_tbc "
     r"| linear_cross_entropy", "no part of its documented functions"),
    ("nn.functional", r"\w+_with_indices", "undocumented: the function with `return_indices=True`"),
    ("nn.utils", r"convert_conv\dd_weight_memory_format", "layouts of memory: there is one"),
    ("optim", r"swap_in_optimizer_params_and_state", "undocumented"),
    ("linalg", r"LinAlgError | Tensor", "no function"),
    ("func", r"functionalize | debug_unwrap | rearrange", "tools of PyTorch's compiler, or of its dimension objects"),
    ("torch, further functions", r"quantized_\w+", "quantised tensors"),
    ("torch, further functions", r"eig | lstsq | matrix_rank | solve | symeig",
     "removed: PyTorch itself refuses them and names those of `linalg`"),
    ("torch, further functions", r"classproperty | compiled_with_cxx11_abi | get_file_path | while_loop "
     r"| prepare_multiprocessing_environment | profiler_\w+", "the inside of PyTorch"),
    ("torch, further functions", r"resize_as_sparse_", "sparse tensors"),
    ("torch, further functions", r"feature_dropout_ | embedding_renorm_",
     "undocumented: the inside of a function of `nn.functional`"),
    ("torch, dtypes and constants", r"bits?\w* | u?int[1-7] | float[48]_\w+ | qu?int\w+ | per_\w+ | qscheme",
     "numbers of less than a byte, of eight bits, or quantised, which no array library has"),
    ("torch, dtypes and constants", r"sparse_\w+ | jagged | legacy_contiguous_format",
     "layouts of tensors that are not dense"),
    ("torch, dtypes and constants", r"AVG | SUM | PRIVATE_OPS | TYPE_CHECKING | USE_\w+ | has_\w+",
     "the inside of PyTorch, and what it was built with"),
    ("torch, classes|cuda", r"\w*Storage\w*", "memory belongs to the array library"),
    ("torch, classes", r"\w+Type | (Lite)?Script\w+ | Sym\w+ | Type | AliasDb | Argument(Spec)? "
     r"| CompleteArgumentSpec | Benchmark\w+ | Block | BufferDict | CallStack | Capsule | Code | CompilationUnit "
     r"| ConcreteModule\w+ | DeepCopyMemoTable | Dispatch\w+ | DisableTorchFunction\w* | ErrorReport "
     r"| ExcludeDispatchKeyGuard | ExecutionPlan | FatalError | FileCheck | FunctionSchema | Future | Gradient | Graph "
     r"| GraphExecutorState | IODescriptor | JITException | (Locking|Noop)Logger | LoggerBase "
     r"| ModuleDict | Node | OperatorInfo | ParameterDict | PyTorchFile\w+ | StaticModule | Tag "
     r"| ThroughputBenchmark | TracingState | Use | Value | AggregationType | AcceleratorError | qscheme",
     "PyTorch's compiler, its dispatcher and its files, without documentation"),
    ("torch, modules", r"ao | quantization", "quantised tensors"),
    ("torch, modules", r"masked | nested | sparse", "kinds of tensors: there is one class of dense ones"),
    ("torch, modules", r"cpu | mps | mtia | xpu | windows", "devices that there is no back end for"),
    ("torch, modules", r"classes | cpp | export | futures | fx | library | monitor | ops | overrides | package "
     r"| storage | torch_version | types", "the inside of PyTorch: its compiler, its dispatcher, its extensions"),
    ("autograd.function", r"BackwardCFunction | FunctionMeta | InplaceFunction | NestedIOFunction",
     "old or undocumented"),
    ("autograd.graph", r"region_\w+ | set_\w+_stream\w*", "switches of PyTorch's compiler and streams"),
    ("backends", r"mha | opt_einsum", "switches of libraries that are not used"),
    ("backends.cuda", r"SDPAParams | \w*_sdp\w* | can_use_\w+ | is_\w+_available | cu(BLAS|FFT)\w+ | cufft_plan_cache "
     r"| \w*workspace_size | preferred_\w+", "switches of PyTorch's own kernels and of libraries behind CuPy"),
    ("compiler|jit", r"\w+", "what PyTorch's compilers can be told: `compile` here is `lg.compile`"),
    ("cuda", r"\w*(alloc|Alloc|mem_pool|MemPool|memory_cached|_memory_stats|host_memory|memory_fraction)\w* "
     r"| memory_(snapshot|stats_as_nested_dict)", "how PyTorch allocates memory; CuPy's pool has its own switches"),
    ("cuda", r"CUDAGraph | graph\w* | make_graphed_callables", "graphs of CUDA: kernels are launched one by one"),
    ("cuda", r"clock_rate | device_memory_used | list_gpu_processes | memory_usage | power_draw | temperature "
     r"| utilization",
     "what NVIDIA's management library tells"),
    ("cuda", r"check_error | Cuda?\w*Error | Deferred\w+ | cuda(rt|Status) | current_\w+_handle | get_gencode_flags "
     r"| get_stream_from_external | ExternalStream | GreenContext | StreamContext | is_tf32_supported "
     r"| \w+_sync_debug_mode | device_of", "the inside of PyTorch's CUDA"),
    ("cuda.amp", r"amp_definitely_not_available", "undocumented"),
    ("nn.attention", r"\w*flash_attention_impls?", "which kernel computes attention"),
    ("profiler", r"\w+", "the profiler is lucidgrad's own"),
    ("random", r"thread_safe_generator", "undocumented"),
    ("serialization", r"\w+", "how PyTorch reads and writes its files; `save` and `load` are at the root"),
    ("testing|utils", r"FileCheck | ThroughputBenchmark | \w*privateuse1\w* | get_cpp_backtrace | set_module",
     "the inside of PyTorch"),
    ("utils.checkpoint", r"CheckpointFunction | DefaultDeviceType | GraphExecGroup | check_backward_validity "
     r"| detach_variable | [gs]et_device_states | noop_context_fn | set_checkpoint_debug_enabled", "undocumented"),
    ("utils.data", r"\w*DataPipe | DataChunk | \w*(validation|datapipe|determin)\w*", "data pipes: given up"),
    ("fft", r"Tensor", "no function"),
    ("autograd", r"Variable | variable | NestedIOFunction | enforce_grad_layout_policy", "old or undocumented"),
)  # fmt: skip

#: Names that exist and mean something else, by place.
DIFFERENT: dict[str, dict[str, str]] = {
    "torch": {
        "max min": "the standard's: along an axis values alone; `x.max(dim)` gives indices, too",
        "sort": "the standard's: values alone; `x.sort()` gives indices, too",
        "std var": "the standard's: correction 0; `x.std()` is unbiased",
        "median nanmedian": "NumPy's: the mean of two middle values; `x.median()` is the lower one, with its index",
        "split": "NumPy's: so many parts, or parts that begin at indices; `x.split()` takes sizes",
        "squeeze": "the standard's: refuses an axis that is longer than one; `x.squeeze(dim)` leaves it",
        "transpose": "NumPy's: all axes in an order; `x.transpose(dim0, dim1)` swaps two",
        "take": "the standard's: along an axis; `x.take(index)` takes from the flattened tensor",
        "nonzero": "the standard's: an array for each axis; `x.nonzero()` gives rows",
        "lobpcg": "the whole decomposition: exact, with all derivatives, whatever the arguments of an iteration say",
        "meshgrid": "the standard's: `indexing='xy'` where nothing is said",
        "select": "NumPy's: choices by conditions; `x.select(dim, index)` is a slice",
        "equal": "the standard's: element by element; `x.equal(y)` compares wholes",
        "unique": "NumPy's: `return_index` comes first; `x.unique()` has PyTorch's arguments",
        "cov": "NumPy's: `ddof` in place of `correction`; `x.cov()` has PyTorch's arguments",
        "histogram": "NumPy's: `weights`, and counts are integers without them",
        "cross": "NumPy's: along the last axis where none is given; `x.cross(y)` takes the first of size 3",
        "gradient": "NumPy's: steps by position, and of one axis a tensor",
        "quantile nanquantile": "NumPy's: `method` in place of `interpolation`; the method has PyTorch's arguments",
        "view_as_real view_as_complex": "a copy: parts are written through `x.real` and `x.imag`",
        "sum prod cumsum cumprod": "the standard's: unsigned integers add up to unsigned ones",
        "where": "the standard's: a condition and two values; with a condition alone it is `nonzero`",
    },
    "torch, other functions": {
        "logspace": "NumPy's: after the number of values, `base` is given by name",
        "result_type can_cast": "the standard's rules of promotion",
    },
    "Tensor": {
        "size": "the standard's number of elements, which can be called as PyTorch's method, too",
        "T": "the standard's: of matrices alone",
        "view": "a copy where memory can't be seen in that shape; PyTorch refuses",
        "unfold": "a copy: windows may overlap, and memory that elements share can't be written",
        "histogram": "NumPy's: counts are integers without weights",
        "t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_": "refused where a tensor that is no view has a history",
        "conj positive": "a copy; PyTorch's shares memory",
        "is_conj is_neg resolve_conj resolve_neg": "nothing ever waits to be conjugated or negated",
        "is_shared": "tensors on the CPU are never shared between processes",
        "dtype": "one of NumPy's dtype objects",
    },
}

_STORAGE = "memory belongs to the array library: a tensor is a view of it by shape, axes and slices"

#: Names that count and do not exist, by place.
MISSING: dict[str, dict[str, str]] = {
    "torch": {
        "as_strided_scatter": _STORAGE,
    },
    "torch, other functions": {
        "as_strided empty_strided empty_permuted": _STORAGE,
        "range": "deprecated: `arange`, and Python's own name",
        "fill": "undocumented: `full_like`",
        "from_file": "memory shared with a file; `lucidgrad.files` reads and writes",
        "initial_seed seed": "generators are seeded by `manual_seed`, and by the system before that",
        "set_printoptions": "NumPy's own settings hold for what is shown",
    },
    "Tensor": {
        "as_strided as_strided_ as_strided_scatter new_empty_strided resize_ resize_as_ set_ storage storage_type "
        "untyped_storage": _STORAGE,
        "chalf": "no array library has complex numbers of 32 bits",
        "index": "undocumented: square brackets",
        "share_memory_": "tensors are not shared between processes; loaders send them",
    },
}


_DRAWS = "draws have no history; in PyTorch they have one that gives zeros"

#: The same of the door `lucidgrad.torch`; methods of tensors are lucidgrad's own.
DOOR_DIFFERENT: dict[str, dict[str, str]] = {
    "torch": {
        "lobpcg": DIFFERENT["torch"]["lobpcg"],
        "view_as_real view_as_complex": DIFFERENT["torch"]["view_as_real view_as_complex"],
        "conj": "a copy; PyTorch's shares memory",
        "bernoulli binomial poisson": _DRAWS,
        "logaddexp logcumsumexp": "of real numbers alone",
        "ldexp": "exponents are real, and float16 becomes float32 beside an integer",
        "gcd lcm": "of integers alone, not of truth values",
        "pow": "truth values become int8, not int64",
        "rrelu": "the generator is that of `manual_seed`",
    },
    "torch, other functions": {
        "normal": _DRAWS,
        "result_type": "what operators here give: 0-d tensors count as any other",
    },
    "Tensor": DIFFERENT["Tensor"],
    "nn.attention": {
        "SDPBackend sdpa_kernel": "accepted: there is one way to compute attention",
    },
    "linalg": {
        "LinAlgError": "NumPy's, a ValueError; PyTorch's is a RuntimeError",
        "cholesky_ex inv_ex solve_ex": "of matrices that fail NaN; PyTorch gives what LAPACK left",
    },
}

DOOR_MISSING: dict[str, dict[str, str]] = {
    "torch": MISSING["torch"],
    "torch, other functions": {
        "as_strided empty_strided empty_permuted": _STORAGE,
        "from_file": MISSING["torch, other functions"]["from_file"],
    },
    "torch, further functions": {
        "as_strided_ resize_as_": _STORAGE,
        "segment_reduce": "sums of segments: `scatter_reduce`, or `index_reduce`",
        "to_dlpack": "`from_dlpack` takes the tensor itself",
    },
    "torch, dtypes and constants": {
        "chalf complex32": MISSING["Tensor"]["chalf"],
    },
    "torch, classes": {
        "Event Stream": "streams are CUDA's: `cuda.Event`, `cuda.Stream`",
    },
    "torch, modules": {
        "functional": "its functions are at the root",
        "hub": "nothing is downloaded",
        "quasirandom": "no sequences of low discrepancy; SciPy has them",
        "return_types": "results have lucidgrad's own classes, with the same names of fields",
    },
    "Tensor": MISSING["Tensor"],
    "utils": {
        "swap_tensors": "`x.data = y` shares memory; two tensors are never exchanged",
    },
    "utils.checkpoint": {
        "CheckpointPolicy SelectiveCheckpointContext create_selective_checkpoint_contexts":
            "all of a segment is computed again; `autograd.memory_budget` chooses by itself",
    },
}  # fmt: skip
