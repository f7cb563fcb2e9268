/* A page of the past: rows of one kind that are old enough, read, and written to a file where that
 * is asked for. */
#ifndef REMUDA_CONTROLLER_PAST_PAGE_H
#define REMUDA_CONTROLLER_PAST_PAGE_H

#include "base/vec.h"
#include "store/store.h"

struct past_page {
    enum past_kind kind;      /* jobs, events, transactions, … */
    struct past_query query;  /* where it goes on */
    struct archive *file;     /* NULL = none is made */
    char *path;               /* where it is; owned */
    struct arena *names;      /* arena of what is in the page */
    VEC(struct past_key) key; /* of its rows */
    uint64_t records, slots;  /* jobs, steps, …; slots of use */
    struct err err;
};

/* Reads what `query` says, on any thread. `dir`: where the file goes, which is on the disk when
 * this returns; NULL = no file. What stopped it stands in `err`. */
void past_page_read(struct past_page *g, struct store *s, const char *dir, const char *cluster);
/* Before the next. */
void past_page_clear(struct past_page *g);
void past_page_done(struct past_page *g); /* drops its file, unfinished or not */

#endif
