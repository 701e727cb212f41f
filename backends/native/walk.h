/* The search for a walk's nodes, its steps and its loop: `core/plan.py`, `core/engine.py`, `backends/stepping.py`. */

/* -- steps of a walk: the rules of a node, one by one ------------------------------------------------ */
enum Known {
    CALLED, IDENTITY, PRODUCT, RESHAPED, SWAPPED, PLACED, REJOINED, CUT, UNSTACKED, TANH, RELU, ROWS, MATRICES };
enum { KEPT_FIRST = 1, TURN_FIRST = 2, TURN_SECOND = 4 }; /* what is added to MATRICES */

typedef struct { /* `code` is the function's when it was found to be a known one; `op` does the same on tensors */
    PyObject *rule, *code, *keywords, *op; int input, known;
    const char *places; /* a digit for each thing that the rule is given of what is kept */
} Pull;

typedef struct {
    HOLDER PyObject *usual; /* the step in Python */
    int single, joint, pulled; Pull pulls[INPUTS]; /* joint: the only pull gives the cotangents of all inputs */
} Step;

typedef struct {
    PyObject *walk, *pending, *owned, *needed, *kind, *xp; /* the last are of the cotangents that came last */
    int create_graph, free_saved;
} Pass;

/* A function of two arrays, of cotangents: nobody is warned. In the first one's memory, or in fresh one. */
static PyObject *of_two(PyObject *function, PyObject *a, PyObject *b, PyObject *y) {
    PyObject *given[] = {a, b, y}, *made = looped(function, given, 2, y, 1);
    return made || PyErr_Occurred() ? made : PyObject_Vectorcall(function, given, y ? 3 : 2, NULL);
}

static PyObject *tanh_pull(PyObject *h, PyObject *s) { /* h - h * s², as the kernel does it: in the memory of s² */
    PyObject *t = of_two(multiply_, s, s, NULL), *product = t ? of_two(multiply_, t, h, t) : NULL;
    PyObject *made = product ? of_two(subtract_, h, product, product) : NULL;
    Py_XDECREF(t); Py_XDECREF(product);
    return made;
}

static PyObject *relu_pull(Array *h, Array *y) { /* where(y <= 0, 0, h) */
    Array *made = (Array *)new_array(plain_, Py_NewRef(h->descr), h->nd, h->dims, NULL, NULL, 0, NULL);
    for (Size i = 0, n = made ? size_of((PyObject *)made) : 0; i < n; i++)
        if (h->descr == single_) ((float *)made->data)[i] = ((float *)y->data)[i] <= 0 ? 0 : ((float *)h->data)[i];
        else ((double *)made->data)[i] = ((double *)y->data)[i] <= 0 ? 0 : ((double *)h->data)[i];
    return (PyObject *)made;
}

/* What a known rule gives, given the namespace, the cotangent and what is kept. NULL without an error: it is called. */
static PyObject *pulled_here(const Pull *pull, PyObject *const *args) {
    PyObject *g = args[1], *first = args[2], *second = args[3];
    int known = pull->known, how = known - MATRICES, alike = first && Py_TYPE(g) == Py_TYPE(first);
    PyObject *one = how > 0 && how & KEPT_FIRST ? first : g, *other = one == g ? first : g, *pair[] = {one, other};
    if (known == IDENTITY) return Py_NewRef(g);
    if (known == PRODUCT) return is_plain(g) ? of_two(multiply_, g, first, NULL) : PyNumber_Multiply(g, first);
    if (known == REJOINED && PyTuple_CheckExact(g)) return PyObject_Vectorcall(concatenate_, args + 1, 2, NULL);
    if (alike && is_a(g, Tensor_) && pull->op != Py_None
        && (how < 0 || (is_small_matrix(SLOT(g, Tensor_array)) && is_small_matrix(SLOT(first, Tensor_array)))))
        return PyObject_Vectorcall(pull->op, pair, 2, NULL);
    if (!is_plain(g)) return NULL;
    if (known == RESHAPED && is_a(first, Meta_))
        return PyObject_CallMethodOneArg(g, s_reshape, PyTuple_GET_ITEM(first, 0));
    if (known == SWAPPED && ((Array *)g)->nd == 2) return PyObject_GetAttr(g, s_T);
    if (known == CUT && second) return split(g, first, second);
    if (known == UNSTACKED && first == zero && ((Array *)g)->nd > 1) return PySequence_Tuple(g);
    if (known == TANH && alike && ((Array *)g)->nd && are_alike(g, first)) return tanh_pull(g, first);
    if (known == RELU && alike && are_alike(g, first) && is_dense(g) && is_dense(first) && is_usual(descr_of(g))
        && size_of(g) <= FEW) return relu_pull((Array *)g, (Array *)first);
    if (known == ROWS && is_small_matrix(g)) return sum_of_rows(g);
    return how < 0 || !alike ? NULL : dotted(one, !!(how & TURN_FIRST), other, !!(how & TURN_SECOND));
}

