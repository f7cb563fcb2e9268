/* Directories of steps that are over, kept to be used again. They are in NODE_DIR/steps under names
 * that no step has; a daemon that starts removes those of the one before. */
#ifndef REMUDA_NODE_STEP_SPARE_DIRS_H
#define REMUDA_NODE_STEP_SPARE_DIRS_H

#include "agent/note.h"

#include <stddef.h>
#include <stdint.h>

#define SPARE_DIRS_MAX        32
#define SPARE_DIRS_NAME_BYTES 24

enum spare_kind { SPARE_OF_SCRIPT, SPARE_OF_TASKS, SPARE_KINDS };

struct spare_dirs {
    struct {
        uint64_t number[SPARE_DIRS_MAX];
        size_t n;
    } kind[SPARE_KINDS]; /* those that are ready */
    uint64_t last;       /* number given */
};

/* What a folder for it has to hold. */
enum spare_kind spare_kind_of(int64_t step_id);
/* The step `name` is over, and nobody looks for it any more: its directory is kept, or removed when
 * enough are. */
void spare_dirs_put(struct spare_dirs *s, int steps_fd, const char *name, enum spare_kind kind);
/* The name of one, for a plan (whose step renames it); false if there is none. */
bool spare_dirs_take(struct spare_dirs *s, enum spare_kind kind, char name[SPARE_DIRS_NAME_BYTES]);
/* Removes those that are left. */
void spare_dirs_done(struct spare_dirs *s, int steps_fd);

#endif
