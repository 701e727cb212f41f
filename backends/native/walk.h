/* The search for a walk's nodes, its steps and its loop: `core/plan.py`, `core/engine.py`, `backends/stepping.py`. */

/* -- steps of a walk: the rules of a node, one by one ------------------------------------------------ */
enum Known { CALLED, IDENTITY, PRODUCT, RESHAPED, SWAPPED, PLACED, JOINED, SPLIT_UP, UNSTACKED, TANH, ROWS, MATRICES };
enum { KEPT_FIRST = 1, TURN_FIRST = 2, TURN_SECOND = 4 }; /* what is added to MATRICES */

typedef struct { /* the step holds them; `code` is the function's when it was found to be a known one */
    PyObject *rule, *code, *keywords, *op; /* `op` is what the rule calls, where it is given tensors */
    int input, known, count, at[ITEMS];
} Pull;

typedef struct {
    HOLDER
    int single, joint, pulled; /* joint: the only pull gives the cotangents of all inputs */
    int items, at[ITEMS];
    char what[ITEMS + 1]; /* of what is kept, as `Keeping` has it; a '?' among them: Python makes tensors of it */
    Pull pulls[MOST];
} Step;

typedef struct {
    PyObject *walk, *pending, *owned, *needed, *add; /* `add`: a function, where it is not the walk's own way */
    int create_graph;
} Pass;

static PyObject *tanh_pull(PyObject *h, PyObject *s) { /* h - h * s², as the kernel does it: in the memory of s² */
    PyObject *t = PyNumber_Multiply(s, s), *product = t ? PyNumber_InPlaceMultiply(t, h) : NULL;
    PyObject *given[] = {h, product, product}, *made = product ? PyObject_Vectorcall(subtract_, given, 3, NULL) : NULL;
    Py_XDECREF(t);
    Py_XDECREF(product);
    return made;
}

static PyObject *pulled(const Pull *pull, PyObject *xp, PyObject *g, PyObject *saved) {
    if (pull->known != CALLED && ((PyFunctionObject *)pull->rule)->func_code == pull->code) {
        PyObject *first = pull->count && PyTuple_GET_SIZE(saved) > pull->at[0] ? PyTuple_GET_ITEM(saved, pull->at[0]) : NULL;
        if (pull->known == IDENTITY) return Py_NewRef(g);
        if (pull->known == PRODUCT && first) return PyNumber_Multiply(g, first);
        if (pull->known == RESHAPED && is_plain(g) && first && (PyObject *)Py_TYPE(first) == Meta_)
            return PyObject_CallMethodOneArg(g, s_reshape, PyTuple_GET_ITEM(first, 0));
        if (pull->known == SWAPPED && is_plain(g) && ((Array *)g)->nd == 2) return PyObject_GetAttr(g, s_T);
        if (pull->known == TANH && first && is_plain(g) && is_plain(first) && ((Array *)g)->nd
            && descr_of(g) == descr_of(first) && same_shape(g, first)) return tanh_pull(g, first);
        if (pull->known == ROWS && is_small_matrix(g)) return summed(g);
        int how = pull->known - MATRICES, alike = pull->op && first && Py_TYPE(g) == Py_TYPE(first);
        PyObject *one = how > 0 && how & KEPT_FIRST ? first : g, *two = one == g ? first : g, *pair[] = {one, two};
        if (alike && (PyObject *)Py_TYPE(g) == Tensor_ && (how < 0 || (is_small_matrix(SLOT(g, Tensor_array))
            && is_small_matrix(SLOT(first, Tensor_array))))) return PyObject_Vectorcall(pull->op, pair, 2, NULL);
        PyObject *y = alike && how >= 0 ? dotted(one, !!(how & TURN_FIRST), two, !!(how & TURN_SECOND)) : NULL;
        if (y || PyErr_Occurred()) return y;
        if (pull->known == JOINED && PyTuple_CheckExact(g) && first) {
            PyObject *pair[] = {g, first};
            return PyObject_Vectorcall(concatenate_, pair, 2, NULL);
        }
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

/* engine.fit, where there is something to do. Takes the cotangent. */
static PyObject *fitted(PyObject *xp, PyObject *ct, PyObject *target) {
    PyObject *a = ct && (PyObject *)Py_TYPE(ct) == Tensor_ ? SLOT(ct, Tensor_array) : ct;
    if (a && is_plain(a) && PyTuple_CheckExact(target) && PyTuple_GET_ITEM(target, 2) == empty
        && PyTuple_GET_ITEM(target, 1) == descr_of(a)) {
        PyObject *shape = PyTuple_GET_ITEM(target, 0);
        int nd = ((Array *)a)->nd, same = PyTuple_GET_SIZE(shape) == nd;
        for (int i = 0; same && i < nd; i++) same = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) == ((Array *)a)->dims[i];
        if (same) return ct;
        if (PyTuple_GET_SIZE(shape) == 1 && ct == a && is_small_matrix(a)
            && PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0)) == ((Array *)a)->dims[1]) { /* a row met all rows */
            PyObject *sum = summed(ct);
            Py_DECREF(ct);
            return sum;
        }
    }
    PyObject *given[] = {xp, ct, target}, *made = ct ? PyObject_Vectorcall(fit_, given, 3, NULL) : NULL;
    Py_XDECREF(ct);
    return made;
}

