/* What the kernels of rows have in common. A row is read from memory once; results do not depend on the number of
 * threads. Sums of float32 are taken by vectors in parts of PART elements, which add up in double. */
#ifndef LUCIDGRAD_ROWS_H
#define LUCIDGRAD_ROWS_H

#include "names.h"
#include "streams.h"

enum { PART = 1024, ROWS = 64 };

extern double sqrt(double);

#endif
