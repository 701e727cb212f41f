/* Calls of operators on plain arrays: `core/operators.py`, with views, joins and parts of `core/dispatch.py` and
   `backends/joins.py`. None is the answer to a call that is not a common one. */

/* -- views ---------------------------------------------------------------------------------------- */
static PyObject *base_of(PyObject *alias) { /* a borrowed reference; NULL: the base became a view itself */
    PyObject *base = SLOT(alias, Alias__base), *own = (PyObject *)Py_TYPE(base) == Tensor_ ? SLOT(base, Tensor__alias) : alias;
    return own == Py_None || own == INFERENCE_ ? base : NULL;
}

static PyObject *history_of(PyObject *x) { /* dispatch.node_of */
    PyObject *alias = SLOT(x, Tensor__alias);
    if (alias != Py_None && alias != INFERENCE_) {
        PyObject *base = base_of(alias);
        if (base == NULL || SLOT(base, Tensor__node) != SLOT(alias, Alias_seen))
            return PyObject_CallOneArg(history_, x); /* which may write it anew */
    }
    return Py_XNewRef(SLOT(x, Tensor__node));
}

static PyObject *storage(PyObject *a) {
    PyObject *base = ((Array *)a)->base;
    return base && is_plain(base) ? base : a;
}

/* dispatch.alias_of, while operations are recorded; takes `steps`. */
static PyObject *alias_of(PyObject *x, PyObject *steps, PyObject *barrier) {
    PyObject *own = SLOT(x, Tensor__alias), *base, *made = NULL;
    if (steps == NULL || own == INFERENCE_) { Py_XDECREF(steps); return steps ? Py_NewRef(own) : NULL; }
    if (own != Py_None) {
        int replayed = PyTuple_GET_SIZE(SLOT(own, Alias_steps)) && PyTuple_GET_SIZE(steps);
        PyObject *all = replayed ? PySequence_Concat(SLOT(own, Alias_steps), steps) : Py_NewRef(empty);
        Py_SETREF(steps, all);
    }
    base = own == Py_None ? x : base_of(own);
    base = steps == NULL ? NULL : base ? Py_NewRef(base) : PyObject_GetAttr(own, s_base);
    if (base == NULL || (made = blank(Alias_)) == NULL) { Py_XDECREF(base); Py_XDECREF(steps); return NULL; }
    SLOT(made, Alias__base) = base;
    SLOT(made, Alias_steps) = steps;
    SLOT(made, Alias_seen) = Py_NewRef(own == Py_None ? SLOT(x, Tensor__node) : SLOT(own, Alias_seen));
    SLOT(made, Alias_barrier) = Py_NewRef(barrier != Py_None || own == Py_None ? barrier : SLOT(own, Alias_barrier));
    return made;
}

/* -- operators ------------------------------------------------------------------------------------ */
typedef struct { /* the operator holds the recipe */
    PyObject *recipe;
    int index; /* the one input that gets a gradient, or -1: a tuple of nodes */
    int count;
    char what[ITEMS]; /* of what is kept: y, an input x, its meta m, all metas M, a keyword k */
    int at[ITEMS];
} Keeping;

enum Fit { NEVER, BY_DTYPE, OF_PAIR, OF_MATRICES, OF_THREE };
enum Form { FIXED, JOIN, PARTS };
/* Those that are one call of NumPy's, or two, made here. */
enum Kernel { OTHER, INDEX, RESHAPE, SWAP, CONCAT, SPLIT, MATMUL, LINEAR, ACROSS, AFFINE };

typedef struct {
    HOLDER
    PyObject *primitive, *kernels, *by_dtype, *keywords, *defaults, *barrier;
    Keeping keeping[SUBSETS]; /* by the inputs that want gradients */
    int form, kernel; /* what the function that was called last is */
    int arity, wanted, values, fit, places[MOST];
    int scalars, large, view, inexact, integers, precise;
} Operator;
#define LAST(op) (op)->held[0] /* the kernel that was called last */

static PyObject *miss(void) { /* Python does it, or does it again and tells what is wrong */
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
        PyErr_Clear();
    }
    Py_RETURN_NONE;
}

