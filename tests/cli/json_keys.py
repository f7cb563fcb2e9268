"""json_keys.py WHAT < DOCUMENT: are all members of Slurm's data parser v0.0.43 there, each of its type?

Typed clients (Slinky's, generated from the OpenAPI description) fail over one member of another type. Prints what is wrong; names and types are
those that real documents of 25.05 have. Letters: s text, i number, b true or false, a list, o object, n {set, infinite, number}, x exit code.
"""
import json
import sys

FRAME = {
    "s": "meta.plugin.type meta.plugin.name meta.plugin.data_parser meta.plugin.accounting_storage meta.client.source meta.client.user meta.client.group "
         "meta.slurm.version.major meta.slurm.version.micro meta.slurm.version.minor meta.slurm.release meta.slurm.cluster",
    "a": "meta.command errors warnings",
}
JOB = {
    "s": "account admin_comment allocating_node array_task_string batch_features batch_host burst_buffer burst_buffer_state cluster cluster_features command "
         "comment container container_id cpus_per_tres cron dependency excluded_nodes extra failed_node features federation_origin "
         "federation_siblings_active federation_siblings_viable group_name het_job_id_set licenses licenses_allocated mail_user mcs_label memory_per_tres "
         "name network nodes partition prefer qos required_nodes resv_name scheduled_nodes selinux_context state_description state_reason standard_input "
         "standard_output standard_error stdin_expanded stdout_expanded stderr_expanded submit_line system_comment tres_bind tres_freq tres_per_job "
         "tres_per_node tres_per_socket tres_per_task tres_req_str tres_alloc_str user_name wckey current_working_directory",
    "i": "association_id core_spec thread_spec group_id job_id nice required_switches maximum_switch_wait_time restart_cnt segment_size sockets_per_board user_id",
    "b": "batch_flag contiguous hold oversubscribe reboot requeue",
    "a": "exclusive flags gres_detail job_size_str job_state mail_type priority_by_partition profile shared show_flags",
    "n": "accrue_time array_job_id array_task_id array_max_tasks cores_per_socket billable_tres cpus_per_task cpu_frequency_minimum cpu_frequency_maximum "
         "cpu_frequency_governor deadline delay_boot eligible_time end_time het_job_id het_job_offset last_sched_evaluation max_cpus max_nodes "
         "tasks_per_core tasks_per_tres tasks_per_node tasks_per_socket tasks_per_board cpus node_count tasks memory_per_cpu memory_per_node "
         "minimum_cpus_per_node minimum_tmp_disk_per_node preempt_time preemptable_time pre_sus_time priority resize_time sockets_per_node start_time "
         "submit_time suspend_time time_limit time_minimum threads_per_core",
    "x": "exit_code derived_exit_code",
}
RUNNING = {
    "i": "job_resources.cpus job_resources.nodes.count job_resources.nodes.allocation[].index job_resources.nodes.allocation[].cpus.count "
         "job_resources.nodes.allocation[].memory.allocated",
    "s": "job_resources.nodes.list job_resources.nodes.allocation[].name",
    "b": "job_resources.nodes.whole",
    "a": "job_resources.select_type job_resources.nodes.select_type job_resources.nodes.allocation[].sockets",
    "n": "job_resources.threads_per_core",
}
NODE = {
    "s": "architecture burstbuffer_network_address cluster_name comment extra gpu_spec gres gres_drained gres_used instance_id instance_type mcs_label "
         "name address hostname operating_system owner reason reason_set_by_user reservation specialized_cpus topology tres tres_used version",
    "i": "boards cores specialized_cores cpu_binding cpu_load cpus effective_cpus specialized_memory port real_memory res_cores_per_gpu alloc_memory "
         "alloc_cpus alloc_idle_cpus sockets threads temporary_disk weight energy.average_watts energy.base_consumed_energy energy.consumed_energy "
         "energy.previous_consumed_energy energy.last_collected tres_weighted",
    "a": "active_features cert_flags features next_state_after_reboot partitions state",
    "n": "boot_time free_mem last_busy reason_changed_at resume_after slurmd_start_time energy.current_watts",
    "o": "external_sensors power",
}
PARTITION = {
    "s": "name nodes.allowed_allocation nodes.configured accounts.allowed accounts.deny groups.allowed qos.allowed qos.deny qos.assigned alternate "
         "tres.billing_weights tres.configured cluster defaults.job maximums.shares node_sets topology",
    "i": "nodes.total cpus.task_binding cpus.total defaults.memory_per_cpu grace_time maximums.memory_per_cpu maximums.oversubscribe.jobs minimums.nodes "
         "priority.job_factor priority.tier",
    "a": "select_type maximums.oversubscribe.flags partition.state",
    "n": "defaults.partition_memory_per_cpu defaults.partition_memory_per_node defaults.time maximums.cpus_per_node maximums.cpus_per_socket "
         "maximums.partition_memory_per_cpu maximums.partition_memory_per_node maximums.nodes maximums.time maximums.over_time_limit timeouts.resume "
         "timeouts.suspend suspend_time",
}
RESERVATION = {
    "s": "accounts burst_buffer features groups licenses name node_list partition tres users",
    "i": "core_count max_start_delay node_count",
    "a": "core_specializations flags",
    "n": "end_time start_time watts purge_completed.time",
}
SINFO = {
    "s": "features.total features.active gres.total gres.used cluster comment extra reason.description reason.user reservation partition.name",
    "i": "port nodes.allocated nodes.idle nodes.other nodes.total cpus.minimum cpus.maximum cpus.allocated cpus.idle cpus.other cpus.total cpus.load.minimum "
         "sockets.minimum cores.minimum threads.maximum disk.maximum weight.minimum memory.minimum memory.maximum memory.allocated",
    "a": "node.state nodes.hostnames nodes.addresses nodes.nodes",
    "n": "memory.free.minimum memory.free.maximum reason.time",
}
ACCT = {
    "s": "account comment.administrator comment.job comment.system association.account association.cluster association.partition association.user block "
         "cluster constraints container extra failed_node group name licenses mcs.label nodes partition qos qosreq kill_request_user reservation.name "
         "reservation.requested script stdin stdout stderr stdin_expanded stdout_expanded stderr_expanded state.reason submit_line used_gres user "
         "wckey.wckey working_directory array.task",
    "i": "allocation_nodes array.job_id array.limits.max.running.tasks association.id het.job_id job_id required.CPUs reservation.id restart_cnt segment_size "
         "time.elapsed time.eligible time.end time.start time.submission time.suspended time.system.seconds time.system.microseconds time.total.seconds "
         "time.user.seconds",
    "b": "hold",
    "a": "flags state.current steps tres.allocated tres.requested wckey.flags",
    "n": "array.task_id het.job_offset priority required.memory_per_cpu required.memory_per_node time.limit time.planned",
    "x": "derived_exit_code exit_code",
}
STEP = {
    "s": "steps[].nodes.range steps[].pid steps[].CPU.governor steps[].kill_request_user steps[].step.id steps[].step.name steps[].task.distribution",
    "i": "steps[].time.elapsed steps[].time.suspended steps[].time.system.seconds steps[].time.user.microseconds steps[].nodes.count steps[].tasks.count "
         "steps[].statistics.CPU.actual_frequency",
    "a": "steps[].nodes.list steps[].state steps[].tres.requested.max steps[].tres.requested.total steps[].tres.consumed.average steps[].tres.allocated",
    "n": "steps[].time.end steps[].time.start steps[].CPU.requested_frequency.min steps[].CPU.requested_frequency.max steps[].statistics.energy.consumed",
    "x": "steps[].exit_code",
}
ASSOC_MAX = ("max.jobs.per.count max.jobs.per.accruing max.jobs.per.submitted max.jobs.per.wall_clock max.jobs.active max.jobs.accruing max.jobs.total "
             "max.per.account.wall_clock min.priority_threshold")
