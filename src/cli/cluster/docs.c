/* remuda docs DIR: the reference pages that are made from the tables, so that no page can disagree
 * with the program. */
#include "base/alloc.h"
#include "base/str.h"
#include "cli/cluster/manual.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "model/message.h"
#include "model/record/trouble.h"
#include "model/record/why.h"
#include "model/settings/config_keys.h"
#include "model/settings/settings.h"
#include "model/state.h"
#include "model/stored.h"
#include "script/options/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* '|' would end a cell. */
static void cell_add(struct str *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '|')
            str_addc(out, '\\');
        str_addc(out, *text);
    }
}

static const char *const field_type_names[] = {
    [FIELD_BOOL] = "boolean",
    [FIELD_I32] = "32-bit number",
    [FIELD_U32] = "32-bit number, unsigned",
    [FIELD_I64] = "64-bit number",
    [FIELD_U64] = "64-bit number, unsigned",
    [FIELD_TEXT] = "text",
    [FIELD_ENUM] = "name",
    [FIELD_TIME] = "time, µs since 1970 UTC",
    [FIELD_SPAN] = "duration, µs",
    [FIELD_MIB] = "MiB",
    [FIELD_BLOB] = "raw bytes",
    [FIELD_LIST] = "list",
};

static void fields_write(struct str *out, const struct fields *t)
{
    str_add(out, "| field | type | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        str_addf(out, "| `%s` | %s", f->name, field_type_names[f->type]);
        if (f->type == FIELD_LIST)
            str_addf(out, " of %s", ((const struct fields *)f->aux)->name);
        if (field_range(f) && f->aux) {
            str_add(out, ", ");
            range_say(f->aux, out);
        }
        str_add(out, " | ");
        cell_add(out, f->doc);
        str_add(out, " |\n");
    }
    str_addc(out, '\n');
}

static const char *who_text(enum who who)
{
    switch (who) {
    case WHO_ANYONE: return "anyone";
    case WHO_OWNER: return "the job's owner, operators";
    case WHO_OPERATOR: return "operators";
    case WHO_ADMIN: return "administrators";
    case WHO_NODE: return "node daemons";
    case WHO_CONTROLLER: return "the controller";
    case WHO_STREAM: return "shepherds and commands, to each other";
    }
    return "";
}

static const char *does_text(enum does does)
{
    switch (does) {
    case DOES_READ: return " It changes nothing, and is served while the store is away.";
    case DOES_ONCE: return " Asked again with the same `request` it is not done again.";
    case DOES_AGAIN:
    case DOES_TELL: return "";
    }
    return "";
}

static void protocol_write(struct str *out)
{
    str_add(
        out,
        "# Protocol\n\nMade from the tables in `src/model/message.h` by `remuda docs`.\n\n"
        "A frame is 4 bytes length of the JSON part, 4 bytes length of the raw part (both "
        "big-endian), a JSON object, raw bytes.\n"
        "The object holds `type`, `seq` (an answer repeats the number of its request) and the "
        "fields below that are not zero;\n"
        "a reader skips fields it does not know. Raw bytes travel in the raw part; the JSON has "
        "their lengths.\n"
        "Answers to `query` are `rows` frames (`record`, `fields`, `rows`) followed by "
        "`done`.\n\n");
    for (int i = 0; i < MESSAGE_COUNT; i++) {
        const struct message_row *row = &message_table[i];
        str_addf(out, "## %s\n\n%s. Sent by: %s.%s\n\n", row->name, row->doc, who_text(row->who),
                 does_text(row->does));
        fields_write(out, message_fields(i));
    }
    str_add(out, "# Records\n\n");
    const struct fields *const records[] = {&job_spec_fields, &result_fields, &held_fields,
                                            &status_fields};
    for (size_t i = 0; i < ARRAY_LEN(records); i++) {
        str_addf(out, "## %s\n\n", records[i]->name);
        fields_write(out, records[i]);
    }
}

