/* Memory with one lifetime: allocate at will, free all at once. One arena a turn, one a message,
 * one a file. */
#ifndef REMUDA_BASE_ARENA_H
#define REMUDA_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena; /* opaque */

struct arena *arena_new(void);    /* empty: no piece is taken before the first use */
void arena_free(struct arena *a); /* NULL is fine */
/* Everything allocated is gone; keeps its largest block. */
void arena_reset(struct arena *a);
size_t arena_used(const struct arena *a); /* bytes */

void *arena_alloc(struct arena *a, size_t size);                 /* zeroed, aligned for any type */
void *arena_dup(struct arena *a, const void *data, size_t size); /* aligned as arena_alloc does */
char *arena_strdup(struct arena *a, const char *text);           /* NULL gives NULL */
/* at most `len` bytes, and a NUL */
char *arena_strndup(struct arena *a, const char *text, size_t len);
/* as long as it comes */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