static int sent(const Pass *pass, PyObject *parent, PyObject *ct) { /* takes the cotangent */
    PyObject *old = ct ? PyDict_GetItemWithError(pass->pending, parent) : NULL;
    int bad = ct == NULL ? -1 : old ? added(pass, parent, old, ct) : PyErr_Occurred() ? -1 : PyDict_SetItem(pass->pending, parent, ct);
    Py_XDECREF(ct);
    return bad;
}

/* stepping._placing_step of `index`: the first cotangent lies among zeros, later ones are added to it. 1: done. */
static int placed(const Pull *pull, const Pass *pass, PyObject *node, PyObject *g, PyObject *saved) {
    PyObject *parent = SLOT(node, Node_origin), *total = PyDict_GetItemWithError(pass->pending, parent), *shape, *key, *part, *sum;
    if (pass->owned == NULL || !is_plain(g) || PyTuple_GET_SIZE(saved) != 2 || SLOT(node, Node_fit) != Py_None) return 0;
    if (is_wide(descr_of(g)) <= 0 || ((PyFunctionObject *)pull->rule)->func_code != pull->code) return PyErr_Occurred() ? -1 : 0;
    shape = PyTuple_GET_ITEM(saved, pull->at[0]);
    key = PyTuple_GET_ITEM(saved, pull->at[1]);
    if ((PyObject *)Py_TYPE(shape) != Meta_ || PyErr_Occurred()) return PyErr_Occurred() ? -1 : 0;
    if (total == NULL) {
        PyObject *given[] = {PyTuple_GET_ITEM(shape, 0), descr_of(g)};
        PyObject *made = PyObject_Vectorcall(zeros_, given, 2, NULL);
        int bad = made == NULL || PyObject_SetItem(made, key, g) < 0 || PyDict_SetItem(pass->pending, parent, made) < 0;
        Py_XDECREF(made);
        return bad || PySet_Add(pass->owned, parent) < 0 ? -1 : 1;
    }
    if (!is_plain(total) || !((Array *)total)->nd || descr_of(total) != descr_of(g)) return 0;
    int own = PySet_Contains(pass->owned, parent);
    if (own < 0) return -1;
    if (own) {
        Py_INCREF(total);
    } else { /* somebody else's */
        if ((total = PyObject_CallOneArg(copy_, total)) == NULL) return -1;
        if (PyDict_SetItem(pass->pending, parent, total) < 0 || PySet_Add(pass->owned, parent) < 0) { Py_DECREF(total); return -1; }
    }
    part = PyObject_GetItem(total, key);
    sum = part ? PyNumber_InPlaceAdd(part, g) : NULL;
    int bad = sum == NULL || (sum != part && PyObject_SetItem(total, key, sum) < 0);
    Py_XDECREF(part);
    Py_XDECREF(sum);
    Py_DECREF(total);
    return bad ? -1 : 1;
}

