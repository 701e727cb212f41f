/* Calls of operators on plain arrays: `core/operators.py`, with views, joins and parts of `core/dispatch.py` and
   `backends/joins.py`. None is the answer to a call that is not a common one. */

/* -- views ---------------------------------------------------------------------------------------- */
static PyObject *base_of(PyObject *alias) { /* a borrowed reference; NULL: the base became a view itself */
    PyObject *base = SLOT(alias, Alias__base), *own = is_a(base, Tensor_) ? SLOT(base, Tensor__alias) : alias;
    return own == Py_None || own == INFERENCE_ ? base : NULL;
}

static PyObject *history_of(PyObject *x) { /* dispatch.node_of */
    PyObject *alias = SLOT(x, Tensor__alias), *base = alias == Py_None || alias == INFERENCE_ ? x : base_of(alias);
    int same = base == x || (base && SLOT(base, Tensor__node) == SLOT(alias, Alias_seen)); /* or it is written anew */
    return same ? Py_XNewRef(SLOT(x, Tensor__node)) : PyObject_CallOneArg(history_, x);
}

static PyObject *storage(PyObject *a) { PyObject *b = ((Array *)a)->base; return b && is_plain(b) ? b : a; }

/* dispatch.alias_of, while operations are recorded; takes `steps`. */
static PyObject *alias_of(PyObject *x, PyObject *steps, PyObject *barrier) {
    PyObject *own = SLOT(x, Tensor__alias), *base, *made = NULL;
    if (steps == NULL || own == INFERENCE_) { Py_XDECREF(steps); return steps ? Py_NewRef(own) : NULL; }
    int replayed = own != Py_None && PyTuple_GET_SIZE(SLOT(own, Alias_steps)) && PyTuple_GET_SIZE(steps);
    if (own != Py_None) Py_SETREF(steps, replayed ? PySequence_Concat(SLOT(own, Alias_steps), steps) : PyTuple_New(0));
    base = own == Py_None ? x : base_of(own);
    base = steps == NULL ? NULL : base ? Py_NewRef(base) : PyObject_GetAttr(own, s_base);
    if (base == NULL || (made = blank(Alias_)) == NULL) { Py_XDECREF(base); Py_XDECREF(steps); return NULL; }
    SLOT(made, Alias__base) = base, SLOT(made, Alias_steps) = steps;
    SLOT(made, Alias_seen) = Py_NewRef(own == Py_None ? SLOT(x, Tensor__node) : SLOT(own, Alias_seen));
    SLOT(made, Alias_barrier) = Py_NewRef(barrier != Py_None || own == Py_None ? barrier : SLOT(own, Alias_barrier));
    return made;
}

/* -- operators ------------------------------------------------------------------------------------ */
/* The only input with a gradient, or -1; what is kept, and digits: y, input x, its meta m, all metas M, keyword k. */
typedef struct { PyObject *recipe; int index; const char *items; } Keeping;

enum Form { FIXED, JOIN, PARTS }; enum Fit { NEVER, BY_DTYPE, OF_PAIR, OF_MATRICES, OF_THREE };
/* Kernels that are one call of NumPy's, or two, made here. */
enum Kernel { OTHER, INDEX, RESHAPE, SWAP, CONCAT, SPLIT, MATMUL, LINEAR, ACROSS, AFFINE };

typedef struct {
    HOLDER
    PyObject *primitive, *kernels, *by_dtype, *keywords, *defaults, *barrier, *function; /* `function` is the kernel */
    Keeping keeping[1 << INPUTS]; /* by the inputs that want gradients; of a join the second */
    int form, kernel, arity, wanted, values, fit, places[INPUTS];
    int scalars, large, view, integers, precise;
} Operator;

typedef struct { /* arrays have keywords behind them; these, and nodes, are ours */
    Operator *op; PyObject *const *xs, *const *keywords, *arrays[JOINED + ITEMS], *nodes[JOINED], *limit;
    int n, numbers, subset;
} Call;

