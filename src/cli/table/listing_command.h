/* The frame of the listing commands (squeue, sinfo, sacct, sprio, sshare, sdiag, sstat): the options they share, --help and --version, the connection,
 * one listing or one every so often (-i), rows in the formats asked for, the sentence on failure. A command keeps its option table, its columns, and
 * how it reads and orders its rows. */
#ifndef REMUDA_CLI_TABLE_LISTING_COMMAND_H
#define REMUDA_CLI_TABLE_LISTING_COMMAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/program/options.h"
#include "cli/table/columns.h"
#include "io/client.h"

#include <stdbool.h>
#include <stdint.h>

/* Ids of options in the command's table that the frame carries out; the command's own begin with LISTING_OWN. */
enum listing_option {
    LISTING_CLUSTERS = 1,
    LISTING_DELIMITER,
    LISTING_FORMAT,
    LISTING_FORMATS, /* names of all columns */
    LISTING_HELP,
    LISTING_ITERATE,
    LISTING_JSON,
    LISTING_LONG,
    LISTING_LONG_FORMAT,
    LISTING_NOCONVERT,
    LISTING_NOHEADER,
    LISTING_NOTHING, /* accepted, as it asks for what is so anyway */
    LISTING_PARSABLE,
    LISTING_PARSABLE2,
    LISTING_USAGE,
    LISTING_VERBOSE,
    LISTING_VERSION,
    LISTING_YAML,
    LISTING_OWN
};

#define LISTING_ECHOED 64 /* ids that -v can tell of */

struct listing_command {
    const char *name, *usage;
    const struct cli_options *options;
    const char *no_json; /* NULL = there is --json; else what to do instead of it */
    bool ruled;          /* a line of dashes below the header */
    bool dated;          /* the date above listings that are long or repeated */
    bool echoes;         /* -v: what was asked for, before the listing */
    bool plain_unknown;  /* unknown letters are named without "COMMAND: error:", as Slurm's sinfo does */
    bool one_format;     /* -o and -O together are an error */
    /* The command's own options and words. */
    bool (*option)(void *ctx, int id, const char *value, struct err *ret_err);
    /* Once, before the controller is asked; may be NULL. */
    bool (*prepare)(void *ctx, struct err *ret_err);
    /* One listing. False without an error in ret_err: what is wrong has been said. */
    bool (*show)(void *ctx, struct client *c, struct err *ret_err);
    void (*formats)(void); /* of LISTING_FORMATS */
};

struct listing {
    const struct listing_command *command;
    void *ctx;
    struct arena *a;     /* as long as the command */
    struct arena *round; /* of one listing: emptied before the next */
    struct cell_env env;
    struct format format;                /* the command parses it from one of the two below */
    const char *format_text, *long_text; /* of -o and -O: the last one given counts, the other is NULL */
    const char *delimiter;               /* NULL = "|" */
    char parsable;                       /* 'p', 'P' or 0 */
    bool noheader, longer, json;         /* as asked for */
    const char *clusters;                /* -M, or SLURM_CLUSTERS */
    bool unknown_said;                   /* letters and names that are none have been named */
    bool help_asked, usage_asked, version_asked, formats_asked;
    int verbose;                       /* -v, -vv */
    const char *given[LISTING_ECHOED]; /* by id: the value, or "" of a flag; NULL = not given */
    int64_t iterate_s;                 /* 0 = one listing */
    int last_option;                   /* before the one that is being taken */
    struct str out;
};

/* Runs the command with `l` zeroed and ctx for its functions; returns the exit status. Then listing_done. */
int listing_main(struct listing *l, const struct listing_command *command, void *ctx, int argc, char **argv);
void listing_done(struct listing *l);

/* The table on stdout, between what begins (date, header) and what ends it, a row at a time. */
void listing_begin(struct listing *l);
void listing_row(struct listing *l, const void *record);
void listing_end(struct listing *l);

#endif
