#include "store/used/slots.h"

#include "base/alloc.h"

#include "base/calendar/civil.h"

#define HOUR_S 3600
#define DAY_S  86400

static int64_t floor_to(int64_t t, int64_t unit)
{
    int64_t rest = t % unit;
    return t - (rest < 0 ? rest + unit : rest);
}

int64_t used_slot_of(enum used_level level, int64_t at_s, int64_t ahead_s)
{
    ASSERT(level < USED_LEVEL_COUNT);
    struct civil c;
    if (level != USED_LEVEL_MONTH)
        return floor_to(at_s + ahead_s, level == USED_LEVEL_DAY ? DAY_S : HOUR_S) - ahead_s;
    civil_from_sec(at_s + ahead_s, &c);
    c = (struct civil){.year = c.year, .month = c.month, .day = 1};
    return civil_to_sec(&c) - ahead_s;
}

int64_t used_slot_end(enum used_level level, int64_t slot_s, int64_t ahead_s)
{
    ASSERT(level < USED_LEVEL_COUNT);
    struct civil c;
    if (level != USED_LEVEL_MONTH)
        return slot_s + (level == USED_LEVEL_DAY ? DAY_S : HOUR_S);
    civil_from_sec(slot_s + ahead_s, &c);
    c.year += c.month == 12;
    c.month = c.month % 12 + 1;
    return civil_to_sec(&c) - ahead_s;
}

/* The largest slot that begins there and does not end after to_s. */
static enum used_level level_at(int64_t at_s, int64_t to_s, int64_t ahead_s)
{
    enum used_level level = USED_LEVEL_MONTH;
    while (level > USED_LEVEL_HOUR && (used_slot_of(level, at_s, ahead_s) != at_s ||
                                       used_slot_end(level, at_s, ahead_s) > to_s))
        level--;
    return level;
}

size_t used_pieces(int64_t from_s, int64_t to_s, int64_t ahead_s,
                   struct used_piece ret[USED_PIECES_MAX])
{
    ASSERT(to_s - from_s < INT64_MAX / 2);
    size_t n = 0;
    while (from_s < to_s) {
        enum used_level level = level_at(from_s, to_s, ahead_s);
        int64_t end = used_slot_end(level, from_s, ahead_s);
        if (n == 0 || ret[n - 1].level != level)
            ret[n++] = (struct used_piece){level, from_s, end};
        ret[n - 1].to_s = end;
        from_s = end;
    }
    return n;
}