static PyObject *metas(PyObject *const *arrays, Py_ssize_t n) {
    PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all && i < n; i++) {
        PyObject *one = meta(arrays[i]);
        if (one == NULL) Py_CLEAR(all); else PyTuple_SET_ITEM(all, i, one);
    }
    return all;
}

static PyObject *kept(const Keeping *keep, PyObject *y, PyObject *const *arrays, Py_ssize_t n, PyObject *const *keywords) {
    if (keep->count == 0) return Py_NewRef(empty);
    PyObject *saved = PyTuple_New(keep->count);
    for (int i = 0; saved && i < keep->count; i++) {
        int at = keep->at[i];
        PyObject *value = keep->what[i] == 'y' ? Py_NewRef(y)
                        : keep->what[i] == 'x' ? Py_NewRef(arrays[at])
                        : keep->what[i] == 'm' ? meta(arrays[at])
                        : keep->what[i] == 'M' ? metas(arrays, n) : Py_NewRef(keywords[at]);
        if (value == NULL) Py_CLEAR(saved); else PyTuple_SET_ITEM(saved, i, value);
    }
    return saved;
}

static PyObject *target(PyObject *a) {
    PyObject *shape = PyObject_GetAttr(a, s_shape);
    return shape ? Py_BuildValue("(NOO)", shape, descr_of(a), empty) : NULL;
}

/* What each cotangent must become; None: it is so already. */
static PyObject *fitting(Operator *op, PyObject *y, PyObject *const *arrays, int numbers) {
    int n = op->arity, alike = 1;
    PyObject *const *a = arrays;
    if (op->fit == NEVER || (numbers && n == 2)) Py_RETURN_NONE;
    if (op->fit == BY_DTYPE) {
        for (int i = 0; i < n; i++) alike &= descr_of(a[i]) == descr_of(y);
    } else if (op->fit == OF_THREE) {
        for (int i = 0; alike && i < n; i++)
            alike = (PyObject *)Py_TYPE(a[i]) == plain_ && descr_of(a[i]) == descr_of(y) && same_shape(a[i], y);
    } else {
        int flat = op->fit == OF_PAIR ? same_shape(a[0], a[1]) : ((Array *)a[0])->nd == 2 && ((Array *)a[1])->nd == 2;
        if (flat && descr_of(a[0]) == descr_of(a[1])) Py_RETURN_NONE;
        PyObject *one = target(a[0]), *two = one ? target(a[1]) : NULL;
        if (two == NULL) { Py_XDECREF(one); return NULL; }
        return Py_BuildValue("(NN)", one, two);
    }
    if (alike) Py_RETURN_NONE;
    PyObject *given[MOST + 1] = {y, a[0], n > 1 ? a[1] : NULL, n > 2 ? a[2] : NULL};
    return PyObject_Vectorcall(fits_, given, (size_t)n + 1, NULL);
}

/* A node of one of two types; takes the references that it is given, but for the last, and gives NULL if one is. */
static PyObject *new_node(PyObject *type, PyObject *recipe, PyObject *saved, PyObject *origin, PyObject *fit, PyObject *extras) {
    PyObject *node = recipe && saved && origin && fit ? blank(type) : NULL;
    PyObject *when = node ? Py_TYPE(clock_)->tp_iternext(clock_) : NULL;
    if (when == NULL) { Py_XDECREF(recipe); Py_XDECREF(saved); Py_XDECREF(origin); Py_XDECREF(fit); Py_XDECREF(node); return NULL; }
    SLOT(node, Node_recipe) = recipe;
    SLOT(node, Node_saved) = saved;
    SLOT(node, Node_origin) = origin;
    SLOT(node, Node_fit) = fit;
    SLOT(node, Node_extras) = Py_NewRef(extras);
    SLOT(node, Node_when) = when;
    return node;
}

