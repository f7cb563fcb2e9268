#!/usr/bin/env python3
"""Who reads bytes that others wrote, and which fuzz target shows that any bytes will do. Each C file of src/ that takes numbers or lines out of text, or bytes from a descriptor, has a row
here; a file without one fails, so that a new parser is not forgotten.

Usage: parsers.py ROOT. TAP.
"""
import pathlib
import re
import sys

READS = re.compile(r"\b(sscanf|fscanf|strto(?:l|ll|ul|ull|d)|fgets|getline|file_read_text|json_in_\w+|recv|recvfrom|recvmsg|uv_read_start|http_parser_execute)\(|(?<![.>\w])(?:read|pread|fread)\(")

# What is not for a fuzzer: why.
OURS = "what Remuda wrote itself, where only its user may write"
KERNEL = "a fixed form of the kernel's, with no word of users in it"
SITE = "a file or setting of the administrator's, handed on to a parser of the model or read as one word"
WORDS = "words of whoever runs the command, as that user"
BYTES = "hands bytes on as they are, counted, to those named here"
CHECKED = "digits that a parser of the model has let pass"

# file: fuzz targets (tests/fuzz/NAME_fuzz.c), or a reason from above
FILES = {
    "src/cli/accounts/archive.c": "past", "src/cli/accounts/assoc_mgr.c": WORDS, "src/cli/accounts/import/conf.c": "import", "src/cli/accounts/fields.c": WORDS, "src/cli/accounts/load.c": "accounts", "src/cli/accounts/prompt.c": WORDS, "src/cli/accounts/settings.c": "accounts",
    "src/cli/cluster/gpus.c": OURS, "src/cli/cluster/join.c": WORDS, "src/cli/cluster/manual.c": OURS, "src/cli/cluster/status.c": KERNEL, "src/cli/cluster/up_conf.c": OURS,
    "src/cli/lsf/bsub.c": WORDS, "src/cli/pbs/pbsdsh.c": OURS, "src/cli/pbs/qmgr.c": WORDS, "src/cli/pbs/qsub.c": WORDS,
    "src/cli/container/place.c": OURS, "src/cli/container/podman.c": KERNEL, "src/cli/container/run.c": BYTES,
    "src/cli/listing/scancel.c": WORDS, "src/cli/plot/picture_png.c": "colours that stand in the program", "src/cli/plot/top.c": "keys of whoever runs it, one by one", "src/cli/program/cluster_dir.c": "config", "src/cli/program/command_signals.c": KERNEL, "src/cli/program/daemons.c": OURS, "src/cli/program/give_out.c": BYTES, "src/cli/program/host_dir.c": OURS, "src/cli/reports/output_end.c": "output", "src/cli/reports/sreport.c": WORDS,
    "src/cli/record/acct_json.c": OURS, "src/cli/scontrol/hosts.c": "hostlist", "src/cli/scontrol/pids.c": "the name of the process is skipped from its end, and one number read", "src/cli/scontrol/scontrol.c": WORDS,
    "src/cli/step/run.c": OURS, "src/cli/step/run_peers.c": OURS, "src/cli/step/stream_hub.c": "streams", "src/cli/submit/command.c": WORDS, "src/cli/submit/host.c": WORDS, "src/cli/submit/script.c": "script", "src/cli/submit/scrontab.c": "cron",
    "src/controller/answer.c": OURS, "src/controller/site/config_file.c": "config", "src/controller/controller.c": KERNEL, "src/controller/disk/given.c": OURS, "src/controller/site/hosts.c": OURS, "src/controller/metrics_port.c": SITE, "src/controller/site/owners.c": "that something changed is all that is taken of what is read",
    "src/controller/disk/series_days.c": OURS, "src/controller/disk/series_read.c": "a place in bounded words, that the answer before named; any is as good", "src/controller/query.c": KERNEL,
    "src/io/process/aside.c": BYTES, "src/io/client/client.c": "frame", "src/io/net/conn.c": "frame", "src/io/process/daemon.c": OURS, "src/io/files.c": BYTES, "src/io/net/http.c": "http", "src/io/net/name_lookup.c": OURS, "src/smtp/main.c": "answers (letter.c and replies.c); libcurl reads the rest", "src/io/process/spawn.c": BYTES, "src/io/timer.c": KERNEL, "src/io/loop.c": KERNEL,
    "src/model/job/alloc.c": "model", "src/model/grammar/gres.c": "model", "src/model/env/job_env.c": CHECKED, "src/model/env/lsf_report.c": OURS, "src/model/record/partition.c": CHECKED, "src/model/record/series.c": "series",
    "src/node/cgroup/base.c": KERNEL, "src/node/cgroup/charged.c": KERNEL, "src/node/cgroup/device_filter.c": "site", "src/node/cgroup/enter.c": KERNEL, "src/node/cgroup/files.c": KERNEL, "src/node/cgroup/fs.c": KERNEL, "src/node/cgroup/hand_back.c": KERNEL, "src/node/cgroup/measure.c": KERNEL, "src/node/cgroup/group.c": "site",
    "src/node/daemon/clear.c": KERNEL, "src/node/daemon/find.c": OURS, "src/node/daemon/gpu_release.c": OURS, "src/node/daemon/launch_gpus.c": CHECKED, "src/node/daemon/main.c": KERNEL, "src/node/daemon/program_files.c": OURS,
    "src/node/daemon/notes_in.c": "cuts lines, which agent/note.c reads (fuzz_shepherd); unit notes_in", "src/node/daemon/series_feed.c": "numbers that a shepherd wrote; its values are read by model/record/series.c (fuzz_series)", "src/node/daemon/series_queue.c": OURS, "src/node/daemon/site.c": OURS,
    "src/node/hardware/amd/amd.c": SITE, "src/node/hardware/amd/facts.c": KERNEL, "src/node/hardware/amd/kfd.c": KERNEL, "src/node/hardware/amd/amd_rsmi.c": KERNEL,
    "src/node/hardware/discover.c": KERNEL, "src/node/hardware/discover_conf.c": SITE, "src/node/hardware/discover_gpus.c": CHECKED,
    "src/node/hardware/nvidia/discover_nvidia.c": KERNEL, "src/node/hardware/gpu_helper.c": "what the node's daemon says to its own process",
    "src/node/hardware/gpu_openers.c": KERNEL, "src/node/hardware/gpu_killed.c": KERNEL,
    "src/node/hardware/gpu_holders.c": "the name of the process is made letters, its step is read by step/dir.c (fuzz_shepherd), the rest are numbers; unit gpu_holders", "src/node/hardware/gpu_time.c": SITE,
    "src/node/hardware/gpu_lines.c": "answers", "src/node/hardware/gpu_watch.c": "answers", "src/node/hardware/gpu_watched.c": OURS, "src/node/hardware/sysfs.c": KERNEL, "src/node/hardware/sysfs_read.c": KERNEL,
    "src/node/host/host_file.c": OURS, "src/node/host/join.c": WORDS, "src/node/host/seal.c": WORDS,
    "src/node/shepherd/exec.c": "the output of its owner's login shell, cut into assignments by the owner's process", "src/node/shepherd/watch/memory_watch.c": OURS, "src/node/shepherd/text_pages.c": KERNEL, "src/node/shepherd/tasks/meet.c": "hands bytes to agent/pmi.c (fuzz_pmi)", "src/node/shepherd/tasks/pmix_server.c": "frame", "src/pmix/main.c": "frame", "src/node/shepherd/tasks/mpi.c": "looks for a word in each line", "src/node/shepherd/watch/oom.c": "site",
    "src/node/shepherd/again.c": OURS, "src/node/shepherd/output_end.c": BYTES, "src/node/shepherd/watch/series.c": KERNEL, "src/node/shepherd/plan_intake.c": "shepherd", "src/node/shepherd/setup.c": "limits of the submitter, capped by the node's own", "src/node/shepherd/step.c": KERNEL, "src/node/shepherd/say.c": "a sentence of the step's own process, shown as plain text", "src/node/shepherd/tasks/stream.c": "streams", "src/node/shepherd/tasks/stream_end.c": "what comes is dropped, so many bytes; unit shepherd_end",
    "src/node/shepherd/tasks/task.c": OURS, "src/node/shepherd/tasks/file_writer.c": BYTES, "src/node/shepherd/tasks/files.c": OURS, "src/node/shepherd/tasks/programs.c": "lines of the site's program and of the owner's own, cut into assignments in the owner's process", "src/node/shepherd/tasks/set.c": OURS,
    "src/node/step/counters.c": KERNEL, "src/node/step/cpu_energy.c": KERNEL, "src/node/step/bind/gpus.c": "shepherd", "src/node/step/bind/lists.c": "shepherd", "src/node/step/descriptors.c": KERNEL, "src/node/step/dir.c": "shepherd", "src/node/step/notes_socket.c": "shepherd", "src/node/step/proc_tree.c": "answers", "src/node/step/proc_step.c": "numbers of the kernel's; a path that a shepherd has open, whose last word step/dir.c reads (fuzz_shepherd); unit gpu_holders", "src/node/shepherd/apart.c": "a number of our own child; unit shepherd_apart", "src/node/step/proc_environ.c": "cuts texts at their NULs, so many bytes; unit gpu_holders",
    "src/sched/books/node_state.c": CHECKED,
    "src/sim/replay/accounting.c": "workload", "src/sim/check.c": WORDS, "src/sim/replay/made.c": WORDS, "src/sim/options.c": WORDS, "src/sim/series.c": WORDS, "src/sim/replay/squeue.c": "workload", "src/sim/story/story.c": WORDS, "src/sim/replay/table.c": "workload", "src/sim/replay/trace.c": "workload",
    "src/cli/table/columns.c": "a fraction that its own cell has written", "src/store/file/place.c": OURS, "src/store/file/sum.c": "bytes are added up", "src/store/file/pages.c": "pages", "src/store/sqlite/trouble.c": KERNEL,
    "src/wire/frame.c": "frame", "src/wire/submit_filter.c": "site", "src/cli/step/adopt.c": KERNEL, "src/io/process/groups.c": KERNEL, "src/io/process/readers.c": "the name of a process is compared whole, the rest is the kernel's", "src/io/net/socket_owner.c": KERNEL, "src/wire/json.c": "frame", "src/wire/json_in.c": "frame", "src/wire/record.c": "frame", "src/wire/rows.c": "frame",
}

root = pathlib.Path(sys.argv[1])
targets = {path.name.removesuffix("_fuzz.c") for path in (root / "tests/fuzz").glob("*_fuzz.c")}
reading = {str(path.relative_to(root)) for path in (root / "src").rglob("*.c") if READS.search(path.read_text())}
known = targets | {reason for reason in FILES.values() if " " in reason}
complaints = {
    "each file that reads what others wrote has a row": [f"{name}: which fuzz target shows that any bytes will do? A row in tests/arch/parsers.py says it" for name in sorted(reading - set(FILES))],
    "each row is of a file that reads": [f"{name} reads nothing any more, or is gone" for name in sorted(set(FILES) - reading)],
    "each target is there": [f"{name}: there is no tests/fuzz/{target}_fuzz.c" for name, target in sorted(FILES.items()) if target not in known],
}
print(f"1..{len(complaints)}")
for number, (what, wrong) in enumerate(complaints.items(), 1):
    print(f"{'not ok' if wrong else 'ok'} {number} - {what}")
    for line in wrong:
        print(f"# {line}")
sys.exit(any(complaints.values()))
