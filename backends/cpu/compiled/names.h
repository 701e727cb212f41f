/* What hand-written sources have in common. A source has a function for each kind of floats, REAL, by the name NAME(...):
 * its first part, without REAL, ends with `#define SELF "file.c"` and `#include "both_floats.h"`, which includes the
 * rest once for each. */
#ifndef LUCIDGRAD_NAMES_H
#define LUCIDGRAD_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "vector_math.h"

typedef int64_t I;

#define INLINE static inline __attribute__((always_inline))

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(a) JOIN(a, SUFFIX)

#endif