static int record(Operator *op, PyObject *out, PyObject *const *arrays, PyObject *const *nodes, int subset,
                  int numbers, PyObject *limit, PyObject *const *keywords) {
    const Keeping *keep = &op->keeping[subset];
    PyObject *y = SLOT(out, Tensor_array), *fit = fitting(op, y, arrays, numbers), *recipe, *saved, *origin, *node;
    if (fit == NULL) return -1;
    int big = fit != Py_None && op->large && limit != Py_None && size_of(y) > PyLong_AsSsize_t(limit);
    recipe = big ? PyObject_CallFunction(large_recipe_, "Oi", op->primitive, subset) : Py_NewRef(keep->recipe);
    saved = recipe ? kept(keep, y, arrays, op->arity, keywords) : NULL;
    origin = saved == NULL ? NULL : keep->index >= 0 ? Py_NewRef(nodes[keep->index]) : PyTuple_New(op->arity);
    for (int i = 0; origin && keep->index < 0 && i < op->arity; i++)
        PyTuple_SET_ITEM(origin, i, Py_NewRef(subset >> i & 1 ? nodes[i] : Py_None));
    if ((node = new_node(Node_, recipe, saved, origin, fit, Py_None)) == NULL) return -1;
    Py_SETREF(SLOT(out, Tensor__node), node);
    return 0;
}

static PyObject *viewed(Operator *op, PyObject *x, PyObject *out, PyObject *const *keywords, int recording) {
    PyObject *named = PyDict_New(), *alias;
    Py_ssize_t n = op->keywords ? PyTuple_GET_SIZE(op->keywords) : 0;
    int bad = named == NULL;
    for (Py_ssize_t i = 0; !bad && i < n; i++) bad = PyDict_SetItem(named, PyTuple_GET_ITEM(op->keywords, i), keywords[i]);
    if (!bad && (!recording || PyDict_GET_SIZE(copying_))) {
        PyObject *given[] = {x, out, op->primitive, named}, *done = PyObject_Vectorcall(track_view_, given, 4, NULL);
        bad = done == NULL;
        Py_XDECREF(done);
    } else if (!bad && storage(SLOT(out, Tensor_array)) == storage(SLOT(x, Tensor_array))) {
        alias = alias_of(x, Py_BuildValue("((OO))", op->primitive, named), Py_None);
        if (alias) Py_SETREF(SLOT(out, Tensor__alias), alias); else bad = 1;
    }
    Py_XDECREF(named);
    if (bad) Py_CLEAR(out);
    return out;
}

static PyObject *kernel_of(Operator *op, PyObject *table, PyObject *by) { /* its kernels, and which function that is */
    PyObject *found = PyDict_GetItemWithError(table, by);
    if (found == NULL || (PyObject *)Py_TYPE(found) != Kernels_ || SLOT(found, Kernels_layered) != Py_False) return NULL;
    if (SLOT(found, Kernels_usual) != LAST(op)) {
        PyObject *known = PyDict_GetItemWithError(kernels_, SLOT(found, Kernels_usual));
        op->kernel = known ? (int)PyLong_AsLong(known) : OTHER;
        Py_SETREF(LAST(op), Py_NewRef(SLOT(found, Kernels_usual)));
    }
    return found;
}

/* What a kernel gives; arrays and, behind them, keywords. */
static PyObject *computed(Operator *op, PyObject *kernel, PyObject *const *arrays) {
    PyObject *a = arrays[0], *y;
    int known = kernel == LAST(op) ? op->kernel : OTHER;
    if (known == INDEX) {
        if (((Array *)a)->nd == 1 && PyLong_CheckExact(arrays[1])) {
            Py_ssize_t at = PyLong_AsSsize_t(arrays[1]);
            return at == -1 && PyErr_Occurred() ? NULL : part_of(a, 0, at, -1);
        }
        y = PyObject_GetItem(a, arrays[1]);
        if (y == NULL || is_plain(y)) return y;
        Py_DECREF(y); /* a number, of which the kernel makes an array */
    } else if (known == RESHAPE && arrays[2] == Py_None) {
        return PyObject_CallMethodOneArg(a, s_reshape, arrays[1]);
    } else if (known == SWAP && ((Array *)a)->nd == 2) {
        return PyObject_GetAttr(a, s_T);
    } else if (known >= MATMUL) {
        y = dotted(a, known == ACROSS, arrays[1], known == LINEAR || known == AFFINE);
        if (y && known == AFFINE) {
            PyObject *b = arrays[2];
            int fine = ((Array *)b)->nd == 1 && descr_of(b) == descr_of(y) && size_of(b) == ((Array *)y)->dims[1];
            PyObject *sum = fine ? PyNumber_InPlaceAdd(y, b) : NULL;
            Py_SETREF(y, sum);
        }
        if (y || PyErr_Occurred()) return y;
    }
    return PyObject_Vectorcall(kernel, arrays, (size_t)op->arity, op->keywords);
}

