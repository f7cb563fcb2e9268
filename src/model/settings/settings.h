/* The settings table: every key of remuda.conf (slurm.conf's grammar) that is not a NodeName= or
 * PartitionName= line. The parser, the defaults, `scontrol show config` and docs/settings.md come
 * from it. */
#ifndef REMUDA_MODEL_SETTINGS_H
#define REMUDA_MODEL_SETTINGS_H

#include "base/arena.h"
#include "base/calendar/age.h"
#include "base/err.h"
#include "model/fields.h"
#include "model/record/node.h"
#include "model/record/partition.h"
#include "model/settings/settings_words.h"
#include "model/settings/topology.h"

/* X(type, member, Key, default as text, unit shown by scontrol ("" none; "sec" for spans), allowed,
 * effect, doc) allowed: what is accepted beyond the type. ANY; RANGE(least, most); ONE_WORD, WORDS:
 * one, or a list, of its words in model/settings/settings_words.h; PORT_RANGE; TRES_WEIGHTS;
 * LICENCES; FREQUENCIES; SERIES_AGES; GPU_IDLE; AGE; SLURM_WRITES(a value of Slurm's, what it is
 * here). effect: ACTS, or KEPT: kept for compatibility, and giving it is a warning. Types: TEXT,
 * I32, BOOL (YES/NO, 1/0), SPAN (seconds in the file), MIB, PERCENT (in hundredths), POLICY (enum
 * limit_policy). */
