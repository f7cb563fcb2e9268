/* Prolog and Epilog: the site's programs before and after a job on this node. */
#ifndef REMUDA_NODE_DAEMON_PROGRAMS_H
#define REMUDA_NODE_DAEMON_PROGRAMS_H

#include "agent/note.h"
#include "base/err.h"
#include "io/loop.h"
#include "node/step/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct programs; /* opaque; those that run */

/* The files that say which run are in node_dir, with the node's life in them (program_files.h).
 * done(ctx, step, ok, text): once for each programs_run that said true; text says what went wrong:
 * "prolog /etc/x exited with 3: its last words". */
struct programs *programs_new(struct loop *l, const char *node_dir, const char *life,
                              void (*done)(void *ctx, const struct note *step, bool is_epilog,
                                           bool ok, const char *text),
                              void *ctx);
void programs_free(struct programs *p); /* those that run are ended */
/* Runs the programs of that pattern (io/process/program_list.h) one after another, with that
 * environment (NAME=VALUE, each ended by NUL), in "/", each for timeout_us at most; the first that
 * fails is the last. Where there is no room to start one it is waited for (step/shortage.h). None
 * that could be started: done at once, false, ret_err. */
bool programs_run(struct programs *p, const struct note *step, bool is_epilog, const char *pattern,
                  struct plan_bytes env, int64_t timeout_us, struct err *ret_err);

#endif
