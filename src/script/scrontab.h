/* A user's table for scrontab, as scrontab(1) has it: lines of five fields and a command; lines
 * "#SCRON OPTIONS", which are sbatch's for the next entry; "NAME=value", whose value stands for
 * $NAME in the commands below; remarks and blank lines. */
#ifndef REMUDA_SCRIPT_SCRONTAB_H
#define REMUDA_SCRIPT_SCRONTAB_H

#include "base/vec.h"
#include "script/options/options.h"

struct scrontab_entry {
    const char *when;     /* the five fields, or the word, as written */
    const char *command;  /* with the values of the table's variables */
    unsigned first, last; /* lines of the table, from 1: its options and itself */
    struct submit_options *options;
};
struct scrontab {
    VEC(struct scrontab_entry) entry;
    struct str wrong;    /* what is wrong, one sentence a line; each names its line of the table */
    struct str warnings; /* the same of what is taken, but … */
    size_t wrong_lines;  /* how many */
};

/* Reads all of it, whatever is wrong; true if nothing is. Texts and options live in the arena;
 * the rest is freed by scrontab_done. */
bool scrontab_parse(const char *text, const struct option_env *env, struct arena *a,
                    struct scrontab *ret);
void scrontab_done(struct scrontab *t); /* entries, sentences */

/* The batch script that comes of an entry, in the arena. */
const char *scrontab_script(const struct scrontab_entry *e, struct arena *a);

#endif