/* The call of an operator: inputs where `order` says, keywords behind them. None: not a common one. */
static PyObject *called(Operator *op, PyObject *const *args, const int *order) {
    PyObject *arrays[MOST + ITEMS], *nodes[MOST] = {NULL}, *lead = NULL, *value = NULL, *rec = NULL, *out = NULL, *y;
    PyObject *const *keywords = args + op->arity;
    int n = op->arity, subset = 0, numbers = 0, floating = 0;
    if (PyDict_GET_SIZE(places_)) return miss();
    if (PySet_GET_SIZE(unusual_)) {
        PyObject *hears = mode(told_), *casts = op->precise ? mode(precision_) : NULL;
        if (hears != Py_None || (op->precise && (!casts || SLOT(casts, Precision_casting) != Py_None))) return miss();
        if ((rec = mode(recording_)) == NULL) return miss();
        if (SLOT(rec, Recording_recording) == Py_True) {
            PyObject *sees = mode(new_);
            if (sees == NULL || SLOT(sees, NewNodes_keeping) != Py_None) return miss();
            rec = NULL;
        }
    }
    for (int i = 0; i < n; i++) {
        PyObject *x = args[order[i]];
        if ((PyObject *)Py_TYPE(x) == Tensor_) {
            PyObject *a = arrays[i] = SLOT(x, Tensor_array);
            if (a == NULL || !is_plain(a)) return miss();
            if (lead == NULL) lead = a;
            if (op->values >> i & 1) {
                if (value != NULL && descr_of(a) != descr_of(value)) return miss();
                value = a;
            }
        } else if (op->scalars && (PyFloat_CheckExact(x) || PyLong_CheckExact(x))) {
            arrays[i] = x;
            numbers++;
            floating |= PyFloat_CheckExact(x) || n == 3;
        } else {
            return miss();
        }
    }
    if (lead == NULL) return miss();
    if (floating) { /* beside integers a float gives the default dtype */
        int found = 0;
        for (int i = 0; i < n && !found; i++) if ((PyObject *)Py_TYPE(arrays[i]) == plain_) found = is_float(descr_of(arrays[i]));
        if (found <= 0) return miss();
    }
    PyObject *table = op->kernels, *kernels;
    if (op->by_dtype) {
        if ((table = PyDict_GetItemWithError(op->by_dtype, plain_)) == NULL) return miss();
        kernels = kernel_of(op, table, descr_of(lead));
    } else {
        kernels = kernel_of(op, table, plain_);
    }
    if (kernels == NULL) return miss();
    PyObject *limit = SLOT(kernels, Kernels_limit), *kernel = SLOT(kernels, Kernels_usual);
    if (op->large && limit != Py_None) {
        Py_ssize_t most = PyLong_AsSsize_t(limit);
        for (int i = 0; i < n; i++) if ((PyObject *)Py_TYPE(arrays[i]) == plain_ && size_of(arrays[i]) > most) return miss();
    }
    /* From here on arrays, nodes and kernel are ours: what is called may rebind the tensors' slots. */
    for (int i = 0; i < n; i++) Py_INCREF(arrays[i]);
    Py_INCREF(kernel);
    Py_INCREF(limit);
    Py_XINCREF(rec);
    if (rec == NULL) for (int i = 0; i < n; i++) {
        PyObject *x = args[order[i]];
        if (!(op->wanted >> i & 1) || (PyObject *)Py_TYPE(x) != Tensor_) continue;
        if ((nodes[i] = history_of(x)) == NULL) goto done;
        if (nodes[i] != Py_None) subset |= 1 << i;
    }
    for (Py_ssize_t i = 0; op->keywords && i < PyTuple_GET_SIZE(op->keywords); i++) arrays[n + i] = keywords[i];
    if ((y = computed(op, kernel, arrays)) == NULL) goto done;
    if ((PyObject *)Py_TYPE(y) != plain_) {
        PyObject *pair[] = {y, lead}, *settled = PyObject_Vectorcall(settle_, pair, 2, NULL);
        Py_SETREF(y, settled);
        if (y == NULL) goto done;
    }
    if (subset && ((PyObject *)Py_TYPE(y) != plain_ || (op->integers && is_float(descr_of(y)) <= 0))) {
        subset = 0;
        if ((PyObject *)Py_TYPE(y) != plain_) { Py_DECREF(y); goto done; }
    }
    out = boxed(y, Py_None, rec ? SLOT(rec, Recording_fresh) : Py_None);
    if (out && subset && record(op, out, arrays, nodes, subset, numbers, limit, keywords) < 0) Py_CLEAR(out);
    if (out && op->view) out = viewed(op, args[order[0]], out, keywords, rec == NULL);
done:
    for (int i = 0; i < n; i++) { Py_DECREF(arrays[i]); Py_XDECREF(nodes[i]); }
    Py_DECREF(kernel);
    Py_DECREF(limit);
    Py_XDECREF(rec);
    return out ? out : miss();
}

