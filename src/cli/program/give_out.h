/* What commands give out that others wrote, or that others could be waiting for. */
#ifndef REMUDA_CLI_PROGRAM_GIVE_OUT_H
#define REMUDA_CLI_PROGRAM_GIVE_OUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes that another user may have written, to standard output: as they are where that is a file
 * or a pipe, and plain (base/plain.h) but for line ends and TABs where it is a terminal. A
 * character that is cut by the end of a piece is shown as bytes. False: standard output is gone. */
bool foreign_out(const char *bytes, size_t len);
/* What is left of a file to standard output; one that is not `own` as by foreign_out. False: it
 * cannot be read, which *ret_why says as errno does, or standard output is gone: 0. */
bool file_out(int fd, bool own, int *ret_why);

/* The end of a command that would end with `status`: what it said on standard output is written.
 * Where it could not be, that is said in the name of `program` (and of `word`, what it was asked
 * for; NULL = nothing), and 1 returned for a status of 0; else `status`. */
int output_finish(const char *program, const char *word, int status);

/* A line for people on standard error; what it quotes is shown plain, its lines stay lines. */
void plain_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* as plain_line */
void plain_linev(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* A file that another user names, who may have put anything there meanwhile: opened for reading if
 * it is an ordinary one. What a device does when it is opened, and a named pipe, is not for whom he
 * chooses. −1 with errno (EMEDIUMTYPE: it is none). */
int foreign_open(const char *path);

/* A file by a name that the command makes up itself, which others can foresee: for writing, empty.
 * One that is there is taken only if it is an ordinary file of who calls, by no other name; a link
 * is not followed. NULL with errno (EEXIST: it is not). */
FILE *foreseen_file(const char *path);
/* The whole of a file, one that was `named` by who calls or else as foreseen_file. What was there
 * stays where a full disk has no room for it. False with errno. */
bool file_rewrite(const char *path, bool named, const void *data, size_t len);

#endif
