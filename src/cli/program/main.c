/* One binary for all commands: the name it is called by, or the first word after `remuda`, says
 * which. */
#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/absent.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"
#include "io/fd.h"
#include "io/process/last_words.h"

#include <stdio.h>
#include <string.h>

struct main_command {
    const char *name;
    int (*run)(int argc, char **argv);
    enum command_family family;
    const char *doc;
};

static const struct main_command commands[] = {
#define X(name, function, family, doc) {name, function, family, doc},
    COMMANDS(X)
#undef X
};

static const struct absent {
    const char *name;
    enum command_family family;
    const char *doc, *why;
} absent[] = {
#define X(name, family, doc, why) {name, family, doc, why},
    ABSENT_COMMANDS(X)
#undef X
};

static const struct absent *absent_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        if (text_is(absent[i].name, name))
            return &absent[i];
    return NULL;
}

static int absent_say(const struct absent *a)
{
    fprintf(stderr, "%s: not there yet: %s; %s\n", a->name, a->doc, a->why);
    return 1;
}

static const struct main_command *command_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (text_is(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static void help_print(FILE *to)
{
    fprintf(to, "Usage: remuda COMMAND [OPTION…]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].doc);
    fprintf(to, "\nFirst steps: remuda up; eval \"$(remuda env)\"; sbatch job.sh; squeue; remuda "
                "logs -f 1\n");
}

/* For the build: the names that get a link: those of commands that are there; of one family, or of
 * "all", those of the others, too. */
static int links_print(const char *which)
{
    for (size_t i = 0; !which && i < ARRAY_LEN(commands); i++)
        if (commands[i].family != OWN)
            puts(commands[i].name);
    for (int f = SLURM; which && f < COMMAND_FAMILIES; f++) {
        const char *name;
        bool meant = text_is(which, "all") || text_is(which, command_family_name(f));
        for (size_t i = 0; meant && (name = command_link_at(f, i)); i++)
            puts(name);
    }
    return 0;
}

static int unknown(const char *name)
{
    const char *names[ARRAY_LEN(commands)];
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    const char *near = text_nearest(name, names, ARRAY_LEN(commands));
    if (near)
        program_error("remuda", "there is no command \"%s\"; did you mean \"%s\"?", name, near);
    else
        program_error("remuda", "there is no command \"%s\"; `remuda help` lists them", name);
    return 2;
}

/* `remuda WORD …` */
static int own_run(int argc, char **argv)
{
    const char *word = argv[1];
    if (text_is(word, "help") || text_is(word, "--help") || text_is(word, "-h")) {
        help_print(stdout);
        return 0;
    }
    if (text_is(word, "commands"))
        return links_print(argc > 2 ? argv[2] : NULL);
    if (text_is(word, "complete"))
        return cmd_complete(argc - 1, argv + 1);
    if (text_is(word, "container"))
        return cmd_container(argc - 1, argv + 1);
    if (text_is(word, "--version") || text_is(word, "-V"))
        word = "version";
    const struct main_command *called = command_find(word);
    const struct absent *missing = absent_find(word);
    if (missing)
        return absent_say(missing);
    return called ? called->run(argc - 1, argv + 1) : unknown(word);
}

int main(int argc, char **argv)
{
    if (!standard_descriptors_open())
        return 1; /* and nowhere to say so */
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash ? slash + 1 : argv[0];
    file_limits_fail();
    last_words_prepare_command(name);
    const struct main_command *called = command_find(name);
    if (called && called->family != OWN)
        return output_finish(name, NULL, called->run(argc, argv));
    const struct absent *missing = absent_find(name);
    if (missing)
        return absent_say(missing);
    if (argc < 2) {
        help_print(stderr);
        return 2;
    }
    return output_finish("remuda", argv[1], own_run(argc, argv));
}
