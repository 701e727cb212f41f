/* Vectors of REAL, as long as the processor has them: included once for each kind of floats, with UNIT, the number of
 * elements that tables and packed arrays are made for. */
#ifdef __AVX512F__
#define BYTES 64 /* of a vector */
#else
#define BYTES 32
#endif

typedef REAL NAME(vector) __attribute__((vector_size(BYTES)));
typedef REAL NAME(anywhere) __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
#define V NAME(vector)
#define LANES ((I)(BYTES / sizeof(REAL)))
#define ALL(a) ((a) - (V){0}) /* exactly a, also if that is -0 */
#define LOAD(p) (*(const NAME(anywhere) *)(p))
#define STORE(p, v) (*(NAME(anywhere) *)(p) = (v))

typedef struct { I *elements; } NAME(unit_task);

EXPORT void NAME(unit)(const void *task, long begin, long end)
{
    const NAME(unit_task) *t = task;
    for (I k = begin; k < end; k++) t->elements[k] = UNIT;
}
