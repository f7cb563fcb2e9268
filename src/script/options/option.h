/* One description of an option, of whatever command: a row says how it is spelt, what it takes,
 * which variables stand in for it, what Remuda does with it, and what it sets. Command lines and
 * variables of all commands are read by read.c; --help, --usage, refusals and
 * docs/options.md walk over the same rows.
 *
 * Spellings are looked up in read.c alone (spelling_next): another dialect is one more
 * member there. */
#ifndef REMUDA_SCRIPT_OPTION_H
#define REMUDA_SCRIPT_OPTION_H

#include "base/arena.h"
#include "base/calendar/civil.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum support {
    SUPPORT_HONOURED,  /* does what Slurm's manual says; with a `why`: in another way */
    SUPPORT_NO_EFFECT, /* accepted, and nothing comes of it; of a job its system_comment says so */
    SUPPORT_REFUSED,   /* named in an error, with the reason; a `set` that there is words it */
};

enum option_arg {
    ARG_NONE,
    ARG_REQUIRED,
    ARG_OPTIONAL, /* attached only: -I5, --exclusive=user; never the next word */
    ARG_NEXT,     /* optional; attached, or the next word where that is no option: squeue -j 42 */
};

/* Who gave a value; a higher one beats a lower one. FROM_COMPONENT: carried over from the component
 * before (heterogeneous jobs). */
enum option_source {
    FROM_DEFAULT,   /* nobody said anything */
    FROM_COMPONENT, /* of the component before */
    FROM_DIRECTIVE, /* of the script */
    FROM_ENVIRONMENT,
    FROM_COMMAND_LINE
};

#define OPTION_MAX 256 /* rows in a table, at most */

struct option_row;
/* Who looks on while the lines of a script are read (remuda lint). What cannot be read is told, and
 * reading goes on behind it. */
struct option_watch {
    void *ctx;
    unsigned line; /* of the directive that is read: set by who reads; 0 = none, a command line */
    /* An option; `e`: why it was not taken, NULL = it was. */
    void (*option)(void *ctx, unsigned line, const struct option_row *row, const char *value,
                   const struct err *e);
    /* The rest of a line that cannot be read, or (line 0) the job as a whole. */
    void (*failed)(void *ctx, unsigned line, const struct err *e);
    /* What an option of another dialect, written as `from`, became; value NULL = a flag. */
    void (*became)(void *ctx, const char *from, const struct option_row *row, const char *value);
};

struct dialect_site;
struct writing; /* script/writing.h */
/* What setters may need to know; given by the caller, so that this library stays pure. */
struct option_env {
    int64_t now_us; /* for "now+1hour" */
    const struct civil_zone *zone;
    const struct dialect_site *site; /* scripts of LSF and PBS: NULL = the defaults */
    struct option_watch *watch;      /* NULL = nobody */
};

/* Puts a value (NULL = a flag, or an optional value left out) into what the command fills. `env`
 * may be NULL where no row of the table reads it. */
typedef bool (*option_setter)(void *to, const struct option_row *row, const char *value,
                              const struct option_env *env, struct arena *a, struct err *ret_err);

struct option_row {
    const char *name;  /* long name, without -- */
    const char *alias; /* other long names, blank-separated ("tasks-per-node"); NULL = none */
    char letter;       /* 0 = none */
    enum option_arg arg;
    unsigned commands; /* of a table that several commands share: bits of those that have it */
    enum support support;
    /* variables (of sbatch, salloc, srun; of another command the first): blank-separated, the first
     * that is set counts; NULL = none */
    const char *env[3];
    const char *metavar; /* "minutes" */
    const char *doc;     /* one line of --help */
    /* what --NAME=help prints: a heading, then "word<tab>doc" a line; NULL = "help" is a value like
     * any other */
    const char *values;
    const char *why;   /* the reason and the nearest thing that works */
    option_setter set; /* NULL for REFUSED: the reader refuses in the row's words; else it does */
    size_t at;         /* for the generic setters: offset in what the command fills */
    int64_t min, max;  /* and the range of numbers */
    /* option that sets the same thing ("no-requeue"): the one from the stronger source counts, else
     * the later one */
    const char *rival;
    const char *newer;   /* a value that releases of Slurm after 25.05 take; NULL = none */
    const char *becomes; /* of LSF and PBS: the options of sbatch that it turns into; NULL = none */
    /* Of LSF and PBS: says what of a job it stands for, in its own words; NULL = nothing of it. */
    void (*write)(struct writing *w, const struct option_row *row);
    bool hidden; /* not shown by --help, as Slurm does not either */
    /* each component of a heterogeneous job has its own; other options carry over to the next */
    bool component;
};

