/* Inside scontrol update: the tables of keys. */
#ifndef REMUDA_CLI_SCONTROL_UPDATE_H
#define REMUDA_CLI_SCONTROL_UPDATE_H

#include "cli/scontrol.h"
#include "model/job.h"
#include "model/message.h"
#include "model/node.h"
#include "model/partition.h"

/* What the words have said so far. */
struct change {
    struct scontrol *s;
    bool by_name;       /* jobs are named by JobName=, not by JobId= */
    const char *uids;   /* of these users only */
    const char *fields; /* record fields to set, comma-separated */
    struct job_spec spec;
    struct node node;
    struct partition part;
    struct msg_update_job job;
    struct msg_update_node node_msg;
    struct msg_update_partition part_msg;
};

/* Reads a value into the change. */
typedef bool (*set_fn)(struct change *c, const char *value, struct err *ret_err);

struct key {
    const char *name;
    set_fn set; /* NULL: known, but not supported yet */
};

/* Notes that fields of the record are set; true. */
bool update_field(struct change *c, const char *names);
/* 0 … INT32_MAX */
bool update_number(const char *value, int32_t *ret, struct err *ret_err);

extern const struct key update_job_keys[];
extern const size_t update_job_key_count;

#endif