/* The keywords of a call of joins and parts: those that are given by name, by position, or by default. */
static int named(Operator *op, PyObject *const *given, Py_ssize_t n, PyObject *const *by_name, PyObject *kwnames, PyObject **found) {
    Py_ssize_t all = PyTuple_GET_SIZE(op->keywords);
    if (n > all) return 0;
    for (Py_ssize_t i = 0; i < all; i++) found[i] = i < n ? given[i] : PyTuple_GET_ITEM(op->defaults, i);
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++) {
        Py_ssize_t i = n;
        while (i < all && PyTuple_GET_ITEM(op->keywords, i) != PyTuple_GET_ITEM(kwnames, k)) i++; /* names are interned */
        if (i >= all) return 0;
        found[i] = by_name[k];
    }
    for (Py_ssize_t i = 0; i < all; i++) if (!PyLong_CheckExact(found[i]) && !PyTuple_CheckExact(found[i])) return 0;
    return 1;
}

/* joins.joined, of arrays that are alike. */
static PyObject *joined(Operator *op, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    PyObject *keywords[ITEMS], *held = NULL, *arrays = NULL, *nodes = NULL, *y = NULL, *out = NULL, *descr = NULL, *kernel = NULL;
    int listed = n > 0 && (PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0])), recorded = 0;
    if (!named(op, args + 1, listed ? n - 1 : 0, args + n, kwnames, keywords)) return miss();
    if (listed && (held = PySequence_Tuple(args[0])) == NULL) return miss(); /* a list may change while Python runs */
    PyObject *const *xs = listed ? PySequence_Fast_ITEMS(held) : args;
    Py_ssize_t count = listed ? PyTuple_GET_SIZE(held) : n;
    PyObject *kernels = kernel_of(op, op->kernels, plain_);
    if (kernels == NULL || count == 0) goto done;
    kernel = Py_NewRef(SLOT(kernels, Kernels_usual));
    if ((arrays = PyTuple_New(count)) == NULL || (nodes = PyTuple_New(count)) == NULL) goto done;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *a = (PyObject *)Py_TYPE(xs[i]) == Tensor_ ? SLOT(xs[i], Tensor_array) : NULL;
        if (a == NULL || !is_plain(a) || (descr && descr_of(a) != descr)) goto done;
        descr = descr_of(a);
        PyTuple_SET_ITEM(arrays, i, Py_NewRef(a));
    }
    if (is_float(descr) <= 0) goto done;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *node = history_of(xs[i]);
        if (node == NULL) goto done;
        recorded |= node != Py_None;
        PyTuple_SET_ITEM(nodes, i, node);
    }
    if (kernel == LAST(op) && op->kernel == CONCAT) {
        PyObject *pair[] = {arrays, keywords[0]};
        y = PyObject_Vectorcall(concatenate_, pair, 2, NULL);
    } else {
        PyObject *given = PyDict_New();
        for (Py_ssize_t i = 0; given && i < PyTuple_GET_SIZE(op->keywords); i++)
            if (PyDict_SetItem(given, PyTuple_GET_ITEM(op->keywords, i), keywords[i]) < 0) Py_CLEAR(given);
        y = given ? PyObject_Call(kernel, arrays, given) : NULL;
        Py_XDECREF(given);
    }
    if (y == NULL || !is_plain(y) || descr_of(y) != descr) { Py_XDECREF(y); goto done; }
    PyObject *node = Py_NewRef(Py_None);
    if (recorded) {
        Py_DECREF(node);
        PyObject *saved = kept(&op->keeping[0], y, ((PyTupleObject *)arrays)->ob_item, count, keywords);
        node = new_node(Node_, Py_NewRef(op->keeping[0].recipe), saved, Py_NewRef(nodes), Py_NewRef(Py_None), Py_None);
    }
    if (node) out = boxed(y, node, Py_None); else Py_DECREF(y);
    Py_XDECREF(node);
