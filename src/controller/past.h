/* The past goes when it is as old as the settings say (PurgeJobAfter= …), or somebody asks for it:
 * written to files first where that is asked for (archive.h), then removed from the store in small
 * pieces. */
#ifndef REMUDA_CONTROLLER_PAST_H
#define REMUDA_CONTROLLER_PAST_H

#include "controller/controller.h"
#include "controller/disk/writer.h"

struct past; /* opaque */

/* Both are borrowed, and outlive it. */
struct past *past_new(struct controller *c, const char *store_path, struct writer *writer);
/* Waits for the file that is being written. */
void past_free(struct past *p); /* NULL is fine */
/* Looks from now on, each hour. */
void past_begin(struct past *p);
/* The answer goes to that connection, when all of it is gone or why not. */
void past_ask(struct past *p, uint64_t session, uint64_t seq, const struct msg_archive *m);
/* Odd while some of it is removed, and another number after each time. */
uint64_t past_runs(const struct past *p);
/* Why nothing was removed the last time; NULL = it was. */
const char *past_trouble(const struct past *p);

#endif
