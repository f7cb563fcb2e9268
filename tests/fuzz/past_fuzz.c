/* `sacctmgr archive load` and `remuda import slurm --jobs`: files of anybody's. Any bytes are read or
 * refused with a sentence; a row that is taken has only values that there are. */
#include "fuzz.h"

#include "cli/accounts/archive.c"
#include "cli/accounts/import/sacct_cells.c"
#include "cli/accounts/import/sacct_in.c"
#include "cli/accounts/import/sacct_line.c"
#include "model/stored.h"

const char *const fuzz_words[] = {
    "{\"remuda_archive\":1}\n",
    "{\"remuda_archive\":2}\n",
    "{\"remuda_archive\":1,\"kind\":\"jobs\"}\n{\"job\":{\"id\":7,\"state\":\"COMPLETED\"}}\n",
    "{\"step\":{\"job_id\":7,\"step_id\":-1}}\n",
    "{\"payload\":{\"job_id\":7,\"script\":\"x\"}}\n",
    "{\"node_spell\":{\"name\":\"n\",\"start_us\":1}}\n",
    "{\"account_transaction\":{\"id\":1}}\n",
    "{\"token\":{\"id\":\"t\"}}\n",
    "{\"used\":{}}\n",
    "{\"end\":1}\n",
    "{\"job\":",
    "},",
    "\"state\":\"RUNNING\"",
    "\"id\":-1",
    "18446744073709551615",
    "[[[[",
    "JobID|JobIDRaw|State|Start|End|AllocTRES|NodeList|UID|Timelimit|TotalCPU\n",
    "7|7|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:10|cpu=2,mem=8.5G,gres/gpu:a=1|n[1-3]|0|"
    "1-00:00:00|00:01.5\n",
    "7.batch|7.batch|FAILED|Unknown|2026-01-01T00:00:10||||UNLIMITED|\n",
    "7_[1-5%2]|7|CANCELLED by 5|Unknown|2026-01-01T00:00:10|||||\n",
    "7+1|8|REQUEUED|1767225600|1767225601|node=1|n1|||\n",
    "|",
    "\n",
    NULL,
};

void sacctmgr_fail(struct sacctmgr *s, const char *format, ...)
{
    CHECK(*format);
    s->rc = 1;
}

void sacctmgr_refuse(struct sacctmgr *s, const char *format, ...)
{
    CHECK(*format);
    s->rc = 1;
}

bool sacctmgr_ask(struct sacctmgr *s, const char *what)
{
    return s && !*what;
}

struct client *sacctmgr_connect(struct sacctmgr *s)
{
    s->rc = 1;
    return NULL;
}

const char *spec_value(const char *word, const char *key)
{
    return *word == *key ? word : NULL;
}

void past_out_begin(struct past_rows_out *o, struct sacctmgr *s)
{
    o->s = s;
}

void past_out_done(struct past_rows_out *o)
{
    o->s = NULL;
}

bool past_out_takes(enum store_table table)
{
    return table == TABLE_JOB || table == TABLE_STEP || table == TABLE_PAYLOAD ||
           table == TABLE_NODE_SPELL || table == TABLE_TRANSACTION || table == TABLE_USED_HOUR;
}

const struct fields *past_out_fields(enum store_table table)
{
    return table == TABLE_USED_HOUR ? &used_fields : store_table_rows[table].fields;
}

bool past_out_add(struct past_rows_out *o, enum store_table table, const void *record)
{
    CHECK(past_out_takes(table) && record_check(past_out_fields(table), record, NULL));
    o->rows++;
    return true;
}

bool past_out_flush(struct past_rows_out *o)
{
    o->rows = 0;
    return true;
}

static bool fuzz_uid(void *ctx, const char *user, uint32_t *ret)
{
    *ret = ctx ? 1 : 2;
    return *user == 'a';
}

static bool fuzz_row(void *ctx, enum store_table table, const void *record)
{
    CHECK(!ctx && record_check(store_table_rows[table].fields, record, NULL));
    const struct job *j = record;
    CHECK(table == TABLE_STEP || (j->id && j->end_us && j->start_us <= j->end_us));
    return true;
}

/* Lines that are refused give nothing; those after them are read. */
static void sacct_try(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct span rest = {(const char *)data, size}, line;
    struct sacct_in in = {.zone = &civil_utc,
                          .now_us = INT64_C(1800000000) * USEC_PER_SEC,
                          .uid_of = fuzz_uid,
                          .row = fuzz_row};
    struct err err = {0};
    bool ok = span_next(&rest, '\n', &line) &&
              sacct_in_head(&in, arena_strndup(a, line.data, line.len), &err);
    while (ok && span_next(&rest, '\n', &line)) {
        err = (struct err){0};
        CHECK(sacct_in_line(&in, arena_strndup(a, line.data, line.len), &err) || *err.text);
    }
    CHECK(!ok || sacct_in_end(&in));
    sacct_in_done(&in);
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sacctmgr s = {.a = arena_new(), .quiet = true};
    struct load l = {.s = &s, .path = "f"};
    FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;
    l.arena = arena_new();
    l.record = arena_alloc(s.a, largest_record());
    if (f) {
        bool ok = lines_load(&l, f);
        CHECK(ok == (s.rc == 0));
        CHECK(ok || l.line);
        fclose(f);
    }
    arena_free(l.arena);
    arena_free(s.a);
    sacct_try(data, size);
    return 0;
}
