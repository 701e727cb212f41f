/* Whether objects of Python's are where they were: many of them in one call, which holds the interpreter's lock. */

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
