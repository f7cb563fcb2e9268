/* sacctmgr archive: dump has the controller write what is old to files and remove it; load brings
 * such a file back. A file is a line of JSON a row (docs/past.md); the last says how many there
 * are, so that half of one is known. */
#include "cli/accounts/past.h"

#include "base/calendar/age.h"
#include "io/files.h"
#include "io/lines.h"
#include "model/limits.h"
#include "model/stored.h"
#include "wire/json.h"
#include "wire/json_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- dump ----------------------------------------------------------------------------------- */

struct dump {
    struct str purge, archive;
    const char *directory, *script;
};

/* X(its word for "write it", its word for how old, our word for the kind) */
static const struct {
    const char *write, *age, *kind;
} dumped[] = {
    {"events", "purgeeventafter", "events"}, {"jobs", "purgejobafter", "jobs"},
    {"resvs", "purgeresvafter", "resvs"},    {"steps", "purgestepafter", "steps"},
    {"txn", "purgetxnafter", "txn"},         {"usage", "purgeusageafter", "usage"},
};

static void list_add(struct str *list, const char *word, const char *value)
{
    str_addf(list, "%s%s%s%s", list->len ? "," : "", word, value ? "=" : "", value ? value : "");
}

static bool age_is_good(struct sacctmgr *s, const char *value)
{
    struct age age;
    struct err e = {0};
    if (age_parse(value, &age, &e) && !strchr(value, ','))
        return true;
    sacctmgr_fail(s, "%s", e.code != ERR_NONE ? e.text : "an age is one word");
    return false;
}

/* Stopped times stand in the jobs themselves: there is nothing to do for them. */
static bool is_of_suspend(const char *word)
{
    return text_is_nocase(word, "suspend") || text_starts_nocase(word, "purgesuspendafter=");
}

static bool dump_word(struct sacctmgr *s, struct dump *d, const char *word)
{
    const char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const char *key = arena_strndup(s->a, word, len);
    for (size_t i = 0; i < ARRAY_LEN(dumped); i++) {
        if (!value && len && text_starts_nocase(dumped[i].write, key)) {
            list_add(&d->archive, dumped[i].kind, NULL);
            return true;
        }
        if (value && len > 6 && text_starts_nocase(dumped[i].age, key)) {
            list_add(&d->purge, dumped[i].kind, value);
            return age_is_good(s, value);
        }
    }
    if (value && len && text_starts_nocase("directory", key))
        d->directory = value;
    else if (value && len > 1 && text_starts_nocase("script", key))
        d->script = value;
    else if (!is_of_suspend(word)) {
        sacctmgr_refuse(s, " Unknown option: %s", word);
        sacctmgr_fail(s, "archive dump knows Directory=, Script=, Events, Jobs, Resvs, Steps, TXN, "
                         "Usage, PurgeEventAfter=, PurgeJobAfter= and so on: 12months, 30days, "
                         "48hours");
        return false;
    }
    return true;
}

static bool dump_files_are_there(struct sacctmgr *s, const struct dump *d)
{
    struct stat st;
    const char *path = d->directory ? d->directory : d->script;
    if (!path ||
        (stat(path, &st) == 0 && (path == d->directory) == S_ISDIR(st.st_mode) && path[0] == '/'))
        return true;
    sacctmgr_refuse(s, " dump: Failed to stat %s: %s", path,
                    path[0] != '/' ? "the path must begin with /" : strerror(errno));
    sacctmgr_refuse(s, " Note: For archive dump, the directory must be on the calling host.");
    return false;
}

