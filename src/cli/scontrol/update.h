/* Inside scontrol update: the tables of keys. */
#ifndef REMUDA_CLI_SCONTROL_UPDATE_H
#define REMUDA_CLI_SCONTROL_UPDATE_H

#include "cli/scontrol/scontrol.h"
#include "model/job/job.h"
#include "model/message.h"
#include "model/record/node.h"
#include "model/record/partition.h"

/* What the words have said so far. */
struct update_change {
    struct scontrol *s;    /* for messages */
    bool by_name;          /* jobs are named by JobName=, not by JobId= */
    const char *uids;      /* of these users only */
    bool resizes;          /* NumNodes=, NodeList=: of a running job, how many or which stay */
    int32_t cpus;          /* NumCPUs=; 0 = not given */
    const char *fields;    /* record fields to set, comma-separated */
    char sign;             /* of the key at hand, Key+= or Key-=; who heeds it sets it to 0 */
    struct job_spec spec;  /* values of the fields that job.fields names */
    struct node node;      /* likewise, of node_msg.fields */
    struct partition part; /* likewise, of part_msg.fields */
    struct msg_update_job job;
    struct msg_update_node node_msg;
    struct msg_update_partition part_msg;
};

/* Reads a value into the change. */
typedef bool (*set_fn)(struct update_change *c, const char *value, struct err *ret_err);

/* What is said first of a value that cannot be read, as Slurm does: nothing, "Invalid KEY value:
 * VALUE", "Invalid KEY value", that it is no time, or "Invalid input KEY=VALUE". */
enum value_said { SAID_NOTHING, SAID_VALUE, SAID_KEY, SAID_TIME, SAID_INPUT };

struct update_key {
    const char *name; /* as scontrol has it, letter case ignored */
    set_fn set;       /* NULL: the value is that of the first of `fields` */
    enum value_said said;
    /* comma-separated: the field, and those that are taken back with it; NULL without a setter:
     * known, but not supported yet */
    const char *fields;
};

/* The keys of an entity, and the record that their fields are in. */
struct key_table {
    const struct update_key *key;
    size_t n;                    /* of `key` */
    const struct fields *fields; /* NULL = every key has a setter */
    size_t record;               /* offset in struct update_change */
};

/* Notes that fields of the record are set; true. */
bool update_field(struct update_change *c, const char *names);
/* 0 … INT32_MAX */
bool update_number(const char *value, int32_t *ret, struct err *ret_err);

/* Slurm's own words about a word that it does not take; always true: what is to be added
 * follows. */
bool update_word_refuse(struct update_change *c, const char *what, const char *word);
/* Nothing was named that could change: says so; always true. */
bool update_nothing(struct update_change *c);

/* update and create PartitionName=NAME Key=Value…; false: why is in ret_err, or was said. */
bool update_partition(struct update_change *c, int n, char **word, bool create,
                      struct err *ret_err);

/* NumCPUs= of the jobs that are named: the tasks that have so many, by the CPUs of each task.
 * False: they cannot have just so many; why is in ret_err. */
bool update_job_cpus(struct update_change *c, struct err *ret_err);

/* What a waiting job asks of generic resources. False: Slurm's sentence of a value that is none was
 * said; why is in ret_err. */
/* Gres= and TresPerNode=: on each node */
bool update_job_gres(struct update_change *c, const char *value, struct err *ret_err);
/* TresPerJob=: GPUs of the whole job */
bool update_job_gpus(struct update_change *c, const char *value, struct err *ret_err);
/* TresPerSocket=: GPUs */
bool update_job_gpus_per_socket(struct update_change *c, const char *value, struct err *ret_err);
/* TresPerTask=: GPUs */
bool update_job_gpus_per_task(struct update_change *c, const char *value, struct err *ret_err);
/* CpusPerTres=: CPUs for each GPU */
bool update_job_cpus_per_gpu(struct update_change *c, const char *value, struct err *ret_err);
/* MemPerTres=: MiB for each GPU */
bool update_job_mem_per_gpu(struct update_change *c, const char *value, struct err *ret_err);

extern const struct key_table update_job_keys;

#endif
