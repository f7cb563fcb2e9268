/* The configuration, and rows that cannot be lived with. Only core/ includes this. */
#ifndef REMUDA_CORE_LOAD_LOAD_H
#define REMUDA_CORE_LOAD_LOAD_H

#include "core/node/node.h"

/* ---- left_out.c: stored rows that cannot be lived with -------------------------------------- */
void row_leave_out(struct core *c, enum store_table table, const void *record, const char *why);
void rows_left_out(struct core *c); /* at the end of loading */
/* For `remuda status`; NULL = none. */
const char *left_out_said(const struct core *c, struct arena *a);

/* ---- book.c: the book of accounts, when all of it is loaded ---- */
/* Rows of one association or QOS but one are left out. */
void book_twins_leave(struct core *c);
/* Nothing of it leads in a circle or nowhere any more; what did is said. */
void book_mend(struct core *c);

/* ---- config.c ---- */
bool node_shown(const struct noderec *n); /* config.c: it is configured, or has jobs yet */
/* At the start, and at reconfigure; `config` was checked, and is copied. */
void config_apply(struct core *c, const struct config *config);
/* A job that runs has this, of a node that no line describes any more (its host left, and the
 * controller was started anew): the node is there until its jobs are over, as one whose line goes
 * at a reconfigure. Nothing, if one describes it. */
void node_of_job(struct core *c, const struct alloc_node *has);
void part_save(struct core *c, struct partrec *p); /* marks it changed, and stores it */
/* What scontrol had changed; the rest is the configuration's. */
void part_load(struct core *c, const struct partition *row);
void set_fields_add(struct core *c, const char **to, const char *fields); /* each name once */

#endif
