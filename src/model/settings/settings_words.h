/* The words of settings whose value is a word of a closed set, or a list of such words: each a row.
 * The parser, its complaints, what the program reads of them and docs/settings.md come from it. */
#ifndef REMUDA_MODEL_SETTINGS_WORDS_H
#define REMUDA_MODEL_SETTINGS_WORDS_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(Key, kind, member, word, choices, doc) Kinds: NAMED: what holds where no other is given, or the
 * text is passed on as it is (SmtpTls, and what LSF and PBS ask for). FLAG: bool, it is given.
 * NUMBER: int64_t after '=', 0 to 2147483647; -1 = not given. CHOICE: int32_t, the place of the
 * word after '=' among choices ("a|b"); -1 = not given. IDLE: a word of Slurm's, of any release,
 * without effect here, and not missed; doc says why, and giving it is a warning. LOST: the same of
 * one that is missed. PARTLY: a FLAG that is not all that Slurm makes of it, which is a warning,
 * too. */
// clang-format off
#define BY_THE_PLAN "every waiting job is considered in each pass, and a pass is made when something changed"
#define SETTING_WORDS(X) \
    X(AccountingStorageEnforce, FLAG, enforce_associations, "associations", "", "a job needs an account in which its user is") \
    X(AccountingStorageEnforce, FLAG, enforce_limits, "limits", "", "associations, and the limits of accounts and QOS hold") \
    X(AccountingStorageEnforce, FLAG, enforce_qos, "qos", "", "associations, and a job has a QOS that its association may use") \
    X(AccountingStorageEnforce, FLAG, enforce_safe, "safe", "", "limits, and a job starts only if it can end within them") \
    X(AccountingStorageEnforce, FLAG, enforce_wckeys, "wckeys", "", "associations, and a job has a workload key of its user") \
    X(AccountingStorageEnforce, FLAG, enforce_all, "all", "", "all of these but nojobs and nosteps") \
    X(AccountingStorageEnforce, NAMED, , "none", "", "nothing") \
    X(AccountingStorageEnforce, NAMED, , "0", "", "nothing") \
    X(AccountingStorageEnforce, IDLE, , "nojobs", "", "what jobs used is always kept") \
    X(AccountingStorageEnforce, IDLE, , "nosteps", "", "what steps used is always kept") \
    X(PrivateData, FLAG, private_accounts, "accounts", "", "accounts, but to those in them and to their coordinators") \
    X(PrivateData, FLAG, private_events, "events", "", "what happened to nodes") \
    X(PrivateData, FLAG, private_jobs, "jobs", "", "jobs and their steps, but to their owners and to coordinators of their accounts") \
    X(PrivateData, FLAG, private_nodes, "nodes", "", "how nodes are") \
    X(PrivateData, FLAG, private_partitions, "partitions", "", "how partitions are") \
    X(PrivateData, FLAG, private_reservations, "reservations", "", "reservations, but to those who may use them") \
    X(PrivateData, FLAG, private_usage, "usage", "", "who used how much, but one's own and that of accounts one coordinates") \
    X(PrivateData, FLAG, private_users, "users", "", "users and what they may, but oneself and those of accounts one coordinates") \
    X(PrivateData, NAMED, , "none", "", "everybody sees everything") \
    X(PrivateData, IDLE, , "cloud", "", "no nodes are powered down") \
    X(ScronParameters, NAMED, , "enable", "", "users have tables for scrontab") \
    X(ScronParameters, FLAG, scron_disable, "disable", "", "they can only read theirs and remove it, whose jobs go on until then") \
    X(ScronParameters, FLAG, explicit_scancel, "explicit_scancel", "", "scancel ends a job of scrontab only with --cron") \
    X(SlurmctldParameters, FLAG, rl_enable, "rl_enable", "", "each user has a number of requests, which fills up again") \
    X(SlurmctldParameters, NUMBER, rl_bucket_size, "rl_bucket_size", "", "requests that may be made at once; default 30") \
    X(SlurmctldParameters, NUMBER, rl_refill_rate, "rl_refill_rate", "", "requests added each period; default 2") \
    X(SlurmctldParameters, NUMBER, rl_refill_period, "rl_refill_period", "", "seconds of a period; default 1") \
    X(SlurmctldParameters, NUMBER, rl_table_size, "rl_table_size", "", "users that are kept count of; default 8192; who used nothing lately is forgotten first") \
    X(SlurmctldParameters, NUMBER, rl_log_freq, "rl_log_freq", "", "a refusal is logged once in so many seconds a user; 0 = each; default 0") \
    X(SlurmctldParameters, LOST, , "allow_user_triggers", "", "triggers run on the controller's host: administrators alone set them") \
    X(SlurmctldParameters, IDLE, , "cloud_dns", "", "no nodes are powered down") \
    X(SlurmctldParameters, IDLE, , "cloud_reg_addrs", "", "no nodes are powered down") \
    X(SlurmctldParameters, IDLE, , "conmgr_connect_timeout", "", "") \
    X(SlurmctldParameters, IDLE, , "conmgr_max_connections", "", "each user has a share of connections") \
    X(SlurmctldParameters, IDLE, , "conmgr_quiesce_timeout", "", "") \
    X(SlurmctldParameters, IDLE, , "conmgr_read_timeout", "", "") \
    X(SlurmctldParameters, IDLE, , "conmgr_threads", "", "") \
    X(SlurmctldParameters, IDLE, , "conmgr_use_poll", "", "") \
    X(SlurmctldParameters, IDLE, , "conmgr_wait_write_delay", "", "") \
    X(SlurmctldParameters, IDLE, , "conmgr_write_timeout", "", "") \
    X(SlurmctldParameters, FLAG, disable_triggers, "disable_triggers", "", "no further triggers are set (strigger); those there are stay") \
    X(SlurmctldParameters, IDLE, , "enable_configless", "", "hosts get what they need when they join") \
    X(SlurmctldParameters, IDLE, , "enable_expedited_requeue", "", "") \
    X(SlurmctldParameters, IDLE, , "enable_job_state_cache", "", "questions do not wait for the planner") \
    X(SlurmctldParameters, IDLE, , "enable_rpc_queue", "", "each user has a fair share of the controller") \
    X(SlurmctldParameters, IDLE, , "enable_stepmgr", "", "") \
    X(SlurmctldParameters, IDLE, , "idle_on_node_suspend", "", "no nodes are powered down") \
    X(SlurmctldParameters, LOST, , "ignore_constraint_validation", "", "") \
    X(SlurmctldParameters, IDLE, , "keep_topology_order", "", "") \
    X(SlurmctldParameters, IDLE, , "max_dbd_msg_action", "", "there is no slurmdbd") \
    X(SlurmctldParameters, IDLE, , "max_powered_nodes", "", "no nodes are powered down") \
    X(SlurmctldParameters, IDLE, , "no_quick_restart", "", "") \
    X(SlurmctldParameters, IDLE, , "node_reg_mem_percent", "", "a node that has less than its line says is told of") \
    X(SlurmctldParameters, IDLE, , "power_save_interval", "", "no nodes are powered down") \
    X(SlurmctldParameters, IDLE, , "power_save_min_interval", "", "no nodes are powered down") \
    X(SlurmctldParameters, IDLE, , "preempt_send_user_signal", "", "PreemptParameters=send_user_signal says it") \
    X(SlurmctldParameters, IDLE, , "reboot_from_controller", "", "nodes are not booted") \
    X(SlurmctldParameters, LOST, , "user_resv_delete", "", "operators make and delete reservations") \
    X(SlurmctldParameters, IDLE, , "validate_nodeaddr_threads", "", "") \
    X(OwnerExtends, FLAG, extend_never, "no", "", "operators only") \
    X(OwnerExtends, NAMED, , "command", "", "its owner, too, with remuda extend") \
    X(OwnerExtends, FLAG, extend_update, "update", "", "and with scontrol update TimeLimit= and TimeLimit+=, all of it or nothing") \
    X(MetricsType, FLAG, metrics_on, "metrics/openmetrics", "", "in OpenMetrics, with Slurm's names and ours") \
    X(MpiDefault, NAMED, , "none", "", "by themselves, or by their own launcher") \
    X(MpiDefault, NAMED, , "pmi2", "", "by PMI, version 1 or 2, of the node: MPICH and its kin") \
    X(MpiDefault, NAMED, , "pmix", "", "by PMIx, where a node has its library: Open MPI") \
    X(MpiDefault, NAMED, , "pmix_v3", "", "as pmix") \
    X(MpiDefault, NAMED, , "pmix_v4", "", "as pmix") \
    X(MpiDefault, NAMED, , "pmix_v5", "", "as pmix") \
    X(MpiDefault, IDLE, , "openmpi", "", "of an old release: as none") \
    X(MpiDefault, IDLE, , "lam", "", "of an old release: as none") \
    X(MpiDefault, IDLE, , "mvapich", "", "of an old release: as none") \
    X(MpiDefault, LOST, , "cray_shasta", "", "its own launcher starts such programs") \
    X(SmtpTls, NAMED, , "no", "", "never") \
    X(SmtpTls, NAMED, , "try", "", "where the server offers it, whoever it is") \
    X(SmtpTls, NAMED, , "require", "", "always, and the server shows that it is the one that was named") \
    X(PriorityType, FLAG, priority_ageing, "priority/ageing", "", "short and narrow work first, who waits gains") \
    X(PriorityType, NAMED, , "priority/multifactor", "", "the sum of weighted factors") \
    X(PriorityType, FLAG, priority_basic, "priority/basic", "", "by arrival") \
    X(PreemptType, NAMED, , "preempt/none", "", "nobody") \
    X(PreemptType, FLAG, preempt_by_tier, "preempt/partition_prio", "", "work of partitions with a lower PriorityTier") \
    X(PreemptType, FLAG, preempt_by_qos, "preempt/qos", "", "work of the QOS that the job's QOS lists (sacctmgr modify qos … set preempt=)") \
    X(PreemptMode, FLAG, preempt_off, "OFF", "", "none does") \
    X(PreemptMode, FLAG, preempt_cancel, "CANCEL", "", "they are ended") \
    X(PreemptMode, FLAG, preempt_requeue, "REQUEUE", "", "they are ended and wait again, if they may be requeued") \
    X(PreemptMode, FLAG, preempt_suspend, "SUSPEND", "", "they are stopped and go on later") \
    X(PreemptMode, FLAG, gang, "GANG", "", "jobs that share CPUs run in turn") \
    X(PreemptParameters, FLAG, preempt_youngest, "youngest_first", "", "who has run least goes, however large") \
    X(PreemptParameters, FLAG, preempt_user_signal, "send_user_signal", "", "a victim with a grace gets the signal of its --signal instead of SIGTERM") \
    X(PreemptParameters, NAMED, , "reclaim_licenses", "", "as always: what a victim gives back counts") \
    X(PreemptParameters, IDLE, , "reorder_count", "", "the cheapest victims are chosen at once") \
    X(PreemptParameters, IDLE, , "strict_order", "", "the cheapest victims are chosen at once") \
    X(PreemptParameters, LOST, , "min_exempt_priority", "", "PreemptExemptTime and the tiers say who is exempt") \
    X(PreemptParameters, LOST, , "suspend_grace_time", "", "GraceTime of the partition is for all modes") \
    X(PriorityFlags, FLAG, accrue_always, "ACCRUE_ALWAYS", "", "age counts also while a job is held or depends on others") \
    X(PriorityFlags, LOST, , "CALCULATE_RUNNING", "", "a running job keeps the priority it started with") \
    X(PriorityFlags, FLAG, depth_oblivious, "DEPTH_OBLIVIOUS", "", "fair share by Slurm's older formula") \
    X(PriorityFlags, NAMED, , "FAIR_TREE", "", "as always, unless NO_FAIR_TREE or DEPTH_OBLIVIOUS is given") \
    X(PriorityFlags, FLAG, no_fair_tree, "NO_FAIR_TREE", "", "fair share by Slurm's older formula") \
    X(PriorityFlags, FLAG, increase_only, "INCR_ONLY", "", "a waiting job's priority never falls") \
    X(PriorityFlags, FLAG, max_tres, "MAX_TRES", "", "billing by the largest weighted resource of a job, not by their sum") \
    X(PriorityFlags, LOST, , "MAX_TRES_GRES", "", "MAX_TRES, or the sum of all, are known") \
    X(PriorityFlags, FLAG, no_normal_all, "NO_NORMAL_ALL", "", "no factor is scaled to 0 to 1") \
    X(PriorityFlags, FLAG, no_normal_assoc, "NO_NORMAL_ASSOC", "", "the priority of accounts and users counts as it is") \
    X(PriorityFlags, FLAG, no_normal_part, "NO_NORMAL_PART", "", "PriorityJobFactor counts as it is") \
    X(PriorityFlags, FLAG, no_normal_qos, "NO_NORMAL_QOS", "", "the priority of QOS counts as it is") \
    X(PriorityFlags, FLAG, no_normal_tres, "NO_NORMAL_TRES", "", "resources count as they are") \
    X(PriorityFlags, FLAG, size_by_time, "SMALL_RELATIVE_TO_TIME", "", "a job's size is divided by its time limit") \
    X(PriorityUsageResetPeriod, NAMED, , "NONE", "", "never") \
    X(PriorityUsageResetPeriod, FLAG, usage_reset_now, "NOW", "", "when the controller starts") \
    X(PriorityUsageResetPeriod, FLAG, usage_reset_daily, "DAILY", "", "every midnight, by UTC, as all below") \
    X(PriorityUsageResetPeriod, FLAG, usage_reset_weekly, "WEEKLY", "", "every Sunday") \
    X(PriorityUsageResetPeriod, FLAG, usage_reset_monthly, "MONTHLY", "", "every first of a month") \
    X(PriorityUsageResetPeriod, FLAG, usage_reset_quarterly, "QUARTERLY", "", "every first of January, April, July and October") \
    X(PriorityUsageResetPeriod, FLAG, usage_reset_yearly, "YEARLY", "", "every first of January") \
    X(LsfUnitForLimits, NAMED, , "KB", "", "1024 bytes") \
    X(LsfUnitForLimits, NAMED, , "MB", "", "1024 KB, as all below are 1024 of the one above") \
    X(LsfUnitForLimits, NAMED, , "GB", "", "") \
    X(LsfUnitForLimits, NAMED, , "TB", "", "") \
    X(LsfReservePer, NAMED, , "host", "", "each host of the job") \
    X(LsfReservePer, NAMED, , "slot", "", "each slot (RESOURCE_RESERVE_PER_TASK=Y)") \
    X(LsfMemLimit, NAMED, , "process", "", "each process, of which a slot has one") \
    X(LsfMemLimit, NAMED, , "job", "", "the whole job (LSB_JOB_MEMLIMIT=y)") \
    X(LsfStdin, NAMED, , "only", "", "those on standard input: bsub < FILE") \
    X(LsfStdin, NAMED, , "script", "", "also of bsub FILE (LSB_BSUB_PARSE_SCRIPT=Y)") \
    X(PbsFlavour, NAMED, , "pro", "", "PBS Pro and OpenPBS") \
    X(PbsFlavour, NAMED, , "torque", "", "Torque") \
    X(TopologyPlugin, NAMED, , "topology/tree", "", "switches, as topology.conf has them") \
    X(TopologyPlugin, NAMED, , "topology/block", "", "blocks, as topology.conf has them") \
    X(TopologyPlugin, NAMED, , "topology/flat", "", "topology.conf is not read") \
    X(TopologyPlugin, NAMED, , "topology/default", "", "topology.conf is not read") \
    X(TopologyPlugin, NAMED, , "topology/none", "", "topology.conf is not read") \
    X(TopologyParam, FLAG, topo_optional, "TopoOptional", "", "nodes are kept together only for jobs that ask with --switches") \
    X(TopologyParam, IDLE, , "Dragonfly", "", "jobs are kept below few switches in every kind of network") \
    X(TopologyParam, IDLE, , "BlockAsNodeRank", "", "ranks follow the order of nodes in the allocation") \
    X(TopologyParam, IDLE, , "RouteTree", "", "messages to nodes are not relayed by nodes") \
    X(TopologyParam, IDLE, , "RoutePart", "", "messages to nodes are not relayed by nodes") \
    X(TopologyParam, IDLE, , "SwitchAsNodeRank", "", "ranks follow the order of nodes in the allocation") \
    X(TopologyParam, IDLE, , "NoInAddrAny", "", "SlurmctldAddr says where the controller listens") \
    X(TopologyParam, IDLE, , "NoCtldInAddrAny", "", "SlurmctldAddr says where the controller listens") \
    X(TopologyParam, IDLE, , "NoInAddrAnySlurmd", "", "node daemons do not listen") \
    X(SchedulerType, NAMED, , "sched/backfill", "", "later work may start before earlier, where it delays no promise") \
    X(SchedulerType, FLAG, sched_builtin, "sched/builtin", "", "nobody goes before who comes earlier in the order") \
    X(SchedulerParameters, NUMBER, age_bound_s, "age_bound", "", "seconds from which on waiting counts more and more, and four times which the oldest goes first (priority/ageing); default 180000 (50 h)") \
    X(SchedulerParameters, CHOICE, order, "order", "priority|arrival|sjf|saf|wfp|ageing", "the order of waiting jobs, whatever PriorityType says") \
    X(SchedulerParameters, CHOICE, backfill, "backfill", "easy|none", "whether later work may start before earlier") \
    X(SchedulerParameters, CHOICE, promises, "promises", "head|aged|all", "whose start is promised: the first blocked job's, that of all past age_bound, everybody's") \
    X(SchedulerParameters, NUMBER, promises_max, "promises_max", "", "promises at most; default 100") \
    X(SchedulerParameters, NUMBER, bf_max_job_test, "bf_max_job_test", "", "start times worked out for so many waiting jobs; default all") \
    X(SchedulerParameters, NUMBER, max_switch_wait_s, "max_switch_wait", "", "seconds for which --switches may hold a job back; default 300") \
    X(SchedulerParameters, FLAG, no_hold_on_prolog, "nohold_on_prolog_fail", "", "a job whose Prolog failed is requeued without a hold") \
    X(SchedulerParameters, FLAG, kill_invalid_depend, "kill_invalid_depend", "", "jobs whose dependency can never be satisfied are cancelled, as with --kill-on-invalid-dep=yes") \
    X(SchedulerParameters, FLAG, sched_preempt_youngest, "preempt_youngest_first", "", "as PreemptParameters=youngest_first") \
    X(SchedulerParameters, LOST, , "allow_zero_lic", "", "a job that asks for more licences than there are is refused") \
    X(SchedulerParameters, IDLE, , "assoc_limit_continue", "", "who is held by a limit never holds others back") \
    X(SchedulerParameters, IDLE, , "assoc_limit_stop", "", "who is held by a limit never holds others back") \
    X(SchedulerParameters, IDLE, , "batch_sched_delay", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bb_array_stage_cnt", "", "there are no burst buffers") \
    X(SchedulerParameters, IDLE, , "bf_allow_magnetic_qos", "", "a magnetic reservation draws jobs of its users, groups and accounts") \
    X(SchedulerParameters, IDLE, , "bf_busy_nodes", "", "") \
    X(SchedulerParameters, IDLE, , "bf_continue", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_hetjob_immediate", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_hetjob_prio", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_ignore_newly_avail_nodes", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_interval", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_job_part_count_reserve", "", "promises= says whose start is promised") \
    X(SchedulerParameters, IDLE, , "bf_licenses", "", "as always: licences are planned with") \
    X(SchedulerParameters, IDLE, , "bf_max_job_array_resv", "", "promises= says whose start is promised") \
    X(SchedulerParameters, IDLE, , "bf_max_job_assoc", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_max_job_part", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_max_job_start", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_max_job_user", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_max_job_user_part", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_max_time", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_min_age_reserve", "", "promises= says whose start is promised") \
    X(SchedulerParameters, IDLE, , "bf_min_prio_reserve", "", "promises= says whose start is promised") \
    X(SchedulerParameters, IDLE, , "bf_node_space_size", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_one_resv_per_job", "", "promises= says whose start is promised") \
    X(SchedulerParameters, IDLE, , "bf_resolution", "", "time is not rounded") \
    X(SchedulerParameters, IDLE, , "bf_running_job_reserve", "", "promises= says whose start is promised") \
    X(SchedulerParameters, IDLE, , "bf_topopt_enable", "", "jobs are kept together as topology.conf says") \
    X(SchedulerParameters, IDLE, , "bf_topopt_iterations", "", "jobs are kept together as topology.conf says") \
    X(SchedulerParameters, IDLE, , "bf_window", "", "the plan has no end") \
    X(SchedulerParameters, IDLE, , "bf_window_linear", "", "the plan has no end") \
    X(SchedulerParameters, IDLE, , "bf_yield_interval", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_yield_rpc_cnt", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "bf_yield_sleep", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "build_queue_timeout", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "correspond_after_task_cnt", "", "aftercorr is followed element by element") \
    X(SchedulerParameters, LOST, , "default_gbytes", "", "memory without a unit is in megabytes") \
    X(SchedulerParameters, IDLE, , "default_queue_depth", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "defer", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "defer_batch", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "delay_boot", "", "nodes are not booted") \
    X(SchedulerParameters, IDLE, , "disable_hetjob_steps", "", "steps over components work in every job") \
    X(SchedulerParameters, LOST, , "disable_job_shrink", "", "jobs may give nodes back") \
    X(SchedulerParameters, IDLE, , "enable_hetjob_steps", "", "steps over components work in every job") \
    X(SchedulerParameters, IDLE, , "enable_job_state_cache", "", "questions do not wait for the planner") \
    X(SchedulerParameters, IDLE, , "enable_user_top", "", "users may always order their own jobs with scontrol top") \
    X(SchedulerParameters, LOST, , "extra_constraints", "", "there are no constraints by a node's Extra") \
    X(SchedulerParameters, IDLE, , "Ignore_NUMA", "", "a node's layout is as hwloc finds it, or as its line says") \
    X(SchedulerParameters, LOST, , "ignore_constraint_validation", "", "") \
    X(SchedulerParameters, LOST, , "ignore_prefer_validation", "", "") \
    X(SchedulerParameters, IDLE, , "inventory_interval", "", BY_THE_PLAN) \
    X(SchedulerParameters, LOST, , "max_array_tasks", "", "MaxArraySize bounds arrays, which cost nothing until they run") \
    X(SchedulerParameters, IDLE, , "max_depend_depth", "", "circles of dependencies are found whatever their depth") \
    X(SchedulerParameters, IDLE, , "max_rpc_cnt", "", "each user has a fair share of the controller") \
    X(SchedulerParameters, IDLE, , "max_sched_time", "", BY_THE_PLAN) \
    X(SchedulerParameters, LOST, , "max_script_size", "", "scripts may have 4 MiB") \
    X(SchedulerParameters, IDLE, , "max_submit_line_size", "", "") \
    X(SchedulerParameters, IDLE, , "no_backup_scheduling", "", "there is no backup controller") \
    X(SchedulerParameters, IDLE, , "no_env_cache", "", "environments of users are not kept") \
    X(SchedulerParameters, LOST, , "pack_serial_at_end", "", "") \
    X(SchedulerParameters, IDLE, , "partition_job_depth", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "preempt_reorder_count", "", "the cheapest victims are chosen at once") \
    X(SchedulerParameters, IDLE, , "preempt_strict_order", "", "the cheapest victims are chosen at once") \
    X(SchedulerParameters, IDLE, , "reduce_completing_frag", "", "") \
    X(SchedulerParameters, IDLE, , "requeue_setup_env_fail", "", "environments of users are not kept") \
    X(SchedulerParameters, LOST, , "salloc_wait_nodes", "", "--wait-all-nodes says it for a job") \
    X(SchedulerParameters, LOST, , "sbatch_wait_nodes", "", "--wait-all-nodes says it for a job") \
    X(SchedulerParameters, IDLE, , "sched_interval", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "sched_max_job_start", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "sched_min_interval", "", BY_THE_PLAN) \
    X(SchedulerParameters, IDLE, , "spec_cores_first", "", "") \
    X(SchedulerParameters, IDLE, , "step_retry_count", "", "steps that wait are tried when something ends") \
    X(SchedulerParameters, IDLE, , "step_retry_time", "", "steps that wait are tried when something ends") \
    X(SchedulerParameters, LOST, , "time_min_as_soft_limit", "", "--time-min is the least time a job may get") \
    X(SchedulerParameters, IDLE, , "unavail_topology_recalc", "", "jobs are kept together as topology.conf says") \
    X(SchedulerParameters, IDLE, , "whole_hetjob", "", "scancel and scontrol of the leader mean the whole job") \
    X(SchedulerParameters, IDLE, , "whole_pack", "", "scancel and scontrol of the leader mean the whole job") \
    X(SelectTypeParameters, FLAG, cr_core, "CR_Core", "", "cores are given out; memory is not counted") \
    X(SelectTypeParameters, FLAG, cr_core_memory, "CR_Core_Memory", "", "cores and memory are given out") \
    X(SelectTypeParameters, FLAG, cr_cpu, "CR_CPU", "", "threads are given out; memory is not counted") \
    X(SelectTypeParameters, FLAG, cr_cpu_memory, "CR_CPU_Memory", "", "threads and memory are given out") \
    X(SelectTypeParameters, FLAG, cr_memory, "CR_Memory", "", "memory is counted") \
    X(SelectTypeParameters, PARTLY, cr_socket, "CR_Socket", "", "as CR_Core: sockets are not given out whole") \
    X(SelectTypeParameters, PARTLY, cr_socket_memory, "CR_Socket_Memory", "", "as CR_Core_Memory: sockets are not given out whole") \
    X(SelectTypeParameters, LOST, , "CR_ONE_TASK_PER_CORE", "", "--ntasks-per-core says it for a job") \
    X(SelectTypeParameters, LOST, , "CR_CORE_DEFAULT_DIST_BLOCK", "", "--distribution says it for a job") \
    X(SelectTypeParameters, LOST, , "CR_LLN", "", "") \
    X(SelectTypeParameters, LOST, , "CR_Pack_Nodes", "", "--distribution=pack says it for a job") \
    X(SelectTypeParameters, IDLE, , "OTHER_CONS_RES", "", "resources are always cores, memory and devices") \
    X(SelectTypeParameters, IDLE, , "OTHER_CONS_TRES", "", "resources are always cores, memory and devices") \
    X(SelectTypeParameters, IDLE, , "NHC_ABSOLUTELY_NO", "", "") \
    X(SelectTypeParameters, LOST, , "LL_SHARED_GRES", "", "there are no shared generic resources") \
    X(SelectTypeParameters, LOST, , "MULTIPLE_SHARING_GRES_PJ", "", "there are no shared generic resources") \
    X(SelectTypeParameters, LOST, , "ONE_TASK_PER_SHARING_GRES", "", "there are no shared generic resources") \
    X(SelectTypeParameters, LOST, , "ENFORCE_BINDING_GRES", "", "--gres-flags=enforce-binding says it for a job") \
    X(LaunchParameters, FLAG, use_interactive_step, "use_interactive_step", "", "salloc without a command opens its shell on the first node") \
    X(LaunchParameters, LOST, , "batch_step_set_cpu_freq", "", "") \
    X(LaunchParameters, IDLE, , "cray_net_exclusive", "", "") \
    X(LaunchParameters, IDLE, , "disable_send_gids", "", "groups are looked up where a job runs unless the host is not trusted") \
    X(LaunchParameters, IDLE, , "enable_nss_slurm", "", "users are looked up by the nodes") \
    X(LaunchParameters, IDLE, , "lustre_no_flush", "", "") \
    X(LaunchParameters, IDLE, , "mem_sort", "", "") \
    X(LaunchParameters, IDLE, , "mpir_use_nodeaddr", "", "") \
    X(LaunchParameters, IDLE, , "send_gids", "", "groups are looked up where a job runs unless the host is not trusted") \
    X(LaunchParameters, IDLE, , "slurmstepd_memlock", "", "") \
    X(LaunchParameters, IDLE, , "slurmstepd_memlock_all", "", "") \
    X(LaunchParameters, IDLE, , "test_exec", "", "a program that is not there fails its step") \
    X(LaunchParameters, LOST, , "ulimit_pam_adopt", "", "") \
    X(JobAcctGatherParams, FLAG, over_memory_kill, "OverMemoryKill", "", "jobs over their memory are ended at the samples also where the kernel holds them to it") \
    X(JobAcctGatherParams, IDLE, , "NoShared", "", "what processes share counts once, in parts") \
    X(JobAcctGatherParams, IDLE, , "UsePss", "", "what processes share always counts in parts before a job is ended for it") \
    X(JobAcctGatherParams, FLAG, no_gpu_use, "DisableGPUAcct", "", "what GPUs do is not measured: no figures in sacct, no curves, and GpuIdle says nothing") \
    RLIMIT_WORDS(X, PropagateResourceLimits) \
    RLIMIT_WORDS(X, PropagateResourceLimitsExcept)
