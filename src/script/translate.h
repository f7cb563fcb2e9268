/* A script in the words of another system: remuda translate. */
#ifndef REMUDA_SCRIPT_TRANSLATE_H
#define REMUDA_SCRIPT_TRANSLATE_H

#include "script/writing.h"

struct translation {
    const char *text; /* the script, in the arena */
    size_t len;
    VEC(struct writing_note) note; /* what is not the same there; texts in the arena */
    struct submit_options *job;    /* what was written, finished; freed by translation_done */
};

/* `name`: of the script, and so of a job that has none. The commands stay as they are, but for the
 * names of variables that mean the same to the letter. False: the script cannot be read as a
 * job. */
bool script_translate(const char *text, size_t len, enum dialect from, enum dialect to,
                      const struct option_env *env, const char *name, struct arena *a,
                      struct translation *ret, struct err *ret_err);
void translation_done(struct translation *t); /* notes and the job */

#endif