/* Rows of one kind: a title for docs/options.md, and the heading of --help. */
struct option_theme {
    const char *title, *heading;
    const struct option_row *row;
    const size_t *n; /* of `row` */
};

/* What is done with words that are no options. */
enum option_words {
    WORDS_NONE,  /* an error */
    WORDS_MIXED, /* anywhere between options: given to `word` */
    WORDS_END,   /* the first one ends the options */
};

struct option_table {
    const struct option_theme *theme;
    size_t themes;     /* of `theme` */
    const char *usage; /* "squeue [OPTIONS]", for --help; NULL = the command writes its own */
    const char *about; /* of --help, below the usage: lines, each with its end; NULL = none */
    unsigned command;  /* which of `commands` this is; 0 = every row belongs to it */
    size_t variables;  /* which of env[] are this command's */
    enum option_words words;
    /* a word that is no option; NULL = there may be none */
    bool (*word)(void *to, const char *word, struct arena *a, struct err *ret_err);
    /* Options are letters or words behind one dash, and their value is the next word, as LSF's
     * commands have them: -J name -oo file -gpu num=1. */
    bool one_dash;
    bool letters_attach; /* and any value may be attached to a letter: -joe -lnodes=1 */
    bool refused_shown;  /* --help has what is refused, too */
    bool letters_named;  /* an error about a letter names the long option, too */
    bool letters_equals; /* -j=42 is -j42, where the value is optional */
    /* a variable that is set counts, whatever it says; else "" is none, and a flag needs yes or a
     * number other than 0 */
    bool variables_as_are;
};

/* A table of one array of rows; more members of struct option_table behind. */
#define OPTION_TABLE(name, rows, ...)                                                              \
    static const size_t name##_n = sizeof(rows) / sizeof(rows)[0];                                 \
    static const struct option_theme name##_theme = {NULL, NULL, rows, &name##_n};                 \
    const struct option_table name = {.theme = &name##_theme, .themes = 1, __VA_ARGS__}

/* Rows in short; the last argument may be followed by more members. */
#define OPT_FLAG(name_, letter_, doc_, ...)                                                        \
    {                                                                                              \
        .name = name_, .letter = letter_, .doc = doc_, .set = set_flag, .at = __VA_ARGS__          \
    }
#define OPT_VALUE(name_, letter_, metavar_, doc_, set_, ...)                                       \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = ARG_REQUIRED, .metavar = metavar_, .doc = doc_,   \
        .set = set_, .at = __VA_ARGS__                                                             \
    }
/* Accepted; nothing comes of it, or the command asks by itself whether it was given (--help). */
#define OPT_ACCEPTED(name_, letter_, arg_, ...)                                                    \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = arg_, .set = set_nothing, .doc = __VA_ARGS__      \
    }
#define OPT_NO_EFFECT(name_, letter_, arg_, ...)                                                   \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = arg_, .support = SUPPORT_NO_EFFECT,               \
        .set = set_nothing, .doc = __VA_ARGS__                                                     \
    }
#define OPT_REFUSED(name_, letter_, arg_, doc_, ...)                                               \
    {                                                                                              \
        .name = name_, .letter = letter_, .arg = arg_, .support = SUPPORT_REFUSED, .doc = doc_,    \
        .why = __VA_ARGS__                                                                         \
    }

/* ---- setters that rows of any command share ---- */

#define SETTER(name)                                                                               \
    bool name(void *to, const struct option_row *row, const char *value,                           \
              const struct option_env *env, struct arena *a, struct err *ret_err)

