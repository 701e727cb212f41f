/* Whether objects of Python's are where they were: many of them in one call, which holds the interpreter's lock. */

#include "arrays.h"
#include "vector_math.h"

typedef int (*next_entry)(void *dictionary, long *place, void **key, void **value); /* PyDict_Next */

typedef struct {
    long slots;             /* how many pointers lie in objects, */
    void ***where;          /* at which addresses, */
    void **what;            /* and what they should be; zero: anything but nothing and None */
    void *none;
    long dictionaries;      /* how many there are, */
    void **dictionary;
    const long *sizes;      /* with how many entries, */
    void **entries;         /* and all keys and values, one pair after the other */
    next_entry next;
} things;

EXPORT long lg_differ(const things *t)
{
    for (long i = 0; i < t->slots; i++)
        if (t->what[i] ? *t->where[i] != t->what[i] : !*t->where[i] || *t->where[i] == t->none) return 1;
    void **expected = t->entries;
    for (long i = 0; i < t->dictionaries; i++) {
        long place = 0;
        void *key, *value;
        for (long n = t->sizes[i]; n > 0; n--, expected += 2)
            if (!t->next(t->dictionary[i], &place, &key, &value) || key != expected[0] || value != expected[1]) return 1;
        if (t->next(t->dictionary[i], &place, &key, &value)) return 1;
    }
    return 0;
}

typedef struct {
    long count;                 /* of tensors, */
    void *tensor, *array;       /* which have these types, as have their arrays; */
    void *none;
    long kind, holds, node, grad; /* where objects keep their type, and tensors what they have; */
    long data;                  /* where arrays keep the address of their elements, and the rest behind it; */
    void **dtypes;
    const long *ranks, *sizes;  /* the sizes of one after the other; */
    const long *grown;          /* and whether they have a node */
} kinds;

#define PART(T, object, offset) (*(T *)((char *)(object) + (offset)))

/* Whether tensors are others than expected, or one is there twice; `first` is the first item of a tuple. */
EXPORT long lg_strange(void **first, const kinds *t)
{
    const long *size = t->sizes;
    long room = 4;
    while (room < 2 * t->count) room *= 2;
    void *met[room];
    for (long k = 0; k < room; k++) met[k] = 0;
    for (long i = 0; i < t->count; i++) {
        void *x = first[i];
        if (PART(void *, x, t->kind) != t->tensor) return 1;
        void *a = PART(void *, x, t->holds), *node = PART(void *, x, t->node), *grad = PART(void *, x, t->grad);
        if (!a || !node || PART(void *, a, t->kind) != t->array) return 1;
        if ((node != t->none) != t->grown[i] || (grad && grad != t->none)) return 1;
        const array_fields *own = &PART(array_fields, a, t->data);
        if (own->rank != t->ranks[i] || own->dtype != t->dtypes[i]) return 1;
        for (long k = 0; k < t->ranks[i]; k++)
            if (own->sizes[k] != *size++) return 1;
        long k = ((unsigned long)x >> 4) & (room - 1);
        for (; met[k]; k = (k + 1) & (room - 1))
            if (met[k] == x) return 1;
        met[k] = x;
    }
    return 0;
}
