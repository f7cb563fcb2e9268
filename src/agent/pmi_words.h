/* The words of PMI, by which the tasks of an MPI program ask whoever started them about each other.
 * Version 1: lines of blank-separated words, "cmd=put kvsname=42.0 key=a value=b", and one command
 * of several lines, from "mcmd=spawn" to "endcmd". Version 2, after a first line of version 1: six
 * characters of length, then "cmd=kvs-put;key=a;value=b;", a semicolon within written twice. */
#ifndef REMUDA_AGENT_PMI_WORDS_H
#define REMUDA_AGENT_PMI_WORDS_H

#include "base/str.h"

#include <sys/types.h>

#define PMI_COMMAND_BYTES (64u << 10) /* one command */
#define PMI_PAIRS_MAX     32          /* of a command that are read; further ones are not */
#define PMI_LENGTH_CHARS  6

struct pmi_pair {
    struct span name, value;
};

struct pmi_command {
    struct span name; /* "put", "kvs-put", "spawn" */
    struct pmi_pair pair[PMI_PAIRS_MAX];
    size_t n;
};

/* The command that `bytes` begin with, in *ret, which points into them (of version 2 they are
 * changed). Returns how many bytes it has; 0 if it is not whole yet, -1 if this is none, or is too
 * long. */
ssize_t pmi_command_take(char *bytes, size_t len, int version, struct pmi_command *ret);
/* A value of it; data is NULL if it has none of that name. */
struct span pmi_value(const struct pmi_command *c, const char *name);

/* An answer of version 2 is begun, gets its pairs, and is given its length. */
void pmi_answer_begin(struct str *out, const char *name, struct span thread);
/* Appends name=value; with each ';' of the value doubled, as PMI 2 wants it. */
void pmi_answer_pair(struct str *out, const char *name, struct span value);
/* Writes the length into the place that the answer begins with; the answer is whole then. */
void pmi_answer_end(struct str *out);

#endif
