/* What an array object has behind what all objects have, as in NumPy's own header; `library.py` looks whether it does. */
#ifndef LUCIDGRAD_ARRAYS_H
#define LUCIDGRAD_ARRAYS_H

typedef struct {
    char *data;
    int rank;
    const long *sizes, *strides; /* in bytes */
    void *base, *dtype;
} array_fields;

#endif