/* stepping._joint_step: cotangents of all inputs; of joins each is a part of the one that arrived. */
static int joint_step(const Pull *pull, const Pass *pass, PyObject *node, PyObject *xp, PyObject *g, PyObject *saved) {
    PyObject *origin = SLOT(node, Node_origin), *fit = SLOT(node, Node_fit), *all = NULL, *metas = NULL;
    Py_ssize_t n = PyTuple_CheckExact(origin) ? PyTuple_GET_SIZE(origin) : -1, axis = 0, end = 0;
    int known = pull->known, bad = 0;
    if (known != CALLED && (!is_plain(g) || PyTuple_GET_SIZE(saved) != pull->count
        || ((PyFunctionObject *)pull->rule)->func_code != pull->code)) known = CALLED;
    if (known != CALLED) { /* the axis is what comes last, the inputs' shapes before it */
        PyObject *along = PyTuple_GET_ITEM(saved, pull->at[pull->count - 1]);
        axis = PyLong_CheckExact(along) ? PyLong_AsSsize_t(along) : ((Array *)g)->nd;
        axis += axis < 0 ? ((Array *)g)->nd : 0;
        if (axis < 0 || axis >= ((Array *)g)->nd) known = CALLED;
        if (known == SPLIT_UP) metas = PyTuple_GET_ITEM(saved, pull->at[0]);
    }
    if (known == CALLED) {
        PyObject *given = pulled(pull, xp, g, saved);
        all = given ? PySequence_Fast(given, "a joint rule gives a sequence of cotangents") : NULL;
        Py_XDECREF(given);
        if (all && PySequence_Fast_GET_SIZE(all) != n) {
            PyErr_Format(PyExc_ValueError, "a joint rule gave %zd cotangents for %zd inputs", PySequence_Fast_GET_SIZE(all), n);
            bad = -1;
        }
        if (all == NULL) return -1;
    }
    for (Py_ssize_t i = 0; !bad && i < n; i++) {
        PyObject *parent = PyTuple_GET_ITEM(origin, i), *ct;
        Py_ssize_t start = end;
        if (metas) end += PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(PyTuple_GET_ITEM(metas, i), 0), axis));
        int goes = parent == Py_None ? 0 : pass->needed == Py_None ? 1 : PySet_Contains(pass->needed, parent);
        if (goes <= 0) { bad = goes; continue; }
        ct = all ? Py_NewRef(PySequence_Fast_GET_ITEM(all, i)) : metas ? part_of(g, axis, start, end) : part_of(g, axis, i, -1);
        if (ct == Py_None) { Py_DECREF(ct); continue; }
        bad = sent(pass, parent, ct && fit != Py_None ? fitted(xp, ct, PyTuple_GET_ITEM(fit, i)) : ct);
    }
    Py_XDECREF(all);
    return bad;
}

static int stepped(const Step *step, const Pass *pass, PyObject *node, PyObject *xp, PyObject *g, PyObject *saved) {
    PyObject *origin = SLOT(node, Node_origin), *fit = SLOT(node, Node_fit);
    if (step->joint) return joint_step(&step->pulls[0], pass, node, xp, g, saved);
    if (step->pulled && step->pulls[0].known == PLACED && !pass->create_graph) {
        int done = placed(&step->pulls[0], pass, node, g, saved);
        if (done) return done < 0 ? -1 : 0;
    }
    for (int i = 0; i < step->pulled; i++) {
        const Pull *pull = &step->pulls[i];
        PyObject *parent = step->single ? origin : PyTuple_GET_ITEM(origin, pull->input);
        if (!step->single && pass->needed != Py_None) {
            int wanted = PySet_Contains(pass->needed, parent);
            if (wanted < 0) return -1;
            if (!wanted) continue;
        }
        PyObject *ct = pulled(pull, xp, g, saved);
        if (sent(pass, parent, ct && fit != Py_None ? fitted(xp, ct, PyTuple_GET_ITEM(fit, pull->input)) : ct)) return -1;
    }
    return 0;
}

/* As Python calls it: step(node, xp, g, saved, pending, add, needed). */
static PyObject *step_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    if (PyVectorcall_NARGS(nargsf) != 7 || kwnames || !PyObject_TypeCheck(args[0], (PyTypeObject *)Node_)
        || !PyTuple_Check(args[3]) || !PyDict_Check(args[4])) {
        PyErr_SetString(PyExc_TypeError, "step: expected a node, a namespace, a cotangent, saved values, a dict and two more");
        return NULL;
    }
    PyObject *walk = PyObject_GetAttr(args[5], s_self), *owned = walk ? PyObject_GetAttr(walk, s_owned) : NULL;
    Pass pass = {walk, args[4], owned, args[6], args[5], args[1] == tape_namespace_};
    int bad = owned == NULL || stepped((Step *)self, &pass, args[0], args[1], args[2], args[3]) < 0;
    Py_XDECREF(walk);
    Py_XDECREF(owned);
    return bad ? NULL : Py_NewRef(Py_None);
}

