/* What operators and walks share: where Python's own classes have their slots, and arrays what is asked of them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#ifdef Py_GIL_DISABLED
#error "slots are read without a lock: a free-threaded Python has the engine in Python"
#endif

/* Flags of NumPy's arrays. DENSE: no gaps, the last axis quickest, and aligned. */
enum { DENSE = 0x101, OWNDATA = 4, WRITEABLE = 0x400 };
/* At most: inputs of a call, and of a join; what is kept of a call, or named in it; numbers of a loop without NumPy. */
enum { INPUTS = 3, JOINED = 64, ITEMS = 8, FEW = 4096 };

/* The heads of NumPy's arrays and of its functions, which are part of its ABI; `setup` compares them with real ones. A
   function has loops, and numbers of the types that each takes and gives. */
typedef Py_ssize_t Size;
typedef struct { PyObject_HEAD char *data; int nd; Size *dims, *strides; PyObject *base, *descr; int flags; } Array;
typedef void Loop(char **, const Size *, const Size *, void *);
typedef struct {
    PyObject_HEAD int nin, nout, nargs, identity; Loop **loops; void *const *data; int ntypes, reserved;
    const char *name, *types, *doc; void *others[3]; int has_core;
} Ufunc;

/* What Python gives in `setup`, by the same names. */
#define NAMES(X) X(Tensor) X(Node) X(Recipe) X(Kernels) X(Recording) X(NewNodes) X(Precision) X(Meta) X(Alias) X(Fork) \
    X(Output) X(Leaf) X(plain) X(sample) X(single) X(real) X(cpu) X(FREED) X(unusual) X(places) X(floats) X(clock) \
    X(by_array) X(tape_namespace) X(settle) X(history) X(fit) X(track_view) X(check_written) X(ends_of) X(reviver) \
    X(tied) X(INFERENCE) X(NOTHING) X(copying) X(concatenate) X(zeros) X(total) X(large_recipe) X(small) X(recording) \
    X(new) X(told) X(precision) X(add) X(multiply) X(subtract) X(array_api) X(by_age)
#define DECLARE(name) static PyObject *name##_;
NAMES(DECLARE)

/* Where slots are: type, name. */
#define SLOTS(X) X(Tensor, array) X(Tensor, _node) X(Tensor, _alias) X(Tensor, _grad) X(Leaf, tensor) X(Leaf, extras) \
    X(Alias, _base) X(Alias, steps) X(Alias, seen) X(Alias, barrier) X(Output, extras) X(Node, extras) X(Node, fit) \
    X(Node, origin) X(Node, recipe) X(Node, saved) X(Node, when) X(Recipe, keeps_arrays) X(Recipe, revive) \
    X(Recipe, flat) X(Recipe, steps) X(Kernels, usual) X(Kernels, limit) X(Recording, recording) X(Recording, fresh) \
    X(NewNodes, keeping) X(Precision, casting)
#define PLACE(type, name) static Size type##_##name;
SLOTS(PLACE)
#define SLOT(object, place) (*(PyObject **)((char *)(object) + (place)))

/* Names of attributes. */
#define WORDS(X) X(shape) X(_core) X(_add) X(_to_fork) X(xp) X(origin) X(saved) X(reshape) X(T) X(base) X(dot)
#define WORD(word) static PyObject *s_##word;
WORDS(WORD)
static PyObject *zero, *dots; /* 0 and (...,) */
static Size small; /* sizes of arrays from which others are quicker than NumPy's functions */

/* -- what Python calls: operators and steps ----------------------------------------------------------- */
#define HOLDER PyObject_HEAD vectorcallfunc call; PyObject *given; /* what it was made of, and has pointers into */
typedef struct { HOLDER } Holder;

static int holder_visit(PyObject *self, visitproc visit, void *arg) { Py_VISIT(((Holder *)self)->given); return 0; }
static void holder_free(PyObject *h) { PyObject_GC_UnTrack(h); Py_XDECREF(((Holder *)h)->given); PyObject_GC_Del(h); }

/* Like a tuple it has no `tp_clear`: functions and dicts that it is in a circle with have one. */
#define HOLDER_TYPE(kind, does) \
    static PyTypeObject kind##Type = { \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lucidgrad.backends.native." #kind, .tp_basicsize = sizeof(kind), \
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, \
        .tp_vectorcall_offset = offsetof(Holder, call), .tp_call = PyVectorcall_Call, .tp_dealloc = holder_free, \
        .tp_traverse = holder_visit, .tp_doc = does};

