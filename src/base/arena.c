/* Blocks in a list, the newest first; each allocation is cut from the newest block. A reset keeps
 * the largest block, so that a turn that is like the last one allocates nothing from the system. */
#include "base/arena.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN ((size_t)4096)
#define ALIGN     _Alignof(max_align_t)

struct block {
    struct block *next;
    size_t size, used;
    max_align_t data[];
};

struct arena {
    struct block *block;
    size_t used;
};

struct arena *arena_new(void)
{
    return xcalloc(1, sizeof(struct arena));
}

static void blocks_free(struct block *b)
{
    while (b) {
        struct block *next = b->next;
        free(b);
        b = next;
    }
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    blocks_free(a->block);
    free(a);
}

void arena_reset(struct arena *a)
{
    struct block *largest = a->block;
    for (struct block *b = a->block; b; b = b->next)
        if (b->size > largest->size)
            largest = b;
    for (struct block *b = a->block, *next; b; b = next) {
        next = b->next;
        if (b != largest)
            free(b);
    }
    if (largest) {
        largest->next = NULL;
        largest->used = 0;
    }
    a->block = largest;
    a->used = 0;
}

size_t arena_used(const struct arena *a)
{
    return a->used;
}

static void *raw_alloc(struct arena *a, size_t size)
{
    CHECK(size <= SIZE_MAX / 2);
    size_t need = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct block *b = a->block;
    if (!b || b->size - b->used < need) {
        size_t grown = b ? 2 * b->size : BLOCK_MIN;
        if (grown > (size_t)1 << 20)
            grown = (size_t)1 << 20;
        if (grown < need)
            grown = need;
        b = xmalloc(sizeof *b + grown);
        b->next = a->block;
        b->size = grown;
        b->used = 0;
        a->block = b;
    }
    void *at = (char *)b->data + b->used;
    b->used += need;
    a->used += need;
    return at;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return memset(raw_alloc(a, size), 0, size);
}

void *arena_dup(struct arena *a, const void *data, size_t size)
{
    void *copy = raw_alloc(a, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_strndup(struct arena *a, const char *text, size_t len)
{
    len = strnlen(text, len);
    char *copy = raw_alloc(a, len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return text ? arena_dup(a, text, strlen(text) + 1) : NULL;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    char small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    CHECK(len >= 0);
    char *text = raw_alloc(a, (size_t)len + 1);
    if ((size_t)len < sizeof small)
        memcpy(text, small, (size_t)len + 1);
    else
        vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}
