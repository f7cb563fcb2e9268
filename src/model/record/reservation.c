#include "model/record/reservation.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define ROW(type, name, aux, doc) FIELD_ROW_AT(struct reservation, , type, name, aux, doc)
static const struct field rows[] = {RESERVATION_FIELDS(ROW)};
const struct fields reservation_fields = {"reservation", sizeof(struct reservation), rows,
                                          ARRAY_LEN(rows)};

const struct resv_flag_row resv_flag_table[RESV_FLAG_COUNT] = {
#define X(flag, name, sign, doc) [RESV_BIT_##flag] = {name, sign, doc},
    RESV_FLAGS(X)
#undef X
};

/* ---- flags ---- */

static const struct {
    const char *word;
    uint32_t flag;
} other_words[] = {
    {"IGNORE_RUNNING", RESV_IGNORE_JOBS}, {"LICENSE_ONLY", RESV_ANY_NODES},
    {"STATIC_ALLOC", RESV_STATIC_ALLOC},  {"NO_HOLD_JOBS_AFTER", RESV_NO_HOLD_JOBS_AFTER},
    {"PURGE", RESV_PURGE_COMP},           {"MAINTENANCE", RESV_MAINT}};

/* Flags of Slurm's that say more than can be kept here. */
static const struct {
    const char *word, *why;
} refused[] = {
    {"TIME_FLOAT",
     "a reservation begins at a fixed time; use PartitionName= limits or a recurring one"},
    {"FIRST_CORES", "which cores of a node it keeps is not fixed; only how many"},
    {"FORCE_START", "a recurring reservation begins at the time given"},
    {"USER_DELETE", "operators delete reservations"},
    {"GRES_REQ", "ask for generic resources with TRES=gres/…"},
    {"TRES_PER_NODE", "TRES= counts the whole reservation"},
};

static bool flag_of(const char *word, uint32_t *ret)
{
    for (int i = 0; i < RESV_FLAG_COUNT; i++)
        if (text_is_nocase(word, resv_flag_table[i].name)) {
            *ret = UINT32_C(1) << i;
            return true;
        }
    for (size_t i = 0; i < ARRAY_LEN(other_words); i++)
        if (text_is_nocase(word, other_words[i].word)) {
            *ret = other_words[i].flag;
            return true;
        }
    return false;
}

static bool flag_unknown(const char *word, struct err *ret_err)
{
    const char *names[RESV_FLAG_COUNT];
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (text_is_nocase(word, refused[i].word))
            return err_set(ret_err, ERR_UNSUPPORTED, "%s is not supported: %s", refused[i].word,
                           refused[i].why);
    for (int i = 0; i < RESV_FLAG_COUNT; i++)
        names[i] = resv_flag_table[i].name;
    const char *near = text_nearest(word, names, RESV_FLAG_COUNT);
    return err_set(ret_err, ERR_INVALID, "there is no flag \"%.60s\"%s%s", word,
                   near ? "; did you mean " : "", near ? near : "");
}

static bool flag_take(char *word, uint32_t *flags, int64_t *purge_us, struct err *ret_err)
{
    char *equals = strchr(word, '=');
    uint32_t flag;
    if (equals)
        *equals++ = '\0';
    if (!flag_of(word, &flag))
        return flag_unknown(word, ret_err);
    if (equals && flag != RESV_PURGE_COMP)
        return err_set(ret_err, ERR_INVALID, "only PURGE_COMP takes a time, not %s", word);
    if (flag == RESV_ALL_NODES || flag == RESV_SPEC_NODES)
        return true; /* what Nodes= says decides */
    if (flag == RESV_PURGE_COMP) {
        *purge_us = 5 * USEC_PER_MIN;
        if (equals && !duration_parse(equals, purge_us, ret_err))
            return false;
    }
    *flags |= flag;
    return true;
}