// clang-format off
#define SETTINGS(X) \
    X(TEXT, cluster_name, ClusterName, "remuda", "", ANY, ACTS, "name of the cluster") \
    X(I32, first_job_id, FirstJobId, "1", "", RANGE(1, INT32_MAX), ACTS, "id of the first job") \
    X(I32, max_job_count, MaxJobCount, "200000", "", RANGE(1, INT32_MAX), ACTS, "jobs kept in the controller's memory, those that are over for MinJobAge among them; more submissions are refused, and a user's who has nine times what is left. An array's elements count when they have records of their own: once they start or are changed. Where it is reached, an element that starts takes the place of its user's job that was over first") \
    X(I32, max_user_texts, MaxUserTexts, "2048", "", RANGE(0, INT32_MAX), ACTS, "MiB of long texts (what is beyond 256 bytes of each) that the jobs of a user may hold in the controller's memory; more submissions are refused; 0 = any number") \
    X(I32, max_user_scripts, MaxUserScripts, "8192", "", RANGE(0, INT32_MAX), ACTS, "MiB of scripts and environments, and of rows of jobs, elements, former runs and steps with their texts, that a user may bring to the controller's disk in 24 hours; submissions, requeues and long texts that would bring more are refused; 0 = any number") \
    X(I64, max_array_size, MaxArraySize, "2147483648", "", RANGE(1, INT64_C(2147483648)), ACTS, "array indexes must be below this") \
    X(SPAN, min_job_age_us, MinJobAge, "300", "sec", ANY, ACTS, "how long an ended job stays visible in squeue and scontrol; 0, with which Slurm never forgets one, is a day") \
    X(SPAN, kill_wait_us, KillWait, "30", "sec", ANY, ACTS, "between SIGTERM and SIGKILL at the time limit and at scancel") \
    X(SPAN, over_time_limit_us, OverTimeLimit, "0", "min", ANY, ACTS, "minutes a job may run past its limit") \
    X(SPAN, resv_over_run_us, ResvOverRun, "0", "min", ANY, ACTS, "minutes a job may run past the end of its reservation; UNLIMITED = until its own limit") \
    X(TEXT, topology_plugin, TopologyPlugin, "", "", ONE_WORD, ACTS, "topology/tree, topology/block: as topology.conf says, which is used if it is there; topology/flat (or default): it is not") \
    X(TEXT, topology_param, TopologyParam, "", "", WORDS, ACTS, "TopoOptional: nodes are kept together only for jobs that ask with --switches") \
    X(SPAN, inactive_limit_us, InactiveLimit, "0", "sec", ANY, KEPT, "an allocation ends with its command, see AttachGrace") \
    X(SPAN, attach_grace_us, AttachGrace, "60", "sec", ANY, ACTS, "how long an allocation or step outlives the connection of its salloc or srun, which may come back") \
    X(SPAN, message_timeout_us, MessageTimeout, "10", "sec", ANY, ACTS, "how long commands wait for a controller that is away for a moment") \
    X(TEXT, rendezvous_ports, RendezvousPorts, "20000-29999", "", PORT_RANGE, ACTS, "ports for MASTER_PORT of steps: FIRST-LAST; no two live steps whose first node is the same have the same") \
    X(SPAN, node_timeout_us, SlurmdTimeout, "60", "sec", ANY, ACTS, "a node whose daemon is silent this long is DOWN") \
    X(SPAN, heartbeat_us, HeartbeatInterval, "20", "sec", RANGE(USEC_PER_SEC, INT64_MAX), ACTS, "how often a node daemon reports; three times within SlurmdTimeout at least") \
    X(SPAN, accounting_freq_us, JobAcctGatherFrequency, "2", "sec", FREQUENCIES, ACTS, "how often what running jobs use is sampled, in seconds; 0 = at the end alone. A list: task=2,energy=10,network=5,filesystem=5 (power of GPUs; interfaces of the node; bytes read and written); what is not named goes with task") \
    X(BOOL, job_requeue, JobRequeue, "YES", "", ANY, ACTS, "jobs may be requeued unless --no-requeue") \
    X(TEXT, owner_extends, OwnerExtends, "command", "", ONE_WORD, ACTS, "who may have the time limit of a running job raised where that delays nobody: no (operators), command (its owner, too, with remuda extend), update (and with scontrol update)") \
    X(I32, max_batch_requeue, MaxBatchRequeue, "5", "", ANY, ACTS, "requeues in a row by what failed and is not the job, or of GpuIdle, before a job is held") \
    X(BOOL, return_to_service, ReturnToService, "YES", "", SLURM_WRITES("2", "YES"), ACTS, "a DOWN node that reports again is used again") \
    X(POLICY, enforce_part_limits, EnforcePartLimits, "REFUSE", "", ANY, ACTS, "jobs outside a partition's limits: REFUSE (ANY, YES: of several partitions one must take it), ALL (each must), PEND (NO) or CLAMP with a warning") \
    X(TEXT, priority_type, PriorityType, "priority/ageing", "", ONE_WORD, ACTS, "how jobs are ordered: priority/ageing, priority/multifactor, priority/basic") \
    X(TEXT, priority_flags, PriorityFlags, "", "", WORDS, ACTS, "flags of the multifactor priority, as slurm.conf(5) has them") \
    X(BOOL, priority_favor_small, PriorityFavorSmall, "NO", "", ANY, ACTS, "small jobs get more for their size, not large ones") \
    X(SPAN, priority_calc_period_us, PriorityCalcPeriod, "5", "time", ANY, ACTS, "how often use is charged and decays") \
    X(I32, priority_weight_age, PriorityWeightAge, "1000", "", ANY, ACTS, "weight of the time waited") \
    X(I32, priority_weight_fairshare, PriorityWeightFairshare, "0", "", ANY, ACTS, "weight of fair share: little use in the past") \
    X(I32, priority_weight_assoc, PriorityWeightAssoc, "0", "", ANY, ACTS, "weight of the priority of the account and user (sacctmgr Priority=)") \
    X(I32, fairshare_damping, FairShareDampeningFactor, "1", "", RANGE(1, INT32_MAX), ACTS, "with NO_FAIR_TREE: the larger, the less use counts") \
    X(I32, priority_weight_job_size, PriorityWeightJobSize, "0", "", ANY, ACTS, "weight of the size") \
    X(I32, priority_weight_partition, PriorityWeightPartition, "1000", "", ANY, ACTS, "weight of the partition's PriorityJobFactor") \
    X(I32, priority_weight_qos, PriorityWeightQOS, "0", "", ANY, ACTS, "weight of the priority of the QOS") \
    X(TEXT, priority_weight_tres, PriorityWeightTRES, "", "", TRES_WEIGHTS, ACTS, "weights of resources asked for: CPU=1000,Mem=2000,GRES/gpu=3000") \
    X(SPAN, priority_max_age_us, PriorityMaxAge, "7-0", "time", ANY, ACTS, "time waited that counts fully") \
    X(SPAN, priority_decay_half_life_us, PriorityDecayHalfLife, "7-0", "time", ANY, ACTS, "past use counts half after this time; 0 = for ever") \
    X(TEXT, priority_usage_reset, PriorityUsageResetPeriod, "NONE", "", ONE_WORD, ACTS, "when use is forgotten: NONE, NOW (when the controller starts), DAILY, WEEKLY, MONTHLY, QUARTERLY, YEARLY, by UTC") \
    X(BOOL, refund_node_fail, RefundNodeFail, "NO", "", ANY, ACTS, "what a run used that a failed node ended is given back to its account") \
    X(TEXT, preempt_type, PreemptType, "preempt/none", "", ONE_WORD, ACTS, "which jobs give way to others: preempt/none, preempt/partition_prio (those of partitions with a lower PriorityTier), or preempt/qos (those of the QOS that the job's QOS lists)") \
    X(TEXT, preempt_mode, PreemptMode, "OFF", "", WORDS, ACTS, "how jobs give way unless their partition says otherwise: OFF, CANCEL, REQUEUE or SUSPEND; GANG: jobs that share CPUs by OverSubscribe=FORCE run in turn") \
    X(TEXT, preempt_parameters, PreemptParameters, "", "", WORDS, ACTS, "youngest_first: who has run least goes, however large; send_user_signal: a victim with a grace gets the signal of its --signal instead of SIGTERM; reclaim_licenses: as always") \
    X(SPAN, preempt_exempt_us, PreemptExemptTime, "0", "time", SLURM_WRITES("-1", "0"), ACTS, "a job runs at least so long before it must give way") \
    X(TEXT, sched_parameters, SchedulerParameters, "", "", WORDS, ACTS, "planner parameters") \
    X(TEXT, scheduler_type, SchedulerType, "sched/backfill", "", ONE_WORD, ACTS, "sched/backfill; sched/builtin: nobody goes before who comes earlier in the order") \
    X(TEXT, select_type, SelectType, "select/cons_tres", "", ANY, KEPT, "resources are always cores, memory and devices") \
    X(TEXT, select_type_parameters, SelectTypeParameters, "CR_Core_Memory", "", WORDS, ACTS, "CR_Core_Memory, CR_CPU_Memory, CR_Core, CR_CPU: what is counted") \
    X(SPAN, scheduler_time_slice_us, SchedulerTimeSlice, "30", "sec", ANY, ACTS, "how long a job runs in its turn where PreemptMode has GANG") \
    X(TEXT, gres_types, GresTypes, "gpu", "", ANY, ACTS, "kinds of generic resources") \
    X(TEXT, licenses, Licenses, "", "", LICENCES, ACTS, "licences of the cluster: name:count,…") \
    X(MIB, def_mem_per_cpu_mib, DefMemPerCPU, "0", "", ANY, ACTS, "memory a CPU for jobs that ask none; 0 = a job gets its share by CPUs of the node") \
    X(MIB, def_mem_per_node_mib, DefMemPerNode, "0", "", ANY, ACTS, "memory a node for jobs that ask none") \
    X(MIB, max_mem_per_cpu_mib, MaxMemPerCPU, "0", "", ANY, ACTS, "memory a CPU at most, unless the partition says otherwise: who wants more gets more CPUs; 0 = no limit") \
    X(MIB, max_mem_per_node_mib, MaxMemPerNode, "0", "", ANY, ACTS, "memory a job may have on a node, unless the partition says otherwise; 0 = no limit") \
    X(TEXT, job_defaults, JobDefaults, "", "", ANY, ACTS, "what each GPU brings in partitions that do not say it: DefCpuPerGPU=4,a100:16,DefMemPerGPU=8000; DefCpuPerGPU= and DefMemPerGPU= are lines of their own, too") \
    X(TEXT, slurmctld_host, SlurmctldHost, "", "", ANY, KEPT, "the controller is where `remuda up` is run") \
    X(TEXT, slurmctld_addr, SlurmctldAddr, "", "", ANY, ACTS, "address at which the controller takes connections of other hosts; default all of this host") \
    X(I32, slurmctld_port, SlurmctldPort, "6817", "", RANGE(1, 65535), ACTS, "port for them; it is opened with the first `remuda token`") \
    X(SPAN, host_cert_life_us, HostCertificateLife, "2592000", "sec", ANY, ACTS, "how long certificates of hosts hold; they are renewed when a third is left") \
    X(TEXT, slurm_user, SlurmUser, "", "", ANY, ACTS, "user the controller runs as; default whoever started it") \
    X(TEXT, operators, Operators, "", "", ANY, ACTS, "users who may operate on everybody's jobs and on nodes") \
    X(TEXT, state_save_location, StateSaveLocation, "", "", ANY, KEPT, "the state lies where `remuda up --state DIR` starts the cluster") \
    X(TEXT, prolog, Prolog, "", "", ANY, ACTS, "program run on each node before a job") \
    X(TEXT, epilog, Epilog, "", "", ANY, ACTS, "program run on each node after a job") \
    X(TEXT, submit_filter, SubmitFilter, "", "", ANY, ACTS, "program on the controller's host that each submission and change of a job is shown to, and that may change or refuse it (docs/submit-filter.md)") \
    X(SPAN, prolog_timeout_us, PrologEpilogTimeout, "300", "sec", ANY, ACTS, "how long they may take") \
    X(TEXT, mail_prog, MailProg, "/usr/sbin/sendmail", "", ANY, ACTS, "program that sends mail: one called sendmail, msmtp, exim or the like as sendmail -t with the message on stdin, any other as Slurm calls it, -s SUBJECT ADDRESS with the text on stdin") \
    X(TEXT, smtp_server, SmtpServer, "", "", ANY, ACTS, "[smtp[s]://]host[:port] mail is handed to instead of MailProg") \
    X(TEXT, smtp_tls, SmtpTls, "try", "", ONE_WORD, ACTS, "whether the way to SmtpServer is encrypted (smtps://host is, from the first byte)") \
    X(TEXT, smtp_login, SmtpLogin, "", "", ANY, ACTS, "file with user:password for SmtpServer in its first line, which nobody but its owner may read; sent over an encrypted way only, unless SmtpTls=no") \
    X(TEXT, mail_from, MailFrom, "", "", ANY, ACTS, "sender of mail; default remuda@host") \
    X(TEXT, mail_domain, MailDomain, "", "", ANY, ACTS, "put after user names without one") \
    X(TEXT, propagate_limits, PropagateResourceLimits, "ALL", "", WORDS, ACTS, "soft limits taken from the submitter: ALL, NONE or a list") \
    X(TEXT, propagate_limits_except, PropagateResourceLimitsExcept, "", "", WORDS, ACTS, "soft limits not taken") \
    X(TEXT, job_acct_gather_type, JobAcctGatherType, "jobacct_gather/remuda", "", ANY, KEPT, "usage is always measured") \
    X(TEXT, accounting_enforce, AccountingStorageEnforce, "none", "", WORDS, ACTS, "what of accounts is insisted on: associations, limits, qos, safe, wckeys, nojobs, nosteps, all") \
    X(TEXT, private_data, PrivateData, "none", "", WORDS, ACTS, "what users do not see of others: accounts, events, jobs, nodes, partitions, reservations, usage, users") \
    X(TEXT, scron_parameters, ScronParameters, "enable", "", WORDS, ACTS, "scrontab: enable, disable; explicit_scancel: its jobs are ended only by scancel --cron") \
    X(TEXT, metrics_type, MetricsType, "", "", ONE_WORD, ACTS, "metrics/openmetrics: figures for Prometheus are served at MetricsAddress") \
    X(TEXT, metrics_address, MetricsAddress, "127.0.0.1:6821", "", ANY, ACTS, "HOST:PORT of them, by HTTP, and behind it, with commas, further names by which it may be asked for, or *; who asks there is told what PrivateData leaves everybody; metrics.sock in the state directory, which only the controller's user may open, tells everything") \
    X(TEXT, metrics_token_file, MetricsTokenFile, "", "", ANY, ACTS, "file whose first line is a secret: who asks with it (Authorization: Bearer) is told everything") \
    X(BOOL, jobstats_comment, JobstatsComment, "YES", "", ANY, ACTS, "sacct shows what an ended job used, as jobstats writes it, as its AdminComment, if it has none") \
    X(TEXT, controller_parameters, SlurmctldParameters, "", "", WORDS, ACTS, "rl_enable and its words: how many requests a user may make") \
    X(TEXT, accounting_storage_type, AccountingStorageType, "accounting_storage/remuda", "", ANY, KEPT, "accounting is always on") \
    X(SPAN, acct_gather_node_freq_us, AcctGatherNodeFreq, "0", "sec", ANY, KEPT, "") \
    X(TEXT, proctrack_type, ProctrackType, "proctrack/remuda", "", ANY, KEPT, "") \
    X(TEXT, task_plugin, TaskPlugin, "task/remuda", "", ANY, KEPT, "") \
    X(BOOL, kill_on_bad_exit, KillOnBadExit, "NO", "", ANY, ACTS, "a task that fails ends its step, unless srun says otherwise") \
    X(SPAN, wait_time_us, WaitTime, "0", "sec", ANY, ACTS, "srun: so long after the first task ended the others are ended; 0 = never") \
    X(TEXT, srun_port_range, SrunPortRange, "", "", PORT_RANGE, ACTS, "ports srun listens on for tasks of other hosts: 60001-63000; default any") \
    X(BOOL, stream_tls, StreamTLS, "YES", "", ANY, ACTS, "streams of srun and sattach between hosts are encrypted, by the secret of their step") \
    X(TEXT, srun_prolog, SrunProlog, "", "", ANY, ACTS, "program srun runs before each step, unless --prolog names another") \
    X(TEXT, srun_epilog, SrunEpilog, "", "", ANY, ACTS, "program srun runs after each step, unless --epilog names another") \
    X(TEXT, task_prolog, TaskProlog, "", "", ANY, ACTS, "program run as the user before each task; its output may set variables") \
    X(TEXT, task_epilog, TaskEpilog, "", "", ANY, ACTS, "program run as the user after each task") \
    X(TEXT, launch_parameters, LaunchParameters, "", "", WORDS, ACTS, "use_interactive_step: salloc without a command opens its shell on the first node; other words have no effect") \
    X(TEXT, interactive_step_options, InteractiveStepOptions, "--interactive --preserve-env --pty $SHELL", "", ANY, ACTS, "what srun is given then") \
    X(TEXT, lsf_unit_for_limits, LsfUnitForLimits, "KB", "", ONE_WORD, ACTS, "of bsub -M without a unit; where it is not KB, also of rusage[mem=…], which else is in MB") \
    X(TEXT, lsf_reserve_per, LsfReservePer, "host", "", ONE_WORD, ACTS, "of what bsub -R rusage[mem=…] is the memory, where it does not say") \
    X(TEXT, lsf_mem_limit, LsfMemLimit, "process", "", ONE_WORD, ACTS, "of what bsub -M is the limit") \
    X(TEXT, lsf_stdin, LsfStdin, "only", "", ONE_WORD, ACTS, "which scripts #BSUB lines are read of") \
    X(TEXT, pbs_flavour, PbsFlavour, "pro", "", ONE_WORD, ACTS, "where PBS Pro and Torque differ, whose options and listings hold") \
    X(TEXT, pbs_server, PbsServer, "", "", ANY, ACTS, "what follows the number in job ids of PBS; empty = the name of the cluster") \
    X(TEXT, mpi_default, MpiDefault, "none", "", ONE_WORD, ACTS, "how tasks of MPI programs find each other where --mpi does not say") \
    X(BOOL, constrain_cores, ConstrainCores, "YES", "", ANY, ACTS, "keep jobs on their CPUs") \
    X(BOOL, constrain_ram, ConstrainRAMSpace, "YES", "", ANY, ACTS, "hold jobs to their memory: AllowedRAMSpace") \
    X(BOOL, constrain_devices, ConstrainDevices, "YES", "", ANY, ACTS, "hide other jobs' devices") \
    X(BOOL, constrain_swap, ConstrainSwapSpace, "YES", "", ANY, ACTS, "hold jobs to the swap that AllowedSwapSpace leaves them") \
    X(PERCENT, allowed_ram, AllowedRAMSpace, "100", "percent", ANY, ACTS, "of the memory a job has: what it may use before it is ended") \
    X(PERCENT, allowed_swap, AllowedSwapSpace, "0", "percent", ANY, ACTS, "of the memory a job has: swap it may use beyond that") \
    X(PERCENT, max_ram, MaxRAMPercent, "100", "percent", ANY, ACTS, "of a node's memory: no job is allowed more; below 100 it also holds jobs that have no memory of their own to hold to") \
    X(PERCENT, max_swap, MaxSwapPercent, "100", "percent", ANY, ACTS, "of a node's memory: no job is allowed more swap") \
    X(MIB, min_ram_mib, MinRAMSpace, "30", "", ANY, ACTS, "a job is allowed this at least, in MB; less would not let a program start") \
    X(I32, memory_swappiness, MemorySwappiness, "-1", "", RANGE(-1, 100), ACTS, "0 to 100: how readily the kernel swaps jobs' memory out (version 1 groups); -1 = as it likes") \
    X(I32, pids_max, PidsMax, "0", "", ANY, ACTS, "processes and threads a job may have on a node; 0 = half of what the machine can have") \
    X(TEXT, job_acct_gather_params, JobAcctGatherParams, "", "", WORDS, ACTS, "OverMemoryKill: jobs over their memory are ended at the samples also where the kernel holds them to it; without such a kernel they always are") \
    X(TEXT, job_series_keep, JobSeriesKeep, "2s:1d,10s:30d,1m:365d", "", SERIES_AGES, ACTS, "how long the samples that `remuda plot` draws are kept, and how fine: GAP:AGE,…, each coarser and older; none = they are not kept") \
    X(TEXT, gpu_idle, GpuIdle, "", "", GPU_IDLE, ACTS, "what is done about jobs that do not use their GPUs: warn:30m,notify:1h,cancel:2h (or requeue:2h), grace:10m after the start, interactive:1h later without a script, exempt:ACCOUNT; of a partition or QOS its own; empty or none = nothing") \
    X(SPAN, unkillable_timeout_us, UnkillableStepTimeout, "60", "sec", ANY, ACTS, "processes that outlive SIGKILL this long are reported (the node is not drained)") \
    X(TEXT, purge_job_after, PurgeJobAfter, "", "", AGE, ACTS, "jobs that ended so long ago are removed with their steps and scripts: 12months (or 12), 30days, 48hours; empty or NONE = never") \
    X(TEXT, purge_step_after, PurgeStepAfter, "", "", AGE, ACTS, "the same of the steps of jobs that ended so long ago") \
    X(TEXT, purge_event_after, PurgeEventAfter, "", "", AGE, ACTS, "the same of how nodes were (sacctmgr show event, sreport cluster)") \
    X(TEXT, purge_resv_after, PurgeResvAfter, "", "", AGE, ACTS, "the same of reservations that are over") \
    X(TEXT, purge_suspend_after, PurgeSuspendAfter, "", "", AGE, KEPT, "how long a job was stopped stands in the job itself, see PurgeJobAfter") \
    X(TEXT, purge_txn_after, PurgeTXNAfter, "", "", AGE, ACTS, "the same of who changed what of accounts (sacctmgr show transaction)") \
    X(TEXT, purge_usage_after, PurgeUsageAfter, "", "", AGE, ACTS, "the same of the sums that sreport reads; they stay when jobs are removed") \
    X(BOOL, archive_jobs, ArchiveJobs, "NO", "", ANY, ACTS, "jobs are written to a file in ArchiveDir, with their steps and scripts, before PurgeJobAfter removes them") \
    X(BOOL, archive_steps, ArchiveSteps, "NO", "", ANY, ACTS, "the same of PurgeStepAfter") \
    X(BOOL, archive_events, ArchiveEvents, "NO", "", ANY, ACTS, "the same of PurgeEventAfter") \
    X(BOOL, archive_resvs, ArchiveResvs, "NO", "", ANY, ACTS, "the same of PurgeResvAfter") \
    X(BOOL, archive_suspend, ArchiveSuspend, "NO", "", ANY, KEPT, "see PurgeSuspendAfter") \
    X(BOOL, archive_txn, ArchiveTXN, "NO", "", ANY, ACTS, "the same of PurgeTXNAfter") \
    X(BOOL, archive_usage, ArchiveUsage, "NO", "", ANY, ACTS, "the same of PurgeUsageAfter") \
    X(TEXT, archive_dir, ArchiveDir, "", "", ANY, ACTS, "where these files are made; default archive in the state directory") \
    X(TEXT, archive_script, ArchiveScript, "", "", ANY, ACTS, "program that keeps what is to be removed, instead of these files; only if it exits with 0 is anything removed")
