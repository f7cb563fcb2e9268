/* What completion offers: names from the cluster as it is, words of our own tables. */
#ifndef REMUDA_CLI_COMPLETE_CANDIDATES_H
#define REMUDA_CLI_COMPLETE_CANDIDATES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a value or a word may be. */
enum wanted {
    WANTED_NOTHING,     /* free text */
    WANTED_FILE,        /* the shell finds them itself */
    WANTED_JOBS,        /* one's own that are not over */
    WANTED_RUNNING,     /* of these, those that run */
    WANTED_NUMBERS,     /* of LSF and PBS: jobs and arrays as a whole */
    WANTED_QUEUE_FIRST, /* a partition, then such numbers */
    WANTED_NAMES,       /* of jobs */
    WANTED_PARTITIONS,
    WANTED_NODES,
    WANTED_FEATURES,
    WANTED_GRES,      /* gpu, gpu:v100 */
    WANTED_GPU_TYPES, /* v100 */
    WANTED_ACCOUNTS,
    WANTED_USERS, /* of jobs and of accounts */
    WANTED_QOS,
    WANTED_RESERVATIONS,
    WANTED_STATES,
    WANTED_SIGNALS,
    WANTED_MAIL,
    WANTED_JOB_COLUMNS, /* squeue -O, sinfo -O, sacct --format, sstat --format */
    WANTED_NODE_COLUMNS,
    WANTED_ACCT_COLUMNS,
    WANTED_STEP_COLUMNS
};

struct client;

/* One line that is completed. Zero but for `a`, `word` and `prefix`; candidates_done frees. */
struct completion {
    struct arena *a;
    struct client *client;
    bool asked;         /* the cluster was, whether it answered or not */
    const char *word;   /* being written: of a list its last item */
    const char *prefix; /* of it, which stands before each candidate */
    const char **shown; /* what was offered or stands there already: each word once */
    size_t n_shown;     /* so many are offered already */
};

/* Prints a candidate where it begins as the word does, and behind a tab what it is (`doc`, NULL =
 * nothing), as shells that show that have it. */
void candidates_offer(struct completion *k, const char *word, const char *doc);
/* What is written is the last item of `list`, which stands behind `before`; its other items are not
 * offered again. "": the list is one item. */
void candidates_item(struct completion *k, const char *before, const char *list,
                     const char *separators);
/* Each of these. */
void candidates_list(struct completion *k, const char *words, char separator);
/* All that there is of that kind; of a file a tab alone. A cluster that does not answer at once has
 * nothing, and nothing is said. */
void candidates_wanted(struct completion *k, enum wanted wanted);
void candidates_done(struct completion *k); /* hangs up; what was found is the arena's */

#endif
