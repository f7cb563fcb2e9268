/* Running work. */
#ifndef REMUDA_SCHED_BOOKS_USE_H
#define REMUDA_SCHED_BOOKS_USE_H

#include "sched/books/state.h"

/* Frees the run and what it points to; the tables that list it are the caller's matter. */
void run_free(struct cluster *cl, struct run *r);

#endif