done:
    Py_XDECREF(held); Py_XDECREF(arrays); Py_XDECREF(nodes); Py_XDECREF(kernel);
    return out ? out : miss();
}

/* The parts of an array, of these sizes; NULL without an error: the kernel knows. */
static PyObject *split(PyObject *a, PyObject *sizes, PyObject *along) {
    Py_ssize_t nd = ((Array *)a)->nd, axis = PyLong_CheckExact(along) ? PyLong_AsSsize_t(along) : nd, end = 0;
    if (axis < -nd || axis >= nd || !PyTuple_CheckExact(sizes)) return NULL;
    axis += axis < 0 ? nd : 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); i++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(sizes, i))) return NULL;
        Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, i));
        if (size < 0 || size > ((Array *)a)->dims[axis] - end) return NULL;
        end += size;
    }
    PyObject *parts = end == ((Array *)a)->dims[axis] ? PyTuple_New(PyTuple_GET_SIZE(sizes)) : NULL;
    end = 0;
    for (Py_ssize_t i = 0; parts && i < PyTuple_GET_SIZE(sizes); i++) {
        Py_ssize_t start = end;
        end += PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, i));
        PyObject *one = part_of(a, axis, start, end);
        if (one == NULL) Py_CLEAR(parts); else PyTuple_SET_ITEM(parts, i, one);
    }
    return parts;
}

static PyObject *new_output(PyObject *fork, Py_ssize_t i) {
    PyObject *end = blank(Output_);
    if (end == NULL) return NULL;
    SLOT(end, Output_fork) = Py_NewRef(fork);
    SLOT(end, Output_extras) = Py_NewRef(NOTHING_);
    SLOT(end, Output_index) = PyLong_FromSsize_t(i);
    SLOT(end, Output_origin) = PyTuple_Pack(1, fork);
    SLOT(end, Output_when) = Py_TYPE(clock_)->tp_iternext(clock_);
    if (!SLOT(end, Output_index) || !SLOT(end, Output_origin) || !SLOT(end, Output_when)) Py_CLEAR(end);
    return end;
}

