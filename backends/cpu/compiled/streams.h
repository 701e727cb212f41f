/* Rows that are stored past the caches, or not. Included after `names.h`. */
#ifndef LUCIDGRAD_STREAMS_H
#define LUCIDGRAD_STREAMS_H

#include <string.h>

#include "stores.h"

enum { AT_ONCE = 256 }; /* bytes that are written before memory is asked for the next that will be */

/* Ask for a row that is read or written soon: what processors fetch ahead by themselves ends with a page. */
static inline void fetch(const void *row, size_t bytes, const int written)
{
    const char *at = row;
    for (size_t k = 0; k < bytes && k < 8192; k += 64)
        if (written)
            __builtin_prefetch(at + k, 1);
        else
            __builtin_prefetch(at + k, 0);
}

static inline void write_zeros(void *to, size_t bytes, const int streamed)
{
    size_t done = 0;
    if (!streamed) {
        for (; done + AT_ONCE <= bytes; done += AT_ONCE) {
            lg_early((char *)to + done, AT_ONCE, 1);
            memset((char *)to + done, 0, AT_ONCE);
        }
        memset((char *)to + done, 0, bytes - done);
        return;
    }
#ifdef LG_STREAM
    const size_t edge = (LINE - (uintptr_t)to % LINE) % LINE;
    if (bytes >= edge + LINE) {
        memset(to, 0, edge);
        for (done = edge; done + LINE <= bytes; done += LINE) LG_STREAM((char *)to + done, (lg_line){0});
    }
#endif
    memset((char *)to + done, 0, bytes - done);
}

/* to[k] = TERM for k from 0 to n, which is in terms of k and of elements ONE(p, k): the same of vectors of them. */
#define ONE(p, k) (p)[k]
#ifdef LG_STREAM
#define SOME(p, k) (*(const NAME(some) *)((p) + (k)))
#define STREAM_ROW(to, n, TERM)                                                           \
    do {                                                                                  \
        I k = 0;                                                                          \
        for (; k < (n) && (uintptr_t)((to) + k) % LINE; k++) (to)[k] = TERM(ONE);         \
        for (; k + (I)(LINE / sizeof(REAL)) <= (n); k += (I)(LINE / sizeof(REAL)))        \
            LG_STREAM((to) + k, TERM(SOME));                                              \
        for (; k < (n); k++) (to)[k] = TERM(ONE);                                         \
    } while (0)
#else
#define STREAM_ROW(to, n, TERM) PLAIN_ROW(to, n, TERM)
#endif
#define PLAIN_ROW(to, n, TERM)                                                            \
    do {                                                                                  \
        enum { SOME_OF = AT_ONCE / sizeof(REAL) };                                        \
        I first = 0;                                                                      \
        for (; first + SOME_OF <= (n); first += SOME_OF) {                                \
            lg_early((to) + first, AT_ONCE, 1);                                           \
            _Pragma("omp simd")                                                           \
            for (I k = first; k < first + SOME_OF; k++) (to)[k] = TERM(ONE);              \
        }                                                                                 \
        _Pragma("omp simd")                                                               \
        for (I k = first; k < (n); k++) (to)[k] = TERM(ONE);                              \
    } while (0)
#define WRITE_ROW(to, n, streamed, TERM)                                                  \
    if (streamed)                                                                         \
        STREAM_ROW(to, n, TERM);                                                          \
    else                                                                                  \
        PLAIN_ROW(to, n, TERM)

/* Two functions of a body (task, begin, end, streamed): one that writes its result into the caches, and one past them. */
#define BOTH_WAYS(name)                                                                   \
    EXPORT void NAME(name)(const void *task, long begin, long end)                        \
    {                                                                                     \
        NAME(name##_rows)(task, begin, end, 0);                                           \
    }                                                                                     \
    EXPORT void NAME(name##_streamed)(const void *task, long begin, long end)             \
    {                                                                                     \
        NAME(name##_rows)(task, begin, end, 1);                                           \
        STREAMED_ALL();                                                                   \
    }

#endif