SETTER(set_text);     /* any text; "" takes the value back */
SETTER(set_any_text); /* the same, and "" is a text */
SETTER(set_path);     /* the same; "none" is /dev/null */
SETTER(set_flag);     /* bool = true */
SETTER(unset_flag);   /* bool = false */
SETTER(set_count);    /* int, one more each time */
SETTER(set_i32);      /* row->min … row->max */
SETTER(set_mib);      /* a memory size */
SETTER(set_span);     /* a time limit; 0 is without end when row->min is 0 */
SETTER(set_minutes);  /* minutes, as --delay-boot */
SETTER(set_time);     /* a point in time, not in the past by the clock alone */
SETTER(set_hosts);    /* a host list */
SETTER(set_gpus);     /* [type:]count,… */
SETTER(set_nothing);  /* nothing */
SETTER(set_yes_no);   /* enum tristate from yes and no */

/* ---- rows ---- */

/* The row of that index; NULL past the last. Indexes run over all themes and all commands. */
const struct option_row *option_row_at(const struct option_table *t, size_t index);
/* The row must be one of the table. */
size_t option_row_index(const struct option_table *t, const struct option_row *row);
/* has the command that row? */
bool option_row_is_of(const struct option_table *t, const struct option_row *row);
/* The row of exactly that name or letter; NULL if the command has none. */
const struct option_row *option_row_named(const struct option_table *t, const char *name);
/* NULL = no option of that command has the letter. */
const struct option_row *option_row_letter(const struct option_table *t, char letter);

/* ---- reading ---- */

typedef bool (*option_taker)(void *ctx, const struct option_row *row, const char *value,
                             struct err *ret_err);

/* Reads a command line, GNU style: bundled and attached letters, unambiguous prefixes of long
 * names, --name=value and --name value, "--" ends the options. argv[0] is skipped. Each option goes
 * to `take`, each word (WORDS_MIXED) to `word`; a false result ends with its error. *ret_rest:
 * index of the word that ended the options. */
bool options_walk(const struct option_table *t, int argc, char *const argv[], option_taker take,
                  bool (*word)(void *ctx, const char *word, struct err *ret_err), void *ctx,
                  int *ret_rest, struct err *ret_err);
/* The same of variables; getenv is the caller's. */
bool options_walk_variables(const struct option_table *t, char *(*get)(const char *name),
                            option_taker take, void *ctx, struct err *ret_err);

/* Tells who looks on of an option that was taken (ok), or not, with *e. True: go on. */
bool option_watched(const struct option_env *env, const struct option_row *row, const char *value,
                    bool ok, struct err *e);
/* The same of a line, or a job, that cannot be read. */
bool option_watched_line(const struct option_env *env, bool ok, struct err *e);
/* The line that is read from now on. */
void option_watch_line(const struct option_env *env, unsigned line);

/* A command line that is read into one struct of the command. */
struct option_line {
    const struct option_table *table;
    void *to;        /* what the setters fill */
    struct arena *a; /* texts */
    const struct option_env *env;
    /* Does the variable of that row count, now that the command line is read? NULL = where the
     * option was not given. */
    bool (*variable_counts)(void *to, const struct option_row *row, const char *value);
    /* By index of the row: who set it, and the text that did ("" for a flag). */
    enum option_source source[OPTION_MAX];
    const char *given[OPTION_MAX]; /* by number of the row: as typed; NULL = not given */
    int rest_at; /* WORDS_END: index of the word that ended the options; argc where none did */
};

/* Words and options of argv into the struct that the rows name, until the first that cannot be
 * read. */
bool option_line_read(struct option_line *l, int argc, char *const argv[], struct err *ret_err);
/* Variables, where the command line has nothing to say. */
bool option_line_read_variables(struct option_line *l, char *(*get)(const char *name),
                                struct err *ret_err);
/* Was the option of that name on the command line? False where there is none such. */
bool option_line_has(const struct option_line *l, const char *name);

/* ---- texts ---- */

/* What --help of a command prints: a line for each option. The shape follows table->usage: "squeue
 * [OPTIONS] WORDS" has --help and --usage under a heading of their own, "sacct [<OPTION>]" and
 * "sshare [OPTION]" call theirs the valid ones. */
void option_table_write_help(const struct option_table *t, struct str *out);
/* What --usage prints: a few lines with all options; of "[<OPTION>]" and "[OPTION]" as short, where
 * the whole help is long. */
void option_table_write_usage(const struct option_table *t, struct str *out);
/* A section of docs/options.md: every option of the command and what Remuda does with it. */
void option_table_write_markdown(const struct option_table *t, const char *command,
                                 struct str *out);

#endif
