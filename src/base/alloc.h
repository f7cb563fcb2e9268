/* Memory that is there or the program is not: out of memory aborts (the store brings everything
 * back). */
#ifndef REMUDA_BASE_ALLOC_H
#define REMUDA_BASE_ALLOC_H

#include <stddef.h>

/* Like malloc, calloc, realloc, strdup and strndup, but never return NULL; the caller frees with
 * free(). */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);     /* at least a byte, zeroed */
void *xrealloc(void *ptr, size_t size);       /* size 0 gives a byte, not NULL */
char *xstrdup(const char *text);              /* NULL gives NULL */
char *xstrndup(const char *text, size_t max); /* at most `max` bytes, and a NUL */
void *xmemdup(const void *data, size_t size); /* nothing is read where size is 0 */
/* The memory at `at` is about to be filled, all of it: where it is much, its pages are asked for at
 * once, and large ones, as to come upon small ones one by one costs more than to fill them. What
 * does not fill a large page keeps small ones, so that no more memory is taken. Its bytes stay. */
void pages_take(void *at, size_t bytes);
/* As asprintf(3); the text is the caller's. */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Stops the program with SIGABRT. `invariant` is for a debugger, a core file and a handler of the
 * signal, as its value; nothing is printed here (base does no I/O). */
_Noreturn void die(const char *invariant);
/* What it is told where memory cannot be had: no invariant, and no fault of the program. */
extern const char memory_ran_out[];

/* An invariant that stays on in production: to go on would do harm. */
#define CHECK(condition) ((condition) ? (void)0 : die(#condition))

/* What must hold at the head of a deed if its callers are right. Builds with tests stop where it
 * does not hold; those of users go on, because a controller that ends is worse than the deed. */
#ifdef ASSERTIONS
#define ASSERT(condition) CHECK(condition)
#else
#define ASSERT(condition) ((void)(0 && (condition)))
#endif

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
