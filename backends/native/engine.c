/* The engine's hot paths in C: an operator's call on plain arrays, the search for a walk's nodes, and its loop.
   The Python source says what is meant. Types are those of Python: slots are read and written where their descriptors
   say. Whatever is not common is left to Python: an operator then answers None, and a node goes to `Walk._step`. */
#include "common.h"
#include "operators.h"
#include "walk.h"
#include "updates.h"

static Size place_of(PyObject *type, const char *name) {
    PyObject *slot = PyObject_GetAttrString(type, name);
    int is_slot = slot && Py_TYPE(slot) == &PyMemberDescr_Type;
    Size place = is_slot ? ((PyMemberDescrObject *)slot)->d_member->offset : -1;
    if (slot && !is_slot) PyErr_Format(PyExc_TypeError, "%s is no slot of %R", name, type);
    Py_XDECREF(slot);
    return place;
}

/* setup(names): what the engine consists of; raises if something is not as C expects it. */
static PyObject *setup(PyObject *module, PyObject *names) {
    if (!PyDict_Check(names)) return PyErr_Format(PyExc_TypeError, "expected a dict, given %R", names);
#define TAKE(name) \
    if ((name##_ = Py_XNewRef(PyDict_GetItemString(names, #name))) == NULL) \
        return PyErr_Format(PyExc_KeyError, "setup lacks %s", #name);
    NAMES(TAKE)
#define FIND(type, name) if ((type##_##name = place_of(type##_, #name)) < 0) return NULL;
    SLOTS(FIND)
    if ((small = PyLong_AsSsize_t(small_)) < 0) return NULL;
    PyObject *dtype = PyObject_GetAttrString(sample_, "dtype");
    Array *sample = (Array *)sample_;
    Ufunc *f = (Ufunc *)subtract_;
    void **api = PyCapsule_GetPointer(array_api_, NULL);
    int same = dtype && is_plain(sample_) && sample->nd == 2 && sample->dims[0] == 2 && sample->dims[1] == 3
        && sample->descr == dtype && is_dense(sample_) && PyAnySet_Check(unusual_) && PyAnySet_Check(floats_)
        && PyDict_Check(places_) && PyDict_Check(copying_) && PyDict_Check(by_array_) && f->nin == 2 && f->nargs == 3
        && f->nout == 1 && !f->has_core && !strcmp(f->name, "subtract") && api && (new_array = api[94]);
    Py_XDECREF(dtype);
    if (!same) return PyErr_Format(PyExc_TypeError, "arrays have another layout than expected, or modes are no sets");
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"setup", setup, METH_O, NULL}, {"operator", new_operator, METH_VARARGS, NULL}, {"attach", attach, METH_O, NULL},
    {"step", new_step, METH_VARARGS, NULL}, {"loop", loop, METH_VARARGS, NULL}, {"reach", reach, METH_O, NULL},
    {"again", again, METH_VARARGS, NULL}, {"keep", keep, METH_O, NULL}, {NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "lucidgrad_engine", NULL, -1, methods};

PyMODINIT_FUNC PyInit_lucidgrad_engine(void) {
#define INTERN(word) if ((s_##word = PyUnicode_InternFromString(#word)) == NULL) return NULL;
    WORDS(INTERN)
    if ((zero = PyLong_FromLong(0)) == NULL || (dots = PyTuple_Pack(1, Py_Ellipsis)) == NULL) return NULL;
    if (PyType_Ready(&OperatorType) < 0 || PyType_Ready(&StepType) < 0) return NULL;
    return PyModule_Create(&definition);
}