static PyObject *pulled(const Pull *pull, PyObject *xp, PyObject *g, PyObject *saved) {
    PyObject *args[2 + ITEMS] = {xp, g}, *made;
    size_t n = 2;
    for (const char *at = pull->places; *at; at++) {
        if (*at - '0' >= PyTuple_GET_SIZE(saved)) return PyErr_Format(PyExc_IndexError, "tuple index out of range");
        args[n++] = PyTuple_GET_ITEM(saved, *at - '0');
    }
    if (pull->known != CALLED && ((PyFunctionObject *)pull->rule)->func_code == pull->code) {
        made = pulled_here(pull, args);
        if (made || PyErr_Occurred()) return made;
    }
    return PyObject_Vectorcall(pull->rule, args, n - (size_t)PyTuple_GET_SIZE(pull->keywords), pull->keywords);
}

/* Walk._add: the second cotangent makes a fresh sum, later ones add to it. */
static int added(const Pass *pass, PyObject *node, PyObject *old, PyObject *ct) {
    int own = PySet_Contains(pass->owned, node);
    PyObject *pair[] = {Py_NewRef(old), ct}, *sum = own < 0 ? NULL : looped(add_, pair, 2, own ? old : NULL, 1);
    if (sum == NULL && !PyErr_Occurred()) sum = own ? PyNumber_InPlaceAdd(old, ct) : PyNumber_Add(old, ct);
    Py_DECREF(old);
    int bad = sum == NULL || (sum != old && PyDict_SetItem(pass->pending, node, sum) < 0);
    Py_XDECREF(sum);
    return bad || (!own && !pass->create_graph && PySet_Add(pass->owned, node) < 0) ? -1 : 0;
}

/* engine.fit, where there is something to do. Takes the cotangent. */
static PyObject *fitted(PyObject *xp, PyObject *ct, PyObject *target) {
    PyObject *a = is_a(ct, Tensor_) ? SLOT(ct, Tensor_array) : ct;
    if (is_plain(a) && PyTuple_CheckExact(target) && !PyTuple_GET_SIZE(PyTuple_GET_ITEM(target, 2))
        && PyTuple_GET_ITEM(target, 1) == descr_of(a)) {
        PyObject *shape = PyTuple_GET_ITEM(target, 0);
        int nd = ((Array *)a)->nd, rows = nd - (int)PyTuple_GET_SIZE(shape), same = rows == 0 || rows == 1;
        for (int i = rows; same && i < nd; i++)
            same = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i - rows)) == ((Array *)a)->dims[i];
        if (same && rows == 0) return ct;
        if (same && ct == a && is_small_matrix(a)) { Py_SETREF(ct, sum_of_rows(ct)); return ct; } /* a row met all */
    }
    Py_SETREF(ct, PyObject_Vectorcall(fit_, (PyObject *[]){xp, ct, target}, 3, NULL));
    return ct;
}

/* A cotangent of input i goes to its node, if it leads anywhere. Takes the cotangent. */
static int sent(const Pass *pass, PyObject *node, int i, PyObject *parent, PyObject *ct) {
    PyObject *fit = SLOT(node, Node_fit), *old;
    if (ct && fit != Py_None) ct = fitted(pass->xp, ct, PyTuple_GET_ITEM(fit, i));
    if (ct == NULL) return -1;
    Size before = PyDict_GET_SIZE(pass->pending);
    old = PyDict_SetDefault(pass->pending, parent, ct);
    int bad = old == NULL ? -1 : PyDict_GET_SIZE(pass->pending) > before ? 0 : added(pass, parent, old, ct);
    Py_DECREF(ct);
    return bad;
}