static void *new_holder(PyTypeObject *type, vectorcallfunc call, PyObject *given) {
    Holder *made = (Holder *)type->tp_alloc(type, 0);
    if (made) { made->call = call; made->given = Py_NewRef(given); }
    return made;
}

static PyObject *blank(PyObject *type) { return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0); }

/* -- arrays --------------------------------------------------------------------------------------- */
static int is_a(PyObject *object, PyObject *type) { return (PyObject *)Py_TYPE(object) == type; }
static int is_plain(PyObject *a) { return is_a(a, plain_); }
static PyObject *descr_of(PyObject *a) { return ((Array *)a)->descr; }
static int is_usual(PyObject *dtype) { return dtype == single_ || dtype == real_; } /* 32 or 64 bits, and real */
static int is_float(PyObject *dtype) { return is_usual(dtype) || PySet_Contains(floats_, dtype) > 0; }
static int is_dense(PyObject *a) { return (((Array *)a)->flags & DENSE) == DENSE; }

static Size size_of(PyObject *a) {
    Size size = 1;
    for (int i = 0; i < ((Array *)a)->nd; i++) size *= ((Array *)a)->dims[i];
    return size;
}

static int same_shape(PyObject *a, PyObject *b) {
    int nd = ((Array *)a)->nd, same = nd == ((Array *)b)->nd;
    for (int i = 0; same && i < nd; i++) same = ((Array *)a)->dims[i] == ((Array *)b)->dims[i];
    return same;
}

static int are_alike(PyObject *a, PyObject *b) { return descr_of(a) == descr_of(b) && same_shape(a, b); }

static PyObject *filled(PyObject *tuple, Size i, PyObject *value) { /* takes both, and gives NULL if one is */
    if (tuple && value) PyTuple_SET_ITEM(tuple, i, value); else { Py_CLEAR(tuple); Py_XDECREF(value); }
    return tuple;
}

static PyObject *meta(PyObject *a) { /* items.meta_of */
    PyObject *made = ((PyTypeObject *)Meta_)->tp_alloc((PyTypeObject *)Meta_, 3);
    made = filled(filled(made, 0, PyObject_GetAttr(a, s_shape)), 1, Py_NewRef(descr_of(a)));
    return filled(made, 2, Py_NewRef(cpu_));
}

static PyObject *boxed(PyObject *array, PyObject *node, PyObject *alias) { /* a tensor; takes the array */
    PyObject *made = array ? blank(Tensor_) : NULL;
    if (made == NULL) { Py_XDECREF(array); return NULL; }
    SLOT(made, Tensor_array) = array, SLOT(made, Tensor__node) = Py_NewRef(node);
    SLOT(made, Tensor__alias) = Py_NewRef(alias);
    return made;
}

/* The parts of a vector or matrix along an axis, of sizes given or told by shapes; NULL without an error: not here. */
static PyObject *split(PyObject *a, PyObject *sizes, PyObject *along) {
    int nd = ((Array *)a)->nd;
    Size axis = PyLong_CheckExact(along) ? PyLong_AsSsize_t(along) : nd, end = 0;
    if (nd > 2 || axis < -nd || axis >= nd || !PyTuple_CheckExact(sizes)) return NULL;
    axis += axis < 0 ? nd : 0;
    PyObject *turned = axis ? PyObject_GetAttr(a, s_T) : Py_NewRef(a);
    PyObject *parts = turned ? PyTuple_New(PyTuple_GET_SIZE(sizes)) : NULL;
    for (Size i = 0; parts && i < PyTuple_GET_SIZE(sizes); i++) {
        PyObject *size = PyTuple_GET_ITEM(sizes, i), *part = NULL;
        if (is_a(size, Meta_)) size = PyTuple_GET_ITEM(PyTuple_GET_ITEM(size, 0), axis);
        Size n = PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
        if (n >= 0 && n <= ((Array *)a)->dims[axis] - end) part = PySequence_GetSlice(turned, end, end + n);
        if (part && axis) Py_SETREF(part, PyObject_GetAttr(part, s_T));
        end += n;
        if (part) PyTuple_SET_ITEM(parts, i, part); else Py_CLEAR(parts);
    }
    if (parts && end != ((Array *)a)->dims[axis]) Py_CLEAR(parts);
    Py_XDECREF(turned);
    return parts;
}

/* -- functions of NumPy's by their own loops: to find one takes it longer than few numbers do ----------- */
static PyObject *(*new_array)(PyObject *, PyObject *, int, const Size *, const Size *, void *, int, PyObject *);