static PyObject *miss(void) { /* Python does it, or does it again and tells what is wrong */
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *metas(PyObject *const *arrays, int n) {
    PyObject *all = PyTuple_New(n);
    for (int i = 0; all && i < n; i++) all = filled(all, i, meta(arrays[i]));
    return all;
}

static PyObject *kept(const Call *call, const char *items, PyObject *y) {
    PyObject *saved = PyTuple_New((Size)strlen(items) / 2), *const *arrays = call->arrays;
    for (int i = 0; saved && items[2 * i]; i++) {
        int what = items[2 * i], at = items[2 * i + 1] - '0';
        saved = filled(saved, i, what == 'y' ? Py_NewRef(y) : what == 'x' ? Py_NewRef(arrays[at])
                : what == 'm' ? meta(arrays[at])
                : what == 'M' ? metas(arrays, call->n) : Py_NewRef(call->keywords[at]));
    }
    return saved;
}

/* What each cotangent must become; None: it is so already. */
static PyObject *fitting(const Call *call, PyObject *y) {
    PyObject *const *a = call->arrays, *with = call->op->fit == OF_PAIR || call->op->fit == OF_MATRICES ? a[0] : y;
    int n = call->n, fit = call->op->fit, alike = 1;
    if (fit == NEVER || (call->numbers && n == 2)) Py_RETURN_NONE;
    for (int i = 0; alike && i < n; i++)
        alike = is_plain(a[i]) && descr_of(a[i]) == descr_of(with)
            && (fit == BY_DTYPE || (fit == OF_MATRICES ? ((Array *)a[i])->nd == 2 : same_shape(a[i], with)));
    if (alike) Py_RETURN_NONE;
    PyObject *all = PyTuple_New(n);
    for (int i = 0; all && i < n; i++)
        all = filled(all, i, !is_plain(a[i]) ? Py_NewRef(Py_None)
            : Py_BuildValue("(NO())", PyObject_GetAttr(a[i], s_shape), descr_of(a[i])));
    return all;
}

/* A node of one of two types; takes what each cotangent must become. */
static PyObject *new_node(const Call *call, PyObject *type, PyObject *y, PyObject *fit, PyObject *extras) {
    const Keeping *keep = &call->op->keeping[call->subset];
    int big = fit && fit != Py_None && call->op->large && call->limit != Py_None
        && size_of(y) > PyLong_AsSsize_t(call->limit);
    PyObject *node = fit ? blank(type) : NULL, *recipe, *saved, *origin, *when;
    if (node == NULL) { Py_XDECREF(fit); return NULL; }
    SLOT(node, Node_fit) = fit, SLOT(node, Node_extras) = Py_NewRef(extras);
    recipe = big ? PyObject_CallFunction(large_recipe_, "Oi", call->op->primitive, call->subset)
                 : Py_NewRef(keep->recipe);
    SLOT(node, Node_recipe) = recipe;
    SLOT(node, Node_saved) = saved = kept(call, keep->items, y);
    origin = keep->index >= 0 ? Py_NewRef(call->nodes[keep->index]) : PyTuple_New(call->n);
    for (int i = 0; origin && keep->index < 0 && i < call->n; i++)
        PyTuple_SET_ITEM(origin, i, Py_NewRef(call->nodes[i] ? call->nodes[i] : Py_None));
    SLOT(node, Node_origin) = origin;
    SLOT(node, Node_when) = when = Py_TYPE(clock_)->tp_iternext(clock_);
    if (!recipe || !saved || !origin || !when) Py_CLEAR(node);
    return node;
}

/* dispatch.track_view: what a result is a view of, and how. */
static int note_view(const Call *call, PyObject *out, int recording) {
    PyObject *x = call->xs[0], *primitive = call->op->primitive, *named = PyDict_New(), *names = call->op->keywords;
    int bad = named == NULL;
    for (Size i = 0; !bad && i < PyTuple_GET_SIZE(names); i++)
        bad = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), call->keywords[i]);
    if (!bad && (!recording || PyDict_GET_SIZE(copying_))) {
        PyObject *given[] = {x, out, primitive, named}, *done = PyObject_Vectorcall(track_view_, given, 4, NULL);
        bad = done == NULL;
        Py_XDECREF(done);
    } else if (!bad && storage(SLOT(out, Tensor_array)) == storage(call->arrays[0])) {
        PyObject *alias = alias_of(x, Py_BuildValue("((OO))", primitive, named), Py_None);
        if (alias) Py_SETREF(SLOT(out, Tensor__alias), alias); else bad = 1;
    }
    Py_XDECREF(named);
    return bad ? -1 : 0;
}