// clang-format on

enum setting_type {
    SETTING_TEXT, /* as it is; "" and "(null)" are none */
    SETTING_I32,  /* a count, within `allowed` */
    SETTING_I64,
    SETTING_BOOL, /* YES or NO, and Slurm's other words */
    SETTING_SPAN, /* a time: µs here, its unit in the file */
    SETTING_MIB,
    SETTING_PERCENT,
    SETTING_POLICY
};
#define SETTING_C_TEXT    const char *
#define SETTING_C_I32     int32_t
#define SETTING_C_I64     int64_t
#define SETTING_C_BOOL    bool
#define SETTING_C_SPAN    int64_t
#define SETTING_C_MIB     int64_t
#define SETTING_C_PERCENT int32_t
#define SETTING_C_POLICY  int32_t

struct settings {
#define X(type, member, key, standard, unit, allowed, effect, doc) SETTING_C_##type member;
    SETTINGS(X)
#undef X
    struct setting_words word; /* what the texts of words say */
    /* What JobAcctGatherFrequency says of others than the task, "energy=10,network=5", in the
     * configuration's arena; NULL = nothing. */
    const char *other_freqs;
};

enum setting_form {
    FORM_ANY,         /* any text */
    FORM_WORD,        /* one of its words */
    FORM_WORDS,       /* some of its words, with commas */
    FORM_PORTS,       /* "20000-29999" */
    FORM_WEIGHTS,     /* "CPU=1.0,Mem=0.25G" */
    FORM_LICENCES,    /* "matlab:10" */
    FORM_FREQUENCIES, /* "30", "task=30,energy=10" */
    FORM_SERIES_AGES,
    FORM_GPU_IDLE,
    /* "12month" */
    FORM_AGE
};
enum setting_effect { EFFECT_ACTS, EFFECT_KEPT };

