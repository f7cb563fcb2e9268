/* For metrics*.c: what is summed up, and what is made of it. */
#ifndef REMUDA_CORE_QUERY_METRICS_H
#define REMUDA_CORE_QUERY_METRICS_H

#include "base/hostlist.h"
#include "core/metrics.h"
#include "core/query/query.h"

/* Jobs by state, with Slurm's names; elements of arrays count one each. X(member, suffix, help) */
// clang-format off
#define JOB_SUMS(X) \
    X(all, "jobs", "Jobs that the controller knows") \
    X(bootfail, "jobs_bootfail", "Jobs in state BOOT_FAIL") \
    X(cancelled, "jobs_cancelled", "Jobs in state CANCELLED") \
    X(completed, "jobs_completed", "Jobs in state COMPLETED") \
    X(completing, "jobs_completing", "Jobs that are being cleaned") \
    X(configuring, "jobs_configuring", "Jobs in state CONFIGURING: none ever is") \
    X(cpus, "jobs_cpus_alloc", "CPUs that jobs have") \
    X(deadline, "jobs_deadline", "Jobs in state DEADLINE") \
    X(expediting, "jobs_expediting", "Jobs that are requeued ahead of others: none ever is") \
    X(failed, "jobs_failed", "Jobs in state FAILED") \
    X(gpus, "jobs_gpus_alloc", "GPUs that jobs have") \
    X(hold, "jobs_hold", "Waiting jobs that are held") \
    X(memory_bytes, "jobs_memory_alloc", "Memory that jobs have, in bytes") \
    X(node_fail, "jobs_node_failed", "Jobs in state NODE_FAIL") \
    X(nodes, "jobs_nodes_alloc", "Nodes that jobs have, counted once a job") \
    X(oom, "jobs_outofmemory", "Jobs in state OUT_OF_MEMORY") \
    X(pending, "jobs_pending", "Jobs that wait") \
    X(powerup, "jobs_powerup_node", "Jobs that wait for nodes to be powered up: none ever does") \
    X(preempted, "jobs_preempted", "Jobs in state PREEMPTED") \
    X(requeued, "jobs_requeued", "Jobs that go back to the queue when they are cleaned") \
    X(resizing, "jobs_resizing", "Jobs in state RESIZING: none ever is") \
    X(revoked, "jobs_revoked", "Jobs in state REVOKED: none ever is") \
    X(running, "jobs_running", "Jobs that run") \
    X(signaling, "jobs_signaling", "Jobs in state SIGNALING: none ever is") \
    X(stageout, "jobs_stageout", "Jobs in state STAGE_OUT: none ever is") \
    X(stopped, "jobs_stopped", "Jobs in state STOPPED: none ever is") \
    X(suspended, "jobs_suspended", "Jobs that are suspended") \
    X(timeout, "jobs_timeout", "Jobs in state TIMEOUT")

/* Nodes by state: one of alloc, mixed, idle, down, future and unknown each, and what else is so. */
#define NODE_SUMS(X) \
    X(all, "nodes", "Nodes") \
    X(alloc, "nodes_alloc", "Nodes all of whose CPUs jobs have") \
    X(completing, "nodes_completing", "Nodes on which a job is being cleaned") \
    X(down, "nodes_down", "Nodes that are down") \
    X(drain, "nodes_drain", "Nodes that take no new jobs") \
    X(drained, "nodes_drained", "Nodes that take no new jobs, and have none") \
    X(draining, "nodes_draining", "Nodes that take no new jobs, and have some yet") \
    X(fail, "nodes_fail", "Nodes that are expected to fail") \
    X(future, "nodes_future", "Nodes that are not there yet") \
    X(idle, "nodes_idle", "Nodes that no job has anything of") \
    X(maint, "nodes_maint", "Nodes inside a maintenance reservation") \
    X(mixed, "nodes_mixed", "Nodes that jobs have some CPUs of") \
    X(noresp, "nodes_noresp", "Nodes whose daemon does not answer") \
    X(planned, "nodes_planned", "Nodes kept for a promised start") \
    X(resv, "nodes_resv", "Nodes inside a reservation") \
    X(unknown, "nodes_unknown", "Nodes that have never reported")
// clang-format on

struct job_sums {
#define X(member, suffix, help) int64_t member;
    JOB_SUMS(X)
#undef X
};
struct node_sums {
#define X(member, suffix, help) int64_t member;
    NODE_SUMS(X)
#undef X
};

struct part_sums {
    struct job_sums jobs;
    struct node_sums nodes;
    int64_t cpus, gpus; /* that its nodes have, in all */
};

