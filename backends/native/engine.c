/* The engine's hot paths in C: an operator's call on plain arrays, the search for a walk's nodes, and its loop.

   The Python source says what is meant: `core/operators.py`, `core/plan.py`, `core/engine.py`. Types are those of Python:
   slots are read and written where their descriptors say. Whatever is not common is left to the Python functions:
   an operator then answers None, and a node goes to `Walk._step`. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <string.h>

#ifdef Py_GIL_DISABLED
#error "slots are read without a lock: a free-threaded Python has the engine in Python"
#endif

enum { MOST = 3, ITEMS = 8, SUBSETS = 1 << MOST };

/* The head of NumPy's arrays, which is part of its ABI; `setup` compares it with a real one. */
typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dims, *strides;
    PyObject *base, *descr;
} Array;

/* What Python gives in `setup`, by the same names. */
#define NAMES(X) X(Tensor) X(Node) X(Recipe) X(Kernels) X(Recording) X(NewNodes) X(Precision) X(Meta) X(plain) \
    X(sample) X(cpu) X(FREED) X(unusual) X(places) X(floats) X(clock) X(by_array) X(last_write) X(tape_namespace) \
    X(settle) X(history) X(fits) X(fit) X(track_view) X(check_saved) X(reviver) X(tied) \
    X(recording) X(new) X(told) X(precision)
#define DECLARE(name) static PyObject *name##_;
NAMES(DECLARE)

/* Where slots are: type, name. */
#define SLOTS(X) X(Tensor, array) X(Tensor, _node) X(Tensor, _alias) X(Node, extras) X(Node, fit) X(Node, origin) \
    X(Node, recipe) X(Node, saved) X(Node, when) X(Recipe, keeps_arrays) X(Recipe, revive) X(Recipe, flat) X(Recipe, steps) \
    X(Kernels, usual) X(Kernels, limit) X(Kernels, layered) X(Recording, recording) X(Recording, fresh) \
    X(NewNodes, keeping) X(Precision, casting)
#define PLACE(type, name) static Py_ssize_t type##_##name;
SLOTS(PLACE)
#define SLOT(object, place) (*(PyObject **)((char *)(object) + (place)))

static PyObject *s_shape, *s_recipe, *s_core, *s_step, *s_add, *s_nested, *s_reached, *s_when, *s_xp, *s_origin, *s_saved, *s_plan;
static PyObject *empty;
static PyTypeObject OperatorType, StepType;

static PyObject *descr_of(PyObject *a) { return ((Array *)a)->descr; }

static Py_ssize_t size_of(PyObject *a) {
    Py_ssize_t size = 1;
    for (int i = 0; i < ((Array *)a)->nd; i++) size *= ((Array *)a)->dims[i];
    return size;
}

static int same_shape(PyObject *a, PyObject *b) {
    int nd = ((Array *)a)->nd;
    if (nd != ((Array *)b)->nd) return 0;
    for (int i = 0; i < nd; i++) if (((Array *)a)->dims[i] != ((Array *)b)->dims[i]) return 0;
    return 1;
}

/* Whether a dtype is one of floats; those that were are remembered. */
static int is_float(PyObject *dtype) {
    static PyObject *known[4];
    static unsigned next;
    for (int i = 0; i < 4; i++) if (known[i] == dtype) return 1;
    int found = PySet_Contains(floats_, dtype);
    if (found > 0) Py_XSETREF(known[next++ % 4], Py_NewRef(dtype));
    return found;
}

/* A mode of this thread and task; a borrowed reference, which the context holds. */
static PyObject *mode(PyObject *variable) {
    PyObject *found = NULL;
    if (PyContextVar_Get(variable, NULL, &found) < 0 || found == NULL) return NULL;
    Py_DECREF(found);
    return found;
}

static PyObject *blank(PyObject *type) { return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0); }

static PyObject *meta(PyObject *a) { /* items.meta_of */
    PyObject *shape = PyObject_GetAttr(a, s_shape);
    PyObject *made = shape ? ((PyTypeObject *)Meta_)->tp_alloc((PyTypeObject *)Meta_, 3) : NULL;
    if (made == NULL) { Py_XDECREF(shape); return NULL; }
    PyTuple_SET_ITEM(made, 0, shape);
    PyTuple_SET_ITEM(made, 1, Py_NewRef(descr_of(a)));
    PyTuple_SET_ITEM(made, 2, Py_NewRef(cpu_));
    return made;
}

