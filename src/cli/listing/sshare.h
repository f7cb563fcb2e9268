/* sshare, in two files: its command and columns, and the lines of the tree. */
#ifndef REMUDA_CLI_LISTING_SSHARE_H
#define REMUDA_CLI_LISTING_SSHARE_H

#include "cli/table/listing_command.h"
#include "model/record/priority.h"

#define LEVEL_INFINITE (-1)
#define LEVEL_NONE     (-2)

/* A line: the root, an account, or a user below one of them. */
struct share_line {
    const char *account, *user;     /* user NULL = the account itself */
    const char *partition, *parent; /* NULL = of no partition alone */
    uint32_t id;                    /* of the association; 0 = none */
    int depth;                      /* in the tree; its name is indented so far */
    bool is_root;
    int64_t shares;                            /* -1 = those of its parent */
    int64_t usage;                             /* thousandths */
    int64_t norm, norm_usage, effective, fair; /* in SHARE_ONE-ths; fair < 0: it has none */
    int64_t level_e6;                          /* or LEVEL_ */
    const char *limits, *used, *promised;      /* as -l shows them: "cpu=100" */
};

struct sshare {
    struct listing l;
    struct msg_query query; /* as the options make it */
    bool all, users_only, partitions;
    const char *users;           /* as they were given; NULL, "" = oneself, unless `all` */
    const char *own;             /* name of who asks; "" = there is none */
    bool classic;                /* PriorityFlags=NO_FAIR_TREE or DEPTH_OBLIVIOUS */
    VEC(struct usage *) usage;   /* of the answer */
    VEC(struct share_line) line; /* in the order of the tree */
};

/* Asks the controller, and fills `line`. */
bool share_lines_make(struct sshare *s, struct client *c, struct err *ret_err);

#endif