static int leads_on(const Pass *pass, PyObject *parent) {
    return parent == Py_None ? 0 : pass->needed == Py_None ? 1 : PySet_Contains(pass->needed, parent);
}

/* stepping._joint_step: cotangents of all inputs. */
static int joint_step(const Step *step, const Pass *pass, PyObject *node, PyObject *g, PyObject *saved) {
    PyObject *origin = SLOT(node, Node_origin), *given = pulled(&step->pulls[0], pass->xp, g, saved);
    PyObject *all = given ? PySequence_Fast(given, "a joint rule gives a sequence of cotangents") : NULL;
    Size n = all ? PySequence_Fast_GET_SIZE(all) : 0, inputs = PyTuple_GET_SIZE(origin);
    int bad = all == NULL, odd = !bad && n != inputs, goes;
    for (int i = 0; !bad && !odd && i < n; i++) {
        PyObject *to = PyTuple_GET_ITEM(origin, i), *ct = PySequence_Fast_GET_ITEM(all, i);
        if ((goes = leads_on(pass, to)) && ct != Py_None) bad = goes < 0 || sent(pass, node, i, to, Py_NewRef(ct));
    }
    Py_XDECREF(given); Py_XDECREF(all);
    return bad ? -1 : odd;
}

/* stepping._placing_step of `index`: the first cotangent lies among zeros, others are added to it. 1: not so simple. */
static int placed(const Pull *pull, const Pass *pass, PyObject *node, PyObject *g, PyObject *saved) {
    PyObject *to = SLOT(node, Node_origin), *total = PyDict_GetItemWithError(pass->pending, to), *part = NULL, *sum;
    if (pass->create_graph || !is_plain(g) || !is_usual(descr_of(g)) || SLOT(node, Node_fit) != Py_None
        || PyTuple_GET_SIZE(saved) != 2 || ((PyFunctionObject *)pull->rule)->func_code != pull->code) return 1;
    PyObject *like = PyTuple_GET_ITEM(saved, pull->places[0] - '0');
    PyObject *key = PyTuple_GET_ITEM(saved, pull->places[1] - '0');
    int first = total == NULL;
    if (!is_a(like, Meta_) || (!first && (PySet_Contains(pass->owned, to) <= 0 || !is_plain(total)
        || !((Array *)total)->nd || descr_of(total) != descr_of(g)))) return 1;
    PyObject *given[] = {PyTuple_GET_ITEM(like, 0), descr_of(g)};
    total = first ? PyObject_Vectorcall(zeros_, given, 2, NULL) : Py_NewRef(total);
    if (total && !first) part = PyObject_GetItem(total, key);
    sum = first ? Py_NewRef(g) : part ? PyNumber_InPlaceAdd(part, g) : NULL;
    int bad = total == NULL || sum == NULL || (sum != part && PyObject_SetItem(total, key, sum) < 0)
        || (first && (PyDict_SetItem(pass->pending, to, total) < 0 || PySet_Add(pass->owned, to) < 0));
    Py_XDECREF(total); Py_XDECREF(part); Py_XDECREF(sum);
    return bad ? -1 : 0;
}

/* 1: Python's step is to be taken. */
static int stepped(const Step *step, const Pass *pass, PyObject *node, PyObject *g, PyObject *saved) {
    if (!PyTuple_CheckExact(saved)) return 1;
    if (step->pulled && step->pulls[0].known == PLACED) return placed(&step->pulls[0], pass, node, g, saved);
    if (step->joint) return joint_step(step, pass, node, g, saved);
    for (int i = 0; i < step->pulled; i++) {
        const Pull *pull = &step->pulls[i];
        PyObject *origin = SLOT(node, Node_origin), *to = step->single ? origin : PyTuple_GET_ITEM(origin, pull->input);
        int goes = step->single ? 1 : leads_on(pass, to);
        if (goes < 0 || (goes && sent(pass, node, pull->input, to, pulled(pull, pass->xp, g, saved)))) return -1;
    }
    return 0;
}

