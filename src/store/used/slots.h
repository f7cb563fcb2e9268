/* Hours, days and months by which what was used is summed up, in the store's local time without
 * what summer adds (ahead_s: seconds before UTC). Times in seconds since 1970. Pure. */
#ifndef REMUDA_STORE_USED_SLOTS_H
#define REMUDA_STORE_USED_SLOTS_H

#include <stddef.h>
#include <stdint.h>

/* CLUSTER: hours of all together. */
enum used_level {
    USED_LEVEL_HOUR,
    USED_LEVEL_DAY,
    USED_LEVEL_MONTH,
    USED_LEVEL_CLUSTER,
    USED_LEVEL_COUNT
};

/* The slot that the time is in, named by its begin; where the slot ends. */
int64_t used_slot_of(enum used_level level, int64_t at_s, int64_t ahead_s);
/* In seconds; ahead_s is by how much local time is ahead of UTC, for months. */
int64_t used_slot_end(enum used_level level, int64_t slot_s, int64_t ahead_s);

/* Neighbouring slots of one level: [from_s, to_s). */
struct used_piece {
    enum used_level level;
    int64_t from_s, to_s;
};
/* Hours, days, months, days, hours. */
#define USED_PIECES_MAX 5
/* The fewest slots that make up [from_s, to_s), which begins and ends with hours; in order. */
size_t used_pieces(int64_t from_s, int64_t to_s, int64_t ahead_s,
                   struct used_piece ret[USED_PIECES_MAX]);

#endif
