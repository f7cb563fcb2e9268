/* Nodes, partitions and sinfo's lines as Slurm's JSON (data parser v0.0.43). */
#ifndef REMUDA_CLI_RECORD_NODE_JSON_H
#define REMUDA_CLI_RECORD_NODE_JSON_H

#include "cli/record/sinfo_rows.h"
#include "wire/json.h"

/* Each appends one object where `o` stands: an item of an array, or what follows a key. Members
 * that Slurm has and this cluster has no word for are there, with their empty values. */
void node_json(struct json_out *o, const struct node *n);
/* one object of sinfo's and scontrol's "partitions" */
void partition_json(struct json_out *o, const struct partition *p);
/* one of sinfo's; a partition without nodes has an empty "node" */
void sinfo_row_json(struct json_out *o, const struct sinfo_row *r);

#endif