/* joins.parted: tensors of all parts, and their fork. Takes the parts. */
static PyObject *parted(const Call *call, PyObject *parts) {
    PyObject *fork = NULL, *ends = NULL, *out = NULL;
    Size n = PyTuple_CheckExact(parts) ? PyTuple_GET_SIZE(parts) : -1;
    int fine = n >= 0, forks = call->subset && n > 0;
    for (Size i = 0; i < n; i++) fine &= is_plain(PyTuple_GET_ITEM(parts, i));
    if (fine && forks) {
        fork = new_node(call, Fork_, parts, Py_NewRef(Py_None), NOTHING_);
        ends = fork ? PyObject_CallFunctionObjArgs(ends_of_, fork, parts, NULL) : NULL;
    }
    out = fine && (ends || !forks) ? PyTuple_New(n) : NULL;
    for (Size i = 0; out && i < n; i++) {
        PyObject *alias = alias_of(call->xs[0], PyTuple_New(0), call->op->barrier), *part = PyTuple_GET_ITEM(parts, i);
        out = filled(out, i, alias ? boxed(Py_NewRef(part), ends ? PyList_GET_ITEM(ends, i) : Py_None, alias) : NULL);
        Py_XDECREF(alias);
    }
    Py_XDECREF(fork); Py_XDECREF(ends); Py_DECREF(parts);
    return out;
}

/* What a kernel gives. */
static PyObject *computed(const Call *call, PyObject *kernel) {
    PyObject *const *a = call->arrays, *y = NULL;
    int known = kernel == call->op->function ? call->op->kernel : OTHER;
    if (is_a(kernel, (PyObject *)Py_TYPE(add_)) && !PyTuple_GET_SIZE(call->op->keywords))
        if ((y = looped(kernel, a, call->n, NULL, 0)) || PyErr_Occurred()) return y;
    if (known == INDEX) {
        if ((y = PyObject_GetItem(a[0], a[1])) == NULL || is_plain(y)) return y;
        PyObject *key = PyTuple_CheckExact(a[1]) ? Py_NewRef(a[1]) : PyTuple_Pack(1, a[1]); /* a number: as an array */
        PyObject *whole = key ? PySequence_Concat(key, dots) : NULL;
        Py_SETREF(y, whole ? PyObject_GetItem(a[0], whole) : NULL);
        Py_XDECREF(key); Py_XDECREF(whole);
        return y;
    }
    if (known == RESHAPE && a[2] == Py_None) return PyObject_CallMethodOneArg(a[0], s_reshape, a[1]);
    if (known == SWAP && ((Array *)a[0])->nd == 2) return PyObject_GetAttr(a[0], s_T);
    if (known == CONCAT) {
        PyObject *all = PyTuple_New(call->n);
        for (int i = 0; all && i < call->n; i++) PyTuple_SET_ITEM(all, i, Py_NewRef(a[i]));
        y = all ? PyObject_Vectorcall(concatenate_, (PyObject *[]){all, a[call->n]}, 2, NULL) : NULL;
        Py_XDECREF(all);
        return y;
    }
    if (known == SPLIT) y = split(a[0], a[1], a[2]);
    if (known >= MATMUL) y = dotted(a[0], known == ACROSS, a[1], known == LINEAR || known == AFFINE);
    if (y && known == AFFINE) {
        int fine = is_plain(a[2]) && ((Array *)a[2])->nd == 1 && descr_of(a[2]) == descr_of(y)
            && size_of(a[2]) == ((Array *)y)->dims[1];
        PyObject *sum = fine ? looped(add_, (PyObject *[]){y, a[2]}, 2, NULL, 0) : NULL;
        Py_SETREF(y, sum || !fine ? sum : PyNumber_InPlaceAdd(y, a[2]));
    }
    if (y || PyErr_Occurred()) return y;
    PyObject *names = PyTuple_GET_SIZE(call->op->keywords) ? call->op->keywords : NULL;
    return PyObject_Vectorcall(kernel, a, (size_t)call->n, names);
}

