/* Errors travel by value: a code for programs, a sentence for people. Functions that can fail
 * return bool (true = done) and take a last argument `struct err *ret_err`, which may be NULL. */
#ifndef REMUDA_BASE_ERR_H
#define REMUDA_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#define ERR_TEXT_MAX 600
#define ERR_LEAD_MAX 300

enum err_code {
    ERR_NONE,
    ERR_INVALID, /* what was asked makes no sense or breaks a rule */
    /* a command line that cannot be read: what getopt says, then perhaps " (a hint)" */
    ERR_USAGE,
    ERR_VALUE, /* an option's value that is none */
    ERR_NOT_FOUND,
    ERR_EXISTS,
    ERR_DENIED,      /* who asked may not */
    ERR_LIMIT,       /* a documented limit is exceeded */
    ERR_UNSUPPORTED, /* known, but not supported yet */
    ERR_UNAVAILABLE, /* a peer, disk or service is away; trying again may work */
    ERR_INTERNAL,
};

struct err {
    enum err_code code;      /* ERR_NONE = no error */
    char text[ERR_TEXT_MAX]; /* one sentence, no newline or other control characters; cut to fit */
    /* Slurm's own words for it, which programs look for, one a line: commands print them before the
     * sentence. "" = none. */
    char lead[ERR_LEAD_MAX];
};

/* Sets code and sentence; does nothing if e is NULL. Always returns false, so that `return
 * err_set(…)` reads well. */
bool err_set(struct err *e, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* as err_set */
bool err_setv(struct err *e, enum err_code code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Adds a line to the lead of an error that is set. What it begins with tells how it is printed:
 * "refused: …" as the command prints what the controller refuses, "Invalid time specification…" as
 * it stands, others behind the command's name. Returns false. */
bool err_lead(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "what: " before the sentence. Returns false. */
bool err_prefix(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