/* joins.parted, of an array of floats. */
static PyObject *parted(Operator *op, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    PyObject *given[1 + ITEMS], *x = n ? args[0] : NULL, *a, *node = NULL, *parts, *fork = NULL, *ends = NULL, *out = NULL;
    if (x == NULL || (PyObject *)Py_TYPE(x) != Tensor_ || !(a = SLOT(x, Tensor_array)) || !is_plain(a)) return miss();
    if (PyDict_GET_SIZE(copying_) || is_float(descr_of(a)) <= 0) return miss();
    if (!named(op, args + 1, n - 1, args + n, kwnames, given + 1)) return miss();
    PyObject *kernels = kernel_of(op, op->kernels, plain_);
    if (kernels == NULL) return miss();
    PyObject *kernel = Py_NewRef(SLOT(kernels, Kernels_usual));
    given[0] = Py_NewRef(a);
    parts = op->kernel == SPLIT ? split(a, given[1], given[2]) : NULL;
    if (parts == NULL && !PyErr_Occurred()) parts = PyObject_Vectorcall(kernel, given, 1, op->keywords);
    Py_DECREF(kernel);
    if (parts == NULL || !PyTuple_CheckExact(parts) || (node = history_of(x)) == NULL) goto done;
    Py_ssize_t count = PyTuple_GET_SIZE(parts);
    for (Py_ssize_t i = 0; i < count; i++) if (!is_plain(PyTuple_GET_ITEM(parts, i))) goto done;
    if (node != Py_None && count) {
        PyObject *saved = kept(&op->keeping[1], parts, given, 1, given + 1);
        if ((fork = new_node(Fork_, Py_NewRef(op->keeping[1].recipe), saved, Py_NewRef(node), Py_NewRef(Py_None), NOTHING_)) == NULL) goto done;
        if ((SLOT(fork, Fork_metas) = metas(((PyTupleObject *)parts)->ob_item, count)) == NULL) goto done;
        if ((ends = SLOT(fork, Fork_outputs) = PyTuple_New(count)) == NULL) goto done;
    }
    if ((out = PyTuple_New(count)) == NULL) goto done;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *end = fork ? new_output(fork, i) : Py_NewRef(Py_None), *alias = alias_of(x, Py_NewRef(empty), op->barrier);
        PyObject *one = end && alias ? boxed(Py_NewRef(PyTuple_GET_ITEM(parts, i)), end, alias) : NULL;
        PyObject *weak = one && fork ? PyWeakref_NewRef(end, NULL) : NULL;
        Py_XDECREF(end);
        Py_XDECREF(alias);
        if (one == NULL || (fork && weak == NULL)) { Py_XDECREF(one); Py_CLEAR(out); goto done; }
        PyTuple_SET_ITEM(out, i, one);
        if (fork) PyTuple_SET_ITEM(ends, i, weak);
    }
done:
    Py_XDECREF(fork); Py_XDECREF(parts); Py_XDECREF(node); Py_DECREF(given[0]);
    return out ? out : miss();
}

HOLDER_TYPE(Operator, "An operator's common calls.")

static PyObject *core_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    static const int straight[MOST] = {0, 1, 2};
    Operator *op = (Operator *)self;
    if (op->form == FIXED) return called(op, args, straight);
    if (PySet_GET_SIZE(unusual_) || PyDict_GET_SIZE(places_)) return miss();
    return (op->form == JOIN ? joined : parted)(op, args, PyVectorcall_NARGS(nargsf), kwnames);
}

static vectorcallfunc function_call; /* what Python functions have */

static int is_static(PyObject *part) {
    return PyLong_CheckExact(part) || PySlice_Check(part) || part == Py_None || part == Py_Ellipsis;
}

/* The vectorcall of a method that is an operator but for what it looks at first: keys, and how many axes there are. */
static PyObject *entered_method(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    static const int first[MOST] = {0, 0, 0};
    PyObject *own = ((PyFunctionObject *)function)->func_dict;
    Operator *op = own ? (Operator *)PyDict_GetItemWithError(own, s_core) : NULL;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (op && Py_TYPE(op) == &OperatorType && !kwnames && n == 1 + (op->keywords != NULL) && (PyObject *)Py_TYPE(args[0]) == Tensor_) {
        PyObject *a = SLOT(args[0], Tensor_array);
        int fine = n == 1 ? a && is_plain(a) && ((Array *)a)->nd == 2 : is_static(args[1]) || PyTuple_CheckExact(args[1]);
        for (Py_ssize_t i = 0; n == 2 && fine && PyTuple_CheckExact(args[1]) && i < PyTuple_GET_SIZE(args[1]); i++)
            fine = is_static(PyTuple_GET_ITEM(args[1], i));
        PyObject *out = fine ? called(op, args, first) : NULL;
        if (out != Py_None && fine) return out;
        Py_XDECREF(out);
    }
    return function_call(function, args, nargsf, kwnames);
}

