/* remuda backup, restore and repair: remudad does it, which knows the store. */
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/daemons.h"
#include "cli/program/host_dir.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "io/client/client.h"

struct backup_line {
    const char *state_dir, *file;
};

static bool file_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct backup_line *o = to;
    if (o->file)
        return own_word_refuse(to, word, a, ret_err);
    o->file = word;
    return true;
}

static const struct option_row rows[] = {OWN_STATE(struct backup_line), OWN_HELP};
OPTION_TABLE(backup_options, rows, .usage = "remuda backup [OPTIONS] FILE",
             .about = "  Writes the cluster to FILE, for its owner's eyes alone: store, "
                      "configuration, certificates. It may run.\n",
             .words = WORDS_MIXED, .word = file_take);
static const struct option_row restore_rows[] = {OWN_STATE(struct backup_line), OWN_HELP};
OPTION_TABLE(restore_options, restore_rows, .usage = "remuda restore [OPTIONS] FILE",
             .about =
                 "  Puts the cluster that `remuda backup` wrote to FILE in the place of the one "
                 "in the directory, which must be down.\n",
             .words = WORDS_MIXED, .word = file_take);
static const struct option_row repair_rows[] = {OWN_STATE(struct backup_line), OWN_HELP};
OPTION_TABLE(repair_options, repair_rows, .usage = "remuda repair [OPTIONS]",
             .about = "  Makes a new store of what can still be read of a damaged one, which stays "
                      "beside it; says what was kept and lost.\n  The cluster must be down.\n",
             .words = WORDS_MIXED, .word = own_word_refuse);

/* `deed`: what only the cluster's owner may do to it. */
static bool is_anothers(const struct backup_line *o, const char *role, const char *deed,
                        struct arena *a)
{
    const char *dir = state_dir_find(o->state_dir, a), *owner = state_dir_owner(dir, a);
    if (owner)
        program_error(arena_printf(a, "remuda %s", role),
                      "the cluster in %s is %s's, who alone may %s it", dir, owner, deed);
    return owner != NULL;
}

static int remudad_run(const char *role, const char *deed, const struct option_table *table,
                       int argc, char **argv)
{
    struct arena *a = arena_new();
    struct err err = {0};
    struct backup_line o = {0};
    struct option_line line = {.table = table, .to = &o, .a = a};
    char *words[6] = {arena_strdup(a, program_sibling("remudad", a)), arena_strdup(a, role)};
    size_t n = 2;
    int status;
    if (!own_line_read(arena_printf(a, "remuda %s", role), &line, argc, argv, &status)) {
        arena_free(a);
        return status;
    }
    status = 1;
    if (!is_anothers(&o, role, deed, a)) {
        if (o.state_dir)
            words[n++] = arena_printf(a, "--state=%s", o.state_dir);
        if (o.file)
            words[n++] = arena_strdup(a, o.file);
        status = program_run(words, &err);
        if (err.code)
            program_error("remuda", "%s", err.text);
    }
    arena_free(a);
    return status;
}

int cmd_backup(int argc, char **argv)
{
    return remudad_run("backup", "make a backup of", &backup_options, argc, argv);
}

int cmd_restore(int argc, char **argv)
{
    return remudad_run("restore", "restore", &restore_options, argc, argv);
}

int cmd_repair(int argc, char **argv)
{
    return remudad_run("repair", "repair", &repair_options, argc, argv);
}