ASSOC = {
    "s": "account cluster comment default.qos lineage parent_account partition user",
    "i": "id shares_raw",
    "b": "is_default",
    "a": "accounting flags qos max.tres.total max.tres.group.minutes max.tres.group.active max.tres.minutes.total max.tres.minutes.per.job max.tres.per.job "
         "max.tres.per.node",
    "n": f"priority {ASSOC_MAX}",
}
QOS = {
    "s": "description name",
    "i": "id limits.grace_time",
    "a": "flags preempt.list preempt.mode limits.max.tres.total limits.max.tres.minutes.total limits.max.tres.minutes.per.qos "
         "limits.max.tres.minutes.per.job limits.max.tres.minutes.per.account limits.max.tres.minutes.per.user limits.max.tres.per.account "
         "limits.max.tres.per.job limits.max.tres.per.node limits.max.tres.per.user limits.min.tres.per.job",
    "n": "limits.factor limits.max.active_jobs.accruing limits.max.active_jobs.count limits.max.jobs.count limits.max.jobs.active_jobs.per.account "
         "limits.max.jobs.active_jobs.per.user limits.max.jobs.per.account limits.max.jobs.per.user limits.max.accruing.per.account "
         "limits.max.accruing.per.user limits.max.wall_clock.per.qos limits.max.wall_clock.per.job limits.min.priority_threshold preempt.exempt_time "
         "priority usage_factor usage_threshold",
}
ACCOUNT = {"s": "name description organization", "a": "associations coordinators flags"}
USER = {"s": "name old_name default.account default.wckey", "a": "administrator_level associations coordinators flags wckeys"}
CLUSTER = {
    "s": "name nodes select_plugin controller.host associations.root.account associations.root.cluster tres[].type tres[].name",
    "i": "controller.port rpc_version tres[].id tres[].count associations.root.id", "a": "flags tres",
}
SHARES = {
    "s": "cluster name parent partition tres.usage[].name", "i": "id usage tres.usage[].value", "a": "type tres.group_minutes",
    "n": "shares shares_normalized usage_normalized effective_usage fairshare.factor fairshare.level tres.run_seconds[].value",
}
KINDS = {
    "associations": ("associations", [ASSOC]), "qos": ("qos", [QOS]), "accounts": ("accounts", [ACCOUNT]), "users": ("users", [USER]),
    "clusters": ("clusters", [CLUSTER]), "tres": ("TRES", [{"s": "type name", "i": "id count"}]),
    "wckeys": ("wckeys", [{"s": "name user cluster", "i": "id", "a": "accounting flags"}]),
    "shares": ("shares", [SHARES]),
    "pings": ("pings", [{"s": "hostname", "b": "responding primary", "i": "latency"}]),
    "jobs": ("jobs", [JOB]), "running": ("jobs", [JOB, RUNNING]), "nodes": ("nodes", [NODE]), "partitions": ("partitions", [PARTITION]),
    "reservations": ("reservations", [RESERVATION]), "sinfo": ("sinfo", [SINFO]), "acct": ("jobs", [ACCT]), "ran": ("jobs", [ACCT, STEP]),
}