/* What is accepted beyond the type. */
struct setting_allowed {
    enum setting_form form;
    int64_t min, max; /* both 0: from 0 to the type's end */
    /* a value that Slurm writes in its own way, and what it is here; NULL = none. */
    const char *slurm, *ours;
};

struct setting {
    const char *key; /* as the file has it */
    enum setting_type type;
    size_t offset;        /* in struct settings */
    const char *standard; /* default, as text */
    const char *unit;     /* of the value in the file; "" = none */
    struct setting_allowed allowed;
    enum setting_effect effect; /* or taken, and without any */
    const char *doc;
};
extern const struct setting setting_table[];
extern const size_t setting_count;

/* All defaults; texts are static. */
void settings_default(struct settings *s);
/* The value as `scontrol show config` prints it ("300 sec", "(null)" for empty texts), appended. */
struct str;
void setting_format(const struct setting *k, const struct settings *s, struct str *out);

/* Reads a value as setting_format wrote it. The text is kept, not copied. False: it is none (the
 * setting stays as it is). */
bool setting_read_shown(const struct setting *k, struct settings *s, const char *shown,
                        struct arena *a);
/* NULL if there is none of that name. */
const struct setting *setting_find(const char *key);

/* A range of ports, "20000-29999". */
bool ports_parse(const char *text, int32_t *ret_first, int32_t *ret_last, struct err *ret_err);