HOLDER_TYPE(Step, "The rules of a node, one by one.")

/* step(single, joint, what, at, pulls): what is kept, as `operator` is told; each pull is (rule, keywords, input, known,
   places, op). */
static PyObject *new_step(PyObject *module, PyObject *args) {
    PyObject *pulls, *at;
    const char *what;
    Step *step = new_holder(&StepType);
    if (step == NULL) return NULL;
    step->call = step_call;
    if (!PyArg_ParseTuple(args, "ppsO!O!", &step->single, &step->joint, &what, &PyTuple_Type, &at, &PyTuple_Type, &pulls)) goto fail;
    step->items = (int)PyTuple_GET_SIZE(at);
    if (PyTuple_GET_SIZE(pulls) > MOST || step->items > ITEMS || strlen(what) != (size_t)step->items) goto odd;
    strcpy(step->what, what);
    for (int k = 0; k < step->items; k++) step->at[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(at, k));
    for (; step->pulled < PyTuple_GET_SIZE(pulls); step->pulled++) {
        Pull *pull = &step->pulls[step->pulled];
        PyObject *rule, *keywords, *places, *op;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pulls, step->pulled), "OO!iiO!O", &rule, &PyTuple_Type, &keywords,
                              &pull->input, &pull->known, &PyTuple_Type, &places, &op)) goto fail;
        if ((pull->count = (int)PyTuple_GET_SIZE(places)) > ITEMS || (pull->known && !PyFunction_Check(rule))) goto odd;
        pull->rule = hold(step, rule);
        pull->code = hold(step, pull->known ? PyFunction_GET_CODE(rule) : NULL);
        pull->keywords = hold(step, PyTuple_GET_SIZE(keywords) ? keywords : NULL);
        pull->op = hold(step, op == Py_None ? NULL : op);
        for (int k = 0; k < pull->count; k++) pull->at[k] = (int)PyLong_AsLong(PyTuple_GET_ITEM(places, k));
    }
    PyObject_GC_Track(step);
    return (PyObject *)step;
odd:
    PyErr_SetString(PyExc_ValueError, "rules of this form are not known");
fail:
    Py_DECREF(step);
    return NULL;
}

/* -- the walk ---------------------------------------------------------------------------------------- */
static int is_later(PyObject *one, PyObject *other) { return PyObject_RichCompareBool(one, other, Py_GT); }

static int written_after(PyObject *when) { /* whether something was written in place since */
    PyObject *last = PyObject_GetAttr(last_write_, s_when);
    int later = last ? is_later(last, when) : -1;
    Py_XDECREF(last);
    return later;
}

/* engine._reviver: what a node keeps, with tensors in place of arrays. */
static PyObject *revived(const Step *step, PyObject *node, PyObject *recipe, PyObject *saved) {
    if (Py_TYPE(step) == &StepType && PyTuple_CheckExact(saved) && PyTuple_GET_SIZE(saved) == step->items
        && (PyObject *)Py_TYPE(node) == Node_ && strchr(step->what, '?') == NULL) {
        PyObject *made = PyTuple_New(step->items), *origin = SLOT(node, Node_origin);
        for (int i = 0; made && i < step->items; i++) {
            PyObject *value = PyTuple_GET_ITEM(saved, i), *own = Py_None;
            int wraps = step->what[i] == 'y' || (step->what[i] == 'x' && (is_plain(value)
                || PyDict_Contains(by_array_, (PyObject *)Py_TYPE(value)) > 0));
            if (step->what[i] == 'y') own = node;
            else if (wraps && !step->single) own = PyTuple_GET_ITEM(origin, step->at[i]);
            else if (wraps && step->at[i] == step->pulls[0].input) own = origin;
            value = wraps ? boxed(Py_NewRef(value), own, Py_None) : Py_NewRef(value);
            if (value == NULL) Py_CLEAR(made); else PyTuple_SET_ITEM(made, i, value);
        }
        return made;
    }
    PyObject *revive = SLOT(recipe, Recipe_revive);
    revive = revive == Py_None ? PyObject_CallOneArg(reviver_, recipe) : Py_NewRef(revive);
    PyObject *pair[] = {node, saved}, *made = revive ? PyObject_Vectorcall(revive, pair, 2, NULL) : NULL;
    Py_XDECREF(revive);
    return made;
}