/* Names of limits, as ulimit's; each also with RLIMIT_ before it. */
#define RLIMIT_WORDS(X, key) \
    X(key, NAMED, , "ALL", "", "all of them") \
    X(key, NAMED, , "NONE", "", "none of them") \
    RLIMIT_WORD(X, key, "AS") RLIMIT_WORD(X, key, "CORE") RLIMIT_WORD(X, key, "CPU") RLIMIT_WORD(X, key, "DATA") \
    RLIMIT_WORD(X, key, "FSIZE") RLIMIT_WORD(X, key, "MEMLOCK") RLIMIT_WORD(X, key, "NOFILE") RLIMIT_WORD(X, key, "NPROC") \
    RLIMIT_WORD(X, key, "RSS") RLIMIT_WORD(X, key, "STACK")
#define RLIMIT_WORD(X, key, name) X(key, NAMED, , name, "", "") X(key, NAMED, , "RLIMIT_" name, "", "")
// clang-format on

#define WORD_MEMBER_NAMED(member)
#define WORD_MEMBER_IDLE(member)
#define WORD_MEMBER_LOST(member)
#define WORD_MEMBER_FLAG(member)   bool member;
#define WORD_MEMBER_PARTLY(member) bool member;
#define WORD_MEMBER_NUMBER(member) int64_t member;
#define WORD_MEMBER_CHOICE(member) int32_t member;

