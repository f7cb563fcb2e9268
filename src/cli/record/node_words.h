/* Words about a node's state and resources that sinfo, scontrol and --json share. */
#ifndef REMUDA_CLI_RECORD_NODE_WORDS_H
#define REMUDA_CLI_RECORD_NODE_WORDS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/grammar/gres.h"
#include "model/record/node.h"
#include "model/record/partition.h"

#include <stdbool.h>

/* Base word of scontrol's state, "IDLE" of "IDLE+DRAIN". */
bool node_base_is(const struct node *n, const char *word);
/* Runs or cleans something. */
bool node_busy(const struct node *n);
/* Not to be used for new jobs whatever is free: drained, failing, down, unknown. */
bool node_out(const struct node *n);

/* -t of sinfo: "idle,mix", "idle&drain", "~down". Checked by node_states_check, then matched by
 * node_states_match. "all" matches every node. */
bool node_states_check(const char *states, struct err *ret_err);
/* Alternatives with commas between them, each of states that must hold together:
 * "idle,mixed&drain,~down". */
bool node_states_match(const struct node *n, const char *states);

/* "gpu:v100:2(IDX:0-1)", with 0 for kinds of which nothing is used; "gpu:0" if it has none. */
void node_gres_used(const struct node *n, struct str *out);
/* Devices that are out of use, in the same form: "gpu:a100:2(IDX:0,3)"; "N/A" if there are none. */
void node_gres_drained(const struct node *n, struct str *out);
struct device_out;
/* As a reason of the node's: "gpu:0 broken: it has fallen off the bus", "gpu:0 not clean: …", or
 * "process:4711 unkillable: …". */
void device_out_reason(const struct device_out *d, struct str *out);
/* What sinfo and --json tell as the reason of a node: its own, else that of its devices that are
 * out. Fills reason, reason_us and reason_user; text in the arena. */
void node_reason_fill(struct node *n, struct arena *a);
/* "cpu=4,mem=16000M,billing=4,gres/gpu=2" of all it has, or of what is allocated. */
void node_tres(const struct node *n, bool allocated, struct str *out);

/* "NO", "EXCLUSIVE", "YES:4", "FORCE:4" */
void partition_share_word(const struct partition *p, struct str *out);

#endif