/* -- operators ------------------------------------------------------------------------------------ */
typedef struct {
    PyObject *recipe;
    int index; /* the one input that gets a gradient, or -1: a tuple of nodes */
    int count;
    char what[ITEMS]; /* of what is kept: y, an input x, its meta m, a keyword k */
    int at[ITEMS];
} Keeping;

enum Fit { NEVER, BY_DTYPE, OF_PAIR, OF_MATRICES, OF_THREE };

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *primitive, *kernels, *by_dtype, *keywords;
    Keeping keeping[SUBSETS]; /* by the inputs that want gradients */
    int arity, wanted, values, fit, places[MOST];
    int scalars, large, view, inexact, integers, precise;
} Operator;

static PyObject *miss(void) { /* Python does it, or does it again and tells what is wrong */
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
        PyErr_Clear();
    }
    Py_RETURN_NONE;
}

static PyObject *kept(const Keeping *keep, PyObject *y, PyObject *const *arrays, PyObject *const *keywords) {
    if (keep->count == 0) return Py_NewRef(empty);
    PyObject *saved = PyTuple_New(keep->count);
    for (int i = 0; saved && i < keep->count; i++) {
        int at = keep->at[i];
        PyObject *value = keep->what[i] == 'y' ? Py_NewRef(y)
                        : keep->what[i] == 'x' ? Py_NewRef(arrays[at])
                        : keep->what[i] == 'm' ? meta(arrays[at]) : Py_NewRef(keywords[at]);
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

static PyObject *large_recipe(Operator *op, int subset) {
    PyObject *wanted = PyTuple_New(0);
    for (int i = 0; wanted && i < op->arity; i++) if (subset >> i & 1) {
        PyObject *more = Py_BuildValue("(i)", i), *both = more ? PySequence_Concat(wanted, more) : NULL;
        Py_XDECREF(more);
        Py_SETREF(wanted, both);
    }
    PyObject *found = wanted ? PyObject_CallMethodObjArgs(op->primitive, s_recipe, wanted, Py_True, NULL) : NULL;
    Py_XDECREF(wanted);
    return found;
}

static int record(Operator *op, PyObject *out, PyObject *const *arrays, PyObject *const *nodes, int subset,
                  int numbers, PyObject *limit, PyObject *const *keywords) {
    PyObject *y = SLOT(out, Tensor_array), *node = blank(Node_), *origin, *fit;
    if (node == NULL) return -1;
    Keeping *keep = &op->keeping[subset];
    if ((fit = SLOT(node, Node_fit) = fitting(op, y, arrays, numbers)) == NULL) goto fail;
    int big = fit != Py_None && op->large && limit != Py_None && size_of(y) > PyLong_AsSsize_t(limit);
    if ((SLOT(node, Node_recipe) = big ? large_recipe(op, subset) : Py_NewRef(keep->recipe)) == NULL) goto fail;
    if ((SLOT(node, Node_saved) = kept(keep, y, arrays, keywords)) == NULL) goto fail;
    if (keep->index >= 0) {
        origin = Py_NewRef(nodes[keep->index]);
    } else {
        if ((origin = PyTuple_New(op->arity)) == NULL) goto fail;
        for (int i = 0; i < op->arity; i++) PyTuple_SET_ITEM(origin, i, Py_NewRef(subset >> i & 1 ? nodes[i] : Py_None));
    }
    SLOT(node, Node_origin) = origin;
    SLOT(node, Node_extras) = Py_NewRef(Py_None);
    if ((SLOT(node, Node_when) = Py_TYPE(clock_)->tp_iternext(clock_)) == NULL) goto fail;
    SLOT(out, Tensor__node) = node;
    return 0;
fail:
    Py_DECREF(node);
    return -1;
}

static PyObject *viewed(Operator *op, PyObject *x, PyObject *out, PyObject *const *keywords) {
    PyObject *named = PyDict_New();
    Py_ssize_t n = op->keywords ? PyTuple_GET_SIZE(op->keywords) : 0;
    int bad = named == NULL;
    for (Py_ssize_t i = 0; !bad && i < n; i++) bad = PyDict_SetItem(named, PyTuple_GET_ITEM(op->keywords, i), keywords[i]);
    PyObject *given[] = {x, out, op->primitive, named};
    PyObject *done = bad ? NULL : PyObject_Vectorcall(track_view_, given, 4, NULL);
    Py_XDECREF(named);
    if (done == NULL) { Py_DECREF(out); return NULL; }
    Py_DECREF(done);
    return out;
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
            if (a == NULL || (PyObject *)Py_TYPE(a) != plain_) return miss();
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
        kernels = PyDict_GetItemWithError(table, descr_of(lead));
    } else {
        kernels = PyDict_GetItemWithError(table, plain_);
    }
    if (kernels == NULL || (PyObject *)Py_TYPE(kernels) != Kernels_ || SLOT(kernels, Kernels_layered) != Py_False) return miss();
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
        PyObject *alias = SLOT(x, Tensor__alias);
        nodes[i] = alias == Py_None ? Py_XNewRef(SLOT(x, Tensor__node)) : PyObject_CallOneArg(history_, x);
        if (nodes[i] == NULL) goto done;
        if (nodes[i] != Py_None) subset |= 1 << i;
    }
    for (Py_ssize_t i = 0; op->keywords && i < PyTuple_GET_SIZE(op->keywords); i++) arrays[n + i] = keywords[i];
    if ((y = PyObject_Vectorcall(kernel, arrays, (size_t)n, op->keywords)) == NULL) goto done;
    if ((PyObject *)Py_TYPE(y) != plain_) {
        PyObject *pair[] = {y, lead}, *settled = PyObject_Vectorcall(settle_, pair, 2, NULL);
        Py_SETREF(y, settled);
        if (y == NULL) goto done;
    }
    if (subset && ((PyObject *)Py_TYPE(y) != plain_ || (op->integers && is_float(descr_of(y)) <= 0))) {
        subset = 0;
        if ((PyObject *)Py_TYPE(y) != plain_) { Py_DECREF(y); goto done; }
    }
    if ((out = blank(Tensor_)) == NULL) { Py_DECREF(y); goto done; }
    SLOT(out, Tensor_array) = y;
    SLOT(out, Tensor__alias) = Py_NewRef(rec ? SLOT(rec, Recording_fresh) : Py_None);
    if (!subset) SLOT(out, Tensor__node) = Py_NewRef(Py_None);
    else if (record(op, out, arrays, nodes, subset, numbers, limit, keywords) < 0) Py_CLEAR(out);
    if (out && op->view) out = viewed(op, args[order[0]], out, keywords);
done:
    for (int i = 0; i < n; i++) { Py_DECREF(arrays[i]); Py_XDECREF(nodes[i]); }
    Py_DECREF(kernel);
    Py_DECREF(limit);
    Py_XDECREF(rec);
    return out ? out : miss();
}

