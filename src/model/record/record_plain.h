/* Records on their way to people. */
#ifndef REMUDA_MODEL_RECORD_PLAIN_H
#define REMUDA_MODEL_RECORD_PLAIN_H

#include "model/fields.h"

/* Makes each text of the record, and of the lists in it, one that may go to anybody's terminal
 * (base/plain.h). Texts that change live in the arena. Blobs stay. */
void record_plain(const struct fields *t, void *record, struct arena *a);

#endif