/* Of the GPUs of a type. */
struct gpu_sums {
    int64_t all, alloc, broken; /* the node's, jobs', those that are out */
    int64_t away, away_alloc;   /* on nodes that take no jobs; jobs have yet */
};

struct metric_row {
    const char *name; /* whole, or what follows a prefix */
    bool counter;     /* else a gauge */
    const char *help; /* of the line # HELP */
};

/* Metrics of which one pass over jobs or nodes makes the rows of several: each a text. X(code,
 * name, counter, help) */
// clang-format off
#define ROW_METRICS(X) \
    X(NODE_CPUS, "slurm_node_cpus", false, "CPUs of the node") \
    X(NODE_CPUS_ALLOC, "slurm_node_cpus_alloc", false, "CPUs that jobs have") \
    X(NODE_CPUS_EFFECTIVE, "slurm_node_cpus_effective", false, "CPUs that jobs may have") \
    X(NODE_CPUS_IDLE, "slurm_node_cpus_idle", false, "CPUs that no job has") \
    X(NODE_GPUS, "slurm_node_gpus", false, "GPUs of the node") \
    X(NODE_GPUS_ALLOC, "slurm_node_gpus_alloc", false, "GPUs that jobs have") \
    X(NODE_MEM, "slurm_node_memory_bytes", false, "Memory of the node") \
    X(NODE_MEM_ALLOC, "slurm_node_memory_alloc_bytes", false, "Memory that jobs have") \
    X(NODE_MEM_EFFECTIVE, "slurm_node_memory_effective_bytes", false, "Memory that jobs may have") \
    X(NODE_MEM_FREE, "slurm_node_memory_free_bytes", false, "Memory that the node says is free") \
    X(DEVICE_HEALTH, "remuda_device_health", false, "1: how the device is, in the label health") \
    X(JOB_INFO, "remuda_job_info", false, "1 of each running job") \
    X(JOB_START, "remuda_job_start_time_seconds", false, "When the job started") \
    X(JOB_CPUS, "remuda_job_cpus", false, "CPUs that the job has") \
    X(JOB_CPU_TIME, "remuda_job_cpu_seconds", true, "CPU time of its steps, as last reported") \
    X(JOB_MEM, "remuda_job_memory_bytes", false, "Memory that the job has, in all") \
    X(JOB_MEM_USED, "remuda_job_memory_max_bytes", false, "Largest resident set of a task so far") \
    X(JOB_DEVICE, "remuda_job_device", false, "1 of each device that a running job has") \
    X(DEVICE_BUSY, "remuda_job_device_busy_percent", false, "Part of the time in which the device worked, as its node said last") \
    X(DEVICE_MEM, "remuda_job_device_memory_bytes", false, "Memory of the device in use") \
    X(DEVICE_POWER, "remuda_job_device_power_watts", false, "Electric power of the device") \
    X(DEVICE_IDLE, "remuda_job_device_idle_seconds", false, "For how long the device has done nothing; 0: it works") \
    X(JOB_GPU_BUSY, "remuda_job_gpu_busy_percent", false, "What its processes used of its GPUs of the node, on average so far, 100 a GPU") \
    X(JOB_GPU_MEM, "remuda_job_gpu_memory_max_bytes", false, "GPU memory that its processes had on the node at most")
// clang-format on

enum row_metric {
#define X(code, name, counter, help) ROW_##code,
    ROW_METRICS(X)
#undef X
        ROW_METRIC_COUNT
};
extern const struct metric_row row_metrics[ROW_METRIC_COUNT];

enum stage {
    STAGE_JOBS, /* sums are made, in parts */
    STAGE_NODES,
    STAGE_PARTITIONS,
    STAGE_TOTALS, /* from here on rows are written */
    STAGE_USERS,
    STAGE_ACCOUNTS,
    STAGE_PARTITION_ROWS,
    STAGE_END,
    STAGE_DONE
};

/* A running job whose devices are being written. */
struct job_at {
    uint64_t id;         /* 0 = none */
    struct arena *arena; /* of its allocation, until the next job */
    struct alloc alloc;
    size_t node;       /* of `alloc`, the next to be written */
    struct str labels; /* without those of the device */
};

/* What a partition needs to know of a node. */
struct node_figure {
    struct node_sums is; /* each 0 or 1 */
    int64_t cpus, gpus;  /* that jobs have of it */
};