static void store_write(struct str *out)
{
    str_add(
        out,
        "# Store\n\nMade from the tables in `src/model/message.h` by `remuda docs`. The database "
        "is "
        "`remuda.db` in the state directory (SQLite);\n"
        "reading it with `sqlite3 -readonly` is fine at any time. Fields that are zero are NULL, "
        "times are µs since 1970, names are text.\n\n");
    for (int i = 0; i < STORE_TABLE_COUNT; i++) {
        str_addf(out, "## %s\n\n%s. Key: `%s`.\n\n", store_table_rows[i].name,
                 store_table_rows[i].doc, store_table_rows[i].key);
        fields_write(out, store_table_rows[i].fields);
    }
    str_add(
        out,
        "# When something is wrong with it\n\nMade from the table in `src/model/record/trouble.h`. "
        "Where "
        "a "
        "trouble passes, "
        "the controller starts and goes on:\n"
        "what only reads is served, what would change something is refused with the sentence, jobs "
        "that run go on, "
        "and it is tried\n"
        "again every second. Otherwise the controller does not start, and nothing is written.\n\n"
        "| the file | passes | what to do |\n|---|---|---|\n");
    for (int i = 0; i < TROUBLE_COUNT; i++) {
        str_addf(out, "| %s | %s | ", store_trouble_rows[i].found,
                 store_trouble_rows[i].passes ? "yes" : "");
        cell_add(out, store_trouble_rows[i].way);
        str_add(out, " |\n");
    }
}

static void words_write(struct str *out)
{
    str_add(
        out,
        "\n## Words of settings\n\nA word that is not known is an error that names the nearest; "
        "the "
        "controller keeps the configuration it has. Words of Slurm without\neffect here are warned "
        "of.\n\n| key | word | effect | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < setting_word_count; i++) {
        const struct setting_word *w = &setting_word_table[i];
        str_addf(out, "| %s | `%s%s", w->key, w->word, w->choices[0] ? "=" : "");
        cell_add(out, w->choices);
        str_addf(out, "%s` | %s | ", w->kind == WORD_NUMBER ? "=N" : "",
                 w->kind == WORD_IDLE     ? "none"
                 : w->kind == WORD_LOST   ? "none, though it is missed"
                 : w->kind == WORD_PARTLY ? "another"
                                          : "");
        cell_add(out, w->doc);
        str_add(out, " |\n");
    }
}

static void line_keys_write(struct str *out, const char *start, const struct line_keys *keys)
{
    str_addf(out,
             "\n## Keys of %s= lines\n\n| key | values | where it is not said | meaning "
             "|\n|---|---|---|---|\n",
             start);
    for (size_t i = 0; i < keys->n; i++) {
        const struct line_key *k = &keys->key[i];
        str_addf(out, "| `%s` | %s | %s | %s", k->key, k->values, k->standard,
                 k->set ? "" : "no effect: ");
        cell_add(out, k->doc);
        str_add(out, " |\n");
    }
}

static void settings_write(struct str *out)
{
    str_add(out,
            "# Settings\n\nMade from the table in `src/model/settings/settings.h` by `remuda "
            "docs`. They stand "
            "in `remuda.conf` in the state directory, in\n"
            "slurm.conf's grammar; letter case of keys does not matter. Unknown keys are warned of "
            "with "
            "file and line.\n\n"
            "| key | default | unit | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *k = &setting_table[i];
        str_addf(out, "| `%s` | %s | %s | ", k->key, k->standard, k->unit);
        if (k->effect == EFFECT_KEPT)
            str_addf(out, "kept for compatibility%s", k->doc[0] ? ": " : "");
        cell_add(out, k->doc);
        str_add(out, " |\n");
    }
    words_write(out);
    line_keys_write(out, "NodeName", &node_keys);
    line_keys_write(out, "PartitionName", &partition_keys);
}

static void states_write(struct str *out)
{
    str_add(out, "# States and reasons\n\nMade from the tables in `src/model/state.h` by `remuda "
                 "docs`.\n\n| "
                 "state | short | final | may become |\n|---|---|---|---|\n");
    for (int from = 0; from < JOB_STATE_COUNT; from++) {
        str_addf(out, "| %s | %s | %s |", enum_name(&job_state_names, from), job_state_short(from),
                 job_state_over(from) ? "yes" : "");
        for (int to = 0; to < JOB_STATE_COUNT; to++)
            if (job_state_allowed(from, to))
                str_addf(out, " %s", enum_name(&job_state_names, to));
        str_add(out, " |\n");
    }
    str_add(out, "\n```dot\ndigraph states {\n");
    for (int from = 0; from < JOB_STATE_COUNT; from++)
        for (int to = 0; to < JOB_STATE_COUNT; to++)
            if (job_state_allowed(from, to))
                str_addf(out, "  %s -> %s;\n", enum_name(&job_state_names, from),
                         enum_name(&job_state_names, to));
    str_add(out, "}\n```\n\n| reason | meaning |\n|---|---|\n");
    for (int r = 0; r < REASON_COUNT; r++) {
        str_addf(out, "| `%s` | ", enum_name(&job_reason_names, r));
        cell_add(out, job_reason_sentence(r));
        str_add(out, " |\n");
    }
    str_add(out, "\n## Refusals\n\n| code | text, as Slurm's |\n|---|---|\n");
    for (int r = 1; r < REFUSAL_COUNT; r++)
        str_addf(out, "| `%s` | %s |\n", enum_name(&refusal_names, r), refusal_text(r));
}

