/* Columns of squeue: one row for each letter of -o and each name of -O. */
#ifndef REMUDA_CLI_RECORD_COLUMNS_JOB_H
#define REMUDA_CLI_RECORD_COLUMNS_JOB_H

#include "cli/table/columns.h"
#include "model/grammar/gres.h"
#include "model/job/job.h"
#include "model/job/job_counts.h"

extern const struct column_table job_columns;

/* What scontrol show job, squeue and --json say alike. Each appends to out. */
void job_cell_nodes(const struct job *j, struct str *out); /* "4", or "2-4" asked */
int64_t job_limit_us(const struct job *j); /* in force or asked; 0 = the partition's default */
/* A run time as Slurm shows it: the difference of the seconds that are shown of its ends, less the
 * whole ones it was suspended; 0 where it has not begun. */
int64_t whole_seconds_ran(int64_t start_us, int64_t end_us, int64_t suspended_us);
int64_t job_elapsed_us(const struct job *j, int64_t now_us); /* the same of a job's run */
/* Who had its limit raised while it ran: "alice(2026-11-23T19:00:00,+02:00:00)", the last few */
void job_cell_extensions(const struct job *j, const struct cell_env *env, struct str *out);
/* Nodes as they were asked for, as Slurm shows them: in order, each once; NULL adds nothing. */
void job_cell_hosts(const char *asked, struct str *out);
/* CPUs each node must have; cores of a socket and threads of a core, --hint counted, 0 = any. */
int64_t job_min_cpus(const struct job *j);
/* a socket; --hint=memory_bound is 1; 0 = not asked */
int32_t job_cores_asked(const struct job *j);
int32_t job_threads_asked(const struct job *j); /* a core; 1 where a hint says so; 0 = not asked */
void job_cell_memory(const struct job *j, struct str *out); /* "4000M", "2Gc" per CPU */
/* Waiting indexes, in `most` characters; 0 = all. */
void job_cell_array(const struct job *j, size_t most, struct str *out);
/* "42", "42_7", "42_[1-9]" with the waiting indexes in `most` characters. */
void job_cell_label(const struct job *j, size_t most, struct str *out);
/* A standard stream's file, pattern expanded where known. */
void job_cell_path(const struct job *j, const char *pattern, struct str *out);
/* "cpu=4,mem=8000M,node=1,billing=4,gres/gpu=2"; memory in this unit, 0 = as it fits. */
void job_cell_tres(const struct job *j, char unit, struct str *out);
/* gres held as job.alloc_gres and step.gres have it ("gpu:v100=4,nic=2"): as a list in the arena,
 * and as ",gres/gpu=4,gres/gpu:v100=4". */
bool gres_held_parse(const char *held, struct arena *a, struct gres_list *ret);
/* "gpu:v100=2" of an allocation as "gres/gpu=2,gres/gpu:v100=2"; NULL adds nothing. */
void gres_held_tres(const char *held, struct str *out);
void step_cell_label(const struct step *s, struct str *out); /* "42.0", "42_7.batch" */
/* "cpu=2,mem=1G,node=1,gres/gpu=1"; mem_mib is for steps that do not say theirs, 0 = none;
 * unit as for a job. */
void step_cell_tres(const struct step *s, int64_t mem_mib, char unit, struct str *out);
/* Where it runs or ran; while it waits, all that it asks for. */
const char *job_partition(const struct job *j);
/* Is it of one of the partitions of the list? What waits is of each that it asks for, what runs or
 * ran of one alone. */
bool job_in_partitions(const struct job *j, const char *list);

#endif