/* The vectorcall of an operator that is a Python function: its own code runs only where C does not know better. */
static PyObject *entered(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    if (kwnames == NULL) {
        Operator *op = (Operator *)PyDict_GetItemWithError(PyFunction_GET_GLOBALS(function), s_core);
        if (op && Py_TYPE(op) == &OperatorType && PyVectorcall_NARGS(nargsf) == op->arity) {
            PyObject *out = called(op, args, op->places);
            if (out != Py_None) return out;
            Py_DECREF(out);
        }
    }
    return function_call(function, args, nargsf, kwnames);
}

/* attach(function, method): `_core` among the globals of the function, or its attributes, goes first. */
static PyObject *attach(PyObject *module, PyObject *args) {
    PyObject *function;
    int method;
    if (!PyArg_ParseTuple(args, "O!p", &PyFunction_Type, &function, &method)) return NULL;
    PyFunctionObject *f = (PyFunctionObject *)function;
    vectorcallfunc first = method ? entered_method : entered;
    if (f->vectorcall != first) {
        function_call = f->vectorcall;
#if PY_VERSION_HEX >= 0x030C0000
        PyFunction_SetVectorcall(f, first);
#else
        f->func_version = 0;
        f->vectorcall = first;
#endif
    }
    Py_RETURN_NONE;
}

/* operator(primitive, tables, keywords, form, numbers, order, keeping): `form` is (form, defaults, barrier), `keeping`
   is by the subset, (recipe, index, what, at). */
static PyObject *new_operator(PyObject *module, PyObject *args) {
    PyObject *primitive, *kernels, *by_dtype, *keywords, *keeping;
    Operator *op = new_holder(&OperatorType);
    if (op == NULL) return NULL;
    op->call = core_call;
    hold(op, Py_None); /* as LAST */
    PyObject *defaults, *barrier;
    if (!PyArg_ParseTuple(args, "OOOO!(iO!O)(iiii)(pppppp)(iii)O!", &primitive, &kernels, &by_dtype, &PyTuple_Type,
                          &keywords, &op->form, &PyTuple_Type, &defaults, &barrier, &op->arity,
                          &op->wanted, &op->values, &op->fit, &op->scalars, &op->large, &op->view, &op->inexact,
                          &op->integers, &op->precise, &op->places[0], &op->places[1], &op->places[2], &PyDict_Type,
                          &keeping)) goto fail;
    op->primitive = hold(op, primitive);
    op->kernels = hold(op, kernels);
    op->defaults = hold(op, defaults);
    op->barrier = hold(op, barrier);
    op->by_dtype = hold(op, op->inexact ? by_dtype : NULL);
    op->keywords = hold(op, PyTuple_GET_SIZE(keywords) ? keywords : NULL);
    if (op->arity < 1 || op->arity > MOST || PyTuple_GET_SIZE(keywords) > ITEMS) goto odd;
    if (op->form != FIXED && (!op->keywords || PyTuple_GET_SIZE(defaults) != PyTuple_GET_SIZE(keywords))) goto odd;
    PyObject *key, *entry;
    for (Py_ssize_t at = 0; PyDict_Next(keeping, &at, &key, &entry);) {
        long subset = PyLong_AsLong(key);
        PyObject *recipe, *places;
        const char *what;
        if (subset < 0 || subset >= SUBSETS) goto odd;
        Keeping *keep = &op->keeping[subset];
        if (!PyArg_ParseTuple(entry, "OisO!", &recipe, &keep->index, &what, &PyTuple_Type, &places)) goto fail;
        if ((keep->count = (int)PyTuple_GET_SIZE(places)) > ITEMS) goto odd;
        keep->recipe = hold(op, recipe);
        for (int i = 0; i < keep->count; i++) {
            keep->what[i] = what[i];
            keep->at[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        }
    }
    PyObject_GC_Track(op);
    return (PyObject *)op;
odd:
    PyErr_SetString(PyExc_ValueError, "an operator of this form is not known");
fail:
    Py_DECREF(op);
    return NULL;
}
