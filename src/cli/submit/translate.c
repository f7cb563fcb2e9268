/* remuda translate: the same job in the words of another system. */
#include "script/translate.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/submit/host.h"
#include "cli/submit/script.h"
#include "cli/submit/site.h"
#include "script/lines.h"

#include <stdio.h>
#include <string.h>

#define NAME "remuda translate"

struct translate_line {
    const char *state_dir, *from, *to, *flavour, *file;
    bool quiet;
};

static const struct {
    const char *name;
    enum dialect dialect;
} systems[] = {{"slurm", DIALECT_SLURM}, {"lsf", DIALECT_LSF}, {"pbs", DIALECT_PBS}};

static bool system_named(const char *name, enum dialect *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(systems); i++)
        if (text_is_nocase(name, systems[i].name)) {
            *ret = systems[i].dialect;
            return true;
        }
    return false;
}

static SETTER(set_system)
{
    enum dialect d;
    (void)env;
    return system_named(value, &d)
               ? set_any_text(to, row, value, env, a, ret_err)
               : err_set(ret_err, ERR_VALUE, "--%s=%s: slurm, lsf and pbs are allowed", row->name,
                         value);
}

static SETTER(set_flavour)
{
    return text_is(value, "pro") || text_is(value, "torque")
               ? set_any_text(to, row, value, env, a, ret_err)
               : err_set(ret_err, ERR_VALUE, "--%s=%s: pro and torque are allowed", row->name,
                         value);
}

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct translate_line *o = to;
    if (o->file)
        return own_word_refuse(to, word, a, ret_err);
    o->file = word;
    return true;
}

static const struct option_row rows[] = {
    OPT_VALUE("from", 0, "system",
              "slurm, lsf or pbs: whose lines are read; else what lines it has", set_system,
              offsetof(struct translate_line, from)),
    OPT_VALUE("pbs", 0, "flavour", "pro or torque; else as PbsFlavour of the cluster says",
              set_flavour, offsetof(struct translate_line, flavour)),
    OPT_FLAG("quiet", 'q', "the notes stand in the script alone",
             offsetof(struct translate_line, quiet)),
    OWN_STATE(struct translate_line),
    OPT_VALUE("to", 0, "system", "slurm, lsf or pbs", set_system,
              offsetof(struct translate_line, to)),
    OWN_HELP,
};
OPTION_TABLE(
    translate_options, rows, .usage = "remuda translate [OPTIONS] --to=SYSTEM [FILE]",
    .about = "  Writes the same job in the words of another system to standard output. What has "
             "no equivalent there is a comment in it\n"
             "  and a line on stderr; then the status is 1. It is 2 where the script cannot be "
             "read. The commands stay as they are, but for\n"
             "  variables whose names differ and nothing else.\n",
    .words = WORDS_MIXED, .word = word_take);

static void notes_print(const struct translation *t, const char *file)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < t->note.n; i++) {
        str_add(&text, NAME ": ");
        str_add_plain(&text, file);
        str_add(&text, ": ");
        str_add_plain(&text, t->note.v[i].text);
        str_addc(&text, '\n');
    }
    fputs(str_text(&text), stderr);
    str_done(&text);
}

static int script_write(const struct translate_line *o, const struct submit_script *s,
                        const struct option_env *env, struct arena *a)
{
    enum dialect from = script_dialect(s->text, s->len, NULL), to = DIALECT_SLURM;
    struct translation t;
    struct err e = {0};
    if (o->from)
        system_named(o->from, &from);
    system_named(o->to, &to);
    if (from == to) {
        program_error(NAME, "%s: its lines are %s already; --from names other lines", s->name,
                      o->to);
        return 2;
    }
    if (!script_translate(s->text, s->len, from, to, env, s->job_name, a, &t, &e)) {
        program_error(NAME, "%s: %s; remuda lint tells more", s->name, e.text);
        return 2;
    }
    fwrite(t.text, 1, t.len, stdout);
    if (!o->quiet)
        notes_print(&t, s->name);
    int status = t.note.n ? 1 : 0;
    translation_done(&t);
    return status;
}

static int translate(const struct translate_line *o, struct arena *a)
{
    struct err e = {0};
    struct submit_script script;
    struct dialect_site site = submit_site(state_dir_find(o->state_dir, a), a);
    struct option_env env = {.now_us = time_now_us(), .zone = &civil_local, .site = &site};
    const char *cwd = submit_cwd(a, &e);
    if (o->flavour)
        site.torque = text_is(o->flavour, "torque");
    bool stdin_read = !o->file || text_is(o->file, "-");
    if (!cwd || !(stdin_read ? submit_script_stdin(a, &script, &e)
                             : submit_script_file(o->file, NULL, cwd, a, &script, &e))) {
        program_error(NAME, "%s", e.text);
        return 2;
    }
    if (stdin_read)
        script.job_name = "job";
    return script_write(o, &script, &env, a);
}

int cmd_translate(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct translate_line o = {0};
    struct option_line line = {.table = &translate_options, .to = &o, .a = a};
    int status;
    if (own_line_read(NAME, &line, argc, argv, &status)) {
        if (o.to) {
            status = translate(&o, a);
        } else {
            program_error(NAME, "into whose words? --to=slurm, --to=lsf or --to=pbs");
            status = 2;
        }
    }
    arena_free(a);
    return status;
}
