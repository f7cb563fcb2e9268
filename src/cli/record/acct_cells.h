/* Cells of sacct's lines: how they are written, and those that are in a file of their own. Private
 * to columns_acct.c, acct_usage.c and acct_row.c. */
#ifndef REMUDA_CLI_RECORD_ACCT_CELLS_H
#define REMUDA_CLI_RECORD_ACCT_CELLS_H

#include "cli/record/columns_acct.h"

/* The body gets `row` with its type. */
// clang-format off
#define ACCT_CELL(linkage, name)                                                                             \
    static void name##_print(const struct cell_env *env, const struct acct_row *row, struct str *out);       \
    linkage void cell_##name(const struct cell_env *env, const void *record, struct str *out)                \
    {                                                                                                        \
        name##_print(env, record, out);                                                                      \
    }                                                                                                        \
    static void name##_print(const struct cell_env *env, const struct acct_row *row, struct str *out)

/* acct_usage.c: what jobs and steps had and used. */
#define ACCT_USAGE_CELLS(X)                                                                                  \
    X(ave_read) X(ave_write) X(ave_rss) X(ave_vm) X(max_read) X(max_write) X(max_rss) X(max_vm)              \
    X(max_pages) X(ave_pages) X(ntasks) X(layout)                                                            \
    X(max_rss_task) X(max_rss_node) X(max_vm_task) X(max_vm_node) X(max_pages_task) X(max_pages_node)        \
    X(max_read_task) X(max_read_node) X(max_write_task) X(max_write_node) X(min_cpu_task) X(min_cpu_node)    \
    X(usage_in_max_task) X(usage_in_max_node) X(usage_in_min_task) X(usage_in_min_node)                      \
    X(usage_out_ave) X(usage_out_max) X(usage_out_max_task) X(usage_out_max_node) X(usage_out_tot)            \
    X(ave_cpu) X(min_cpu) X(suspended) X(ave_cpu_freq) X(energy) X(energy_raw)                                                                        \
    X(system_cpu) X(user_cpu) X(total_cpu) X(usage_in_ave) X(usage_in_max) X(usage_in_min) X(usage_in_tot)                                          \
    X(alloc_cpus) X(alloc_tres) X(req_tres) X(elapsed) X(elapsed_raw) X(cpu_time) X(cpu_time_raw) X(planned) X(planned_cpu) X(planned_cpu_raw)
// clang-format on

#define X(name) void cell_##name(const struct cell_env *env, const void *record, struct str *out);
ACCT_USAGE_CELLS(X)
#undef X

/* When the line's part begins and ends, within --truncate; 0 = it has not, yet. */
int64_t acct_start_us(const struct cell_env *env, const struct acct_row *row);
/* With --truncate no later than the end of the time that is asked about; 0 = not over. */
int64_t acct_end_us(const struct cell_env *env, const struct acct_row *row);

#endif
