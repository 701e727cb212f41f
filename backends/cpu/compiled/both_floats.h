/* The rest of the source SELF, once for each kind of floats. */
#define REAL float
#define BITS 32
#define SUFFIX _f
#define EXP expf
#define TANH tanhf
#include SELF
#undef REAL
#undef BITS
#undef SUFFIX
#undef EXP
#undef TANH
#define REAL double
#define BITS 64
#define SUFFIX _d
#define EXP exp
#define TANH tanh
#include SELF
