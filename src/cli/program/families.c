/* Names of commands by the system they come from. Apart from main.c, which calls the commands: some
 * of these ask for names. */
#include "base/alloc.h"
#include "cli/program/absent.h"
#include "cli/program/commands.h"

static const struct {
    const char *name;
    enum command_family family;
} names[] = {
#define X(name, function, family, doc) {name, family},
    COMMANDS(X)
#undef X
#define X(name, family, doc, why) {name, family},
        ABSENT_COMMANDS(X)
#undef X
};

const char *command_family_name(enum command_family f)
{
    ASSERT((size_t)f < COMMAND_FAMILIES);
    static const char *const words[COMMAND_FAMILIES] = {"", "slurm", "lsf", "pbs"};
    return words[f];
}

const char *command_link_at(enum command_family f, size_t i)
{
    ASSERT((size_t)f < COMMAND_FAMILIES);
    for (size_t k = 0; k < ARRAY_LEN(names); k++)
        if (names[k].family == f && i-- == 0)
            return names[k].name;
    return NULL;
}
