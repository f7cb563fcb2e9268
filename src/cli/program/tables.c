#include "cli/program/tables.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/commands.h"
#include "script/options/options.h"

#define X(name_, function, linked_, doc_) static const char doc_of_##function[] = doc_;
COMMANDS(X)
#undef X

static const struct command_table tables[] = {
    {"sbatch", doc_of_cmd_sbatch, false, NULL, CMD_SBATCH},
    {"salloc", doc_of_cmd_salloc, false, NULL, CMD_SALLOC},
    {"srun", doc_of_cmd_srun, false, NULL, CMD_SRUN},
#define X(name) {#name, doc_of_cmd_##name, false, &name##_options, 0},
    OPTION_TABLES(X)
#undef X
#define X(name) {"remuda " #name, doc_of_cmd_##name, true, &name##_options, 0},
        OWN_OPTION_TABLES(X)
#undef X
};

const struct command_table *command_table_at(size_t i)
{
    return i < ARRAY_LEN(tables) ? &tables[i] : NULL;
}

const struct command_table *command_table_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        const struct command_table *t = &tables[i];
        if (text_is(t->own ? t->command + sizeof "remuda " - 1 : t->command, name))
            return t;
    }
    return NULL;
}

const struct option_row *command_row(const struct command_table *t, size_t i)
{
    const struct option_row *row;
    if (t->table)
        return option_row_at(t->table, i);
    for (size_t at = 0; (row = option_at(at)); at++)
        if ((row->commands & t->submit) && i-- == 0)
            return row;
    return NULL;
}
