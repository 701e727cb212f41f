/* A cache of large blocks of memory behind NumPy's interface for allocators (NEP 49).

   The first touch of a fresh page costs more than the arithmetic of most kernels, so blocks that arrays gave back are
   kept, up to a limit, and given out again. Blocks come in size classes a sixteenth of a power of two apart. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "vector_math.h"

#define HEADER 64 /* before the data: keeps it aligned for SIMD */
#define PAGE 4096 /* the header's: sizes are often powers of two, and a class for itself */
#define CLASSES 1024

typedef struct Block Block;
struct Block {
    size_t size;          /* of the data; 0: a small one, of the system */
    size_t length;        /* of a small one's data */
    Block *next;          /* in its class, the one that was given back before */
    Block *older, *newer; /* among all */
};

static Block *classes[CLASSES];
static Block *oldest, *newest;
static size_t kept, limit, least = (size_t)1 << 18;
static char busy; /* nobody waits for it: who finds the cache in use goes to the system, also after a fork */

static int enter(void) { return !__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE); }
static void leave(void) { __atomic_clear(&busy, __ATOMIC_RELEASE); }

/* The size that is allocated for one that is asked for, and the number of its class. */
static size_t rounded(size_t size, int *class) {
    int log = 63 - __builtin_clzll(size);
    size_t step = (size_t)1 << (log - 4);
    size = (size + step - 1) / step * step;
    log = 63 - __builtin_clzll(size);
    *class = log * 16 + (int)((size >> (log - 4)) & 15);
    return size;
}

static void forget(Block *block) {
    int class;
    rounded(block->size, &class);
    Block **link = &classes[class];
    while (*link != block) link = &(*link)->next;
    *link = block->next;
    *(block->older ? &block->older->newer : &oldest) = block->newer;
    *(block->newer ? &block->newer->older : &newest) = block->older;
    kept -= block->size;
}

static void *fresh(size_t size) {
    Block *block = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (size >= (size_t)1 << 22) madvise(block, size + PAGE, MADV_HUGEPAGE);
#endif
    block->size = size;
    return (char *)block + HEADER;
}

/* Keep at most so many bytes: what is more goes back to the system. */
static int trim(size_t bytes) {
    if (!enter()) return 0;
    while (kept > bytes) {
        Block *old = oldest;
        forget(old);
        munmap(old, old->size + PAGE);
    }
    leave();
    return 1;
}

static void *small(Block *block, size_t length) {
    block->size = 0;
    block->length = length;
    return (char *)block + HEADER;
}

static void *take(void *context, size_t wanted) {
    (void)context;
    if (wanted < least) {
        Block *block = malloc(wanted + HEADER);
        return block ? small(block, wanted) : NULL;
    }
    int class;
    size_t size = rounded(wanted, &class);
    if (enter()) {
        Block *block = classes[class];
        if (block) forget(block);
        leave();
        if (block) return (char *)block + HEADER;
    }
    void *data = fresh(size);
    if (!data && trim(0)) data = fresh(size); /* memory is short: what waits for its next use goes first */
    return data;
}

static void give_back(void *context, void *data, size_t ignored) {
    (void)context, (void)ignored;
    if (!data) return;
    Block *block = (Block *)((char *)data - HEADER);
    if (!block->size) {
        free(block);
        return;
    }
    if (block->size <= limit && enter()) {
        int class;
        rounded(block->size, &class);
        block->next = classes[class];
        block->newer = NULL;
        block->older = newest;
        *(newest ? &newest->newer : &oldest) = block;
        classes[class] = newest = block;
        kept += block->size;
        Block *surplus = NULL;
        while (kept > limit) {
            Block *old = oldest;
            forget(old);
            old->next = surplus;
            surplus = old;
        }
        leave();
        while (surplus) {
            Block *next = surplus->next;
            munmap(surplus, surplus->size + PAGE);
            surplus = next;
        }
        return;
    }
    munmap(block, block->size + PAGE);
}

static void *take_zeros(void *context, size_t count, size_t each) {
    void *data = take(context, count * each);
    if (data) memset(data, 0, count * each);
    return data;
}

static void *resize(void *context, void *data, size_t wanted) {
    if (!data) return take(context, wanted);
    Block *block = (Block *)((char *)data - HEADER);
    const size_t had = block->size ? block->size : block->length;
    void *moved = take(context, wanted);
    if (!moved) return NULL;
    memcpy(moved, data, had < wanted ? had : wanted);
    give_back(context, data, 0);
    return moved;
}

typedef struct {
    char name[127];
    uint8_t version;
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *, size_t);
} Handler;

static Handler handler = {"lucidgrad", 1, NULL, take, take_zeros, resize, give_back};

EXPORT void *lg_handler(void) { return &handler; }

EXPORT void lg_keep(size_t bytes) {
    limit = bytes;
    trim(bytes);
}

EXPORT size_t lg_kept(void) { return kept; }
