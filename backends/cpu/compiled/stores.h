/* Stores past the caches, for results that are larger than these: an ordinary store first fetches what it overwrites,
 * so that such a result would cost its bytes twice. Like `vector_math.h` it includes no header of the system. */
#ifndef LUCIDGRAD_STORES_H
#define LUCIDGRAD_STORES_H

#ifndef __has_builtin
#define __has_builtin(name) 0
#endif

/* The compiler is told STREAMED, the bytes from which on a result is not found in a cache again: see `toolchain.py`. */
/* LINE: bytes of one store, and what its place is a multiple of. */
#ifdef __AVX512F__
enum { LINE = 64 }; /* a whole line of the caches */
#else
enum { LINE = 32 };
#endif

#if defined(__AVX__) && defined(__GNUC__)
typedef float lg_line __attribute__((vector_size(LINE), may_alias));
#if __has_builtin(__builtin_nontemporal_store)
#define LG_STREAM(p, v) __builtin_nontemporal_store((lg_line)(v), (lg_line *)(p))
#elif defined(__AVX512F__)
#define LG_STREAM(p, v) __builtin_ia32_movntps512((float *)(p), (lg_line)(v))
#else
#define LG_STREAM(p, v) __builtin_ia32_movntps256((float *)(p), (lg_line)(v))
#endif
/* These stores are seen in any order: whoever is told that the result is there must see all of them. */
#define STREAMED_ALL() __builtin_ia32_sfence()
#else
#define STREAMED_ALL() ((void)0)
#endif

/* Ask for what is read or written a page from here: what processors fetch ahead by themselves ends with a page, and an
 * ordinary store waits for what it overwrites. */
static inline __attribute__((always_inline)) void lg_early(const void *at, unsigned long bytes, const int written)
{
    for (unsigned long k = 0; k < bytes; k += 64)
        if (written)
            __builtin_prefetch((const char *)at + 4096 + k, 1);
        else
            __builtin_prefetch((const char *)at + 4096 + k, 0);
}

/* What a loop has computed, of a few cache lines: copied to its place in a large result. */
static inline void lg_stream(void *restrict to, const void *restrict from, unsigned long bytes)
{
    unsigned long done = 0;
#ifdef LG_STREAM
    if ((__UINTPTR_TYPE__)to % LINE == 0)
        for (; done + LINE <= bytes; done += LINE)
            LG_STREAM((char *)to + done, *(const lg_line *)((const char *)from + done));
#endif
    __builtin_memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

#endif
