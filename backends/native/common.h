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
enum { MOST = 3, ITEMS = 8, SUBSETS = 1 << MOST };

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
#define NAMES(X) X(Tensor) X(Node) X(Recipe) X(Kernels) X(Recording) X(NewNodes) X(Precision) X(Meta) X(Alias) X(Fork) X(Output) X(Leaf) X(plain) \
    X(sample) X(cpu) X(FREED) X(unusual) X(places) X(floats) X(clock) X(by_array) X(last_write) X(tape_namespace) \
    X(settle) X(history) X(fits) X(fit) X(track_view) X(check_saved) X(reviver) X(tied) X(INFERENCE) X(NOTHING) \
    X(copying) X(kernels) X(concatenate) X(zeros) X(copy) X(subtract) X(total) X(large_recipe) X(small) \
    X(recording) X(new) X(told) X(precision)
#define DECLARE(name) static PyObject *name##_;
NAMES(DECLARE)

/* Where slots are: type, name. */
#define SLOTS(X) X(Tensor, array) X(Tensor, _node) X(Tensor, _alias) X(Tensor, _grad) X(Leaf, tensor) X(Leaf, extras) X(Alias, _base) X(Alias, steps) X(Alias, seen) \
    X(Alias, barrier) X(Fork, metas) X(Fork, outputs) X(Output, extras) X(Output, fork) X(Output, index) \
    X(Output, origin) X(Output, when) X(Node, extras) X(Node, fit) X(Node, origin) \
    X(Node, recipe) X(Node, saved) X(Node, when) X(Recipe, keeps_arrays) X(Recipe, revive) X(Recipe, flat) X(Recipe, steps) \
    X(Kernels, usual) X(Kernels, limit) X(Kernels, layered) X(Recording, recording) X(Recording, fresh) \
    X(NewNodes, keeping) X(Precision, casting)
#define PLACE(type, name) static Py_ssize_t type##_##name;
SLOTS(PLACE)
#define SLOT(object, place) (*(PyObject **)((char *)(object) + (place)))

static PyObject *s_shape, *s_core, *s_step, *s_add, *s_nested, *s_reached, *s_when, *s_xp, *s_origin, *s_saved, *s_plan;
static PyObject *s_reshape, *s_T, *s_base, *s_itemsize, *s_self, *s_owned, *s_dot;
static PyObject *empty, *everything, *zero;
static Py_ssize_t small; /* sizes of arrays from which others are quicker than NumPy's functions */

/* -- objects that hold others: operators and steps --------------------------------------------------- */
enum { HELD = 20 };
#define HOLDER PyObject_HEAD vectorcallfunc call; int count; PyObject *held[HELD];
typedef struct { HOLDER } Holder;

static void *new_holder(PyTypeObject *type) {
    Holder *self = PyObject_GC_New(Holder, type);
    if (self) memset((char *)self + offsetof(Holder, call), 0, (size_t)type->tp_basicsize - offsetof(Holder, call));
    return self;
}

static PyObject *hold(void *self, PyObject *other) { /* as long as it lives; at most HELD of them */
    Holder *holder = self;
    return other ? holder->held[holder->count++] = Py_NewRef(other) : NULL;
}

static int holder_visit(PyObject *self, visitproc visit, void *arg) {
    for (int i = 0; i < HELD; i++) Py_VISIT(((Holder *)self)->held[i]);
    return 0;
}

static int holder_clear(PyObject *self) {
    for (int i = 0; i < HELD; i++) Py_CLEAR(((Holder *)self)->held[i]);
    return 0;
}

static void holder_free(PyObject *self) {
    PyObject_GC_UnTrack(self);
    holder_clear(self);
    PyObject_GC_Del(self);
}

#define HOLDER_TYPE(kind, does) \
    static PyTypeObject kind##Type = { \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lucidgrad.backends.native." #kind, .tp_basicsize = sizeof(kind), \
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, \
        .tp_vectorcall_offset = offsetof(Holder, call), .tp_call = PyVectorcall_Call, .tp_dealloc = holder_free, \
        .tp_traverse = holder_visit, .tp_clear = holder_clear, .tp_doc = does};