static PyObject *core_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    static const int straight[MOST] = {0, 1, 2};
    return called((Operator *)self, args, straight);
}

static vectorcallfunc function_call; /* what Python functions have */

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

static PyObject *attach(PyObject *module, PyObject *function) {
    if (!PyFunction_Check(function)) { PyErr_SetString(PyExc_TypeError, "expected a function"); return NULL; }
    PyFunctionObject *f = (PyFunctionObject *)function;
    if (f->vectorcall != entered) {
        function_call = f->vectorcall;
#if PY_VERSION_HEX >= 0x030C0000
        PyFunction_SetVectorcall(f, entered);
#else
        f->func_version = 0;
        f->vectorcall = entered;
#endif
    }
    Py_RETURN_NONE;
}

/* operator(primitive, tables, keywords, numbers, order, keeping): `keeping` is by the subset, (recipe, index, what, at). */
static PyObject *new_operator(PyObject *module, PyObject *args) {
    PyObject *primitive, *kernels, *by_dtype, *keywords, *keeping;
    Operator *op = PyObject_GC_New(Operator, &OperatorType);
    if (op == NULL) return NULL;
    memset((char *)op + offsetof(Operator, call), 0, sizeof(Operator) - offsetof(Operator, call));
    op->call = core_call;
    if (!PyArg_ParseTuple(args, "OOOO(iiii)(pppppp)(iii)O!", &primitive, &kernels, &by_dtype, &keywords, &op->arity,
                          &op->wanted, &op->values, &op->fit, &op->scalars, &op->large, &op->view, &op->inexact,
                          &op->integers, &op->precise, &op->places[0], &op->places[1], &op->places[2], &PyDict_Type,
                          &keeping)) goto fail;
    op->primitive = Py_NewRef(primitive);
    op->kernels = Py_NewRef(kernels);
    op->by_dtype = op->inexact ? Py_NewRef(by_dtype) : NULL;
    op->keywords = PyTuple_GET_SIZE(keywords) ? Py_NewRef(keywords) : NULL;
    if (op->arity < 1 || op->arity > MOST || PyTuple_GET_SIZE(keywords) > ITEMS) goto odd;
    PyObject *key, *entry;
    for (Py_ssize_t at = 0; PyDict_Next(keeping, &at, &key, &entry);) {
        long subset = PyLong_AsLong(key);
        PyObject *recipe, *places;
        const char *what;
        if (subset < 0 || subset >= SUBSETS) goto odd;
        Keeping *keep = &op->keeping[subset];
        if (!PyArg_ParseTuple(entry, "OisO!", &recipe, &keep->index, &what, &PyTuple_Type, &places)) goto fail;
        if ((keep->count = (int)PyTuple_GET_SIZE(places)) > ITEMS) goto odd;
        keep->recipe = Py_NewRef(recipe);
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

static int operator_visit(PyObject *self, visitproc visit, void *arg) {
    Operator *op = (Operator *)self;
    Py_VISIT(op->primitive); Py_VISIT(op->kernels); Py_VISIT(op->by_dtype); Py_VISIT(op->keywords);
    for (int i = 0; i < SUBSETS; i++) Py_VISIT(op->keeping[i].recipe);
    return 0;
}

static int operator_clear(PyObject *self) {
    Operator *op = (Operator *)self;
    Py_CLEAR(op->primitive); Py_CLEAR(op->kernels); Py_CLEAR(op->by_dtype); Py_CLEAR(op->keywords);
    for (int i = 0; i < SUBSETS; i++) Py_CLEAR(op->keeping[i].recipe);
    return 0;
}

static void operator_free(PyObject *self) {
    PyObject_GC_UnTrack(self);
    operator_clear(self);
    PyObject_GC_Del(self);
}

static PyTypeObject OperatorType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lucidgrad.backends.native.Operator",
    .tp_basicsize = sizeof(Operator), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Operator, call), .tp_call = PyVectorcall_Call, .tp_dealloc = operator_free,
    .tp_traverse = operator_visit, .tp_clear = operator_clear,
    .tp_doc = "An operator's common calls.",
};