struct metrics {
    struct metrics_asked asked;
    struct arena *arena; /* of sums and labels, until the page is made */
    enum stage stage;
    struct map_walk walk; /* where the stage stands */
    size_t index;         /* of the node, partition or metric at hand */
    struct job_sums jobs;
    struct node_sums nodes;
    struct map_str *user, *account; /* struct job_sums */
    struct map_str *partition;      /* struct part_sums */
    struct map_str *gpu_type;       /* struct gpu_sums */
    uint64_t queue[JOB_STATE_COUNT][REASON_COUNT];
    struct job_at job;
    VEC(struct node_figure) node; /* by number of the node */
    struct hostlist members;      /* of the partition at hand */
    size_t member;                /* of the partition at hand, the next node */
    int64_t partitions;
    struct str head;                  /* sums */
    struct str row[ROW_METRIC_COUNT]; /* their rows */
    size_t row_bytes, left_out; /* so far, against their bound; rows that were left out for it */
    VEC(struct str) tail;       /* users, accounts, partitions: each metric a text */
    size_t tail_at;             /* the one at hand */
    VEC(struct str) done;       /* all, in order */
};

static inline bool metrics_want(const struct metrics *m, unsigned sections)
{
    return (m->asked.sections & sections) != 0;
}
/* ---- metrics_text.c ---- */
/* "# HELP" and "# TYPE" of one. */
void metric_head(const struct metrics *m, struct str *out, const char *prefix,
                 const struct metric_row *row);
/* "name{" or "name", as it is written for a value: with _total, of a counter. */
void metric_name(struct str *out, const char *prefix, const struct metric_row *row);
/* key="value", quoted, after a comma where there is one already; NULL and "" are left out. */
void label_add(struct str *out, const char *key, const char *value);
/* The same of a number; 0 is one, too. */
void label_add_u64(struct str *out, const char *key, uint64_t value);
/* One whole metric without labels. */
void metric_one(const struct metrics *m, struct str *out, const struct metric_row *row,
                int64_t value);
/* The same of microseconds, in seconds. */
void metric_seconds(const struct metrics *m, struct str *out, const struct metric_row *row,
                    int64_t us);
/* Appends microseconds as seconds, with six decimals where they are no whole ones; less than 0 is
 * 0. */
void seconds_add(struct str *out, int64_t us);
/* A row of one of several: name{labels} value. */
struct str *row_begin(struct metrics *m, enum row_metric code, const struct str *labels);
/* Whole rows, with their line break. */
void row_i64(struct metrics *m, enum row_metric code, const struct str *labels, int64_t value);
/* of a time in µs */
void row_seconds(struct metrics *m, enum row_metric code, const struct str *labels, int64_t us);

/* ---- metrics_jobs.c ---- */
/* False: its devices are still to be written. */
bool metrics_job(struct metrics *m, const struct core *c, const struct jobrec *r, int64_t now_us);
/* The next node of the running job at hand; false: it was the last. */
bool metrics_job_node(struct metrics *m, const struct core *c);
/* Nothing of a job is left to be written; its lists are freed. */
void job_at_done(struct job_at *j);

/* ---- metrics_nodes.c ---- */
void metrics_node(struct metrics *m, const struct core *c, const struct noderec *n, int64_t now_us);
/* Goes on with the partition at hand; false: it is done. */
bool metrics_partition(struct metrics *m, const struct core *c, const struct partition *p,
                       size_t *most);

/* ---- metrics_sums.c ---- */
/* Who is asked whether something may be seen: NULL = nobody in particular. */
const struct peer *metrics_reader(const struct metrics *m);
/* Those of that name, zeroed where there were none; they live in the metrics' arena. */
struct job_sums *metrics_sums(struct metrics *m, struct map_str *of, const char *name);
/* Made where there is none yet; valid until the page ends. */
struct part_sums *metrics_part_sums(struct metrics *m, const char *name);
/* A sum with its place in the struct. */
struct sum_row {
    struct metric_row metric;
    size_t offset; /* of the sum in its struct */
};
/* Those of the cluster. */
void metrics_job_sums(struct metrics *m);
/* Of all nodes seen so far: after the last of them. */
void metrics_node_sums(struct metrics *m);
/* Those of each user, account or partition, as far as `most` lines go; false: they are done. */
bool metrics_user_sums(struct metrics *m, size_t *most);
/* Writes so many rows as *most allows, which it lowers; true: all are written. */
bool metrics_account_sums(struct metrics *m, size_t *most);
/* Likewise; `with_nodes`: what nodes of it are and do, too. */
bool metrics_partition_sums(struct metrics *m, bool with_nodes, size_t *most);

/* ---- metrics_sched.c ---- */
void metrics_scheduler(struct metrics *m, bool with_nodes);

#endif