/* -- arrays --------------------------------------------------------------------------------------- */

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

/* Whether a dtype is one of floats, or has more than 16 bits; those that do are remembered. */
enum Trait { FLOAT, WIDE };
static int is_of(PyObject *dtype, enum Trait trait) {
    static PyObject *known[2][4];
    static unsigned next[2];
    for (int i = 0; i < 4; i++) if (known[trait][i] == dtype) return 1;
    PyObject *size = trait == WIDE ? PyObject_GetAttr(dtype, s_itemsize) : NULL;
    int found = trait == FLOAT ? PySet_Contains(floats_, dtype) : size ? PyLong_AsLong(size) > 2 : -1;
    Py_XDECREF(size);
    if (found > 0) Py_XSETREF(known[trait][next[trait]++ % 4], Py_NewRef(dtype));
    return found;
}

static int is_float(PyObject *dtype) { return is_of(dtype, FLOAT); }
static int is_wide(PyObject *dtype) { return is_of(dtype, WIDE); }

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

static PyObject *boxed(PyObject *array, PyObject *node, PyObject *alias) { /* a tensor; takes the array */
    PyObject *made = array ? blank(Tensor_) : NULL;
    if (made == NULL) { Py_XDECREF(array); return NULL; }
    SLOT(made, Tensor_array) = array;
    SLOT(made, Tensor__node) = Py_NewRef(node);
    SLOT(made, Tensor__alias) = Py_NewRef(alias);
    return made;
}

static int is_plain(PyObject *a) { return (PyObject *)Py_TYPE(a) == plain_; }

/* A part of an array along an axis, which is a view: from `start` to `stop`; with `stop` below 0 the one at `start`. */
static PyObject *part_of(PyObject *a, Py_ssize_t axis, Py_ssize_t start, Py_ssize_t stop) {
    PyObject *key = PyTuple_New(axis + 2), *from = PyLong_FromSsize_t(start), *to = stop < 0 ? NULL : PyLong_FromSsize_t(stop);
    PyObject *part = stop < 0 ? Py_XNewRef(from) : from && to ? PySlice_New(from, to, NULL) : NULL, *found = NULL;
    if (key && part) {
        for (Py_ssize_t i = 0; i < axis; i++) PyTuple_SET_ITEM(key, i, Py_NewRef(everything));
        PyTuple_SET_ITEM(key, axis, Py_NewRef(part));
        PyTuple_SET_ITEM(key, axis + 1, Py_NewRef(Py_Ellipsis));
        found = PyObject_GetItem(a, key);
    }
    Py_XDECREF(key); Py_XDECREF(from); Py_XDECREF(to); Py_XDECREF(part);
    return found;
}

static int is_small_matrix(PyObject *a) {
    return is_plain(a) && ((Array *)a)->nd == 2 && size_of(a) < small && is_wide(descr_of(a)) > 0;
}

/* The product of small matrices, transposed where it is said, as kernels do it. NULL without an error: it is for them. */
static PyObject *dotted(PyObject *a, int turn_a, PyObject *b, int turn_b) {
    if (!is_small_matrix(a) || !is_small_matrix(b) || descr_of(a) != descr_of(b)
        || ((Array *)a)->dims[!turn_a] != ((Array *)b)->dims[turn_b]) return NULL;
    a = turn_a ? PyObject_GetAttr(a, s_T) : Py_NewRef(a);
    b = turn_b ? PyObject_GetAttr(b, s_T) : Py_NewRef(b);
    PyObject *y = a && b ? PyObject_CallMethodOneArg(a, s_dot, b) : NULL;
    Py_XDECREF(a); Py_XDECREF(b);
    return y;
}

static PyObject *summed(PyObject *a) { /* the rows of a small matrix */
    PyObject *given[] = {a, zero};
    return PyObject_Vectorcall(total_, given, 2, NULL);
}