/* -- steps of a walk: the rules of a node, one by one ------------------------------------------------ */
enum Known { CALLED, IDENTITY, PRODUCT };

typedef struct {
    PyObject *rule, *code, *keywords; /* `code` is the function's when it was found to be a known one */
    int input, known, count, at[ITEMS];
} Pull;

typedef struct {
    PyObject_HEAD
    int single, count;
    Pull pulls[MOST];
} Step;

typedef struct {
    PyObject *walk, *pending, *owned, *needed, *add; /* `add`: a function, where it is not the walk's own way */
    int create_graph;
} Pass;

static PyObject *pulled(const Pull *pull, PyObject *xp, PyObject *g, PyObject *saved) {
    if (pull->known != CALLED && ((PyFunctionObject *)pull->rule)->func_code == pull->code) {
        if (pull->known == IDENTITY) return Py_NewRef(g);
        if (PyTuple_GET_SIZE(saved) > pull->at[0]) return PyNumber_Multiply(g, PyTuple_GET_ITEM(saved, pull->at[0]));
    }
    PyObject *args[2 + ITEMS] = {xp, g};
    for (int i = 0; i < pull->count; i++) {
        if (pull->at[i] >= PyTuple_GET_SIZE(saved)) {
            PyErr_SetString(PyExc_IndexError, "tuple index out of range");
            return NULL;
        }
        args[2 + i] = PyTuple_GET_ITEM(saved, pull->at[i]);
    }
    Py_ssize_t named = pull->keywords ? PyTuple_GET_SIZE(pull->keywords) : 0;
    return PyObject_Vectorcall(pull->rule, args, (size_t)(2 + pull->count - named), pull->keywords);
}

