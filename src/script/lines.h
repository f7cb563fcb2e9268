/* Inside script/: the lines of a script, as a shell and the readers of directives see them. */
#ifndef REMUDA_SCRIPT_LINES_H
#define REMUDA_SCRIPT_LINES_H

#include "base/str.h"
#include "model/job/job.h"

#include <stdbool.h>

struct script_line {
    struct span text;       /* without its end */
    unsigned number;        /* from 1 */
    bool command;           /* a shell would run it */
    bool heredoc;           /* inside a here-document */
    bool continued;         /* goes on with the directive before it, which ends in a backslash */
    unsigned first_command; /* number of the first command before it; 0 = none */
};

/* Zeroed but for `rest`, and `reads`: whose directives are read, as those of LSF and PBS go on
 * where a line ends in a backslash. */
struct script_lines {
    struct span rest; /* not read yet */
    enum dialect reads;
    bool goes_on;                   /* the line before does, as a directive */
    unsigned number, first_command; /* of the line read last; of the first command, 0 = none yet */
    struct span heredoc;            /* the word that ends it; len 0 = in none */
};
/* Lines of here-documents, and continued ones, are marked. False: that was all. */
bool script_line_next(struct script_lines *s, struct script_line *ret);

bool script_is_blank(char c);                               /* as sh sees it */
bool script_starts_with(struct span s, const char *prefix); /* byte for byte */
/* A directive of Slurm's whose last sign is a backslash, which says nothing there. */
bool script_ends_in_backslash(struct span line);
/* Neither blank nor a comment. */
bool script_is_command(struct span line);
/* The word behind "<<" or "<<-", without quotes; len 0 when the line opens no here-document. */
struct span script_heredoc_word(struct span line);

/* "#SBATCH", "#BSUB", "#PBS", and the command that reads it. */
const char *script_prefix(enum dialect d);
const char *script_command(enum dialect d); /* "sbatch", "bsub", "qsub" */
/* Is the line a directive of that system, by how it begins? *ret_rest: what stands behind. */
bool script_line_is_of(struct span line, enum dialect d, struct span *ret_rest);
/* Whose script it is: Slurm's where it has a line of #SBATCH in force, or none of anybody; else of
 * the system whose line comes first; PBS's, too, where all it has are #PBS lines behind its first
 * command. *ret_all: the bits (1 << dialect) of all that have lines in force. */
enum dialect script_dialect(const char *text, size_t len, unsigned *ret_all);

#endif
