/* Any text as a table for scrontab: read or refused with sentences that name lines. Each time that is
 * taken comes after any moment, on a whole minute, and moves on; what a command becomes is bounded. */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/grammar/cron.h"
#include "model/limits.h"
#include "script/scrontab.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {"* * * * * x\n",
                                  "30 2 * * * x\n",
                                  "0 0 29 feb * x\n",
                                  "0,30 1-3 * * sun y\n",
                                  "@daily $A\n",
                                  "@hourly ",
                                  "#SCRON -t 1\n",
                                  "#SCRON ",
                                  "\n",
                                  " ",
                                  "\t",
                                  "*/5",
                                  "1-5,30",
                                  "8-17/2",
                                  "* ",
                                  "0 ",
                                  "29 ",
                                  "feb",
                                  "sun",
                                  "7",
                                  "A=$A\n",
                                  "$A",
                                  "NAME=",
                                  "'",
                                  "\"",
                                  "-d ",
                                  "--array=1",
                                  "hetjob",
                                  "-",
                                  "/",
                                  ",",
                                  "@",
                                  "x\n",
                                  NULL};

static const struct zone_rule rules[] = {
    {0, 3600}, {1774746000, 7200}, {1792890000, 3600}, {1806195600, -82800}, {1806200000, 50400}};
static const struct zone zone = {rules, ARRAY_LEN(rules)};

static void times_check(const struct cron *c, int64_t from)
{
    for (int i = 0; i < 3; i++) {
        int64_t next = cron_next(c, from, &zone);
        CHECK(next > from && next % USEC_PER_SEC == 0);
        if (next == INT64_MAX)
            return;
        CHECK(next - from < 9 * 366 * USEC_PER_DAY);
        /* nothing is due between them */
        CHECK(cron_next(c, from + (next - 1 - from) / 2, &zone) == next);
        from = next;
    }
}

static void entries_check(const struct scrontab *t, size_t size)
{
    for (size_t i = 0; i < t->entry.n; i++) {
        const struct scrontab_entry *e = &t->entry.v[i];
        struct cron c;
        CHECK(e->first >= 1 && e->first <= e->last && e->last <= size + 1);
        CHECK(strlen(e->command) <= LIMIT_TEXT_BYTES && *e->command);
        CHECK(cron_parse(e->when, &c, NULL, NULL));
        if (i < 4)
            times_check(&c,
                        INT64_C(1774700000) * USEC_PER_SEC + (int64_t)(size * 997) * USEC_PER_SEC);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct option_env env = {.now_us = INT64_C(1772445600000000), .zone = &civil_utc};
    struct arena *a = arena_new();
    struct scrontab t;
    char *text = xstrndup((const char *)data, size);
    bool ok = scrontab_parse(text, &env, a, &t);
    CHECK(ok == !t.wrong.len && ok == !t.wrong_lines);
    CHECK(ok || strncmp(str_text(&t.wrong), "line ", 5) == 0);
    entries_check(&t, size);
    scrontab_done(&t);
    free(text);
    arena_free(a);
    return 0;
}
