/* remuda import slurm --jobs FILE: past jobs as sacct printed them. The file is read twice: first
 * all of it is looked at, then it is sent, a piece at a time; memory holds a piece. What was sent
 * stays if the command is killed: run again it adds the rest. */
#include "cli/accounts/import/import.h"

#include "cli/accounts/import/sacct_in.h"
#include "cli/accounts/past.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"

#include "base/map.h"
#include "base/plain.h"
#include "cli/program/room.h"
#include "io/files.h"
#include "io/lines.h"
#include "model/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME        "remuda import"
#define LINE_BYTES  (1u << 20)
#define WRONG_SAID  10 /* lines */
#define UID_MISSING UINT64_MAX

struct jobs_import {
    struct import *m;
    struct sacct_in in;
    struct past_rows_out out;
    struct map_str *uid; /* by name: the number plus 1; UID_MISSING = not known here */
    bool sends;
    uint64_t line, wrong, highest, lowest;
};

static bool uid_find(void *ctx, const char *user, uint32_t *ret)
{
    struct jobs_import *g = ctx;
    uint64_t known = (uint64_t)(uintptr_t)map_str_get(g->uid, user);
    if (!known) {
        const struct passwd *pw = user_by_name(user);
        known = pw ? (uint64_t)pw->pw_uid + 1 : UID_MISSING;
        map_str_put(g->uid, user, (void *)(uintptr_t)known);
    }
    if (known == UID_MISSING)
        return false;
    *ret = (uint32_t)(known - 1);
    return true;
}

static bool row_give(void *ctx, enum store_table table, const void *record)
{
    struct jobs_import *g = ctx;
    const struct job *j = record;
    if (table == TABLE_JOB && j->id > g->highest)
        g->highest = j->id;
    if (table == TABLE_JOB && (!g->lowest || j->id < g->lowest))
        g->lowest = j->id;
    return !g->sends || past_out_add(&g->out, table, record);
}

static void line_wrong(struct jobs_import *g, const char *why)
{
    struct str plain = STR_INIT;
    str_add_plain(&plain, why);
    if (++g->wrong <= WRONG_SAID)
        program_error(NAME, "%s:%llu: %s", g->m->jobs, (unsigned long long)g->line,
                      str_text(&plain));
    str_done(&plain);
}

/* False: it cannot go on. */
static bool line_take(struct jobs_import *g, struct str *line)
{
    struct err e = {0};
    bool ok;
    while (line->len && line->data[line->len - 1] == '\r')
        str_cut(line, line->len - 1);
    const char *text = str_text(line);
    if (strlen(text) != line->len)
        ok = err_set(&e, ERR_INVALID, "a zero byte: this is no text of sacct");
    else if (g->line == 1)
        ok = sacct_in_head(&g->in, text, &e);
    else
        ok = !line->len || sacct_in_line(&g->in, text, &e);
    if (ok)
        return true;
    if (e.code == ERR_NONE)
        return false; /* what could not be sent was said */
    line_wrong(g, e.text);
    return g->line > 1 && !g->sends;
}

static bool lines_take(struct jobs_import *g, FILE *f)
{
    struct str line = STR_INIT;
    struct err err = {0};
    bool ok = true;
    g->line = 0;
    while (ok && file_line(f, LINE_BYTES, &line, &err)) {
        g->line++;
        ok = line_take(g, &line);
    }
    str_done(&line);
    if (ok && err.code) {
        g->line++;
        line_wrong(g, err.text);
        return false;
    }
    if (ok && g->line == 0)
        line_wrong(g, "the file is empty");
    return ok && g->line > 0 && sacct_in_end(&g->in);
}

/* Once through the file. */
static bool pass(struct jobs_import *g, bool sends)
{
    struct err err = {0};
    FILE *f = file_open_named(g->m->jobs, &err);
    if (!f) {
        program_error(NAME, "%s", err.text);
        return false;
    }
    g->sends = sends;
    g->in = (struct sacct_in){.zone = &civil_local,
                              .now_us = time_now_us(),
                              .uid_of = uid_find,
                              .row = row_give,
                              .ctx = g};
    bool ok = lines_take(g, f);
    fclose(f);
    return ok;
}

static void understood_say(const struct jobs_import *g)
{
    const struct sacct_in *in = &g->in;
    printf("%s: %llu jobs", g->m->jobs, (unsigned long long)in->jobs);
    if (in->jobs)
        printf(" (numbers %llu to %llu)", (unsigned long long)g->lowest,
               (unsigned long long)g->highest);
    printf(", %llu steps\n", (unsigned long long)in->steps);
    if (in->alive)
        printf("Not taken over:\n  %llu jobs that were not over: they end in Slurm\n",
               (unsigned long long)in->alive);
    if (in->unknown.len)
        printf("Without a place here:\n  columns %s\n", str_text(&in->unknown));
    if (in->missing.len)
        printf("Not in the file, and so not known:\n  columns %s\n", str_text(&in->missing));
    if (in->nobodys)
        printf("%llu jobs are of users who are not known on this machine, and there is no column "
               "UID: they have the number 65534\n",
               (unsigned long long)in->nobodys);
}

static void sent_say(const struct jobs_import *g)
{
    printf("jobs: %llu added, %llu were there\n", (unsigned long long)g->out.added,
           (unsigned long long)g->out.there);
    if (g->out.taken)
        printf("%llu jobs were left out: their numbers are here those of other jobs (%llu is the "
               "first)\n",
               (unsigned long long)g->out.taken, (unsigned long long)g->out.first_taken);
    if (g->out.added)
        printf("New jobs get numbers above %llu.\n", (unsigned long long)g->highest);
}

/* May who asks do this? Nothing is added yet. */
static bool may_send(struct sacctmgr *s)
{
    const struct msg_add_past nothing = {0};
    struct message answer = {0};
    struct err e = {0};
    struct client *c = sacctmgr_connect(s);
    if (!c)
        return false;
    if (!client_call(c, MSG_ADD_PAST, &nothing, 0, s->a, &answer, &e)) {
        sacctmgr_fail(s, "%s", e.text);
        return false;
    }
    const struct msg_done *done = answer.body;
    if (answer.kind == MSG_DONE && done->refusal == REFUSE_NONE)
        return true;
    sacctmgr_fail(s, "%s",
                  answer.kind == MSG_DONE && done->detail ? done->detail : "it was refused");
    return false;
}

static bool looked_at(struct jobs_import *g)
{
    bool ok = pass(g, false) && !g->wrong;
    if (g->wrong > WRONG_SAID)
        program_error(NAME, "%s: and %llu lines more", g->m->jobs,
                      (unsigned long long)(g->wrong - WRONG_SAID));
    if (ok)
        understood_say(g);
    else
        program_error(NAME, "%s: no job was taken over", g->m->jobs);
    sacct_in_done(&g->in);
    return ok;
}

bool import_jobs_run(struct import *m, bool trial)
{
    struct sacctmgr s = {
        .a = m->a, .called = NAME, .state_dir = m->state_dir, .immediate = true, .quiet = true};
    struct jobs_import g = {.m = m, .uid = map_str_new()};
    bool ok = true;
    if (trial) {
        ok = looked_at(&g);
    } else {
        past_out_begin(&g.out, &s);
        ok = may_send(&s) && pass(&g, true) && past_out_flush(&g.out);
        if (ok)
            sent_say(&g);
        sacct_in_done(&g.in);
        past_out_done(&g.out);
    }
    if (s.client)
        client_close(s.client);
    map_str_free(g.uid);
    return ok;
}
