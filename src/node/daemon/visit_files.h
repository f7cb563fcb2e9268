/* What is kept of jobs that have been on this node, for a later daemon: NODE_DIR/visits/JOB.ATTEMPT
 * has the environment of the job's epilog, JOB.ATTEMPT.prolog the same while its prolog has yet to
 * end well. Files are whole or not there; what a loss of power has left of one is told not to be
 * whole: an epilog that was told nothing of its job would clear away what others have. The disk is
 * not waited for: a stranger may keep it busy, and each job that begins would hold the daemon. */
#ifndef REMUDA_NODE_DAEMON_VISIT_FILES_H
#define REMUDA_NODE_DAEMON_VISIT_FILES_H

#include "agent/note.h"
#include "base/err.h"
#include "base/str.h"
#include "node/step/plan.h"

#include <stdbool.h>

/* Of a note, job and attempt count. False with ret_err: it is not kept. */
bool visit_file_write(const char *node_dir, const struct note *ids, bool prepared,
                      struct plan_bytes env, struct err *ret_err);
/* Its prolog has ended well. Nothing where nothing is kept. False with ret_err: it is not noted. */
bool visit_file_ready(const char *node_dir, const struct note *ids, struct err *ret_err);
/* Nothing of it is kept from then on, or was. */
void visit_file_remove(const char *node_dir, const struct note *ids);
/* Appends what is kept; nothing where nothing is. False with ret_err: it is there and cannot be
 * read, or is not whole. */
bool visit_file_read(const char *node_dir, const struct note *ids, struct str *out,
                     struct err *ret_err);
/* Calls fn for each. False with ret_err: what there is cannot be told. */
bool visit_files_scan(const char *node_dir,
                      void (*fn)(void *ctx, const struct note *ids, bool prepared), void *ctx,
                      struct err *ret_err);

#endif