static PyObject *mode(PyObject *variable) { /* of this thread and task; a borrowed reference, which the context holds */
    PyObject *found = NULL;
    if (PyContextVar_Get(variable, NULL, &found) == 0) Py_XDECREF(found);
    return found;
}

/* Whether unusual modes change nothing but what is recorded: 1 with NULL, if all is, or with what holds. */
static int is_usual_mode(const Operator *op, PyObject **holds) {
    PyObject *hears = mode(told_), *casts = op->precise ? mode(precision_) : NULL, *sees;
    if (hears != Py_None || (op->precise && (!casts || SLOT(casts, Precision_casting) != Py_None))) return 0;
    if ((*holds = mode(recording_)) == NULL || op->form == PARTS) return 0;
    if (SLOT(*holds, Recording_recording) != Py_True) return 1;
    *holds = NULL;
    return (sees = mode(new_)) != NULL && SLOT(sees, NewNodes_keeping) == Py_None;
}

/* The call of an operator. None: not a common one. */
static PyObject *called(Operator *op, PyObject *const *xs, int n, PyObject *const *keywords) {
    Call call; /* which is too large to be cleared */
    PyObject **arrays = call.arrays, *lead = NULL, *value = NULL, *holds = NULL, *out = NULL, *y;
    int join = op->form == JOIN, floating = 0, floats = 0;
    call.op = op, call.xs = xs, call.keywords = keywords, call.n = n, call.numbers = call.subset = 0;
    if (PyDict_GET_SIZE(places_) || (PySet_GET_SIZE(unusual_) && !is_usual_mode(op, &holds))) return miss();
    for (int i = 0; i < n; i++) {
        PyObject *a = arrays[i] = is_a(xs[i], Tensor_) ? SLOT(xs[i], Tensor_array) : xs[i];
        call.nodes[i] = NULL;
        if (a && a != xs[i] && is_plain(a)) {
            if (lead == NULL) lead = a;
            if (join || op->values >> i & 1) {
                if (value && descr_of(a) != descr_of(value)) return miss();
                value = a;
            }
        } else if (a == xs[i] && op->scalars && (PyFloat_CheckExact(a) || PyLong_CheckExact(a))) {
            call.numbers++;
            floating |= PyFloat_CheckExact(a) || n == 3;
        } else return miss();
    }
    for (int i = 0; floating && i < n; i++) floats |= is_plain(arrays[i]) && is_float(descr_of(arrays[i]));
    if (lead == NULL || (floating && !floats)) return miss(); /* beside integers a float gives the default dtype */
    if (op->form == PARTS && (PyDict_GET_SIZE(copying_) || !is_float(descr_of(lead)))) return miss();
    PyObject *table = op->by_dtype == Py_None ? op->kernels : PyDict_GetItemWithError(op->by_dtype, plain_), *kernel;
    PyObject *kernels = table ? PyDict_GetItemWithError(table, table == op->kernels ? plain_ : descr_of(lead)) : NULL;
    if (kernels == NULL || !is_a(kernels, Kernels_)) return miss();
    kernel = SLOT(kernels, Kernels_usual);
    call.limit = SLOT(kernels, Kernels_limit);
    for (int i = 0; op->large && call.limit != Py_None && i < n; i++)
        if (is_plain(arrays[i]) && size_of(arrays[i]) > PyLong_AsSsize_t(call.limit)) return miss();
    /* From here on arrays, nodes and kernel are ours: what is called may rebind the tensors' slots. */
    for (int i = 0; i < n; i++) Py_INCREF(arrays[i]);
    Py_INCREF(kernel); Py_INCREF(call.limit); Py_XINCREF(holds);
    for (int i = 0; holds == NULL && i < n; i++) {
        if ((!join && !(op->wanted >> i & 1)) || arrays[i] == xs[i]) continue;
        if ((call.nodes[i] = history_of(xs[i])) == NULL) goto done;
        if (call.nodes[i] != Py_None) call.subset |= join ? 1 : 1 << i;
    }
    for (Size i = 0; i < PyTuple_GET_SIZE(op->keywords); i++) arrays[n + i] = keywords[i];
    if ((y = computed(&call, kernel)) == NULL) goto done;
    if (op->form == PARTS) { out = parted(&call, y); goto done; }
    if (!is_plain(y)) {
        Py_SETREF(y, PyObject_Vectorcall(settle_, (PyObject *[]){y, lead}, 2, NULL));
        if (y == NULL || !is_plain(y)) { Py_XDECREF(y); goto done; }
    }
    if (call.subset && op->integers && !is_float(descr_of(y))) call.subset = 0; /* integers are constants */
    if ((out = boxed(y, Py_None, holds ? SLOT(holds, Recording_fresh) : Py_None)) != NULL && call.subset) {
        PyObject *node = new_node(&call, Node_, y, fitting(&call, y), Py_None);
        if (node) Py_SETREF(SLOT(out, Tensor__node), node); else Py_CLEAR(out);
    }
    if (out && op->view && note_view(&call, out, holds == NULL) < 0) Py_CLEAR(out);
done:
    for (int i = 0; i < n; i++) { Py_DECREF(arrays[i]); Py_XDECREF(call.nodes[i]); }
    Py_DECREF(kernel); Py_DECREF(call.limit); Py_XDECREF(holds);
    return out ? out : miss();
}