static void dump_send(struct sacctmgr *s, const struct dump *d)
{
    const struct msg_archive m = {.purge = d->purge.len ? str_text(&d->purge) : NULL,
                                  .archive = d->archive.len ? str_text(&d->archive) : NULL,
                                  .directory = d->directory,
                                  .script = d->script};
    struct message answer = {0};
    struct err e = {0};
    struct client *c = sacctmgr_connect(s);
    if (!c)
        return;
    if (!client_call(c, MSG_ARCHIVE, &m, -1, s->a, &answer, &e)) {
        sacctmgr_fail(s, "%s", e.text);
        return;
    }
    const struct msg_done *done = answer.body;
    if (answer.kind == MSG_ARCHIVED) {
        const struct msg_archived *a = answer.body;
        fputs(a->text && !s->quiet ? a->text : "", stdout);
    } else if (answer.kind == MSG_DONE) {
        sacctmgr_refuse(s, " Problem dumping archive: %s",
                        refusal_text((enum refusal)done->refusal));
        if (done->detail)
            sacctmgr_fail(s, "%s", done->detail);
    }
}

static void dump_run(struct sacctmgr *s, int n, char **word)
{
    struct dump d = {0};
    bool ok = true;
    for (int i = 0; ok && i < n; i++)
        ok = dump_word(s, &d, word[i]);
    if (ok && dump_files_are_there(s, &d) &&
        sacctmgr_ask(s, "This may result in loss of accounting database records (if Purge* options "
                        "enabled).\nAre you sure you want to continue?"))
        dump_send(s, &d);
    str_done(&d.purge);
    str_done(&d.archive);
}

/* ---- load ----------------------------------------------------------------------------------- */

struct load {
    struct sacctmgr *s;
    struct past_rows_out out;
    struct arena *arena; /* of a line */
    void *record;        /* as large as the largest */
    const char *path;
    uint64_t line, rows, sums, others, end;
    bool begun, ended;
};

static bool line_fail(struct load *l, const char *why)
{
    sacctmgr_fail(l->s, "%s:%llu: %s", l->path, (unsigned long long)l->line, why);
    return false;
}

static bool table_find(struct span name, enum store_table *ret)
{
    if (span_is(name, "used")) {
        *ret = TABLE_USED_HOUR;
        return true;
    }
    for (int i = 0; i < STORE_TABLE_COUNT; i++)
        if (span_is(name, store_table_rows[i].name)) {
            *ret = (enum store_table)i;
            return true;
        }
    return false;
}

/* The row is checked by the controller, the keys that a copy needs here. */
static bool row_load(struct load *l, enum store_table table, const char *text, size_t len)
{
    const struct fields *t = past_out_fields(table);
    struct err e = {0};
    memset(l->record, 0, t->size);
    if (!json_to_record(text, len, t, l->record, l->arena, &e) || !record_check(t, l->record, &e))
        return line_fail(l, e.text);
    l->rows++;
    l->sums += table == TABLE_USED_HOUR;
    return past_out_add(&l->out, table, l->record);
}

/* {"NAME":ROW}, {"remuda_archive":1,…}, {"end":N} */
static bool line_load(struct load *l, const char *text, size_t len)
{
    struct json_in in;
    struct err e = {0};
    struct span key = {0};
    enum store_table table;
    uint64_t number = 0;
    bool first = true;
    json_in_begin(&in, text, len, l->arena, &e);
    if (!json_in_open(&in, '{') || !json_in_more(&in, '}', &first) || !json_in_key(&in, &key))
        return line_fail(l, e.code != ERR_NONE ? e.text : "this is no line of an archive");
    if (!l->begun) {
        l->begun = span_is(key, "remuda_archive") && json_in_u64(&in, UINT64_MAX, &number);
        if (l->begun && number == 1)
            return true;
        return line_fail(l, l->begun ? "this archive is of a later release"
                                     : "this is no archive that `sacctmgr archive dump` wrote");
    }
    if (span_is(key, "end")) {
        l->ended = json_in_u64(&in, UINT64_MAX, &l->end);
        return l->ended || line_fail(l, e.text);
    }
    const char *row = in.at;
    if (!json_in_skip(&in))
        return line_fail(l, e.text);
    size_t row_len = (size_t)(in.at - row);
    if (json_in_more(&in, '}', &first) || !json_in_end(&in))
        return line_fail(l, e.code != ERR_NONE ? e.text : "there is more than one row");
    if (table_find(key, &table) && past_out_takes(table))
        return row_load(l, table, row, row_len);
    l->others++;
    return true;
}