def is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def fits(letter, v):
    if letter == "n":
        return isinstance(v, dict) and set(v) == {"set", "infinite", "number"} and is_number(v["number"]) and isinstance(v["set"], bool)
    if letter == "x":
        return (isinstance(v, dict) and isinstance(v.get("status"), list) and fits("n", v.get("return_code"))
                and fits("n", v.get("signal", {}).get("id")) and isinstance(v["signal"].get("name"), str))
    if letter == "i":
        return is_number(v)
    return isinstance(v, {"s": str, "b": bool, "a": list, "o": dict}[letter])


def values(v, path):
    """All that stand at the path; a missing one is given as KeyError."""
    if not path:
        yield v
        return
    name, rest = path[0].removesuffix("[]"), path[1:]
    if not isinstance(v, dict) or name not in v:
        yield KeyError
    elif path[0].endswith("[]"):
        if not v[name]:
            yield KeyError
        for x in v[name]:
            yield from values(x, rest)
    else:
        yield from values(v[name], rest)


def wrong(table, v):
    for letter, names in table.items():
        for name in names.split():
            for found in values(v, name.split(".")):
                if found is KeyError:
                    yield f"{name} is missing"
                elif not fits(letter, found):
                    yield f"{name} is {found!r}, not of kind {letter}"


def main():
    key, tables = KINDS[sys.argv[1]]
    document = json.load(sys.stdin)
    bad = list(wrong(FRAME, document))
    if not document.get(key):
        bad.append(f"no {key}")
    records = document.get(key, [])
    for record in records[key] if isinstance(records, dict) else records:  # shares stand in an object of their own
        for table in tables:
            bad += wrong(table, record)
    print("\n".join(sorted(set(bad))))
    sys.exit(bool(bad))


main()