/* A whole configuration: settings, nodes, partitions, and what the reader should know. Owns its
 * arena. */
struct config {
    struct arena *arena; /* of all that lies in it */
    struct settings settings;
    struct node *node; /* ranges expanded: one entry a node */
    size_t nnodes;     /* of `node` */
    struct partition *part;
    size_t nparts;            /* of `part` */
    struct topology topology; /* empty with TopologyPlugin=topology/flat */
    /* Local time as base/calendar/zone.h writes it; NULL = UTC. Not parsed: whoever reads the file
     * fills it in. */
    const char *zone;
    const char **warning;  /* "remuda.conf:12: unknown key \"NodeNam\"; did you mean NodeName?" */
    const uint8_t *weighs; /* enum config_weight of each */
    size_t nwarnings;
};

/* What a warning means to whoever wrote the line. */
enum config_weight {
    WEIGHS_MEANING, /* what it asks for is not there, or is something else: who may do what, limits,
                       privacy, health, what becomes of jobs */
    WEIGHS_UNKNOWN, /* nobody knows the key */
    WEIGHS_NOTHING  /* nothing needs to be said here: no effect, and none is missed */
};

/* Says the warnings, what changes the meaning first. Unless all are wanted, the others are counted
 * on one line where they are more than two, which names `details`, what tells of each. */
