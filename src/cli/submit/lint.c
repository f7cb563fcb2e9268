/* remuda lint, and what sbatch --lint, bsub -lint and qsub --lint do. */
#include "cli/submit/lint.h"

#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/submit/host.h"
#include "cli/submit/site.h"
#include "cli/table/json_form.h"
#include "script/lines.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA    "remuda.lint/1"
#define FILES_MAX 1000

struct lint_line_of_command {
    const char *state_dir, *as;
    enum json_form json;
    bool quiet, offline, rules;
    const char *file[FILES_MAX];
    size_t n;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct lint_line_of_command *o = to;
    (void)a;
    if (o->n == FILES_MAX)
        return err_set(ret_err, ERR_LIMIT, "at most %d files are looked at in one go", FILES_MAX);
    o->file[o->n++] = word;
    return true;
}

static SETTER(set_as)
{
    struct lint_line_of_command *o = to;
    (void)env;
    o->as = arena_strdup(a, value);
    return text_is(value, "slurm") || text_is(value, "lsf") || text_is(value, "pbs") ||
           err_set(ret_err, ERR_VALUE, "--%s=%s: slurm, lsf and pbs are allowed", row->name, value);
}

static const struct option_row rows[] = {
    OPT_VALUE("as", 0, "system",
              "slurm, lsf or pbs: whose command would submit it; else what its lines say", set_as,
              0),
    OWN_JSON(struct lint_line_of_command, "as JSON: a promise to programs (docs/lint.md)"),
    OPT_FLAG("offline", 0, "ask no cluster", offsetof(struct lint_line_of_command, offline)),
    OPT_FLAG("quiet", 'q', "only warnings and errors",
             offsetof(struct lint_line_of_command, quiet)),
    OPT_FLAG("rules", 0, "list what is looked for", offsetof(struct lint_line_of_command, rules)),
    OWN_STATE(struct lint_line_of_command),
    OWN_YAML(struct lint_line_of_command),
    OWN_HELP,
};
OPTION_TABLE(lint_options, rows, .usage = "remuda lint [OPTIONS] [FILE …]",
             .about =
                 "  What each line of a job script is understood as, what the job gets without "
                 "asking, and what looks wrong. FILE - or none is\n"
                 "  standard input. The status is 0 where nothing but notes is found, 1 with "
                 "warnings, 2 with errors.\n",
             .words = WORDS_MIXED, .word = word_take);

/* ---- one script ---- */

static bool is_directory(const char *path, const char *from)
{
    struct stat st;
    struct str whole = STR_INIT;
    if (from && path[0] != '/')
        str_addf(&whole, "%s/", from);
    str_add(&whole, path);
    bool is = stat(str_text(&whole), &st) == 0 && S_ISDIR(st.st_mode);
    str_done(&whole);
    return is;
}

void lint_ask(const struct lint_ask *ask, struct lint_answer *ret)
{
    struct lint *l = &ret->l;
    unsigned all;
    *ret = (struct lint_answer){.ask = ask};
    enum dialect found = script_dialect(ask->script.text, ask->script.len, &all);
    l->dialect = ask->own ? ask->dialect : found;
    l->by_sbatch = ask->by_sbatch && l->dialect != DIALECT_SLURM;
    l->env = &ask->env;
    l->a = ask->a;
    l->get = ask->get;
    lint_read(l, ask->script.text, ask->script.len, ask->argc, ask->argv, ask->script.name,
              is_directory);
    if (ask->run_as_command)
        lint_find(l, RULE_RUN_AS_COMMAND, 0, 0,
                  "bsub %s runs it as a command and reads none of its lines; bsub < %s reads them",
                  ask->script.name, ask->script.name);
    lint_cluster_ask(l, ask, &ret->cluster);
}

void lint_answer_done(struct lint_answer *r)
{
    vec_done(&r->cluster.defaults);
    lint_done(&r->l);
}

int lint_for_command(const struct lint_ask *ask)
{
    struct lint_answer r;
    struct str out = STR_INIT;
    lint_ask(ask, &r);
    lint_print(&r, false, &out);
    fputs(str_text(&out), stdout);
    int status = lint_status(&r.l);
    str_done(&out);
    lint_answer_done(&r);
    return status;
}

/* ---- remuda lint ---- */

static void rules_print(void)
{
    for (size_t i = 0; i < LINT_RULE_COUNT; i++)
        printf("%-19s %-8s %s\n", lint_rules[i].name, lint_level_names[lint_rules[i].level],
               lint_rules[i].doc);
}

struct lint_run {
    const struct lint_line_of_command *o;
    struct lint_ask ask;
    struct dialect_site site;
    struct str out;
    struct json_out j;
    int status;
};

static void file_look(struct lint_run *k, const char *file)
{
    struct err e = {0};
    struct lint_answer r;
    bool read = text_is(file, "-")
                    ? submit_script_stdin(k->ask.a, &k->ask.script, &e)
                    : submit_script_file(file, NULL, k->ask.cwd, k->ask.a, &k->ask.script, &e);
    if (!read) {
        program_error("remuda lint", "%s", e.text);
        k->status = 2;
        return;
    }
    lint_ask(&k->ask, &r);
    if (k->o->json)
        lint_json(&r, &k->j);
    else
        lint_print(&r, k->o->quiet, &k->out);
    int status = lint_status(&r.l);
    k->status = status > k->status ? status : k->status;
    lint_answer_done(&r);
}

static void files_look(struct lint_run *k)
{
    if (k->o->json) {
        json_begin(&k->j, &k->out, true);
        json_object(&k->j);
        json_key_text(&k->j, "schema", SCHEMA);
        json_key(&k->j, "files");
        json_array(&k->j);
    }
    if (!k->o->n)
        file_look(k, "-");
    for (size_t i = 0; i < k->o->n; i++) {
        if (i && !k->o->json && !k->o->quiet)
            str_addc(&k->out, '\n');
        file_look(k, k->o->file[i]);
    }
    if (k->o->json) {
        json_array_end(&k->j);
        json_key_i64(&k->j, "status", k->status);
        json_object_end(&k->j);
    }
    json_form_print(&k->out, k->o->json);
}

static int lint_run(const struct lint_line_of_command *o, struct arena *a)
{
    struct lint_run k = {.o = o, .out = STR_INIT};
    struct err e = {0};
    k.ask.a = a;
    k.ask.cwd = submit_cwd(a, &e);
    k.ask.state_dir = state_dir_find(o->state_dir, a);
    k.site = o->offline ? dialect_site_standard() : submit_site(k.ask.state_dir, a);
    k.ask.env = (struct option_env){.now_us = time_now_us(), .zone = &civil_local, .site = &k.site};
    k.ask.offline = o->offline;
    k.ask.own = o->as != NULL;
    k.ask.dialect = text_is(o->as, "lsf")   ? DIALECT_LSF
                    : text_is(o->as, "pbs") ? DIALECT_PBS
                                            : DIALECT_SLURM;
    if (!k.ask.cwd) {
        program_error("remuda lint", "%s", e.text);
        return 2;
    }
    files_look(&k);
    str_done(&k.out);
    return k.status;
}

int cmd_lint(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct lint_line_of_command *o = arena_alloc(a, sizeof *o);
    struct option_line line = {.table = &lint_options, .to = o, .a = a};
    int status;
    if (own_line_read("remuda lint", &line, argc, argv, &status)) {
        status = 0;
        if (o->rules)
            rules_print();
        else
            status = lint_run(o, a);
    }
    arena_free(a);
    return status;
}