/* What the words of all settings say, read once. */
struct setting_words {
#define X(key, kind, member, word, choices, doc) WORD_MEMBER_##kind(member)
    SETTING_WORDS(X)
#undef X
};

enum setting_word_kind {
    WORD_NAMED,
    WORD_FLAG,
    WORD_PARTLY,
    WORD_NUMBER,
    WORD_CHOICE,
    WORD_IDLE,
    WORD_LOST
};

struct setting_word {
    const char *key; /* of the setting */
    enum setting_word_kind kind;
    size_t offset;                    /* in struct setting_words; of the kinds that have a member */
    const char *word, *choices, *doc; /* of WORD_CHOICE, with commas */
};
extern const struct setting_word setting_word_table[];
extern const size_t setting_word_count;

/* Nothing is given. */
void setting_words_default(struct setting_words *w);

/* Reads `text`, the value of the setting `key`, into `w`: what it said of this key before is
 * forgotten. Several: words with commas between them; else one word. ret_canonical, if given: the
 * table's spelling of the one word. Lenient: words that are not known, and values that are none,
 * are passed over (a newer controller's); else they are errors that name the nearest known one, and
 * `w` stays as it is. */
bool setting_words_parse(const char *key, const char *text, bool several, bool lenient,
                         struct setting_words *w, const char **ret_canonical, struct err *ret_err);

/* Says of the words without effect in `text` that they have none: one line a reason, "Key=word,word
 * has no effect in Remuda: why"; of those that have another than in Slurm, which. Missed: what was
 * asked for is not there. */
void setting_words_idle(const char *key, const char *text,
                        void (*say)(void *ctx, const char *line, bool missed), void *ctx);

#endif
