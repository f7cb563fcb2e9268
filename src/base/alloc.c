#include "base/alloc.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const char memory_ran_out[] = "out of memory";

_Noreturn void die(const char *invariant)
{
    /* Kept in a volatile so that a debugger shows it in the core file; the signal takes it to who
     * says it (io/process/last_words.h). */
    const char *volatile broken = invariant;
    pthread_sigqueue(pthread_self(), SIGABRT,
                     (union sigval){.sival_ptr = (void *)(uintptr_t)broken});
    abort();
}

static void *there(void *ptr)
{
    if (!ptr)
        die(memory_ran_out);
    return ptr;
}

void *xmalloc(size_t size)
{
    return there(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return there(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *ptr, size_t size)
{
    return there(realloc(ptr, size ? size : 1));
}

void *xmemdup(const void *data, size_t size)
{
    ASSERT(data || size == 0);
    void *copy = xmalloc(size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

#define SMALL_PAGE ((size_t)4 << 10)
#define LARGE_PAGE ((size_t)2 << 20)
#define MUCH       ((size_t)256 << 10)

/* What there is of whole pages of that size. */
static void pages_advise(char *at, size_t bytes, size_t page, int advice)
{
    size_t ahead = -(uintptr_t)at % page;
    if (bytes >= ahead + page)
        madvise(at + ahead, (bytes - ahead) / page * page, advice);
}

/* Wishes: where the system does not follow them all is as it was. */
void pages_take(void *at, size_t bytes)
{
    if (bytes < MUCH)
        return;
    pages_advise(at, bytes, LARGE_PAGE, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
    pages_advise(at, bytes, SMALL_PAGE, MADV_POPULATE_WRITE);
#endif
}

char *xstrdup(const char *text)
{
    return text ? xmemdup(text, strlen(text) + 1) : NULL;
}

char *xstrndup(const char *text, size_t max)
{
    size_t len = strnlen(text, max);
    char *copy = xmalloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *xasprintf(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(len >= 0);
    char *text = xmalloc((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}
