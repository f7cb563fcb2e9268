/* How a cell of squeue's lines is written: the body gets `env`, the job `j` with its type, and
 * appends to `out`. Private to columns_job.c. */
#ifndef REMUDA_CLI_RECORD_JOB_CELL_H
#define REMUDA_CLI_RECORD_JOB_CELL_H

#include "cli/record/columns_job.h"

/* The cell, and its adapter to the table's signature. */
// clang-format off
#define CELL(name)                                                                                           \
    static void name##_print(const struct cell_env *env, const struct job *j, struct str *out);              \
    static void cell_##name(const struct cell_env *env, const void *record, struct str *out)                 \
    {                                                                                                        \
        name##_print(env, record, out);                                                                      \
    }                                                                                                        \
    static void name##_print(const struct cell_env *env, const struct job *j, struct str *out)
/* A text; another where it is empty or NULL. */
#define TEXT_CELL(name, expression, if_empty)                                                                \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        cell_text(expression, if_empty, out);                                                                \
    }
#define NUMBER_CELL(name, expression)                                                                        \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        str_add_i64(out, (int64_t)(expression));                                                             \
    }
/* One of two words. */
#define YES_CELL(name, expression, yes, no)                                                                  \
    CELL(name)                                                                                               \
    {                                                                                                        \
        (void)env;                                                                                           \
        str_add(out, (expression) ? (yes) : (no));                                                           \
    }
// clang-format on

#endif