/* Walk._add: the second cotangent makes a fresh sum, later ones add to it. */
static int added(const Pass *pass, PyObject *node, PyObject *old, PyObject *ct) {
    if (pass->add) {
        PyObject *given[] = {node, ct}, *done = PyObject_Vectorcall(pass->add, given, 2, NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    int own = PySet_Contains(pass->owned, node);
    if (own < 0) return -1;
    Py_INCREF(old);
    PyObject *sum = own ? PyNumber_InPlaceAdd(old, ct) : PyNumber_Add(old, ct);
    Py_DECREF(old);
    int bad = sum == NULL || PyDict_SetItem(pass->pending, node, sum) < 0;
    Py_XDECREF(sum);
    return bad || (!own && !pass->create_graph && PySet_Add(pass->owned, node) < 0) ? -1 : 0;
}

static int stepped(const Step *step, const Pass *pass, PyObject *node, PyObject *xp, PyObject *g, PyObject *saved) {
    PyObject *origin = SLOT(node, Node_origin), *fit = SLOT(node, Node_fit);
    for (int i = 0; i < step->count; i++) {
        const Pull *pull = &step->pulls[i];
        PyObject *parent = step->single ? origin : PyTuple_GET_ITEM(origin, pull->input);
        if (!step->single && pass->needed != Py_None) {
            int wanted = PySet_Contains(pass->needed, parent);
            if (wanted < 0) return -1;
            if (!wanted) continue;
        }
        PyObject *ct = pulled(pull, xp, g, saved);
        if (ct != NULL && fit != Py_None) {
            PyObject *given[] = {xp, ct, PyTuple_GET_ITEM(fit, pull->input)};
            PyObject *fitted = PyObject_Vectorcall(fit_, given, 3, NULL);
            Py_SETREF(ct, fitted);
        }
        if (ct == NULL) return -1;
        PyObject *old = PyDict_GetItemWithError(pass->pending, parent);
        int bad = old ? added(pass, parent, old, ct) : PyErr_Occurred() ? -1 : PyDict_SetItem(pass->pending, parent, ct);
        Py_DECREF(ct);
        if (bad) return -1;
    }
    return 0;
}

/* As Python calls it: step(node, xp, g, saved, pending, add, needed). */
static PyObject *step_call(PyObject *self, PyObject *args, PyObject *named) {
    PyObject *node, *xp, *g, *saved, *pending, *add, *needed;
    if (!PyArg_UnpackTuple(args, "step", 7, 7, &node, &xp, &g, &saved, &pending, &add, &needed)) return NULL;
    if (!PyObject_TypeCheck(node, (PyTypeObject *)Node_) || !PyDict_Check(pending) || !PyTuple_Check(saved)) {
        PyErr_SetString(PyExc_TypeError, "step: expected a node, its saved values and a dict");
        return NULL;
    }
    Pass pass = {NULL, pending, NULL, needed, add, 0};
    if (stepped((Step *)self, &pass, node, xp, g, saved) < 0) return NULL;
    Py_RETURN_NONE;
}

/* step(single, pulls): each pull is (rule, keywords, input, known, places). */
static PyObject *new_step(PyObject *module, PyObject *args) {
    PyObject *pulls;
    Step *step = PyObject_GC_New(Step, &StepType);
    if (step == NULL) return NULL;
    memset((char *)step + sizeof(PyObject), 0, sizeof(Step) - sizeof(PyObject));
    if (!PyArg_ParseTuple(args, "pO!", &step->single, &PyTuple_Type, &pulls)) goto fail;
    if (PyTuple_GET_SIZE(pulls) > MOST) goto odd;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pulls); i++) {
        Pull *pull = &step->pulls[i];
        PyObject *rule, *keywords, *places;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pulls, i), "OO!iiO!", &rule, &PyTuple_Type, &keywords, &pull->input,
                              &pull->known, &PyTuple_Type, &places)) goto fail;
        if ((pull->count = (int)PyTuple_GET_SIZE(places)) > ITEMS || (pull->known && !PyFunction_Check(rule))) goto odd;
        pull->rule = Py_NewRef(rule);
        pull->code = pull->known ? Py_NewRef(PyFunction_GET_CODE(rule)) : NULL;
        pull->keywords = PyTuple_GET_SIZE(keywords) ? Py_NewRef(keywords) : NULL;
        for (int k = 0; k < pull->count; k++) pull->at[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(places, k));
        step->count++;
    }
    PyObject_GC_Track(step);
    return (PyObject *)step;
