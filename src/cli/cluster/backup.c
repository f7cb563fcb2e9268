/* remuda backup, restore and repair: remudad does it, which knows the store, and reads the
 * options. */
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/host_dir.h"
#include "cli/program/program.h"

#include <stdio.h>

static const char backup_usage[] =
    "Usage: remuda backup [--state DIR] FILE\n"
    "  Writes the cluster to FILE, for its owner's eyes alone: store, "
    "configuration, certificates. It may run.\n";
static const char restore_usage[] =
    "Usage: remuda restore [--state DIR] FILE\n"
    "  Puts the cluster that `remuda backup` wrote to FILE in the place of "
    "the one in DIR, which must be down.\n";
static const char repair_usage[] =
    "Usage: remuda repair [--state DIR]\n"
    "  Makes a new store of what can still be read of a damaged one, which "
    "stays beside it; says what was kept "
    "and lost. The cluster must be down.\n";

static int remudad_run(const char *role, const char *usage, int argc, char **argv)
{
    struct arena *a = arena_new();
    struct err err = {0};
    char **words = arena_alloc(a, ((size_t)argc + 2) * sizeof *words);
    size_t n = 0;
    words[n++] = arena_strdup(a, program_sibling("remudad", a));
    words[n++] = arena_strdup(a, role);
    for (int i = 1; i < argc; i++) {
        if (text_is(argv[i], "--help") || text_is(argv[i], "-h")) {
            fputs(usage, stdout);
            arena_free(a);
            return 0;
        }
        words[n++] = argv[i];
    }
    int status = program_run(words, &err);
    if (err.code)
        program_error("remuda", "%s", err.text);
    arena_free(a);
    return status;
}

int cmd_backup(int argc, char **argv)
{
    return remudad_run("backup", backup_usage, argc, argv);
}

int cmd_restore(int argc, char **argv)
{
    return remudad_run("restore", restore_usage, argc, argv);
}

int cmd_repair(int argc, char **argv)
{
    return remudad_run("repair", repair_usage, argc, argv);
}
