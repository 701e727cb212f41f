"""Why some of NumPy's functions are not there for tensors; `tools.numpy_names` writes the list into the docs."""

_DATES = "dates, which tensors don't have"
_TEXT = "text, which tensors don't have"
_FILES = "reads text or files; give what NumPy read to `asarray`"
_SETTINGS = "a setting or a description of NumPy itself, which holds here, too: `numpy` has it"
_MATRICES = "NumPy's old classes of matrices and records"
_MEMORY = "memory and its order belong to the array library"

#: By reason, names at the root of NumPy, or with their place before them.
_BY_REASON = {
    _DATES: """
        busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat
        timedelta64
    """,
    _TEXT: "char strings bytes_ str_ character",
    _FILES: "fromfile fromregex fromstring genfromtxt load loadtxt memmap",
    _SETTINGS: """
        get_include getbufsize geterr geterrcall info setbufsize seterr seterrcall show_config show_runtime test
        typename format_float_positional format_float_scientific base_repr binary_repr mintypecode core ctypeslib dtypes
        exceptions f2py lib rec typing sctypeDict typecodes ScalarType little_endian
    """,
    _MATRICES: "asmatrix bmat matrix recarray record void flexible object_ ma poly1d polynomial",
    _MEMORY: "asfortranarray isfortran require nditer nested_iters flatiter broadcast",
    "NumPy's inner class": "ufunc generic",
    "its results have a type that depends on values: make the numbers complex first, then use the plain function": """
        emath lib.scimath.arccos lib.scimath.arcsin lib.scimath.arctanh lib.scimath.log lib.scimath.log10
        lib.scimath.log2 lib.scimath.logn lib.scimath.power lib.scimath.sqrt
    """,
    "a function of Python's on objects; `vectorize` is there": "frompyfunc",
    "no tensor is that wide": "clongdouble longdouble float128 complex256",
    "checks values; use isfinite": "asarray_chkfinite",
    "written by hand: triu_indices and tril_indices are there": "mask_indices",
}

REASONS = {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
