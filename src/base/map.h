/* Maps from a number or a text to a pointer; walking one goes in the order of insertion (nothing
 * depends on addresses or hashes). The values belong to the caller. */
#ifndef REMUDA_BASE_MAP_H
#define REMUDA_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_u64; /* opaque */
struct map_str; /* opaque */

/* Empty; never NULL: without memory the program ends, here and wherever a map grows. */
struct map_u64 *map_u64_new(void);
void map_u64_free(struct map_u64 *m); /* not the values */
/* Room for so many further ones, made at once. */
void map_u64_reserve(struct map_u64 *m, size_t more);
/* Replaces; a replaced key keeps its place. */
void map_u64_put(struct map_u64 *m, uint64_t key, void *value);
/* Where the value of `key` lies until the map changes; an absent key is put, its value NULL. */
void **map_u64_slot(struct map_u64 *m, uint64_t key);
void *map_u64_get(const struct map_u64 *m, uint64_t key); /* NULL if absent */
/* Returns the removed value or NULL. */
void *map_u64_del(struct map_u64 *m, uint64_t key);
/* Keys that are there, those whose value is NULL among them. */
size_t map_u64_count(const struct map_u64 *m);
/* `struct map_walk w = {0}; while (map_u64_next(m, &w)) { w.key, w.value }`. The current entry may
 * be deleted while walking, no other; entries added while walking are visited. */
struct map_walk {
    size_t place;     /* private */
    uint64_t seq;     /* private */
    uint64_t key;     /* of a map by number */
    const char *text; /* of a map by text: the key, the map's own */
    void *value;      /* of the entry at hand */
};
/* False: there are no more. */
bool map_u64_next(const struct map_u64 *m, struct map_walk *w);

/* As their likes above, with texts for numbers. */
struct map_str *map_str_new(void);
void map_str_free(struct map_str *m); /* with its keys; values are the caller's; NULL is allowed */
void map_str_reserve(struct map_str *m, size_t more); /* room for that many without moving */
void map_str_put(struct map_str *m, const char *key, void *value); /* copies the key */
void *map_str_get(const struct map_str *m, const char *key);       /* NULL if absent */
/* Returns the removed value or NULL; the map's copy of the key is freed. */
void *map_str_del(struct map_str *m, const char *key);
/* Where the value of `key` lies, NULL if absent; with `add` an absent key is put first, with the
 * value NULL. *ret_key becomes the map's own copy of the key. Both stay valid until the key is
 * deleted. */
void **map_str_slot(struct map_str *m, const char *key, bool add, const char **ret_key);
size_t map_str_count(const struct map_str *m);                  /* entries */
bool map_str_next(const struct map_str *m, struct map_walk *w); /* w.text is the key */

#endif