/* One node without anything special. */
static int plain_step(const Pass *pass, PyObject *node, PyObject **g, PyObject *kind, PyObject *xp, int free_saved) {
    PyObject *recipe = Py_NewRef(SLOT(node, Node_recipe)), *saved = Py_NewRef(SLOT(node, Node_saved)), *step = NULL;
    int bad = -1;
    PyObject *steps = SLOT(recipe, Recipe_steps);
    step = Py_XNewRef(PyDict_GetItemWithError(steps, kind));
    if (step == NULL && !PyErr_Occurred()) step = PyObject_GetItem(steps, kind);
    if (step == NULL) goto done;
    if (pass->create_graph) {
        PyObject *made = revived((Step *)step, node, recipe, saved);
        Py_SETREF(saved, made);
        if (saved == NULL) goto done;
        if (SLOT(recipe, Recipe_flat) != Py_False) {
            PyObject *given[] = {node, *g, saved}, *made = PyObject_Vectorcall(tied_, given, 3, NULL);
            Py_SETREF(*g, made);
            if (made == NULL) goto done;
        }
    }
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

/* Walk._to_fork: a cotangent waits with those of the other outputs. */
static int to_fork(PyObject *pending, PyObject *output, PyObject *g) {
    PyObject *fork = SLOT(output, Output_fork), *slots = PyDict_GetItemWithError(pending, fork);
    Py_ssize_t i = PyLong_AsSsize_t(SLOT(output, Output_index)), n = PyTuple_GET_SIZE(SLOT(fork, Fork_metas));
    if (slots == NULL) {
        if (PyErr_Occurred() || (slots = PyList_New(n)) == NULL) return -1;
        for (Py_ssize_t k = 0; k < n; k++) PyList_SET_ITEM(slots, k, Py_NewRef(Py_None));
        int bad = PyDict_SetItem(pending, fork, slots);
        Py_DECREF(slots); /* which `pending` holds */
        if (bad) return -1;
    }
    PyObject *old = PyList_GET_ITEM(slots, i), *sum = old == Py_None ? Py_NewRef(g) : PyNumber_Add(old, g);
    return sum ? PyList_SetItem(slots, i, sum) : -1;
}

/* The cotangents of all outputs as a tuple; NULL without an error: some are missing, or of another kind. */
static PyObject *all_of(PyObject *slots) {
    int whole = PyList_CheckExact(slots);
    for (Py_ssize_t i = 0; whole && i < PyList_GET_SIZE(slots); i++) whole = is_plain(PyList_GET_ITEM(slots, i));
    return whole ? PyList_AsTuple(slots) : NULL;
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
        PyObject *type = (PyObject *)Py_TYPE(node), *several = NULL;
        int output = type == Output_, close = output ? SLOT(node, Output_extras) != NOTHING_
            : type == Node_ ? SLOT(node, Node_extras) != Py_None
            : type != Fork_ || create_graph || SLOT(node, Node_extras) != NOTHING_;
        close = close || (!output && (PyObject *)Py_TYPE(SLOT(node, Node_recipe)) != Recipe_);
        if (!bad && !close) {
            close = PyObject_IsTrue(special) ? PySet_Contains(special, node) : 0;
            bad = close < 0;
        }
        if (!bad && !close && type == Fork_) {
            if ((several = all_of(g)) != NULL) Py_SETREF(g, several);
            close = several == NULL;
            bad = PyErr_Occurred() != NULL;
        }
        if (!bad && !close && output) {
            bad = to_fork(pending, node, g) < 0;
        } else if (!bad && close) {
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
            PyObject *own = several ? plain_ : (PyObject *)Py_TYPE(g);
            if (!bad && !create_graph && own != kind) {
                PyObject *home = PyObject_GetItem(by_array_, own), *found = home ? PyObject_GetAttr(home, s_xp) : NULL;
                Py_XDECREF(home);
                kind = own; /* which the registry holds */
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

/* plan.reach: (the nodes that roots depend on, those that were freed, leaves, all but plain leaves as they were found). */
static PyObject *reach(PyObject *module, PyObject *roots) {
    PyObject *seen = PySet_New(roots), *dead = PyList_New(0), *leaves = PyList_New(0), *order = PyList_New(0), *found = NULL;
    if (!seen || !dead || !leaves || !order || PySet_Discard(seen, Py_None) < 0 || !(found = PySequence_List(seen))) goto fail;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found); i++) { /* which grows on the way */
        PyObject *node = PyList_GET_ITEM(found, i), *origin, *saved;
        int plain = (PyObject *)Py_TYPE(node) == Node_;
        if ((PyObject *)Py_TYPE(node) == Leaf_) {
            if (PyList_Append(leaves, node) < 0 || (SLOT(node, Leaf_extras) != Py_None && PyList_Append(order, node) < 0)) goto fail;
            continue;
        }
        origin = plain ? Py_NewRef(SLOT(node, Node_origin)) : PyObject_GetAttr(node, s_origin);
        if (origin == NULL || PyList_Append(order, node) < 0) { Py_XDECREF(origin); goto fail; }
        int several = PyTuple_CheckExact(origin), bad = 0;
        Py_ssize_t n = several ? PyTuple_GET_SIZE(origin) : 1, before;
        for (Py_ssize_t k = 0; !bad && k < n; k++) {
            PyObject *parent = several ? PyTuple_GET_ITEM(origin, k) : origin;
            if (parent == Py_None) continue;
            before = PySet_GET_SIZE(seen);
            bad = PySet_Add(seen, parent) < 0 || (PySet_GET_SIZE(seen) > before && PyList_Append(found, parent) < 0);
        }
        Py_DECREF(origin);
        saved = bad ? NULL : plain ? Py_XNewRef(SLOT(node, Node_saved)) : PyObject_GetAttr(node, s_saved);
        if (saved == NULL || (saved == FREED_ && PyList_Append(dead, node) < 0)) { Py_XDECREF(saved); goto fail; }
        Py_DECREF(saved);
    }
    Py_DECREF(found);
    return Py_BuildValue("(NNNN)", seen, dead, leaves, order);
fail:
    Py_XDECREF(seen); Py_XDECREF(dead); Py_XDECREF(leaves); Py_XDECREF(order); Py_XDECREF(found);
    return NULL;
}

/* Whether nobody but who holds the array sees its memory, as `CPU.owns` says. */
static int is_own(PyObject *a) {
    PyObject *base = ((Array *)a)->base;
    if (Py_REFCNT(a) != 1 || ((Array *)a)->flags & OWNDATA) return Py_REFCNT(a) == 1;
    return (((Array *)a)->flags & (WRITEABLE | 1)) == (WRITEABLE | 1) && base && is_plain(base) && Py_REFCNT(base) == 1
        && ((Array *)base)->flags & OWNDATA && descr_of(base) == descr_of(a) && size_of(base) == size_of(a);
}

/* accumulation.keep: leaves' tensors that have no gradient get theirs as it is, if nobody else sees it: all, or none. */
static PyObject *keep(PyObject *module, PyObject *arrived) {
    PyObject *made = PyDict_CheckExact(arrived) ? PyList_New(0) : NULL, *leaf, *g;
    for (Py_ssize_t i = 0; made && i < PyDict_GET_SIZE(arrived); i++) { /* first, since whoever collects garbage may run Python */
        PyObject *one = boxed(Py_NewRef(Py_None), Py_None, Py_None);
        if (one == NULL || PyList_Append(made, one) < 0) Py_CLEAR(made);
        Py_XDECREF(one);
    }
    if (made == NULL) return NULL;
    int fine = !PySet_GET_SIZE(unusual_);
    for (int sets = 0; fine && sets < 2; sets++) {
        for (Py_ssize_t at = 0, i = 0; fine && PyDict_Next(arrived, &at, &leaf, &g); i++) {
            PyObject *x = (PyObject *)Py_TYPE(leaf) == Leaf_ ? PyWeakref_GET_OBJECT(SLOT(leaf, Leaf_tensor)) : Py_NotImplemented;
            if (x == Py_None) continue; /* it is gone */
            if (sets) {
                Py_SETREF(SLOT(PyList_GET_ITEM(made, i), Tensor_array), Py_NewRef(g));
                Py_XSETREF(SLOT(x, Tensor__grad), Py_NewRef(PyList_GET_ITEM(made, i)));
            } else {
                fine = PyObject_TypeCheck(x, (PyTypeObject *)Tensor_) && SLOT(x, Tensor__node) == leaf && is_plain(g) && is_own(g)
                    && (SLOT(x, Tensor__grad) == NULL || SLOT(x, Tensor__grad) == Py_None);
            }
        }
    }
    Py_DECREF(made);
    return PyBool_FromLong(fine);
}
