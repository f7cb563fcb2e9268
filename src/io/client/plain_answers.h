/* Answers of the controller on their way to people: texts of users in them are made plain
 * (base/plain.h), so that no command has to think of it. */
#ifndef REMUDA_IO_CLIENT_PLAIN_ANSWERS_H
#define REMUDA_IO_CLIENT_PLAIN_ANSWERS_H

#include "wire/frame.h"

/* Of a message just decoded, what people read: sentences keep their lines, texts of records do not.
 * New texts live in the arena. */
void plain_message(struct message *m, struct arena *a);
/* rows_decode with plain texts. */
bool plain_rows_decode(const struct frame *f, const struct fields *t, struct arena *a,
                       void (*row)(void *ctx, const void *record), void *ctx, struct err *ret_err);

#endif
