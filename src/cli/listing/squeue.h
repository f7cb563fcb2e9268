/* squeue: what was asked for and read (listing/squeue.c), and how records become rows
 * (squeue_rows.c). */
#ifndef REMUDA_CLI_LISTING_SQUEUE_H
#define REMUDA_CLI_LISTING_SQUEUE_H

#include "base/vec.h"
#include "cli/record/sort.h"
#include "cli/table/listing_command.h"
#include "model/job/job.h"
#include "model/message.h"

struct squeue {
    struct listing l;
    struct msg_query query; /* as the options make it */
    /* as typed; NULL = the default of the listing */
    const char *sort, *reservation, *licenses, *nodes;
    bool nothing;                                            /* a list to choose by is empty */
    bool states_asked;                                       /* -t, and not all */
    bool all, array, start, steps, by_partition, only_state; /* of options without a value */
    bool jobs_asked;                                         /* -j without a list */
    size_t id_words;               /* ids given on the command line, repeated ones counted */
    VEC(const struct job *) job;   /* of the answer, filtered and sorted */
    VEC(const struct step *) step; /* with -s, instead of jobs */
    const char *hidden;            /* names of hidden partitions */
};

/* -P: a waiting job becomes one for each of its partitions (of those asked for), with its priority
 * there. */
bool squeue_by_partition(struct squeue *s, struct client *c, struct err *ret_err);
/* Arrays asked for by their elements ("7_3") show these alone. */
void squeue_narrow_arrays(struct squeue *s);
/* The nodes of -w: those there are, "localhost" and host names as the nodes of these hosts. */
bool squeue_nodes_resolve(struct squeue *s, struct client *c, struct err *ret_err);
/* jobs with a row for each partition, or steps, as was asked */
void squeue_rows_print(struct squeue *s);

#endif
