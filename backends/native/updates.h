/* Small steps of optimisers, compiled by `backends/cpu/compiled/steps.py`: what each asks of tensors and settings. */

/* Whether a setting is of the kind that it was: floats that are not zero may differ, all else is part of the loop. */
static int alike(PyObject *was, PyObject *now) {
    if (!PyFloat_CheckExact(was) || !PyFloat_CheckExact(now)) return was == now;
    double one = PyFloat_AS_DOUBLE(was), two = PyFloat_AS_DOUBLE(now);
    return (one != 0) == (two != 0) && (one != 0 || !signbit(one) == !signbit(two));
}

/* again((columns, settings, task, function, units), lists, settings): the step that was taken last, on tensors of the
   same arrays but for gradients, which may be others of the same form. False: something is not as it was. A task begins
   with the place of the arrays' addresses, row by row, and that of the units; floats that are not zero follow. */
static PyObject *again(PyObject *module, PyObject *args) {
    PyObject *columns, *before, *task, *lists, *settings, *key, *name, *was, *now;
    Size function, units, at = 0, also = 0;
    if (!PyArg_ParseTuple(args, "(O!O!O!nn)O!O!", &PyList_Type, &columns, &PyDict_Type, &before, &PyByteArray_Type,
                          &task, &function, &units, &PyList_Type, &lists, &PyDict_Type, &settings)) return NULL;
    char *head = PyByteArray_AS_STRING(task), ***addresses = (char ***)head;
    double *number = (double *)(head + 2 * sizeof(char *)), *end = (double *)(head + PyByteArray_GET_SIZE(task));
    Size n = PyList_GET_SIZE(lists), rows = n ? PyList_GET_SIZE(PyList_GET_ITEM(columns, 0)) : 0;
    if (n != PyList_GET_SIZE(columns) || PyDict_GET_SIZE(settings) != PyDict_GET_SIZE(before)) Py_RETURN_FALSE;
    while (PyDict_Next(before, &at, &name, &was) && PyDict_Next(settings, &also, &key, &now)) {
        if (key != name || !alike(was, now)) Py_RETURN_FALSE;
        if (PyFloat_CheckExact(now) && PyFloat_AS_DOUBLE(now) != 0 && number < end) *number++ = PyFloat_AS_DOUBLE(now);
    }
    for (Size k = 0; k < n; k++) {
        PyObject *xs = PyList_GET_ITEM(lists, k), *column = PyList_GET_ITEM(columns, k);
        if (!PyList_Check(xs) || PyList_GET_SIZE(xs) != rows) Py_RETURN_FALSE;
        for (Size i = 0; i < rows; i++) {
            PyObject *x = PyList_GET_ITEM(xs, i), *p = PyList_GET_ITEM(PyList_GET_ITEM(columns, 0), i), *a;
            if (!PyObject_TypeCheck(x, (PyTypeObject *)Tensor_) || (a = SLOT(x, Tensor_array)) == NULL) Py_RETURN_FALSE;
            int same = k != 1 ? a == PyList_GET_ITEM(column, i) : is_plain(a) && are_alike(a, p) && is_dense(a);
            if (!same) Py_RETURN_FALSE;
            if (k == 1) (*addresses)[i * n + 1] = ((Array *)a)->data;
        }
    }
    ((void (*)(const void *, long, long))function)(head, 0, (long)units);
    Py_RETURN_TRUE;
}
