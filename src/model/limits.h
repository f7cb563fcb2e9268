/* A limit on everything, in one place. Each has a refusal that names it. */
#ifndef REMUDA_MODEL_LIMITS_H
#define REMUDA_MODEL_LIMITS_H

#define LIMIT_SCRIPT_BYTES     (4u << 20)  /* one batch script, spooled */
#define LIMIT_ENV_BYTES        (8u << 20)  /* exported environment of one job */
#define LIMIT_FRAME_JSON_BYTES (64u << 20) /* JSON part of one frame */
#define LIMIT_FRAME_DATA_BYTES (16u << 20) /* raw part of one frame */
#define LIMIT_LIST_RECORDS     65536u      /* records in one list of a message */
/* A request but those that load accounts or the past, which is decoded in one go: its JSON, what of
 * it is not known, and records in one list, of which the largest is a table of scrontab. */
#define LIMIT_REQUEST_JSON_BYTES (4u << 20)
#define LIMIT_UNKNOWN_BYTES      (64u << 10)
#define LIMIT_REQUEST_RECORDS    256u
#define LIMIT_TEXT_BYTES         (64u << 10) /* any single text field of a request */
/* the command line of a request, as in Slurm: each job keeps it in memory */
#define LIMIT_SUBMIT_LINE_BYTES (1u << 20)
#define LIMIT_NAME_BYTES        256u /* partition, node, user names */
/* what a job says in one word: its name, account, QOS, attributes, what is said of it when it is
 * over */
#define LIMIT_JOB_NAME_BYTES 1024u
/* --priority=TOP, and the highest that may be asked for */
#define PRIORITY_TOP      4294967293u
#define LIMIT_ARRAY_INDEX 2147483647u /* largest array index (2^31-1) */
/* of what an array has left to start: ranges and single indexes; so many cannot be written out, but
 * steps that interleave come to any number */
#define LIMIT_ARRAY_PIECES 16384u
/* of a request: ranges in the brackets of its references to elements, and indexes of those with
 * steps that interleave */
#define LIMIT_REF_RANGES 131072u
#define LIMIT_NICE       2147483645 /* of --nice and SiteFactor, either way */
#define LIMIT_NODES      65536u
#define LIMIT_TASKS      (1u << 24)
/* one flat pool of a simulated machine is a node, too */
#define LIMIT_CPUS_PER_NODE    1048576u
#define LIMIT_DEVICES_PER_NODE 1024u /* devices of one gres kind on one node */
/* so many CPUs has no machine: Linux has 8,192 at most */
#define LIMIT_CPUS_OF_MACHINE 16384
#define LIMIT_NODE_PLACES     (1 << 20) /* devices × CPUs, where it matters what lies together */
#define LIMIT_LINKED_DEVICES  64        /* of a node, where it matters which are linked */
#define LIMIT_NODE_TYPES      64u       /* kinds and types of devices that a node says it has */
/* a text of a node's: eight times what 1,024 GPUs say of themselves */
#define LIMIT_NODE_TEXT_BYTES (1u << 20)
/* of that which is a sentence: of itself, or of a job that failed there */
#define LIMIT_NODE_SENTENCE_BYTES 4096u
#define LIMIT_DEPENDENCIES        4096u /* per job */
#define LIMIT_STEPS_PER_JOB       40000u
#define LIMIT_CRONTAB_ENTRIES     200u  /* jobs of a user's table for scrontab */
#define LIMIT_QUEUED_STEPS        1000u /* of one job: srun --async steps that wait */
/* of one job: what they and those that run came with */
#define LIMIT_QUEUED_BYTES (16u << 20)
/* of one user, in memory: what steps that run or wait were asked with */
#define LIMIT_ASKED_BYTES_PER_USER (256u << 20)
#define LIMIT_CONNECTIONS          4096u
#define LIMIT_CONNECTIONS_PER_USER 1024u
/* connections of a user through the relay of a host that joined */
#define LIMIT_RELAYED_PER_USER 256u
#define LIMIT_RELAYED_BYTES    (64u << 20) /* of halves of messages there, of a user */
/* calls of a user that are answered later: sbatch --wait, salloc, srun, sattach */
#define LIMIT_CALLS_PER_USER       4096u
#define LIMIT_PENDING_REQUESTS     100000u /* changing requests that wait while the store is away */
#define LIMIT_CONFIG_BYTES         (16u << 20)
#define LIMIT_CONFIG_INCLUDE_DEPTH 16u
/* Of all files that are included, one as often as it is; each costs some beside its own. */
#define LIMIT_CONFIG_INCLUDED_BYTES (8u * LIMIT_CONFIG_BYTES)
#define LIMIT_CONFIG_INCLUDE_COSTS  4096u
#define LIMIT_PARTITIONS            1000u
#define LIMIT_RESERVATIONS          1000u
#define LIMIT_JOB_RESERVATIONS      32u /* that a job names: each is looked for again and again */
/* Numbers that are only counted on (ids of jobs, commits): no cluster comes so far, and a store
 * that says so is damaged. */
#define LIMIT_COUNTED    (UINT64_MAX / 4)
#define LIMIT_TRIGGER_ID 2147483647u
#define LIMIT_BOOK_ID    2147483647u /* of associations, QOS, workload keys, resources */
/* accounts above each other, root among them: each job counts in all of them */
#define LIMIT_ACCOUNT_DEPTH 64u
/* limits of a QOS, or of an association and those above it: each job is held against all of them */
#define LIMIT_LIMITS 256u

#endif