static PyObject *step_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    return PyObject_Vectorcall(((Step *)self)->usual, args, nargsf, kwnames);
}

HOLDER_TYPE(Step, "The rules of a node, one by one.")

/* step(usual, single, joint, pulls): each pull is (rule, code, keywords, op, places, input, known). */
static PyObject *new_step(PyObject *module, PyObject *args) {
    PyObject *pulls;
    Step *step = new_holder(&StepType, step_call, args);
    int ok = step && PyArg_ParseTuple(args, "OppO!", &step->usual, &step->single, &step->joint, &PyTuple_Type, &pulls);
    for (; ok && step->pulled < PyTuple_GET_SIZE(pulls) && step->pulled < INPUTS; step->pulled++) {
        Pull *pull = &step->pulls[step->pulled];
        ok = PyArg_ParseTuple(PyTuple_GET_ITEM(pulls, step->pulled), "OOO!Osii", &pull->rule, &pull->code,
                              &PyTuple_Type, &pull->keywords, &pull->op, &pull->places, &pull->input, &pull->known);
    }
    if (!ok) Py_CLEAR(step);
    return (PyObject *)step;
}

/* -- the walk ---------------------------------------------------------------------------------------- */
/* What a node keeps, with tensors in place of arrays. */
static PyObject *revived(PyObject *node, PyObject *recipe, PyObject *saved) {
    PyObject *revive = SLOT(recipe, Recipe_revive);
    revive = revive == Py_None ? PyObject_CallOneArg(reviver_, recipe) : Py_NewRef(revive);
    PyObject *made = revive ? PyObject_Vectorcall(revive, (PyObject *[]){node, saved}, 2, NULL) : NULL;
    Py_XDECREF(revive);
    return made;
}

/* The step of a recipe for such a cotangent; and the namespace that rules are given. */
static PyObject *step_of(Pass *pass, PyObject *recipe, PyObject *g) {
    PyObject *kind = pass->create_graph ? Py_None : PyTuple_CheckExact(g) ? plain_ : (PyObject *)Py_TYPE(g), *step;
    if (kind != pass->kind) {
        PyObject *home = PyObject_GetItem(by_array_, kind), *found = home ? PyObject_GetAttr(home, s_xp) : NULL;
        Py_XDECREF(home);
        if (found == NULL) return NULL;
        pass->kind = kind; /* which the registry holds */
        Py_SETREF(pass->xp, found);
    }
    step = PyDict_GetItemWithError(SLOT(recipe, Recipe_steps), kind);
    return step || PyErr_Occurred() ? Py_XNewRef(step) : PyObject_GetItem(SLOT(recipe, Recipe_steps), kind);
}

/* One node without anything special. Takes the cotangent. */
static int plain_step(Pass *pass, PyObject *node, PyObject *g) {
    PyObject *recipe = Py_NewRef(SLOT(node, Node_recipe)), *saved = Py_NewRef(SLOT(node, Node_saved)), *done = NULL;
    PyObject *step = step_of(pass, recipe, g);
    int bad = step == NULL;
    if (!bad && pass->create_graph) {
        Py_SETREF(saved, revived(node, recipe, saved));
        if (saved && SLOT(recipe, Recipe_flat) != Py_False)
            Py_SETREF(g, PyObject_CallFunctionObjArgs(tied_, node, g, saved, NULL));
        bad = saved == NULL || g == NULL;
    }
    int left = !bad && Py_TYPE(step) == &StepType ? stepped((Step *)step, pass, node, g, saved) : 1;
    bad = bad || left < 0;
    if (!bad && left) {
        PyObject *add = PyObject_GetAttr(pass->walk, s__add);
        PyObject *given[] = {node, pass->xp, g, saved, pass->pending, add, pass->needed};
        bad = add == NULL || (done = PyObject_Vectorcall(step, given, 7, NULL)) == NULL;
        Py_XDECREF(add); Py_XDECREF(done);
    }
    if (!bad && pass->free_saved && SLOT(recipe, Recipe_keeps_arrays) == Py_True)
        Py_XSETREF(SLOT(node, Node_saved), Py_NewRef(FREED_));
    Py_XDECREF(g); Py_XDECREF(step); Py_XDECREF(saved); Py_DECREF(recipe);
    return bad ? -1 : 0;
}