/* A number as a float of 32 or 64 bits. 0: it is none, an integer that may have to be rounded, or too large. */
static int number_of(PyObject *x, int narrow, double *to) {
    int over = 0, real = PyFloat_CheckExact(x), whole = PyLong_CheckExact(x);
    double value = real ? PyFloat_AS_DOUBLE(x) : whole ? (double)PyLong_AsLongAndOverflow(x, &over) : 0;
    if (narrow) *(float *)to = (float)value; else *to = value;
    return real ? !narrow || !isinf(*(float *)to) || isinf(value) : whole && !over && fabs(value) < 0x1p24;
}

/* What it gives, or writes to `y`, of arrays and numbers; beside the whole there may be its last axes, or one number.
   NULL without an error: it is for NumPy, or there may be something to warn of, unless nobody is to be warned. */
static PyObject *looped(PyObject *function, PyObject *const *xs, int n, PyObject *y, int quiet) {
    Ufunc *f = (Ufunc *)function;
    Array *x = (Array *)xs[0], *whole = (Array *)xs[n - 1];
    if (is_plain(xs[0]) && (!is_plain(xs[n - 1]) || x->nd >= whole->nd)) whole = x;
    if (f->nin != n || n > 2 || f->nout != 1 || f->has_core || !is_plain((PyObject *)whole) || !is_usual(whole->descr)
        || (y && !same_shape(y, (PyObject *)whole))) return NULL;
    Size size = size_of((PyObject *)whole), count = size, item = whole->descr == single_ ? 4 : 8, at = 0, own;
    Size steps[3], turns[3];
    double numbers[2];
    char *places[3], *here[3], type = item == 4 ? 11 : 12;
    for (int i = 0; i < n; i++) {
        int plain = is_plain(xs[i]), fine = plain ? is_dense(xs[i]) : number_of(xs[i], item == 4, &numbers[i]);
        x = (Array *)xs[i], own = plain ? size_of(xs[i]) : 1;
        for (int k = 1; fine && own != 1 && k <= x->nd; k++) fine = x->dims[x->nd - k] == whole->dims[whole->nd - k];
        if (!fine || (plain && x->descr != whole->descr)) return NULL;
        places[i] = plain ? x->data : (char *)&numbers[i];
        steps[i] = own == 1 ? 0 : item, turns[i] = own == size ? item : 0;
        if (own != 1 && own != size) count = own;
    }
    const char *t = f->types;
    for (; at < f->ntypes && (t[0] != type || t[n - 1] != type || t[n] != type); at++) t += n + 1;
    if (at == f->ntypes || size > FEW) return NULL;
    y = y ? Py_NewRef(y) : new_array(plain_, Py_NewRef(whole->descr), whole->nd, whole->dims, NULL, NULL, 0, NULL);
    if (y == NULL) return NULL;
    places[n] = ((Array *)y)->data, steps[n] = turns[n] = item;
    for (Size done = 0; done < size; done += count) {
        for (int i = 0; i <= n; i++) here[i] = places[i] + done * turns[i];
        f->loops[at](here, &count, steps, f->data ? f->data[at] : NULL);
    }
    if (!quiet && fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)) Py_CLEAR(y);
    if (y == NULL) feclearexcept(FE_ALL_EXCEPT);
    return y;
}

/* -- small matrices, as kernels do it ------------------------------------------------------------------ */
static int is_small_matrix(PyObject *a) {
    return is_plain(a) && ((Array *)a)->nd == 2 && size_of(a) < small && is_usual(descr_of(a));
}

/* Their product, transposed where it is said. NULL without an error: it is for the kernels. */
static PyObject *dotted(PyObject *a, int turn_a, PyObject *b, int turn_b) {
    if (!is_small_matrix(a) || !is_small_matrix(b) || descr_of(a) != descr_of(b)
        || ((Array *)a)->dims[!turn_a] != ((Array *)b)->dims[turn_b]) return NULL;
    a = turn_a ? PyObject_GetAttr(a, s_T) : Py_NewRef(a);
    b = turn_b ? PyObject_GetAttr(b, s_T) : Py_NewRef(b);
    PyObject *y = a && b ? PyObject_CallMethodOneArg(a, s_dot, b) : NULL;
    Py_XDECREF(a); Py_XDECREF(b);
    return y;
}

static PyObject *sum_of_rows(PyObject *a) { return PyObject_Vectorcall(total_, (PyObject *[]){a, zero}, 2, NULL); }