odd:
    PyErr_SetString(PyExc_ValueError, "rules of this form are not known");
fail:
    Py_DECREF(step);
    return NULL;
}

static int step_visit(PyObject *self, visitproc visit, void *arg) {
    for (int i = 0; i < MOST; i++) {
        Pull *pull = &((Step *)self)->pulls[i];
        Py_VISIT(pull->rule); Py_VISIT(pull->code); Py_VISIT(pull->keywords);
    }
    return 0;
}

static int step_clear(PyObject *self) {
    for (int i = 0; i < MOST; i++) {
        Pull *pull = &((Step *)self)->pulls[i];
        Py_CLEAR(pull->rule); Py_CLEAR(pull->code); Py_CLEAR(pull->keywords);
    }
    return 0;
}

static void step_free(PyObject *self) {
    PyObject_GC_UnTrack(self);
    step_clear(self);
    PyObject_GC_Del(self);
}

static PyTypeObject StepType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lucidgrad.backends.native.Step", .tp_basicsize = sizeof(Step),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_call = step_call, .tp_dealloc = step_free,
    .tp_traverse = step_visit, .tp_clear = step_clear, .tp_doc = "The rules of a node, one by one.",
};

/* -- the walk ---------------------------------------------------------------------------------------- */
static int is_later(PyObject *one, PyObject *other) { return PyObject_RichCompareBool(one, other, Py_GT); }

static int written_after(PyObject *when) { /* whether something was written in place since */
    PyObject *last = PyObject_GetAttr(last_write_, s_when);
    int later = last ? is_later(last, when) : -1;
    Py_XDECREF(last);
    return later;
}

/* One plain node. */
static int plain_step(const Pass *pass, PyObject *node, PyObject **g, PyObject *kind, PyObject *xp, int free_saved) {
    PyObject *recipe = Py_NewRef(SLOT(node, Node_recipe)), *saved = Py_NewRef(SLOT(node, Node_saved)), *step = NULL;
    int bad = -1;
    if (pass->create_graph) {
        PyObject *revive = SLOT(recipe, Recipe_revive);
        revive = revive == Py_None ? PyObject_CallOneArg(reviver_, recipe) : Py_NewRef(revive);
        PyObject *pair[] = {node, saved}, *revived = revive ? PyObject_Vectorcall(revive, pair, 2, NULL) : NULL;
        Py_XDECREF(revive);
        Py_SETREF(saved, revived);
        if (saved == NULL) goto done;
        if (SLOT(recipe, Recipe_flat) != Py_False) {
            PyObject *given[] = {node, *g, saved}, *made = PyObject_Vectorcall(tied_, given, 3, NULL);
            Py_SETREF(*g, made);
            if (made == NULL) goto done;
        }
    }
    PyObject *steps = SLOT(recipe, Recipe_steps);
    step = Py_XNewRef(PyDict_GetItemWithError(steps, kind));
    if (step == NULL && !PyErr_Occurred()) step = PyObject_GetItem(steps, kind);
    if (step == NULL) goto done;
    if (Py_TYPE(step) == &StepType && PyTuple_CheckExact(saved)) {
        bad = stepped((Step *)step, pass, node, xp, *g, saved);
    } else {
        PyObject *add = PyObject_GetAttr(pass->walk, s_add);
        PyObject *given[] = {node, xp, *g, saved, pass->pending, add, pass->needed};
        PyObject *done = add ? PyObject_Vectorcall(step, given, 7, NULL) : NULL;
        Py_XDECREF(add);
        Py_XDECREF(done);
        bad = done ? 0 : -1;
    }
    if (!bad && free_saved && SLOT(recipe, Recipe_keeps_arrays) == Py_True) {
        PyObject *old = SLOT(node, Node_saved);
        SLOT(node, Node_saved) = Py_NewRef(FREED_);
        Py_XDECREF(old);
    }
done:
    Py_XDECREF(step);
    Py_XDECREF(saved);
    Py_DECREF(recipe);
    return bad;
}

/* Walk._loop while no back end has streams and nobody observes: loop(walk, order, pending, owned, needed, special,
   create_graph, free). */