/* The cotangents of all outputs of a fork as a tuple; NULL without an error: some are missing, or of another kind. */
static PyObject *all_of(PyObject *slots) {
    int whole = PyList_CheckExact(slots);
    for (Size i = 0; whole && i < PyList_GET_SIZE(slots); i++) whole = is_plain(PyList_GET_ITEM(slots, i));
    return whole ? PyList_AsTuple(slots) : NULL;
}

/* Walk._loop from a node on, while no back end has streams and nobody observes: loop(walk, order, at, pending, owned,
   needed, special, stale, create_graph, free) -> the place of the next node that is not plain, or where it ended. */
static PyObject *loop(PyObject *module, PyObject *args) {
    PyObject *order, *special, *done = NULL;
    Size at;
    int stale, bad = 0;
    Pass pass = {.kind = Py_None, .xp = tape_namespace_};
    if (!PyArg_ParseTuple(args, "OO!nO!O!OOppp", &pass.walk, &PyList_Type, &order, &at, &PyDict_Type, &pass.pending,
                          &PySet_Type, &pass.owned, &pass.needed, &special, &stale, &pass.create_graph,
                          &pass.free_saved)) return NULL;
    Py_INCREF(pass.xp);
    for (; !bad && at < PyList_GET_SIZE(order); at++) {
        if ((at & 1023) == 1023) { /* others' turn, as between instructions of Python */
            Py_BEGIN_ALLOW_THREADS Py_END_ALLOW_THREADS
            if (PyErr_CheckSignals() < 0) break;
        }
        PyObject *node = PyList_GET_ITEM(order, at), *g = PyDict_GetItemWithError(pass.pending, node);
        if (g == NULL && !PyErr_Occurred()) continue;
        int plain = is_a(node, Node_), fork = is_a(node, Fork_) && !pass.create_graph, output = is_a(node, Output_);
        PyObject *extras = output ? SLOT(node, Output_extras) : plain || fork ? SLOT(node, Node_extras) : NULL;
        if (g == NULL || extras != (plain ? Py_None : NOTHING_)
            || (PySet_GET_SIZE(special) && PySet_Contains(special, node))
            || (!output && !is_a(SLOT(node, Node_recipe), Recipe_)) || (fork && (done = all_of(g)) == NULL)) break;
        g = fork ? done : Py_NewRef(g);
        Py_INCREF(node);
        done = PyDict_DelItem(pass.pending, node) < 0 ? NULL
            : output ? PyObject_CallMethodObjArgs(pass.walk, s__to_fork, node, g, NULL)
            : stale ? PyObject_CallOneArg(check_written_, node) : Py_NewRef(Py_None);
        bad = done == NULL;
        if (bad || output) Py_DECREF(g); else bad = plain_step(&pass, node, g);
        Py_XDECREF(done); Py_DECREF(node);
    }
    Py_DECREF(pass.xp);
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(at);
}