void config_warnings_say(const struct config *c, bool all, const char *details,
                         void (*say)(void *ctx, const char *line), void *ctx);

/* Reads a file for Include; returns its text (in the arena) or NULL with ret_err set. */
typedef const char *(*config_reader)(void *ctx, const char *path, struct arena *a,
                                     struct err *ret_err);

/* The text of a configuration with the nodes of hosts that joined, whose file lies beside it; in
 * the arena. Whatever it ends with: an empty line ends one that goes on in the next. */
const char *config_with_joined(const char *text, struct arena *a);
/* A line of Slurm's files without its comment: a '#' outside quotes, which may have begun in a
 * line before (`quoted`, false where none goes on), unless a backslash stands before it. To be
 * done before lines are joined, as in Slurm: the '\' at the end of a comment joins nothing, one
 * before a comment does. */
struct span config_comment_cut(struct span line, bool *quoted);
/* Parses slurm.conf's grammar: Key=Value pairs separated by blanks, '#' comments, backslash
 * continuation, quotes, NodeName=DEFAULT and PartitionName=DEFAULT, ranges in names, NodeSet,
 * DownNodes, Include FILE. Keys in any letter case. Unknown keys, and known Slurm keys that have no
 * effect here, give warnings; bad values are errors that name file, line, key, what is allowed. ret
 * is filled only on success. */
bool config_parse(const char *text, const char *file, config_reader reader, void *ctx,
                  struct config *ret, struct err *ret_err);
#define CONFIG_BLANKS " \t\r" /* between words */
/* Appends a value as config_parse reads it: in quotes where it is empty or its end would not be
 * seen, and no '#' in it begins a comment. It has no line's end and no quotation mark. */
void config_value_add(const char *value, struct str *out);
void config_done(struct config *c); /* the arena that all of it lies in */

#endif