static PyObject *loop(PyObject *module, PyObject *args) {
    PyObject *walk, *order, *pending, *owned, *needed, *special, *xp = Py_NewRef(tape_namespace_), *kind = Py_None;
    int create_graph, free_saved;
    if (!PyArg_ParseTuple(args, "OO!O!OOOpp", &walk, &PyList_Type, &order, &PyDict_Type, &pending, &owned, &needed,
                          &special, &create_graph, &free_saved)) goto fail;
    Pass pass = {walk, pending, owned, needed, NULL, create_graph};
    Py_ssize_t count = PyList_GET_SIZE(order);
    PyObject *oldest = count ? PyObject_GetAttr(PyList_GET_ITEM(order, count - 1), s_when) : PyLong_FromLong(0);
    if (oldest == NULL) goto fail;
    Py_INCREF(special);
    int stale = written_after(oldest), bad = stale < 0;
    for (Py_ssize_t i = 0; !bad && i < PyList_GET_SIZE(order); i++) {
        if ((i & 1023) == 1023) { /* others' turn, as between instructions of Python */
            Py_BEGIN_ALLOW_THREADS
            Py_END_ALLOW_THREADS
            if ((bad = PyErr_CheckSignals() < 0)) break;
        }
        PyObject *node = PyList_GET_ITEM(order, i), *g = PyDict_GetItemWithError(pending, node);
        if (g == NULL) {
            bad = PyErr_Occurred() != NULL;
            continue;
        }
        Py_INCREF(node);
        Py_INCREF(g);
        bad = PyDict_DelItem(pending, node) < 0;
        int close = (PyObject *)Py_TYPE(node) != Node_ || SLOT(node, Node_extras) != Py_None
                 || (PyObject *)Py_TYPE(SLOT(node, Node_recipe)) != Recipe_;
        if (!bad && !close) {
            close = PyObject_IsTrue(special) ? PySet_Contains(special, node) : 0;
            bad = close < 0;
        }
        if (!bad && close) {
            PyObject *done = PyObject_CallMethodObjArgs(walk, s_step, node, g, NULL);
            Py_XDECREF(done);
            bad = done == NULL || (stale = written_after(oldest)) < 0; /* hooks and functions of users may write */
            PyObject *nested = bad ? NULL : PyObject_GetAttr(walk, s_nested);
            if (nested == Py_True) {
                PyObject *plan = PyObject_GetAttr(walk, s_plan), *reached = plan ? PyObject_GetAttr(plan, s_reached) : NULL;
                Py_XDECREF(plan);
                if (reached) Py_SETREF(special, reached); else bad = 1;
            }
            bad = bad || nested == NULL;
            Py_XDECREF(nested);
        } else if (!bad) {
            if (stale && (bad = written_after(SLOT(node, Node_when))) > 0) {
                PyObject *done = PyObject_CallOneArg(check_saved_, node);
                Py_XDECREF(done);
                bad = done == NULL;
            }
            if (!bad && !create_graph && (PyObject *)Py_TYPE(g) != kind) {
                PyObject *home = PyObject_GetItem(by_array_, (PyObject *)Py_TYPE(g));
                PyObject *found = home ? PyObject_GetAttr(home, s_xp) : NULL;
                Py_XDECREF(home);
                kind = (PyObject *)Py_TYPE(g); /* which the registry holds */
                if (found) Py_SETREF(xp, found); else bad = 1;
            }
            bad = bad || plain_step(&pass, node, &g, kind, xp, free_saved);
        }
        Py_XDECREF(g);
        Py_DECREF(node);
    }
    Py_DECREF(oldest);
    Py_DECREF(special);
    Py_DECREF(xp);
    if (bad) return NULL;
    Py_RETURN_NONE;
fail:
    Py_DECREF(xp);
    return NULL;
}