static void why_write(struct str *out)
{
    str_add(
        out,
        "# remuda why --json\n\nMade from the tables in `src/model/record/why.h` by `remuda docs`. "
        "The document is `{\"schema\": \"remuda.why/1\", \"jobs\": [...]}`. Fields are only "
        "added while\nthe schema has that name; a number, a text or a list that is nothing is "
        "left out. Moments are microseconds since 1970, UTC.\n\n## A job\n\n");
    fields_write(out, &why_fields);
    str_add(out, "## blockers\n\n");
    fields_write(out, &blocker_fields);
    str_add(out, "The kinds:");
    for (size_t i = 0; i < blocker_kind_names.n; i++)
        str_addf(out, " `%s`", enum_name(&blocker_kind_names, (int32_t)i));
    str_add(out, "\n\n## advice\n\n");
    fields_write(out, &why_advice_fields);
}

static void options_write(struct str *out)
{
    options_write_markdown(out);
#define X(name) option_table_write_markdown(&name##_options, #name, out);
    OPTION_TABLES(X)
#undef X
#define X(name) option_table_write_markdown(&name##_options, "remuda " #name, out);
    OWN_OPTION_TABLES(X)
#undef X
}

struct docs_page {
    const char *file;
    void (*write)(struct str *out);
};

static const struct docs_page pages[] = {
    {"compatibility.md", compatibility_write},
    {"options.md", options_write},
    {"protocol.md", protocol_write},
    {"settings.md", settings_write},
    {"states.md", states_write},
    {"store.md", store_write},
    {"why.md", why_write},
};

static bool page_save(const char *dir, const struct docs_page *page)
{
    struct arena *a = arena_new();
    struct str text = STR_INIT;
    const char *path = arena_printf(a, "%s/%s", dir, page->file);
    page->write(&text);
    FILE *to = foreseen_file(path);
    bool ok = to && fwrite(str_text(&text), 1, text.len, to) == text.len;
    if (to && fclose(to) != 0)
        ok = false;
    if (!ok)
        program_error("remuda docs", "cannot write %s: %s", path, strerror(errno));
    str_done(&text);
    arena_free(a);
    return ok;
}

/* ---- the command line ---- */

struct docs_line {
    const char *dir, *prose;
    bool manual;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct docs_line *o = to;
    if (o->dir)
        return own_word_refuse(to, word, a, ret_err);
    o->dir = word;
    return true;
}

static const struct option_row rows[] = {
    OPT_FLAG("manual", 0, "manual pages of all commands instead",
             offsetof(struct docs_line, manual)),
    OPT_VALUE("prose", 0, "file", "what manual pages say beside the tables: docs/manual.txt",
              set_any_text, offsetof(struct docs_line, prose)),
    OWN_HELP,
};
OPTION_TABLE(docs_options, rows, .usage = "remuda docs [OPTIONS] DIR",
             .about = "  Writes compatibility.md, options.md, protocol.md, settings.md, states.md, "
                      "store.md and why.md into DIR.\n",
             .words = WORDS_MIXED, .word = word_take);

static int manual(const struct docs_line *o)
{
    struct err err = {0};
    if (manual_write(o->dir, o->prose, &err))
        return 0;
    program_error("remuda docs", "%s", err.text);
    return 1;
}

static int docs(const char *dir)
{
    if (mkdir(dir, 0755) != 0 && errno != EEXIST) {
        program_error("remuda docs", "cannot make %s: %s", dir, strerror(errno));
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++)
        if (!page_save(dir, &pages[i]))
            return 1;
    return 0;
}

int cmd_docs(int argc, char **argv)
{
    struct docs_line o = {0};
    struct arena *a = arena_new();
    struct option_line line = {.table = &docs_options, .to = &o, .a = a};
    int status;
    if (own_line_read("remuda docs", &line, argc, argv, &status)) {
        status = !o.dir ? 2 : o.manual ? manual(&o) : docs(o.dir);
        if (!o.dir)
            program_error("remuda docs",
                          "which directory? `remuda docs DIR` writes the pages there");
    }
    arena_free(a);
    return status;
}