/* The keywords of a call of joins and parts: those that are given by name, by position, or by default. */
static int named(Operator *op, PyObject *const *given, Size n, PyObject *kwnames, PyObject **found) {
    Size all = PyTuple_GET_SIZE(op->keywords);
    if (n > all) return 0;
    for (Size i = 0; i < all; i++) found[i] = i < n ? given[i] : PyTuple_GET_ITEM(op->defaults, i);
    for (Size k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++) {
        Size i = n; /* names are interned */
        while (i < all && PyTuple_GET_ITEM(op->keywords, i) != PyTuple_GET_ITEM(kwnames, k)) i++;
        if (i >= all) return 0;
        found[i] = given[n + k];
    }
    for (Size i = 0; i < all; i++) if (!PyLong_CheckExact(found[i]) && !PyTuple_CheckExact(found[i])) return 0;
    return 1;
}

HOLDER_TYPE(Operator, "An operator's common calls.")

static PyObject *core_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Operator *op = (Operator *)self;
    PyObject *keywords[ITEMS], *held = NULL, *const *xs = args, *out;
    Size n = PyVectorcall_NARGS(nargsf), inputs = n;
    if (op->form == FIXED) return called(op, args, op->arity, args + op->arity);
    int listed = op->form == JOIN && n && (PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0]));
    if (listed || op->form == PARTS) inputs = 1;
    if (n < inputs || !named(op, args + inputs, n - inputs, kwnames, keywords)) return miss();
    if (listed) { /* as a tuple: a list may change while Python runs */
        if ((held = PySequence_Tuple(args[0])) == NULL) return miss();
        xs = PySequence_Fast_ITEMS(held);
        inputs = PyTuple_GET_SIZE(held);
    }
    out = inputs <= JOINED ? called(op, xs, (int)inputs, keywords) : miss();
    Py_XDECREF(held);
    return out;
}

