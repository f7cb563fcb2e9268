#include "base/calendar/zone.h"

#include "base/duration.h"

#include <string.h>

static bool rule_parse(struct span piece, struct arena *a, struct zone_rule *ret)
{
    char *text = arena_strndup(a, piece.data, piece.len), *colon = strchr(text, ':');
    int64_t ahead;
    if (!colon)
        return false;
    *colon = '\0';
    if (!text_to_i64(text, INT64_MIN / USEC_PER_SEC, INT64_MAX / USEC_PER_SEC, &ret->from_sec) ||
        !text_to_i64(colon + 1, -90000, 90000, &ahead))
        return false;
    ret->ahead_sec = (int32_t)ahead;
    return true;
}

bool zone_parse(const char *text, struct arena *a, struct zone *ret, struct err *ret_err)
{
    struct span rest = span_of(text ? text : ""), piece;
    size_t most = strlen(text ? text : "") / 2 + 1;
    struct zone_rule *rule = arena_alloc(a, most * sizeof *rule);
    *ret = (struct zone){.rule = rule};
    while (span_next(&rest, ' ', &piece)) {
        if (!piece.len)
            continue;
        if (!rule_parse(piece, a, &rule[ret->n]) ||
            (ret->n > 0 && rule[ret->n].from_sec <= rule[ret->n - 1].from_sec))
            return err_set(ret_err, ERR_INVALID,
                           "a time zone is written FROM:AHEAD, ascending, not \"%.40s\"", text);
        ret->n++;
    }
    return true;
}

static int32_t ahead_at(const struct zone *z, int64_t sec)
{
    int32_t ahead = z->n > 0 ? z->rule[0].ahead_sec : 0;
    for (size_t i = 1; i < z->n && z->rule[i].from_sec <= sec; i++)
        ahead = z->rule[i].ahead_sec;
    return ahead;
}

void zone_local(const struct zone *z, int64_t us, struct civil *ret)
{
    int64_t sec = civil_sec(us);
    civil_from_sec(sec + ahead_at(z, sec), ret);
}

int64_t zone_us(const struct zone *z, const struct civil *local)
{
    int64_t wanted = civil_to_sec(local), best = INT64_MAX;
    for (size_t i = 0; i < z->n; i++) {
        int64_t sec = wanted - z->rule[i].ahead_sec;
        if (ahead_at(z, sec) == z->rule[i].ahead_sec && sec < best)
            best = sec;
    }
    if (best == INT64_MAX)
        best = wanted; /* UTC, or skipped: by the clock as it was before */
    for (size_t i = 1; i < z->n; i++) {
        int64_t before = z->rule[i - 1].ahead_sec, local_sec = z->rule[i].from_sec + before;
        if (wanted >= local_sec && wanted < z->rule[i].from_sec + z->rule[i].ahead_sec)
            best = wanted - before;
    }
    return best * USEC_PER_SEC;
}

int64_t zone_add_days(const struct zone *z, int64_t us, int days)
{
    struct civil c;
    int64_t rest = us - civil_sec(us) * USEC_PER_SEC;
    zone_local(z, us, &c);
    civil_from_sec(civil_to_sec(&c) + (int64_t)days * 86400, &c);
    return zone_us(z, &c) + rest;
}
