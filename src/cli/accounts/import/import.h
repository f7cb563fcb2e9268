/* remuda import slurm: what its files share. */
#ifndef REMUDA_CLI_ACCOUNTS_IMPORT_IMPORT_H
#define REMUDA_CLI_ACCOUNTS_IMPORT_IMPORT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <sys/types.h>

#define MAIN_FILE "slurm.conf" /* the first of the files */

/* A line of a text: where it came from, and where it begins. */
struct origin {
    const char *file;
    int line;     /* from 1 */
    size_t at;    /* byte in the text where it begins */
    size_t joint; /* bytes with the backslash that joins it with the next; 0 = none does */
    bool out;     /* becomes a comment */
};

/* A file of Slurm's as it is taken over: Include lines are replaced by what they include. */
struct taken {
    const char *name;          /* "slurm.conf" */
    struct str text;           /* in Remuda's words */
    VEC(struct origin) origin; /* each line */
};

/* What is told of a line. */
enum remark {
    NO_EFFECT,     /* Slurm's, and without effect here */
    NO_EQUIVALENT, /* not known here */
    NOT_TAKEN,     /* would act, but not as it should on the machine it is taken to */
    NOT_READ,      /* cannot be read: nothing is written unless such lines are left out */
    REMARK_COUNT
};
struct remark_line {
    enum remark kind; /* how much it matters */
    const char *text; /* "slurm.conf:12: …" */
};

struct import {
    struct arena *a;
    const char *state_dir, *conf, *accounts, *qos, *jobs; /* of the line, as they were typed */
    bool dry_run, leave_out;                              /* says what would be done */
    VEC(struct taken *) file;                             /* slurm.conf first */
    VEC(struct remark_line) remark;                       /* in the order they were found */
    struct str understood;                                /* lines */
    size_t read;                                          /* bytes of files so far */
    int rc;                                               /* exit status so far */
    uid_t owner; /* of the directory of the configuration: as whom it is read; 0 = as who calls */
};

/* Reads the directory, and says what it is: fills file, remark and understood. False after an error
 * was printed. */
bool import_conf_read(struct import *m);
/* Before the first of its files: as whom they are read. ERR_DENIED: anybody may put files there. */
bool import_conf_open(struct import *m, struct err *ret_err);
/* Appends a file of the directory, or one that is included, as io/files.h. */
bool import_file_read(struct import *m, const char *path, struct str *out, struct err *ret_err);
/* Writes it where `remuda up` looks. False after an error was printed. */
bool import_conf_write(struct import *m);
void import_conf_done(struct import *m); /* Files with their texts, remarks; not `m`. */
/* Past jobs: looked at as a whole and told, or sent. False after an error was printed. */
bool import_jobs_run(struct import *m, bool trial);

#endif
