/* What may be wrong with a store, what the controller does then, and what people can do: one table.
 * The sentences, the page of `remuda docs` and the tests come from it. */
#ifndef REMUDA_MODEL_TROUBLE_H
#define REMUDA_MODEL_TROUBLE_H

#include "base/str.h"

#include <stdbool.h>

#define TROUBLE_WAYS                                                                               \
    "`remuda restore FILE` puts a backup in its place, `remuda repair` without one a new store "   \
    "of what can "                                                                                 \
    "still be read; both keep what is there, beside it"

/* X(trouble, passes, what was found, what to do). The name of the file comes before "what was
 * found". passes: what only reads goes on meanwhile, a controller starts, and it goes on by itself
 * when the trouble is over. Others keep a controller from starting, and nothing is written. */
// clang-format off
#define STORE_TROUBLES(X)                                                                                    \
    X(FULL, true, "has no room", "free some there, and all goes on by itself")                               \
    X(READ_ONLY, true, "is on a file system that is read-only", "`dmesg` says whether an error of the disk made it so; mount it for writing, and all goes on by itself") \
    X(DENIED, true, "may not be written by who runs the controller", "give it and its folder to that user; then all goes on by itself") \
    X(LOCKED, true, "is locked by another process", "let that end, and all goes on by itself")               \
    X(DISK, true, "is on a disk that reports an error", "`dmesg` may say which; it is tried again. If that does not help: `remuda down`, copy the folder to another disk, `remuda up --state` there") \
    X(DAMAGED, false, "is damaged", TROUBLE_WAYS)                                                            \
    X(TABLE_GONE, false, "has lost a table", TROUBLE_WAYS)                                                   \
    X(NO_DATABASE, false, "is no database, or has lost its beginning", TROUBLE_WAYS)                         \
    X(FOREIGN, false, "is a database of something else", "put the right file in its place; " TROUBLE_WAYS) \
    X(NO_FILE, false, "is no file", "put the store in its place; `remuda restore FILE` puts a backup there, and keeps what is there beside it") \
    X(LOG_CUT, false, "has a log (-wal) that is damaged, and what was acknowledged last stands behind the damage", "`remuda repair` makes a new store of the file and of what can be read of its log, and keeps both beside it; `remuda restore FILE` puts a backup in its place; or move the log away, to go on without it") \
    X(LOG_ALONE, false, "is not there, or is empty, but its log (-wal) is there", "put the file back beside it; `remuda restore FILE` puts a backup there; `remuda repair` makes a store of what the log has; or move the log away, to begin anew") \
    X(LOG_ASTRAY, false, "is a link, and a log (-wal) lies beside the link instead of beside the file", "move it beside the file that the link leads to, or away") \
    X(LOG_FOREIGN, false, "has a log (-wal) of another store beside it", "put its own log there, or move that one away; `remuda repair` makes a new store of the file without it, and keeps both beside it")
// clang-format on

enum store_trouble {
#define X(trouble, passes, found, way) TROUBLE_##trouble,
    STORE_TROUBLES(X)
#undef X
        TROUBLE_COUNT
};

struct store_trouble_row {
    const char *name;
    bool passes;             /* by itself, with time */
    const char *found, *way; /* sentences: what is wrong, what to do */
};
extern const struct store_trouble_row store_trouble_rows[TROUBLE_COUNT];

/* Appends "PATH FOUND (detail): WAY"; detail may be NULL. */
void trouble_say(enum store_trouble t, const char *path, const char *detail, struct str *out);

#endif
