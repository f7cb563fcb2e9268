/* Small files and directories, for the moments when a daemon may block: start-up, configuration. */
#ifndef REMUDA_IO_FILES_H
#define REMUDA_IO_FILES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Is this errno about a disk, a quota or a limit that is full? */
bool room_is_missing(int error);
/* Appends how much room there is where the file is or would be (base/room.h), nothing if that
 * cannot be told. */
void room_say(const char *path, struct str *out);

/* "cannot WHAT PATH: " and why, by errno, with the room where that is missing. Always false; errno
 * stays. */
bool file_error(struct err *ret_err, const char *what, const char *path);

/* Errors name the path and say why: ERR_NOT_FOUND if it is not there, ERR_DENIED, ERR_LIMIT above
 * `max` bytes, else ERR_UNAVAILABLE. */

/* Opens a file for reading that somebody named, maybe in a directory of somebody else's. A named
 * pipe is refused: nobody need ever write to it. One without a name, as of `<(…)`, is not. NULL
 * with ret_err. */
FILE *file_open_named(const char *path, struct err *ret_err);
/* Appends the whole file. */
bool file_read(const char *path, size_t max, struct str *out, struct err *ret_err);
/* Do both have the same bytes? False, too, where one cannot be read. */
bool file_same(const char *path, const char *other);
/* The whole file as a text in the arena; NULL with ret_err. */
const char *file_read_text(const char *path, size_t max, struct arena *a, struct err *ret_err);
/* Replaces the file: a reader sees the old or the new, whole; durable when it returns true. */
bool file_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
                       struct err *ret_err);
/* Names in a directory, given and taken, are durable when it returns true. */
bool dir_sync(const char *dir, struct err *ret_err);
/* Makes the directory and its parents (parents with 0755), durable as what is then written there;
 * one that is there is fine. */
bool dir_make(const char *path, mode_t mode, struct err *ret_err);
/* Removes a directory with everything in it (links are not followed). One that is not there is
 * fine. */
bool dir_remove(const char *path, struct err *ret_err);
/* Names in a directory, sorted, without . and ..: names and array live in the arena. */
bool dir_list(const char *path, struct arena *a, const char ***ret_names, size_t *ret_n,
              struct err *ret_err);

#endif
