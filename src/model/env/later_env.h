/* Variables that a job is given while it waits (job_spec.later_env), as the environment of its
 * submission is stored once for all that show it: NAME=VALUE, packed as arguments of a script are
 * (model/grammar/script_args.h). */
#ifndef REMUDA_MODEL_LATER_ENV_H
#define REMUDA_MODEL_LATER_ENV_H

#include "base/arena.h"
#include "model/fields.h"

/* NAME=VALUE, each ended by NUL, packed; NULL = none. In the arena, as is what others return. */
const char *later_env_pack(struct blob list, struct arena *a);
/* What `had` (NULL = none) becomes when `more` comes, both packed: of a name the newest value
 * stays. */
const char *later_env_add(const char *had, const char *more, struct arena *a);
/* The environment of the submission, NAME=VALUE each ended by NUL, with these over it; `env`
 * itself where there are none. */
struct blob later_env_over(struct blob env, const char *later, struct arena *a);

#endif