static vectorcallfunc function_call; /* what Python functions have */

static int is_static(PyObject *x) {
    return PyLong_CheckExact(x) || PySlice_Check(x) || x == Py_None || x == Py_Ellipsis;
}

/* Whether a view is what the operator makes of it: `x.T` of two axes, `x[key]` of keys without arrays. */
static int is_simple_view(PyObject *const *args, Size n) {
    PyObject *a = is_a(args[0], Tensor_) ? SLOT(args[0], Tensor_array) : NULL;
    if (n == 1) return a && is_plain(a) && ((Array *)a)->nd == 2;
    if (!PyTuple_CheckExact(args[1])) return is_static(args[1]);
    for (Size i = 0; i < PyTuple_GET_SIZE(args[1]); i++) if (!is_static(PyTuple_GET_ITEM(args[1], i))) return 0;
    return 1;
}

/* The vectorcall of an operator or method that is a Python function: its own code runs where C does not know better. */
static PyObject *entered(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    PyObject *own = ((PyFunctionObject *)function)->func_dict, *xs[INPUTS], *out;
    Operator *op = own && !kwnames ? (Operator *)PyDict_GetItemWithError(own, s__core) : NULL;
    Size n = PyVectorcall_NARGS(nargsf);
    if (op && Py_TYPE(op) == &OperatorType && n == op->arity + PyTuple_GET_SIZE(op->keywords)
        && (!op->view || is_simple_view(args, n))) {
        for (int i = 0; i < op->arity; i++) xs[i] = args[op->places[i]];
        if ((out = called(op, xs, op->arity, args + op->arity)) != Py_None) return out;
        Py_DECREF(out);
    }
    return function_call(function, args, nargsf, kwnames);
}

/* attach(function): the operator that its attribute `_core` is goes first. */
static PyObject *attach(PyObject *module, PyObject *function) {
    PyFunctionObject *f = (PyFunctionObject *)function;
    if (!PyFunction_Check(function)) return PyErr_Format(PyExc_TypeError, "expected a function, given %R", function);
    if (f->vectorcall != entered) {
        function_call = f->vectorcall;
#if PY_VERSION_HEX >= 0x030C0000
        PyFunction_SetVectorcall(f, entered);
#else
        f->func_version = 0, f->vectorcall = entered;
#endif
    }
    Py_RETURN_NONE;
}

/* operator(primitive, kernels, by_dtype, keywords, form, kernel, numbers, flags, places, keeping): `form` is (form,
   defaults, barrier), `kernel` is (number, function), `keeping` is by the subset, (recipe, index, items). */
static PyObject *new_operator(PyObject *module, PyObject *args) {
    PyObject *keeping, *key, *entry;
    Operator *op = new_holder(&OperatorType, core_call, args);
    int fine = op && PyArg_ParseTuple(
        args, "OOOO!(iO!O)(iO)(iiii)(ppppp)(iii)O!", &op->primitive, &op->kernels, &op->by_dtype, &PyTuple_Type,
        &op->keywords, &op->form, &PyTuple_Type, &op->defaults, &op->barrier, &op->kernel, &op->function, &op->arity,
        &op->wanted, &op->values, &op->fit, &op->scalars, &op->large, &op->view, &op->integers, &op->precise,
        &op->places[0], &op->places[1], &op->places[2], &PyDict_Type, &keeping);
    for (Size at = 0; fine && PyDict_Next(keeping, &at, &key, &entry);) {
        Keeping *keep = &op->keeping[PyLong_AsLong(key) & ((1 << INPUTS) - 1)];
        fine = PyArg_ParseTuple(entry, "Ois", &keep->recipe, &keep->index, &keep->items);
    }
    if (!fine) Py_CLEAR(op);
    return (PyObject *)op;
}
