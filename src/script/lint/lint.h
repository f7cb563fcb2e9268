/* What a script asks for, line by line, and what looks wrong in it (remuda lint, sbatch --lint). */
#ifndef REMUDA_SCRIPT_LINT_H
#define REMUDA_SCRIPT_LINT_H

#include "base/vec.h"
#include "script/lsf/lsf.h"
#include "script/options/options.h"
#include "script/pbs/pbs.h"

/* A note tells of a consequence; a warning of what is probably not meant; an error of what would be
 * refused, or not do what the line says. */
enum lint_level { LINT_NOTE, LINT_WARNING, LINT_ERROR };
extern const char *const lint_level_names[];

/* X(name, level, what it looks for). The names are a promise to programs (docs/lint.md). */
// clang-format off
#define LINT_RULES(X)                                                                                        \
    X(NO_SCRIPT, "no-script", ERROR, "what sbatch would not take as a script: nothing in it, no #! line, NUL bytes, too long") \
    X(DOS_LINES, "dos-lines", ERROR, "lines that end in CR LF")                                              \
    X(LATE_SHEBANG, "late-shebang", ERROR, "a #! line that is not the first: module load or blank lines above it") \
    X(LATE_DIRECTIVE, "late-directive", WARNING, "a directive after the first command, which #SBATCH and #PBS are not read from") \
    X(MISSPELT_DIRECTIVE, "misspelt-directive", WARNING, "# SBATCH, #SBTACH, #sbatch, blanks before it: a comment to the command") \
    X(CONTINUED_LINE, "continued-line", WARNING, "a line that goes on with a directive of LSF or PBS without its mark, or with one of Slurm, which ends with its line: to the shell it is a command") \
    X(OLD_DIRECTIVE, "old-directive", WARNING, "#SLURM, which is read still, and not by everybody: write #SBATCH")  \
    X(TYPOGRAPHY, "typography", ERROR, "dashes, quotes and blanks of a word processor in a directive")        \
    X(ONE_DASH, "one-dash", ERROR, "a long option of Slurm's with one dash: -nodes=2 is -n odes=2")                   \
    X(BAD_OPTION, "bad-option", ERROR, "an option that there is not; the nearest one")                        \
    X(BAD_VALUE, "bad-value", ERROR, "a value that is none, or options that exclude each other")              \
    X(REFUSED_OPTION, "refused-option", ERROR, "an option that is known and not supported; what works instead") \
    X(NO_EFFECT, "no-effect", NOTE, "an option that is taken and changes nothing")                            \
    X(ADJUSTED, "adjusted", WARNING, "what the command itself warns of: numbers that it changes")             \
    X(REPEATED, "repeated", WARNING, "an option given twice with different values: one of them counts")       \
    X(TWO_DIALECTS, "two-dialects", WARNING, "lines of two systems that say different things")                \
    X(OTHER_DIALECT, "other-dialect", NOTE, "lines of another system that are not read, and say nothing else") \
    X(NOT_EXPANDED, "not-expanded", WARNING, "$NAME, $(command) or ~ in a directive, which no shell looks at") \
    X(CUT_BY_HASH, "cut-by-hash", WARNING, "a value that ends at an unquoted #")                              \
    X(TIME_UNIT, "time-unit", WARNING, "minutes taken for hours or seconds: --time=24:00, walltime=90")       \
    X(HOURS, "hours", NOTE, "-W 24:00 of LSF is a day; of sbatch it would be 24 minutes")                     \
    X(TINY_MEMORY, "tiny-memory", WARNING, "so little memory that a unit was probably left out: --mem=16, mem=4000 of PBS") \
    X(MEMORY_PER, "memory-per", NOTE, "memory that is of each host, slot or the whole job, by the site or the system") \
    X(NAME_PATTERN, "name-pattern", WARNING, "%J or %j in a job name, where nothing is put in for it")        \
    X(PATTERN, "pattern", WARNING, "%j in an output of LSF or PBS, %I in one of Slurm: it stays as it is")     \
    X(SHARED_OUTPUT, "shared-output", WARNING, "elements of an array that write to one file")                 \
    X(CONTINUED_OUTPUT, "continued-output", NOTE, "-o of LSF without %J: the next run goes on in the same file") \
    X(NO_DIRECTORY, "no-directory", ERROR, "a directory of input or work that is not there; of output, a note: it is made")          \
    X(MAIL_TYPE, "mail-type", WARNING, "an address for mail, and no time at which it is sent")                \
    X(MAIL_USER, "mail-user", NOTE, "mail without an address: it goes to the local user")                  \
    X(NODES_AND_TASKS, "nodes-and-tasks", WARNING, "tasks that do not fit onto the nodes asked for, or nodes without a task") \
    X(GPUS_TWICE, "gpus-twice", WARNING, "--gres=gpu beside --gpus and its kin")                              \
    X(ARRAY_OF_ONE, "array-of-one", WARNING, "--array=10, -t 10: the one element 10, not ten of them")         \
    X(CHUNKS_TOGETHER, "chunks-together", NOTE, "chunks of a PBS select that may share a node")               \
    X(HOME_DIRECTORY, "home-directory", WARNING, "a PBS script that never goes to $PBS_O_WORKDIR: it starts in the home directory") \
    X(LOGIN_SHELL, "login-shell", WARNING, "-L of LSF in a script without #!: it does not name the interpreter") \
    X(RUN_AS_COMMAND, "run-as-command", WARNING, "bsub FILE, which runs FILE and reads none of its #BSUB lines")   \
    X(FOREIGN_VARIABLE, "foreign-variable", WARNING, "a variable of another system in the commands: it is not set in this job") \
    X(FOREIGN_COMMAND, "foreign-command", WARNING, "a launcher of another system that is not here: aprun, ibrun") \
    X(LEFT_RUNNING, "left-running", WARNING, "the last command runs in the background, and nothing waits for it") \
    X(NO_CLUSTER, "no-cluster", NOTE, "no cluster was asked, so partitions, limits and GPUs are not checked")  \
    X(PARTITION, "partition", ERROR, "a partition that there is not")                                         \
    X(ABOVE_LIMIT, "above-limit", WARNING, "a time limit, or nodes, above what the partition allows")         \
    X(GPU_TYPE, "gpu-type", WARNING, "GPUs of a type that no node of the partition has, or more than any has") \
    X(REFUSED, "refused", ERROR, "the cluster would refuse the job, in its words")
