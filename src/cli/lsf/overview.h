/* Inside cli/lsf/: what there is: queues, hosts. */
#ifndef REMUDA_CLI_LSF_OVERVIEW_H
#define REMUDA_CLI_LSF_OVERVIEW_H

#include "cli/lsf/format.h"
#include "cli/lsf/jobs.h"
#include "model/record/node.h"
#include "model/record/partition.h"

struct lsf_overview {
    const char *name;   /* of the command */
    const char *words;  /* queues or hosts asked for, parted by commas; NULL = all */
    const char *host;   /* bqueues -m */
    const char *user;   /* bqueues -u */
    const char *select; /* bhosts -R: an expression of hosts, checked; NULL = any */
    bool wide, longer, noheader, json, gpus, gpus_long, models;
    const char *format_text;
    struct lsf_format format; /* of -o, read from format_text */
    struct arena *a;
    struct client *client;               /* connected by lsf_overview_run */
    VEC(const struct partition *) queue; /* partitions, as lsf_queues_read found them */
    VEC(const struct node *) node;       /* by lsf_nodes_read */
    VEC(const struct job *) job;
    struct str out; /* printed at the end */
};

/* Reading; what is read is kept in `o`. */
bool lsf_queues_read(struct lsf_overview *o, struct err *ret_err);
/* Is it one of those that were read? */
bool lsf_is_queue(const struct lsf_overview *o, const char *word);
/* all nodes */
bool lsf_nodes_read(struct lsf_overview *o, struct err *ret_err);
/* jobs of all users, the waiting ones too, with the fields that listings of hosts need */
bool lsf_running_read(struct lsf_overview *o, struct err *ret_err);
/* Is the name among the words, or are there none? */
bool lsf_overview_asked(const struct lsf_overview *o, const char *name);
/* Does each of the words stand for something that is there? Else *ret_err has those that do not,
 * and what they are: "No such queue". */
bool lsf_words_known(const struct lsf_overview *o,
                     bool (*is_there)(const struct lsf_overview *o, const char *word),
                     const char *what, struct err *ret_err);
/* For option_table.word. */
bool lsf_overview_word(void *to, const char *word, struct arena *a, struct err *ret_err);
/* Is the host named, or is none, and is it so as -R says? */
bool lsf_host_asked(const struct lsf_overview *o, const struct node *n);
/* Was there a host to show, and is each there that was named? Else *ret_err says what not. */
bool lsf_hosts_known(const struct lsf_overview *o, size_t shown, struct err *ret_err);
/* "XeonGold6226R": the first of its features; users select by it. NULL = it has none. */
const char *lsf_host_model(const struct node *n, struct arena *a);
/* "384.0G", "900M"; NULL = not known. */
const char *lsf_host_size(int64_t mib, struct arena *a);
/* The rows as -o asks for them, or with -json. */
void lsf_overview_format(struct lsf_overview *o, const char *counted, const void *const *row,
                         size_t n);

/* ---- hosts/gpus.c ---- */
struct idset;
int64_t lsf_gpus_of(const struct node *n, struct arena *a);   /* how many it has */
void lsf_gpus_used(const struct node *n, struct idset *used); /* adds the indexes in use */
/* Lines of `bhosts -gpu`: the heading, unless there is to be none, and one for each GPU. */
void lsf_gpu_head(struct lsf_overview *o);
/* Memory and utilisation are not known here: "-" and 0; the node's name stands on its first
 * line. */
void lsf_gpus_add(struct lsf_overview *o, const struct node *n);

/* A command: its line is read, then `show` appends to o->out. */
int lsf_overview_run(const char *name, const struct option_table *t, const struct lsf_fields *f,
                     bool (*show)(struct lsf_overview *o, struct err *e), int argc, char **argv);

/* Rows of options that they share. */
#define LSF_AT(member) offsetof(struct lsf_overview, member)
#define LSF_OVERVIEW_OPTIONS                                                                       \
    OPT_ACCEPTED("V", 0, ARG_NONE, "show the version"),                                            \
        {.name = "h", .alias = "help", .doc = "show this help", .set = set_nothing},               \
        {.name = "l", .doc = "everything about each", .set = set_flag, .at = LSF_AT(longer)},      \
    {                                                                                              \
        .name = "w", .doc = "nothing cut", .set = set_flag, .at = LSF_AT(wide)                     \
    }
SETTER(lsf_set_select);
#define LSF_SELECT_OPTION                                                                          \
    {                                                                                              \
        .name = "R", .arg = ARG_REQUIRED, .metavar = "select",                                     \
        .doc = "hosts that are so: \"select[mem>4GB && gpu32gb]\"", .set = lsf_set_select          \
    }
#define LSF_FORMAT_OPTIONS                                                                         \
    {.name = "json", .doc = "as JSON, with -o", .set = set_flag, .at = LSF_AT(json)},              \
        {.name = "noheader", .doc = "no headings", .set = set_flag, .at = LSF_AT(noheader)},       \
    {                                                                                              \
        .name = "o", .arg = ARG_REQUIRED, .metavar = "format",                                     \
        .doc = "fields by name: \"name: status:-10 delimiter=','\"", .set = set_text,              \
        .at = LSF_AT(format_text)                                                                  \
    }

#endif