bool resv_flags_parse(const char *text, uint32_t *ret_flags, int64_t *ret_purge_us,
                      struct err *ret_err)
{
    struct span rest = span_of(text ? text : ""), piece;
    uint32_t flags = 0;
    bool ok = true;
    while (ok && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        char *word = xstrndup(piece.data, piece.len);
        ok = !*word || flag_take(word, &flags, ret_purge_us, ret_err);
        free(word);
    }
    if (ok && !resv_recurs_one_way(flags))
        return err_set(ret_err, ERR_INVALID,
                       "only one of HOURLY, DAILY, WEEKDAY, WEEKEND and WEEKLY can be given");
    if (ok)
        *ret_flags = flags;
    return ok;
}

void resv_flags_format(const struct reservation *r, struct str *out)
{
    bool first = true;
    for (int i = 0; i < RESV_FLAG_COUNT; i++) {
        if (!(r->flags >> i & 1))
            continue;
        str_addf(out, "%s%s", first ? "" : ",", resv_flag_table[i].name);
        if (i == RESV_BIT_PURGE_COMP) {
            str_addc(out, '=');
            duration_format(r->purge_us, out);
        }
        first = false;
    }
}

/* ---- times ---- */

#define DAY_SECONDS 86400

static int days_to_next(const struct reservation *r, int weekday)
{
    if (r->flags & RESV_WEEKLY)
        return 7;
    if (r->flags & RESV_WEEKDAY)
        return weekday == 5 ? 3 : weekday == 6 ? 2 : 1;
    if (r->flags & RESV_WEEKEND)
        return weekday == 6 ? 1 : 6 - weekday;
    return 1;
}

int64_t resv_next_start(const struct reservation *r, int64_t start_us, const struct zone *z)
{
    struct civil c;
    if (r->flags & RESV_HOURLY)
        return start_us + USEC_PER_HOUR;
    if (!(r->flags & RESV_RECURRING))
        return INT64_MAX;
    zone_local(z, start_us, &c);
    if (!r->day_second)
        return zone_add_days(z, start_us, days_to_next(r, c.weekday));
    /* Where clocks skipped its time it began later that day, and only then; or early on the next
     * day, where they skip the last hour. */
    int weekday = c.weekday;
    int64_t at = civil_to_sec(&(struct civil){.year = c.year, .month = c.month, .day = c.day}) +
                 r->day_second - 1;
    civil_from_sec(at - DAY_SECONDS, &c);
    if (zone_us(z, &c) == start_us) {
        at -= DAY_SECONDS;
        weekday = (weekday + 6) % 7;
    }
    civil_from_sec(at + (int64_t)days_to_next(r, weekday) * DAY_SECONDS, &c);
    return zone_us(z, &c);
}

int32_t resv_day_second(int64_t start_us, const struct zone *z)
{
    struct civil c;
    zone_local(z, start_us, &c);
    return c.hour * 3600 + c.minute * 60 + c.second + 1;
}

/* ---- who ---- */

/* 1 listed, -1 listed with '-', 0 not listed; *ret_denies = the list says who may not. */
static int listed(const char *list, const char *name, bool *ret_denies)
{
    struct span rest = span_of(list ? list : ""), piece;
    int found = 0;
    *ret_denies = false;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        bool denies = piece.len > 0 && piece.data[0] == '-';
        *ret_denies |= denies;
        if (denies)
            piece = (struct span){piece.data + 1, piece.len - 1};
        if (name && span_is(piece, name))
            found = denies ? -1 : 1;
    }
    return found;
}

static bool list_admits(const char *list, const char *name)
{
    bool denies;
    int found = listed(list, name, &denies);
    return found > 0 || (denies && found == 0);
}

static bool any_group(const char *list, const char *groups)
{
    struct span rest = span_of(groups ? groups : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        char *name = xstrndup(piece.data, piece.len);
        bool denies, found = listed(list, name, &denies) > 0;
        free(name);
        if (found)
            return true;
    }
    return false;
}

bool resv_admits(const struct reservation *r, const char *user, const char *groups,
                 const char *account)
{
    if (!text_empty(r->users) && !list_admits(r->users, user))
        return false;
    if (!text_empty(r->groups) && !any_group(r->groups, groups))
        return false;
    return text_empty(r->accounts) || list_admits(r->accounts, account);
}