static bool lines_load(struct load *l, FILE *f)
{
    struct str line = STR_INIT;
    struct err err = {0};
    bool ok = true;
    while (ok && !l->ended && file_line(f, LIMIT_FRAME_JSON_BYTES, &line, &err)) {
        l->line++;
        ok = line_load(l, str_text(&line), line.len);
        arena_reset(l->arena);
    }
    str_done(&line);
    l->line += ok && err.code;
    return err.code ? line_fail(l, err.text) : ok;
}

static void load_tell(const struct load *l)
{
    if (l->s->quiet)
        return;
    printf("%s: %llu rows; jobs: %llu added, %llu were there\n", l->path,
           (unsigned long long)l->rows, (unsigned long long)l->out.added,
           (unsigned long long)l->out.there);
    if (l->out.taken)
        printf("%llu jobs were left out: their numbers are here those of other jobs (%llu is the "
               "first)\n",
               (unsigned long long)l->out.taken, (unsigned long long)l->out.first_taken);
    if (l->sums)
        printf("%llu sums of hours: reports have them where there are none of the cluster's own\n",
               (unsigned long long)l->sums);
    if (l->others)
        printf("%llu rows were left out: of kinds that are not loaded\n",
               (unsigned long long)l->others);
}

static size_t largest_record(void)
{
    size_t most = 0;
    for (int i = 0; i < STORE_TABLE_COUNT; i++)
        most = store_table_rows[i].fields->size > most ? store_table_rows[i].fields->size : most;
    return most;
}

/* What was sent before a line that cannot be read stays: to load the file again, mended, adds the
 * rest. */
static void file_load(struct sacctmgr *s, const char *path)
{
    struct load l = {.s = s, .path = path};
    struct err err = {0};
    FILE *f = file_open_named(path, &err);
    if (!f) {
        sacctmgr_refuse(s, " Problem loading archive file: %s", err.text);
        return;
    }
    past_out_begin(&l.out, s);
    l.arena = arena_new();
    l.record = arena_alloc(s->a, largest_record());
    bool ok = sacctmgr_connect(s) && lines_load(&l, f) && past_out_flush(&l.out);
    if (ok && (!l.ended || l.end != l.rows + l.others))
        sacctmgr_fail(s, "%s: the file ends before its end: %llu rows were read and loaded", path,
                      (unsigned long long)l.rows);
    if (ok)
        load_tell(&l);
    past_out_done(&l.out);
    arena_free(l.arena);
    fclose(f);
}

static void load_run(struct sacctmgr *s, int n, char **word)
{
    const char *path = NULL;
    for (int i = 0; i < n; i++) {
        const char *file = spec_value(word[i], "file"), *sql = spec_value(word[i], "insert");
        if (sql) {
            sacctmgr_fail(s,
                          "Insert=: there is no SQL to be given here; File= loads what `sacctmgr "
                          "archive dump` wrote");
            return;
        }
        if (!file) {
            sacctmgr_refuse(s, " Unknown option: %s", word[i]);
            return;
        }
        path = file;
    }
    if (path)
        file_load(s, path);
    else
        sacctmgr_refuse(s, "No archive file given to recover.");
}

void sacctmgr_archive(struct sacctmgr *s, int n, char **word)
{
    bool dump = n && text_starts_nocase("dump", word[0]) && *word[0],
         load = n && text_starts_nocase("load", word[0]) && *word[0];
    if (!dump && !load) {
        sacctmgr_refuse(s, "No valid entity in archive command");
        sacctmgr_refuse(s, "Input line must include, \"Dump\", or \"load\"");
    } else if (s->readonly) {
        sacctmgr_refuse(s, "Can't run this command in readonly mode.");
    } else if (dump) {
        dump_run(s, n - 1, word + 1);
    } else {
        load_run(s, n - 1, word + 1);
    }
}
