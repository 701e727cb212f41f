/* What operators and walks share: where Python's own classes have their slots, and arrays what is asked of them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <math.h>
#include <string.h>

#ifdef Py_GIL_DISABLED
#error "slots are read without a lock: a free-threaded Python has the engine in Python"
#endif

/* Flags of NumPy's arrays. DENSE: no gaps, the last axis quickest, and aligned. */
enum { DENSE = 0x101, OWNDATA = 4, WRITEABLE = 0x400 };
/* At most: inputs of a call, and of a join; what is kept of a call, or named in it; numbers that are added here. */
enum { INPUTS = 3, JOINED = 64, ITEMS = 8, FEW = 64 };

/* The head of NumPy's arrays, which is part of its ABI; `setup` compares it with a real one. */
typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dims, *strides;
    PyObject *base, *descr;
    int flags;
} Array;

/* What Python gives in `setup`, by the same names. */
#define NAMES(X) X(Tensor) X(Node) X(Recipe) X(Kernels) X(Recording) X(NewNodes) X(Precision) X(Meta) X(Alias) X(Fork) \
    X(Output) X(Leaf) X(plain) X(sample) X(single) X(real) X(cpu) X(FREED) X(unusual) X(places) X(floats) X(clock) \
    X(by_array) X(tape_namespace) X(settle) X(history) X(fit) X(track_view) X(check_written) X(ends_of) X(reviver) \
    X(tied) X(INFERENCE) X(NOTHING) X(copying) X(concatenate) X(zeros) X(subtract) X(total) X(large_recipe) X(small) \
    X(recording) X(new) X(told) X(precision)
#define DECLARE(name) static PyObject *name##_;
NAMES(DECLARE)

/* Where slots are: type, name. */
#define SLOTS(X) X(Tensor, array) X(Tensor, _node) X(Tensor, _alias) X(Tensor, _grad) X(Leaf, tensor) X(Leaf, extras) \
    X(Alias, _base) X(Alias, steps) X(Alias, seen) X(Alias, barrier) X(Output, extras) X(Node, extras) X(Node, fit) \
    X(Node, origin) X(Node, recipe) X(Node, saved) X(Node, when) X(Recipe, keeps_arrays) X(Recipe, revive) \
    X(Recipe, flat) X(Recipe, steps) X(Kernels, usual) X(Kernels, limit) X(Recording, recording) X(Recording, fresh) \
    X(NewNodes, keeping) X(Precision, casting)
#define PLACE(type, name) static Py_ssize_t type##_##name;
SLOTS(PLACE)
#define SLOT(object, place) (*(PyObject **)((char *)(object) + (place)))

/* Names of attributes. */
#define WORDS(X) X(shape) X(_core) X(_add) X(_to_fork) X(xp) X(origin) X(saved) X(reshape) X(T) X(base) X(dot)
#define WORD(word) static PyObject *s_##word;
WORDS(WORD)
static PyObject *zero, *dots; /* 0 and (...,) */
static Py_ssize_t small; /* sizes of arrays from which others are quicker than NumPy's functions */

/* -- what Python calls: operators and steps ----------------------------------------------------------- */
#define HOLDER PyObject_HEAD vectorcallfunc call; PyObject *given; /* what it was made of, and has pointers into */
typedef struct { HOLDER } Holder;

static int holder_visit(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Holder *)self)->given);
    return 0;
}

static void holder_free(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((Holder *)self)->given);
    PyObject_GC_Del(self);
}

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

static Py_ssize_t size_of(PyObject *a) {
    Py_ssize_t size = 1;
    for (int i = 0; i < ((Array *)a)->nd; i++) size *= ((Array *)a)->dims[i];
    return size;
}

static int same_shape(PyObject *a, PyObject *b) {
    int nd = ((Array *)a)->nd, same = nd == ((Array *)b)->nd;
    for (int i = 0; same && i < nd; i++) same = ((Array *)a)->dims[i] == ((Array *)b)->dims[i];
    return same;
}

static int are_alike(PyObject *a, PyObject *b) { return descr_of(a) == descr_of(b) && same_shape(a, b); }

static PyObject *meta(PyObject *a) { /* items.meta_of */
    PyObject *shape = PyObject_GetAttr(a, s_shape);
    PyObject *made = shape ? ((PyTypeObject *)Meta_)->tp_alloc((PyTypeObject *)Meta_, 3) : NULL;
    if (made == NULL) { Py_XDECREF(shape); return NULL; }
    PyTuple_SET_ITEM(made, 0, shape);
    PyTuple_SET_ITEM(made, 1, Py_NewRef(descr_of(a)));
    PyTuple_SET_ITEM(made, 2, Py_NewRef(cpu_));
    return made;
}

static PyObject *boxed(PyObject *array, PyObject *node, PyObject *alias) { /* a tensor; takes the array */
    PyObject *made = array ? blank(Tensor_) : NULL;
    if (made == NULL) { Py_XDECREF(array); return NULL; }
    SLOT(made, Tensor_array) = array;
    SLOT(made, Tensor__node) = Py_NewRef(node);
    SLOT(made, Tensor__alias) = Py_NewRef(alias);
    return made;
}

/* The parts of a vector or matrix along an axis, of sizes that are given, or that shapes tell; NULL without an error: a
   kernel or rule knows. */
static PyObject *split(PyObject *a, PyObject *sizes, PyObject *along) {
    int nd = ((Array *)a)->nd;
    Py_ssize_t axis = PyLong_CheckExact(along) ? PyLong_AsSsize_t(along) : nd, end = 0;
    if (nd > 2 || axis < -nd || axis >= nd || !PyTuple_CheckExact(sizes)) return NULL;
    axis += axis < 0 ? nd : 0;
    PyObject *turned = axis ? PyObject_GetAttr(a, s_T) : Py_NewRef(a);
    PyObject *parts = turned ? PyTuple_New(PyTuple_GET_SIZE(sizes)) : NULL;
    for (Py_ssize_t i = 0; parts && i < PyTuple_GET_SIZE(sizes); i++) {
        PyObject *size = PyTuple_GET_ITEM(sizes, i), *part = NULL;
        if (is_a(size, Meta_)) size = PyTuple_GET_ITEM(PyTuple_GET_ITEM(size, 0), axis);
        Py_ssize_t n = PyLong_CheckExact(size) ? PyLong_AsSsize_t(size) : -1;
        if (n >= 0 && n <= ((Array *)a)->dims[axis] - end) part = PySequence_GetSlice(turned, end, end + n);
        if (part && axis) Py_SETREF(part, PyObject_GetAttr(part, s_T));
        end += n;
        if (part) PyTuple_SET_ITEM(parts, i, part); else Py_CLEAR(parts);
    }
    if (parts && end != ((Array *)a)->dims[axis]) Py_CLEAR(parts);
    Py_XDECREF(turned);
    return parts;
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

static PyObject *summed(PyObject *a) { /* all rows */
    PyObject *given[] = {a, zero};
    return PyObject_Vectorcall(total_, given, 2, NULL);
}
