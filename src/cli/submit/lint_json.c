/* What remuda lint says, for programs. docs/lint.md promises it: members are added, none is
 * changed. */
#include "cli/submit/lint.h"

#include "base/alloc.h"
#include "script/lines.h"

static void text_or_null(struct json_out *j, const char *key, const char *text)
{
    json_key(j, key);
    if (text)
        json_text(j, text);
    else
        json_null(j);
}

static void line_or_null(struct json_out *j, const char *key, unsigned line)
{
    json_key(j, key);
    if (line)
        json_i64(j, line);
    else
        json_null(j);
}

static void became_json(struct json_out *j, const struct option_row *row, const char *value)
{
    struct str meaning = STR_INIT;
    lint_meaning(row, value, &meaning);
    json_object(j);
    json_key_text(j, "option", row->name);
    text_or_null(j, "value", value && *value ? value : NULL);
    json_key_text(j, "meaning", str_text(&meaning));
    json_object_end(j);
    str_done(&meaning);
}

static void option_json(const struct lint *l, const struct lint_option *o, struct json_out *j)
{
    json_object(j);
    line_or_null(j, "line", o->line);
    json_key_text(j, "option", o->row->name);
    text_or_null(j, "value", o->value);
    json_key_bool(j, "taken", !o->error);
    text_or_null(j, "no_effect", o->no_effect);
    json_key(j, "becomes");
    json_array(j);
    if (l->dialect == DIALECT_SLURM && !o->error)
        became_json(j, o->row, o->value);
    for (size_t i = 0; i < o->became.n; i++)
        became_json(j, o->became.v[i].row, o->became.v[i].value);
    json_array_end(j);
    json_object_end(j);
}

static void finding_json(const struct lint_finding *f, struct json_out *j)
{
    json_object(j);
    json_key_text(j, "rule", lint_rules[f->rule].name);
    json_key_text(j, "level", lint_level_names[f->level]);
    line_or_null(j, "line", f->line);
    line_or_null(j, "other_line", f->other_line);
    json_key_text(j, "text", f->text);
    json_object_end(j);
}

static void defaults_json(const struct lint_answer *r, struct json_out *j)
{
    json_key(j, "defaults");
    json_array(j);
    for (size_t i = 0; i < r->cluster.defaults.n; i++) {
        const struct lint_default *d = &r->cluster.defaults.v[i];
        json_object(j);
        json_key_text(j, "what", d->what);
        json_key_text(j, "value", d->value);
        json_key_text(j, "from", d->from);
        json_object_end(j);
    }
    json_array_end(j);
}

static void job_json(const struct lint *l, struct json_out *j)
{
    json_key(j, "job");
    json_array(j);
    for (size_t i = 0; i < l->ncomp && l->readable; i++)
        json_record(j, &job_spec_fields, &l->comp[i].spec);
    json_array_end(j);
}

void lint_json(const struct lint_answer *r, struct json_out *j)
{
    const struct lint *l = &r->l;
    static const char *const names[] = {
        [DIALECT_SLURM] = "slurm", [DIALECT_LSF] = "lsf", [DIALECT_PBS] = "pbs"};
    json_object(j);
    json_key_text(j, "file", r->ask->script.name);
    json_key_text(j, "dialect", names[l->dialect]);
    json_key_text(j, "command", l->by_sbatch ? "sbatch" : script_command(l->dialect));
    text_or_null(j, "cluster", r->cluster.name);
    json_key(j, "options");
    json_array(j);
    for (size_t i = 0; i < l->option.n; i++)
        option_json(l, &l->option.v[i], j);
    json_array_end(j);
    json_key(j, "unasked");
    json_array(j);
    for (size_t i = 0; i < l->unasked.n; i++)
        became_json(j, l->unasked.v[i].row, l->unasked.v[i].value);
    json_array_end(j);
    defaults_json(r, j);
    text_or_null(j, "start", r->cluster.start);
    json_key(j, "findings");
    json_array(j);
    for (size_t i = 0; i < l->finding.n; i++)
        finding_json(&l->finding.v[i], j);
    json_array_end(j);
    job_json(l, j);
    json_key_i64(j, "errors", (int64_t)lint_count(l, LINT_ERROR));
    json_key_i64(j, "warnings", (int64_t)lint_count(l, LINT_WARNING));
    json_key_i64(j, "notes", (int64_t)lint_count(l, LINT_NOTE));
    json_key_i64(j, "status", lint_status(l));
    json_object_end(j);
}
