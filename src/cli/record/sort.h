/* -S / --sort of squeue: letters of the short format, each with '-' (or '+') before it. */
#ifndef REMUDA_CLI_RECORD_SORT_H
#define REMUDA_CLI_RECORD_SORT_H

#include "cli/table/columns.h"
#include "model/job/job.h"

struct sort_key {
    const struct column *column;
    bool down; /* largest first */
};

struct sort {
    VEC(struct sort_key) key; /* the first decides */
};

/* Letters of squeue -S, '-' before one for the other way round; false names what is none. */
bool sort_parse(const struct column_table *t, const char *text, struct sort *ret,
                struct err *ret_err);
void sort_done(struct sort *s); /* the keys */
/* Fields the keys read, after `always`. */
const char *sort_fields(const struct sort *s, const char *always, struct arena *a);
/* Stable: equal jobs stay in the order they came. */
void sort_jobs(const struct sort *s, const struct job **job, size_t n);
/* The same of steps; numbers before batch, extern and interactive. */
void sort_steps(const struct sort *s, const struct step **step, size_t n);

#endif
