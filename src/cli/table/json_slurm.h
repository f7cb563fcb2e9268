/* Pieces of Slurm's JSON (the family of 23.11 and later): numbers as {set, infinite, number}, exit
 * codes as objects, the frame with meta, errors and warnings. */
#ifndef REMUDA_CLI_TABLE_JSON_SLURM_H
#define REMUDA_CLI_TABLE_JSON_SLURM_H

#include "cli/table/json_form.h"
#include "script/options/option.h"
#include "wire/json.h"

/* --json and --yaml, by the row's name: an enum json_form at row->at. The value is a version of
 * Slurm's data parser, or list; what it names beside them is refused. */
SETTER(json_form_set);
/* FORM_LIST: prints what may be named, as Slurm does; true. */
bool json_form_listed(enum json_form form);

/* Opens the document and writes `meta` with the command's name; json_slurm_end writes errors and
 * warnings, prints it in that form and frees. */
void json_slurm_begin(struct json_out *j, struct str *out, const char *command);
/* Errors, and the end of the document that json_slurm_begin opened, in JSON or YAML. */
void json_slurm_end(struct json_out *j, enum json_form form);
/* A whole document of squeue, sinfo or sacct that says that the controller is away: no jobs, and
 * what is wrong in `errors`. */
void json_slurm_away(const char *command, enum json_form form);

/* {set, infinite: false, number}. */
void json_key_number(struct json_out *j, const char *key, bool set, int64_t n);
/* TIME_UNLIMITED: infinite; 0: not set. */
void json_key_limit(struct json_out *j, const char *key, int64_t us, int64_t unit_us);
/* Seconds; 0: set with 0, as Slurm. */
void json_key_time(struct json_out *j, const char *key, int64_t us);
/* A wait status as Slurm writes it: {"status": …, "return_code": …, "signal": …}. */
void json_key_exit(struct json_out *j, const char *key, int32_t status);
/* A text; "" where there is none. */
void json_key_word(struct json_out *j, const char *key, const char *text);
/* "a,b" as ["a", "b"]; NULL and "": []. */
void json_key_list(struct json_out *j, const char *key, const char *list);
/* What is never said here, with the empty value of its kind: "", [], {}, 0, a number not set. */
struct json_absent {
    const char *key;
    enum json_kind { ABSENT_TEXT, ABSENT_LIST, ABSENT_OBJECT, ABSENT_ZERO, ABSENT_NUMBER } kind;
};
/* Keys that Slurm has and nothing here fills: programs that expect them find them, empty. */
void json_absent(struct json_out *j, const struct json_absent *keys, size_t n);
/* ["WORD"(, "MORE")]; NULLs are left out. */
void json_key_words(struct json_out *j, const char *key, const char *word, const char *more);

#endif