// clang-format on
enum lint_rule {
#define X(id, name, level, doc) RULE_##id,
    LINT_RULES(X)
#undef X
        LINT_RULE_COUNT
};
struct lint_rule_info {
    const char *name, *doc;
    enum lint_level level; /* unless the line says otherwise */
};
extern const struct lint_rule_info lint_rules[LINT_RULE_COUNT];

struct lint_finding {
    enum lint_rule rule;
    enum lint_level level;
    unsigned line, other_line; /* 0 = none */
    const char *text;          /* a sentence */
};

struct lint_became {
    const struct option_row *row; /* of sbatch */
    const char *value;            /* "" = a flag */
};

/* An option as it was read. */
struct lint_option {
    unsigned line;                  /* 0 = of the command line */
    const struct option_row *row;   /* of which option */
    const char *value;              /* NULL = none */
    const char *error;              /* why it was not taken; NULL = it was */
    const char *no_effect;          /* why nothing comes of it; NULL = something does */
    VEC(struct lint_became) became; /* of LSF and PBS: options of sbatch */
};

struct lint_line {
    unsigned number;
    const char *text; /* without its end */
};

struct lint {
    /* Given. */
    enum dialect dialect; /* whose command would submit it */
    bool by_sbatch;       /* sbatch reads it, whosever it is */
    const struct option_env *env;
    struct arena *a;
    char *(*get)(const char *name); /* variables count, too: of sbatch; NULL = they do not */
    /* Found: everything in the arena. */
    const char *text;
    size_t len;                  /* bytes of `text` */
    struct submit_options *comp; /* of COMPONENTS_MAX */
    size_t ncomp;                /* of `comp` */
    struct lsf_request lsf;
    struct pbs_request pbs;
    bool readable;                  /* the job could be made of the options */
    unsigned others;                /* bits (1 << dialect) of other systems' lines */
    VEC(struct lint_option) option; /* in the order they stand in the script */
    VEC(struct lint_line) line;     /* directives in force */
    VEC(struct lint_became)
    unasked; /* options of sbatch that no line asked for: the system's own */
    VEC(struct lint_finding) finding; /* in the order they were found */
    struct option_watch watch;
};

/* Is that path a directory (from where the command is called, or `from`)? */
typedef bool (*lint_is_directory)(const char *path, const char *from);

/* Reads the script, with the words of a command line (argc 0 = none) that beat it. Everything that
 * can be said without a cluster is found. `text[len]` is NUL. `l` zeroed but for what is given. */
void lint_read(struct lint *l, const char *text, size_t len, int argc, char *const argv[],
               const char *name, lint_is_directory is_directory);
/* All that lint_read made; the script's text is the caller's. */
void lint_done(struct lint *l);

/* Adds a finding, a sentence; 0 = of no line, or no other one. */
void lint_find(struct lint *l, enum lint_rule rule, unsigned line, unsigned other_line,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Of a script without #SBATCH that sbatch is to read: do lines of two other systems contradict each
 * other? Then which is meant nobody can know: ERR_INVALID, with both lines. What only the one says
 * that does not count is appended to `warnings`, a line each. */
bool lint_systems_agree(const char *text, size_t len, const struct option_env *env, struct arena *a,
                        struct str *warnings, struct err *ret_err);
/* Orders what was found by lines, the gravest first. */
void lint_sort(struct lint *l);
/* Findings of that level alone. */
size_t lint_count(const struct lint *l, enum lint_level level);
/* 0: nothing but notes; 1: warnings; 2: errors. */
int lint_status(const struct lint *l);
/* The line that gave that option of sbatch; 0 = none did. */
unsigned lint_line_of(const struct lint *l, const char *option);
/* The option as it is written: "--time=90", "-W 90". */
void lint_option_write(const struct lint_option *o, bool one_dash, struct str *out);
/* What is meant by it, where the value alone does not say that: "24 minutes"; else what the option
 * is for. */
void lint_meaning(const struct option_row *row, const char *value, struct str *out);

/* Inside script/: only the reading, with what it finds; the looks at it. */
void lint_read_alone(struct lint *l, const char *text, size_t len, int argc, char *const argv[]);
/* line by line: directives, shell, late and misspelt ones */
void lint_lines_look(struct lint *l, const char *name);
void lint_values_look(struct lint *l); /* what each option is set to, in its dialect */
/* what they ask for together; `is_directory` may be NULL where no disk can be looked at */
void lint_job_look(struct lint *l, lint_is_directory is_directory);
void lint_others_look(struct lint *l); /* directives of the other dialects that the script has */

#endif