/* plan.reach: (the nodes that roots depend on, those that were freed, leaves, all but plain leaves, youngest first). */
static PyObject *reach(PyObject *module, PyObject *roots) {
    PyObject *seen = PySet_New(roots), *dead = PyList_New(0), *leaves = PyList_New(0), *order = PyList_New(0);
    int bad = !seen || !dead || !leaves || !order || PySet_Discard(seen, Py_None) < 0, sorted = 1;
    PyObject *found = bad ? NULL : PySequence_List(seen);
    bad = found == NULL;
    for (Size i = 0, last = PY_SSIZE_T_MAX; !bad && i < PyList_GET_SIZE(found); i++) { /* which grows on the way */
        PyObject *node = PyList_GET_ITEM(found, i), *origin, *saved;
        int plain = is_a(node, Node_), leaf = is_a(node, Leaf_);
        if (leaf && (bad = PyList_Append(leaves, node) < 0, SLOT(node, Leaf_extras) == Py_None)) continue;
        Size when = plain ? PyLong_AsSsize_t(SLOT(node, Node_when)) : PY_SSIZE_T_MAX;
        sorted &= when < last, last = when;
        origin = plain ? Py_XNewRef(SLOT(node, Node_origin)) : PyObject_GetAttr(node, s_origin);
        saved = plain ? Py_XNewRef(SLOT(node, Node_saved)) : PyObject_GetAttr(node, s_saved);
        bad = bad || !origin || !saved || (saved == FREED_ && PyList_Append(dead, node) < 0)
            || PyList_Append(order, node) < 0;
        int several = !bad && PyTuple_CheckExact(origin);
        for (Size k = 0, n = several ? PyTuple_GET_SIZE(origin) : 1; !bad && k < n; k++) {
            PyObject *parent = several ? PyTuple_GET_ITEM(origin, k) : origin;
            Size before = PySet_GET_SIZE(seen);
            bad = parent != Py_None && (PySet_Add(seen, parent) < 0
                || (PySet_GET_SIZE(seen) > before && PyList_Append(found, parent) < 0));
        }
        Py_XDECREF(origin); Py_XDECREF(saved);
    }
    PyObject *done = bad ? NULL : sorted ? Py_NewRef(Py_None) : PyObject_CallOneArg(by_age_, order);
    PyObject *all = done ? PyTuple_Pack(4, seen, dead, leaves, order) : NULL;
    Py_XDECREF(seen); Py_XDECREF(dead); Py_XDECREF(leaves); Py_XDECREF(order); Py_XDECREF(found); Py_XDECREF(done);
    return all;
}

/* Whether nobody but who holds the array sees its memory, as `CPU.owns` says. */
static int is_own(PyObject *a) {
    PyObject *base = ((Array *)a)->base;
    if (Py_REFCNT(a) != 1 || ((Array *)a)->flags & OWNDATA) return Py_REFCNT(a) == 1;
    return (((Array *)a)->flags & (WRITEABLE | 1)) == (WRITEABLE | 1) && base && is_plain(base) && Py_REFCNT(base) == 1
        && ((Array *)base)->flags & OWNDATA && descr_of(base) == descr_of(a) && size_of(base) == size_of(a);
}

/* accumulation.keep: leaves' tensors that have no gradient get theirs as it is, if nobody else sees it: all, or none.
   Tensors of gradients are made first, since whoever collects garbage may run Python. */
static PyObject *keep(PyObject *module, PyObject *arrived) {
    PyObject *made = PyDict_CheckExact(arrived) ? PyTuple_New(PyDict_GET_SIZE(arrived)) : NULL, *leaf, *g, *old;
    for (Size i = 0; made && i < PyTuple_GET_SIZE(made); i++)
        made = filled(made, i, boxed(Py_NewRef(Py_None), Py_None, Py_None));
    if (made == NULL) return NULL;
    int fine = !PySet_GET_SIZE(unusual_) && PyDict_GET_SIZE(arrived) == PyTuple_GET_SIZE(made);
    for (int sets = 0; fine && sets < 2; sets++) {
        for (Size at = 0, i = 0; fine && PyDict_Next(arrived, &at, &leaf, &g); i++) {
            PyObject *x = is_a(leaf, Leaf_) ? PyWeakref_GET_OBJECT(SLOT(leaf, Leaf_tensor)) : Py_NotImplemented;
            if (x == Py_None) continue; /* it is gone */
            if (sets) {
                Py_SETREF(SLOT(PyTuple_GET_ITEM(made, i), Tensor_array), Py_NewRef(g));
                Py_XSETREF(SLOT(x, Tensor__grad), Py_NewRef(PyTuple_GET_ITEM(made, i)));
            } else
                fine = PyObject_TypeCheck(x, (PyTypeObject *)Tensor_) && SLOT(x, Tensor__node) == leaf && is_plain(g)
                    && is_own(g) && ((old = SLOT(x, Tensor__grad)) == NULL || old == Py_None);
        }
    }
    Py_DECREF(made);
    return PyBool_FromLong(fine);
}