/* plan.reach: (the nodes that roots depend on, those that were freed, leaves, all in the order they were found in). */
static PyObject *reach(PyObject *module, PyObject *roots) {
    PyObject *seen = PySet_New(roots), *dead = PyList_New(0), *leaves = PyList_New(0), *found = NULL;
    if (!seen || !dead || !leaves || PySet_Discard(seen, Py_None) < 0 || (found = PySequence_List(seen)) == NULL) goto fail;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found); i++) { /* which grows on the way */
        PyObject *node = PyList_GET_ITEM(found, i), *origin, *saved;
        int plain = (PyObject *)Py_TYPE(node) == Node_;
        origin = plain ? Py_NewRef(SLOT(node, Node_origin)) : PyObject_GetAttr(node, s_origin);
        if (origin == NULL) goto fail;
        int several = PyTuple_CheckExact(origin), bad = 0;
        Py_ssize_t n = several ? PyTuple_GET_SIZE(origin) : 1, before;
        for (Py_ssize_t k = 0; !bad && k < n; k++) {
            PyObject *parent = several ? PyTuple_GET_ITEM(origin, k) : origin;
            if (parent == Py_None) continue;
            before = PySet_GET_SIZE(seen);
            bad = PySet_Add(seen, parent) < 0 || (PySet_GET_SIZE(seen) > before && PyList_Append(found, parent) < 0);
        }
        if (!bad && n == 0) bad = PyList_Append(leaves, node) < 0;
        Py_DECREF(origin);
        saved = bad ? NULL : plain ? Py_XNewRef(SLOT(node, Node_saved)) : PyObject_GetAttr(node, s_saved);
        if (saved == NULL || (saved == FREED_ && PyList_Append(dead, node) < 0)) { Py_XDECREF(saved); goto fail; }
        Py_DECREF(saved);
    }
    return Py_BuildValue("(NNNN)", seen, dead, leaves, found);
fail:
    Py_XDECREF(seen); Py_XDECREF(dead); Py_XDECREF(leaves); Py_XDECREF(found);
    return NULL;
}

/* -- the module -------------------------------------------------------------------------------------- */
static Py_ssize_t place_of(PyObject *type, const char *name) {
    PyObject *slot = PyObject_GetAttrString(type, name);
    if (slot == NULL) return -1;
    Py_ssize_t place = -1;
    if (Py_TYPE(slot) == &PyMemberDescr_Type) place = ((PyMemberDescrObject *)slot)->d_member->offset;
    else PyErr_Format(PyExc_TypeError, "%s is no slot of %R", name, type);
    Py_DECREF(slot);
    return place;
}

/* setup(names): what the engine consists of; raises if something is not as C expects it. */
static PyObject *setup(PyObject *module, PyObject *names) {
    if (!PyDict_Check(names)) { PyErr_SetString(PyExc_TypeError, "expected a dict"); return NULL; }
#define TAKE(name) \
    if ((name##_ = Py_XNewRef(PyDict_GetItemString(names, #name))) == NULL) \
        return PyErr_Format(PyExc_KeyError, "setup lacks %s", #name);
    NAMES(TAKE)
#define FIND(type, name) if ((type##_##name = place_of(type##_, #name)) < 0) return NULL;
    SLOTS(FIND)
    PyObject *dtype = PyObject_GetAttrString(sample_, "dtype");
    Array *sample = (Array *)sample_;
    int same = dtype && (PyObject *)Py_TYPE(sample_) == plain_ && sample->nd == 2 && sample->dims[0] == 2
            && sample->dims[1] == 3 && sample->descr == dtype;
    Py_XDECREF(dtype);
    if (!same) { PyErr_SetString(PyExc_TypeError, "arrays have another layout than expected"); return NULL; }
    if (!PyAnySet_Check(unusual_) || !PyDict_Check(places_) || !PyAnySet_Check(floats_)) {
        PyErr_SetString(PyExc_TypeError, "expected sets and dicts");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_O, NULL}, {"operator", new_operator, METH_VARARGS, NULL}, {"attach", attach, METH_O, NULL},
    {"step", new_step, METH_VARARGS, NULL}, {"loop", loop, METH_VARARGS, NULL}, {"reach", reach, METH_O, NULL}, {NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "lucidgrad_engine", NULL, -1, methods};

PyMODINIT_FUNC PyInit_lucidgrad_engine(void) {
    struct { PyObject **name; const char *text; } words[] = {
        {&s_shape, "shape"}, {&s_recipe, "recipe"}, {&s_core, "_core"}, {&s_step, "_step"}, {&s_add, "_add"},
        {&s_nested, "nested"}, {&s_reached, "reached"}, {&s_when, "when"}, {&s_xp, "xp"}, {&s_origin, "origin"},
        {&s_saved, "saved"}, {&s_plan, "plan"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((*words[i].name = PyUnicode_InternFromString(words[i].text)) == NULL) return NULL;
    if ((empty = PyTuple_New(0)) == NULL || PyType_Ready(&OperatorType) < 0 || PyType_Ready(&StepType) < 0) return NULL;
    return PyModule_Create(&definition);
}
