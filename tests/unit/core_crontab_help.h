/* Tables for scrontab, as their owners send them. */
#ifndef REMUDA_TESTS_CORE_CRONTAB_HELP_H
#define REMUDA_TESTS_CORE_CRONTAB_HELP_H

#include "core_help.h"

#define TABLE "#SCRON -t 10\n* * * * * a\n\n@hourly b\n"

/* A table of up to four entries, all of one line. */
static inline struct msg_set_crontab table_of(const char *text, struct cron_entry *entry, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!entry[i].script.len)
            entry[i].script = (struct blob){"#!/bin/sh\n", 10};
        if (!entry[i].last)
            entry[i].first = entry[i].last = (uint32_t)i + 1;
        if (!entry[i].spec.n) {
            struct job_spec *spec = arena_alloc(w.a, sizeof *spec);
            *spec = a_job(arena_printf(w.a, "j%zu", i));
            entry[i].spec = (struct record_list){spec, 1};
        }
    }
    return (struct msg_set_crontab){.text = text, .entries = {entry, n}};
}

static inline enum refusal set(const char *text, struct cron_entry *entry, size_t n)
{
    struct msg_set_crontab m = table_of(text, entry, n);
    say(1, MSG_SET_CRONTAB, &m);
    assert_non_null(answer());
    return refusal();
}

/* Entry a: each minute, of lines 1 and 2; b: each hour, of line 4. Jobs 1 and 2. */
static inline void begin(void)
{
    struct cron_entry two[] = {{.cron = "* * * * *", .first = 1, .last = 2},
                               {.cron = "@hourly", .first = 4, .last = 4}};
    assert_int_equal(set(TABLE, two, 2), REFUSE_NONE);
    assert_int_equal(answer()->count, 2);
}

#endif
