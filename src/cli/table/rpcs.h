/* How often the controller was asked what, and by whom: of sdiag and `sacctmgr show stats`. */
#ifndef REMUDA_CLI_TABLE_RPCS_H
#define REMUDA_CLI_TABLE_RPCS_H

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/record/diag.h"

/* Messages of a kind, or of a user. */
typedef VEC(struct rpc_count) rpc_vec;

/* Those of diag.rpcs or diag.rpc_users, the largest first by letter of sdiag's option: 'i' number
 * (the smallest first), 't' time, 'T' mean time; else count. Names lie in the arena. */
void rpcs_read(const char *text, int sort, struct arena *a, rpc_vec *ret);
/* " count:4      ave_time:1153   total_time:4612" and the end of the line, to stdout. */
void rpc_end_print(const struct rpc_count *r);
/* "Data since  Sat Nov 21 09:04:57 2026 (1795251897)": a label and a time (µs; 0 = N/A), to
 * stdout. */
void diag_time_print(const char *label, int64_t us);
/* 0 of none. */
long long diag_mean(int64_t sum, uint64_t n);

#endif
