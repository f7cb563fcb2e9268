/* The frame of the listing commands (squeue, sinfo, sacct, sprio, sshare, sdiag, sstat): the
 * options they share, --help and --version, the connection, one listing or one every so often (-i),
 * rows in the formats asked for, the sentence on failure. A command keeps its option table, its
 * columns, and how it reads and orders its rows. */
#ifndef REMUDA_CLI_TABLE_LISTING_COMMAND_H
#define REMUDA_CLI_TABLE_LISTING_COMMAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/table/columns.h"
#include "cli/table/json_slurm.h"
#include "io/client/client.h"
#include "script/options/option.h"

#include <stdbool.h>
#include <stdint.h>

/* Options that several listings have, filled into the struct listing at the head of what the
 * command fills. */
#define LISTING(member) offsetof(struct listing, member)
#define LISTING_CLUSTERS_GIVEN(...)                                                                \
    OPT_VALUE("clusters", 'M', "cluster", "cluster; only this one is known", set_any_text,         \
              LISTING(clusters), .alias = "cluster", __VA_ARGS__)
#define LISTING_CLUSTERS LISTING_CLUSTERS_GIVEN(.env = {"SLURM_CLUSTERS"})
#define LISTING_FEDERATION(name)                                                                   \
    OPT_NO_EFFECT(name, 0, ARG_NONE, "there are no federations: the same as without")
#define LISTING_HELP(letter) OPT_ACCEPTED("help", letter, ARG_NONE, "this text")
#define LISTING_ITERATE                                                                            \
    OPT_VALUE("iterate", 'i', "seconds", "repeat every so many seconds", listing_set_iterate, 0)
#define LISTING_FORM(name_, doc_)                                                                  \
    {                                                                                              \
        .name = name_, .arg = ARG_OPTIONAL, .metavar = "data_parser", .doc = doc_,                 \
        .set = json_form_set, .at = LISTING(json)                                                  \
    }
#define LISTING_JSON      LISTING_FORM("json", "everything as JSON; list: of which data parsers")
#define LISTING_LOCAL     OPT_NO_EFFECT("local", 0, ARG_NONE, "this cluster (the default)")
#define LISTING_LONG(doc) OPT_FLAG("long", 'l', doc, LISTING(longer))
#define LISTING_NO_JSON(name, why)                                                                 \
    OPT_REFUSED(name, 0, ARG_OPTIONAL, "everything in a form for programs", why)
#define LISTING_NOCONVERT(doc)        OPT_FLAG("noconvert", 0, doc, LISTING(env.noconvert))
#define LISTING_NOHEADER(letter, doc) OPT_FLAG("noheader", letter, doc, LISTING(noheader))
#define LISTING_PARSABLE(doc_)                                                                     \
    {                                                                                              \
        .name = "parsable", .letter = 'p', .doc = doc_, .set = listing_set_parsable                \
    }
#define LISTING_PARSABLE2(doc_)                                                                    \
    {                                                                                              \
        .name = "parsable2", .letter = 'P', .doc = doc_, .set = listing_set_parsable               \
    }
#define LISTING_USAGE OPT_ACCEPTED("usage", 0, ARG_NONE, "all options in a few lines")
#define LISTING_VERBOSE                                                                            \
    {                                                                                              \
        .name = "verbose", .letter = 'v', .doc = "say more", .set = set_count,                     \
        .at = LISTING(verbose)                                                                     \
    }
#define LISTING_VERSION OPT_ACCEPTED("version", 'V', ARG_NONE, "version")
#define LISTING_YAML    LISTING_FORM("yaml", "the same as YAML")

SETTER(listing_set_iterate);
SETTER(listing_set_format);      /* -o of squeue and sinfo: columns by letter */
SETTER(listing_set_long_format); /* -O: columns by name */
SETTER(listing_set_parsable);    /* -p and -P, by the row's letter */

struct listing_command {
    const char *name; /* for messages */
    const struct option_table *options;
    bool ruled; /* a line of dashes below the header */
    int away;   /* exit status where no controller answers; 0 = 1 */
    /* What Slurm prints there before its error, which it ends with 0; NULL = nothing. */
    void (*show_away)(void *ctx);
    bool dated; /* the date above listings that are long or repeated */
    /* -M: the cluster's name above the listing even if it is ruled, or has no header */
    bool headed;
    bool echoes; /* -v: what was asked for, before the listing */
    /* Unknown letters are named without "COMMAND: error:", as Slurm's sinfo does. */
    bool plain_unknown;
    bool one_format;       /* -o and -O together are an error */
    bool cluster_if_asked; /* its name is a column's value only with -M */
    /* Does the variable of that row count beside the options given? NULL = it does. */
    bool (*variable_counts)(void *ctx, const struct option_row *row, const char *value);
    /* Once, before the controller is asked; may be NULL. */
    bool (*prepare)(void *ctx, struct err *ret_err);
    /* One listing. False without an error in ret_err: what is wrong has been said. */
    bool (*show)(void *ctx, struct client *c, struct err *ret_err);
    void (*formats)(void); /* of --helpformat */
};

/* The first member of what the command fills. */
struct listing {
    const struct listing_command *command;
    void *ctx;               /* of the command's own functions */
    struct option_line line; /* what was given, for the environment and -v */
    struct arena *a;         /* as long as the command */
    struct arena *round;     /* of one listing: emptied before the next */
    struct cell_env env;
    struct format format; /* the command parses it from one of the two below */
    /* Of -o and -O: the last one given counts, the other is NULL. */
    const char *format_text, *long_text;
    const char *delimiter; /* NULL = "|" */
    char parsable;         /* 'p', 'P' or 0 */
    bool noheader, longer; /* as asked for */
    enum json_form json;
    const char *clusters; /* -M, or SLURM_CLUSTERS */
    const char *asks;     /* see first of program_connect_for */
    bool away;            /* no controller answered */
    bool unknown_said;    /* letters and names that are none have been named */
    int verbose;          /* -v, -vv */
    int64_t iterate_s;    /* 0 = one listing */
    struct str out;       /* not yet printed */
};

/* Runs the command with `l`, at the head of ctx, zeroed; returns the exit status. Then
 * listing_done. */
int listing_main(struct listing *l, const struct listing_command *command, void *ctx, int argc,
                 char **argv);
void listing_done(struct listing *l); /* both arenas, and what is not printed */

/* The date, if the listing is long or repeated and has a header. */
void listing_date(struct listing *l);
/* The table on stdout, between what begins (date, header) and what ends it, a row at a time. */
void listing_begin(struct listing *l);
/* Written out now and then; the record may go after the call. */
void listing_row(struct listing *l, const void *record);
/* Writes the rest; what is held is freed by listing_done. */
void listing_end(struct listing *l);

#endif
