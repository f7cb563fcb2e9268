/* Questions whose answers take long (`remuda why`, sbatch --test-only) are worked out in a copy of
 * the process (io/process/aside.h), one at a time, users in turn. */
#ifndef REMUDA_CONTROLLER_QUESTIONS_H
#define REMUDA_CONTROLLER_QUESTIONS_H

#include "controller/controller.h"

struct questions; /* opaque */

struct questions *questions_new(struct controller *c); /* none is open */
void questions_free(struct questions *q);              /* those that wait are dropped */
/* `m` came from that connection, which is held until session_answered. */
void question_ask(struct questions *q, uint64_t session, const struct message *m,
                  const struct peer *peer);

#endif
