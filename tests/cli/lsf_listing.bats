#!/usr/bin/env bats
# The words of LSF for what is there: bjobs, bqueues, bhosts, bhist, bacct; and for changing it.
bats_require_minimum_version 1.5.0
load common
load lsf

# ---- listing and controlling --------------------------------------------------------------------------------------------------------

@test "bjobs: the standard layout, -w, -o with widths and a delimiter, -json, one id that there is not" {
    submitted -H -J a_long_name_of_a_job -P proj -n 2 -W 1:30 -o /dev/null true
    run -0 --separate-stderr bjobs "$id"
    [ "${lines[0]}" = "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME" ]
    [[ "${lines[1]}" =~ ^$id\ +$(id -un | cut -c1-7)\ +PSUSP\ hpc\ .*\ \*_of_a_job\ [A-Z][a-z][a-z]\ [\ 0-9][0-9]\ [0-9][0-9]:[0-9][0-9]$ ]]
    [[ "$(bjobs -w "$id" | tail -1)" == *" -           a_long_name_of_a_job "* ]]
    [ "$(bjobs -o 'jobid stat: queue:-6 name:8 proj slots delimiter="|"' "$id")" = "JOBID|STAT|QUEUE|JOB_NAME|PROJ_NAME|SLOTS
$id|PSUSP|hpc|a_long_name_of_a_job|proj|2" ]
    [ "$(bjobs -noheader -o 'stat: queue:-6 name:8 runtimelimit' "$id")" = "PSUSP    hpc *f_a_job 90.0" ]
    run -0 --separate-stderr bjobs -o "JOBID STAT EXIT_REASON" -json "$id" 987654
    [ "$(python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["COMMAND"], d["JOBS"], d["RECORDS"])' <<< "$output")" = "bjobs 2 [{'JOBID': '$id', 'STAT': 'PSUSP', 'EXIT_REASON': ''}, {'JOBID': '987654', 'ERROR': 'Job <987654> is not found'}]" ]
    run -0 --separate-stderr bjobs 987654
    [[ "$stderr" == "Job <987654> is not found" && -z "$output" ]]
    LSB_BJOBS_CONSISTENT_EXIT_CODE=Y run -255 --separate-stderr bjobs 987654
    run -255 --separate-stderr bjobs -o 'jobid frob'
    [ "$stderr" = "bjobs: <frob> in the format string is not a valid field name." ]
    run -255 --separate-stderr bjobs -o "slots:10:G"
    [ "$stderr" = "bjobs: <slots:10:G> in the format string asks for a unit, which only sizes have." ]
    run -255 --separate-stderr bjobs -o "mem:10:Gb mem:10:X"
    [[ "$stderr" == "bjobs: <mem:10:X> in the format string is not a valid unit: "* ]]
    run -0 --separate-stderr bjobs -p
    [ "$stderr" = "No pending job found" ]
    bjobs -l "$id" | grep -q "^Job <$id>, Job Name <a_long_name_of_a_job>, User <$(id -un)>, Project <proj>"
    run -0 bkill "$id"
    [ "$output" = "Job <$id> is being terminated" ]
}

@test "bjobs of arrays: a line for each element; -A, -sum; what ended shows with -a and -d, with its exit code" {
    submitted -H -J 'arr[1-3]' -o /dev/null true
    [ "$(bjobs -noheader -o 'jobid jobindex name' "$id")" = "$id 1 arr[1]
$id 2 arr[2]
$id 3 arr[3]" ]
    [ "$(bjobs -noheader -o name "$id[2]")" = "arr[2]" ]
    [ "$(bjobs -noheader -o name -J 'arr[3]')" = "arr[3]" ]
    [ "$(bjobs -A "$id" | tail -1 | awk '{print $1, $2, $4, $11}')" = "$id arr[1-3] 3 3" ]
    run -0 bkill "$id[2]"
    [ "$output" = "Job <$id[2]> is being terminated" ]
    [ "$(bjobs -noheader -o 'stat exit_code exit_reason' "$id[2]")" = "EXIT 130 TERM_OWNER: job killed by owner" ]
    # What ended counts in the line of the array.
    [ "$(bjobs -A "$id" | tail -1 | awk '{print $4, $8, $11}')" = "3 1 2" ]
    bkill "$id"
    submitted -J coded -o /dev/null exit 5
    wait_state "$id" FAILED
    [ "$(bjobs -d -noheader -o 'stat exit_code' -J coded)" = "EXIT 5" ]
    [ "$(bjobs -noheader -o stat "$id")" = EXIT ]
    run -0 --separate-stderr bjobs -J coded
    [ "$stderr" = "No unfinished job found" ]
}

@test "bjobs of a running job: hosts with slots, the condensed form, time left; bstop, bresume, brequeue, bswitch, btop" {
    submitted -n 6 -R "span[ptile=3]" -W 60 -o /dev/null sleep 6131
    wait_state "$id" RUNNING
    [ "$(bjobs -noheader -o 'stat exec_host first_host nexec_host' "$id")" = "RUN 3*n1:3*n2 n1 2" ]
    [ "$(bjobs "$id" | sed -n 3p)" = "                                             3*n2" ]
    [[ "$(bjobs -noheader -o 'time_left delimiter=","' "$id")" =~ ^(0:5[89]|1:0)\ L$ ]]
    run -0 bstop "$id"
    [ "$output" = "Job <$id> is being stopped" ]
    [ "$(bjobs -noheader -o 'stat suspend_reason' "$id")" = "USUSP The job was suspended by the user" ]
    # By a signal to its processes: it keeps what it holds, for the cluster it runs.
    [ "$(state "$id")" = STOPPED ]
    stopped() { grep -qs '^State:.T' /proc/"$(pgrep -f "^sleep 613[1]$" | head -1)"/status; }
    eventually stopped
    bhosts -w n1 | grep -qE " 3 +0 +0 +3 +0 $"
    run -0 bresume "$id"
    [ "$output" = "Job <$id> is being resumed" ]
    [ "$(bjobs -noheader -o stat "$id")" = RUN ]
    eventually not stopped
    run -0 scontrol suspend "$id"
    [ "$(bjobs -noheader -o stat "$id")" = USUSP ]
    run -0 bresume "$id"
    [ "$(state "$id")" = RUNNING ]
    run -0 brequeue "$id"
    [ "$output" = "Job <$id> is being requeued " ]
    wait_state "$id" RUNNING
    run -0 bkill -s KILL "$id"
    [ "$output" = "Job <$id> is being signaled" ]
    wait_state "$id" CANCELLED
    submitted -H -o /dev/null true
    run -0 bswitch normal "$id"
    [ "$output" = "Job <$id> is switched to queue <normal>" ]
    [ "$(bjobs -noheader -o queue "$id")" = normal ]
    run -0 bresume "$id"
    [ "$output" = "Job <$id> is being resumed" ]
    wait_state "$id" COMPLETED
    run -255 --separate-stderr bkill "$id"
    [ "$stderr" = "Job <$id>: Job has already finished" ]
    run -255 --separate-stderr bkill 987654
    [ "$stderr" = "Job <987654>: No matching job found" ]
    run -255 --separate-stderr bkill
    [[ "$stderr" == "Job ID or one of "* ]]
}

@test "bstop and bresume of an array: to each element what fits it" {
    submitted -J 'many[1-3]%1' -x -m n1 -o /dev/null sleep 700
    wait_state "${id}_1" RUNNING
    run -0 bstop "$id"
    [ "$output" = "Job <$id> is being stopped" ]
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'1 USUSP\n2 PSUSP\n3 PSUSP' ]
    run -0 bresume "$id[1]"
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'1 RUN\n2 PSUSP\n3 PSUSP' ]
    run -0 bresume "$id"
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'1 RUN\n2 PEND\n3 PEND' ]
    bkill "$id"
    wait_state "${id}_1" CANCELLED
}

@test "bstop, bresume and brequeue of an array of which some are over or wait: what is done to the others is no failure" {
    submitted -H -b 12:31:23:59 -J 'part[1-3]' -o /dev/null true
    bkill "$id[1]"
    run -0 --separate-stderr bresume "$id"
    [[ "$output" == "Job <$id> is being resumed" && -z "$stderr" ]]
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'2 PEND\n3 PEND' ]
    run -0 bstop "$id"
    [ "$output" = "Job <$id> is being stopped" ]
    [ "$(bjobs -noheader -o 'jobindex stat' "$id")" = $'2 PSUSP\n3 PSUSP' ]
    bkill "$id"
    run -255 --separate-stderr bresume "$id"
    [ "$stderr" = "Job <$id>: Job has already finished" ]
    submitted -r -J 'part[1-3]%1' -x -m n1 -o /dev/null sleep 700
    wait_state "${id}_1" RUNNING
    run -0 --separate-stderr brequeue "$id"
    [[ "$output" == "Job <$id> is being requeued " && -z "$stderr" ]]
    runs_again() { [ "$(squeue -h -r -j "$id" -O RestartCnt | awk '{ n += $1 } END { print n }')" = 1 ]; }
    eventually runs_again
    run ! --separate-stderr brequeue "$id[3]" # alone it is what was asked for
    bkill "$id"
}

@test "btop and bbot: before and behind one's others of the queue, by Nice" {
    local ids=()
    submitted -x -q gpuv100 -m n1 -o /dev/null sleep 600
    local first=$id
    submitted -x -q gpuv100 -m n2 -o /dev/null sleep 600
    wait_state "$id" RUNNING
    wait_state "$first" RUNNING
    printf '#SCRON -p gpuv100\n@yearly true\n' | scrontab - # its job waits in the same queue, and is none that can be moved
    local second=$id
    for name in one two three; do
        submitted -x -q gpuv100 -m n1 -J "$name" -o /dev/null sleep 600
        ids+=("$id")
    done
    run -0 btop "${ids[2]}"
    [ "$output" = "Job <${ids[2]}> has been moved to position 1 from top." ]
    run -0 bbot "${ids[0]}"
    [ "$output" = "Job <${ids[0]}> has been moved to position 1 from bottom." ]
    bkill "$first"
    wait_state "${ids[2]}" RUNNING
    [ "$(state "${ids[0]}") $(state "${ids[1]}")" = "PENDING PENDING" ]
    bkill "${ids[2]}"
    wait_state "${ids[1]}" RUNNING
    [ "$(state "${ids[0]}")" = PENDING ]
    submitted -H -q gpuv100 -m n1 -o /dev/null true # behind all, as it has no priority
    run -0 btop "$id"
    scrontab -r
    run -255 --separate-stderr btop "$second"
    [ "$stderr" = "Job <$second>: Job has already started" ]
    bkill -q gpuv100 0
    wait_state "$second" CANCELLED
}

@test "btop and bbot of an element: it alone goes before or behind its brothers and the others" {
    nices() { squeue -h -r -p gpuv100 -O 'JobID:20,ArrayJobID:20,ArrayTaskID:20,Nice:20' | awk '{ print $2, $3, $4 }' | sort -n -k1,1 -k2,2; }
    submitted -x -q gpuv100 -m "n1 n2" -n 2 -R 'span[ptile=1]' -o /dev/null sleep 600
    local first=$id
    wait_state "$id" RUNNING
    submitted -q gpuv100 -x -J 'row[1-5]' -o /dev/null true
    local row=$id
    nice() { nices | awk -v n="$row" '$1 == n { printf("%s%s", ($3 > 0 ? "+" : "0"), ($2 == 5 ? "\n" : "")) }'; }
    [ "$(nice)" = 00000 ]
    run -0 btop "$row[3]"
    [ "$output" = "Job <$row[3]> has been moved to position 1 from top." ]
    [ "$(nice)" = ++0++ ]
    run -0 bbot "$row[3]"
    [ "$(nice)" = +++++ ]
    [ "$(nices | awk -v n="$row" '$1 == n && $2 == 3 { at = $3 } $1 == n && $2 == 4 { other = $3 } END { print (at > other) }')" = 1 ]
    submitted -q gpuv100 -x -J 'row[1-5]' -o /dev/null true
    row=$id
    run -0 bbot "$row[2]"
    [ "$(nice)" = 0+000 ]
    bkill -q gpuv100 0
}

# Of array $id: how many records it has, and the Nice of an element.
records() { squeue -h -j "$id" -o '%F_%K' | wc -l; }
nice_of() { squeue -h -r -j "${id}_$1" -O Nice:20 | tr -d ' '; }

@test "btop of an element of a large array: its brothers stay one, whoever went before, and what has another Nice has it still" {
    submitted -x -q gpuv100 -m "n1 n2" -n 2 -R 'span[ptile=1]' -o /dev/null sleep 600
    wait_state "$id" RUNNING
    submitted -J 'crowd[1-20000]' -x -q gpuv100 -o /dev/null true
    run -0 btop "$id[500]"
    [ "$(records) $(nice_of 500)" = "2 0" ]
    local behind
    behind=$(nice_of 1)
    [ "$behind" -gt 0 ]
    run -0 btop "$id[700-701]"
    [ "$(records) $(nice_of 700) $(nice_of 701)" = "4 $behind $behind" ]
    [ "$(nice_of 500)" -gt "$behind" ]
    [ "$(nice_of 20000)" -gt "$behind" ]
    bstop "$id[9]"
    behind=$(nice_of 9)
    run -0 btop "$id[10]"
    [ "$(records) $(nice_of 9)" = "6 $behind" ] # it is held, and nobody's place changes for it
    bkill -q gpuv100 0
}

@test "btop of an element beyond those that are listed: it keeps its place, and the others go behind it" {
    submitted -b 12:31:23:59 -J 'huge[1-100003]' -q gpuv100 -o /dev/null true
    run -0 btop "$id[100001,100003]"
    [ "$(nice_of 100001) $(nice_of 100003)" = "0 0" ]
    [ "$(nice_of 1) $(nice_of 100002)" = "2 2" ]
    run -255 --separate-stderr btop "$id[1-60000]" # most of it: one by one the others would go behind, and some are not listed
    [ "$stderr" = "Job <$id[1-60000]>: Too many elements to be moved one by one" ]
    bkill "$id"
}

@test "btop of elements that cannot become jobs of their own: it is refused, and nothing has changed" {
    submitted -H -J 'first[1-100]' -q gpuv100 -o /dev/null true
    local first=$id
    id=$(sbatch --parsable -p gpuv100 -o /dev/null -a 1-20000 -d "afterany$(printf ":${first}_%d" {1..100})" --wrap true)
    run -255 --separate-stderr btop "$id[7,9-3007]" # each would wait for a hundred
    [[ "$stderr" == *"let one job wait for these"* ]]
    [ "$(records) $(nice_of 7) $(nice_of 20000)" = "1 0 0" ]
    bkill "$id" "$first"
}

@test "btop of an element: those of its array that wait in another queue stay as they are" {
    submitted -b 12:31:23:59 -J 'apart[1-12]' -q gpuv100 -o /dev/null true
    run -0 bswitch hpc "$id[9-10]"
    run -0 btop "$id[5]"
    [ "$(nice_of 5) $(nice_of 1) $(nice_of 9)" = "0 2 0" ]
    run -0 btop "$id[10]"
    [ "$(nice_of 5) $(nice_of 1) $(nice_of 10)" = "0 2 0" ]
    [ "$(nice_of 9)" -gt 0 ]
    bkill "$id"
}

@test "what waits of an array of 20000: what names its elements is asked in pieces, and the whole as one" {
    submitted -H -b 12:31:23:59 -J 'very[1-20000]' -q gpuv100 -o /dev/null true # none begins meanwhile
    run -0 bresume "$id"
    run -0 bstop "$id"
    [ "$output" = "Job <$id> is being stopped" ]
    bswitch hpc "$id[7]"
    run -0 bkill -q gpuv100 0
    [ "$(squeue -h -r -o %i | grep "^${id}_")" = "${id}_7" ]
    bkill "$id"
}

@test "bkill 0 and -J, -q: all of mine that are meant" {
    submitted -H -J one -o /dev/null true
    local one=$id
    submitted -H -J two -q gpuv100 -o /dev/null true
    run -0 bkill -J one 0
    [ "$output" = "Job <$one> is being terminated" ]
    run -0 bkill -q gpuv100
    [ "$output" = "Job <$id> is being terminated" ]
    run -255 --separate-stderr bkill 0
    [ "$stderr" = "No matching job found" ]
}

@test "bkill, bstop, bresume, brequeue: of an array what the filters mean, by index, host and queue; the others go on" {
    stats() { bjobs -noheader -o stat "$id" | tr '\n' ' '; }
    submitted -J 'some[1-5]' -x -o /dev/null sleep 6151
    wait_state "${id}_1" RUNNING
    wait_state "${id}_2" RUNNING
    scontrol update "job=${id}_5" name=other
    run -0 bstop -J 'some[4]'
    [ "$output" = "Job <$id[4]> is being stopped" ]
    [ "$(stats)" = "RUN RUN PEND PSUSP PEND " ]
    run -0 bkill -J 'some[4]' 0
    [ "$output" = "Job <$id[4]> is being terminated" ]
    run -0 bstop -m n1 0
    [[ "$output" =~ ^Job\ \<$id\[([12])\]\>\ is\ being\ stopped$ ]]
    local at=${BASH_REMATCH[1]}
    [ "$(bjobs -noheader -o 'stat exec_host' -J "some[$at]")" = "USUSP n1" ]
    [ "$(stats | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')" = "PEND PEND RUN USUSP " ]
    run -0 bresume -m n1
    [ "$(stats)" = "RUN RUN PEND PEND " ]
    run -0 brequeue -m n1
    [ "$output" = "Job <$id[$at]> is being requeued " ]
    eventually has_state "${id}_3" RUNNING
    [ "$(squeue -h -j "${id}_$((3 - at))" -O RestartCnt | tr -d ' ')" = 0 ] # the other's run goes on
    run -0 bkill -J some # what has another name is none of them
    [ "$output" = "Job <$id[1]> is being terminated
Job <$id[2]> is being terminated
Job <$id[3]> is being terminated" ]
    eventually has_state "${id}_5" RUNNING
    run -0 bkill -J other
    submitted -J both -q "hpc gpuv100" -o /dev/null sleep 6152
    wait_state "$id" RUNNING
    [ "$(bqueues -noheader -o 'qname run' hpc gpuv100)" = "hpc 1
gpuv100 0" ]
    run -255 --separate-stderr bkill -q gpuv100 0
    [ "$stderr" = "No matching job found" ]
    [ "$(qselect -q gpuv100)" = "" ]
    [ "$(qselect -q hpc)" = "$(qselect)" ]
    run -0 bkill -q hpc 0
    submitted -H -J both -q "hpc gpuv100" -o /dev/null sleep 6152
    run -0 bkill -q gpuv100 0 # what waits is in either
    [ "$output" = "Job <$id> is being terminated" ]
}

@test "bqueues, bhosts, lsid" {
    run -0 bqueues
    [ "${lines[0]}" = "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP " ]
    grep -qE '^hpc +1  Open:Active +- +- +- +- +0 +0 +0 +0$' <<< "$output"
    bqueues -l hpc | grep -qx "  -- This is the default queue."
    submitted -b 12:31:23:59 -J 'late[1-1999:2]' -n 2 -q "hpc gpuv100" -o /dev/null true
    [ "$(bqueues -noheader -o 'qname njobs pend run' hpc gpuv100 normal)" = "hpc 2000 2000 0
gpuv100 2000 2000 0
normal 0 0 0" ]
    bqueues -l gpuv100 | grep -qE ' 2000 +2000 +0 +0 +0 +0$'
    bqueues | grep -qE '^gpuv100 .* 2000 +2000 +0 +0$'
    bkill "$id"
    run -255 --separate-stderr bqueues nope
    [ "$stderr" = "nope: No such queue" ]
    run -255 --separate-stderr bqueues -noheader -o qname hpc nope
    [ "$output $stderr" = "hpc nope: No such queue" ]
    local command
    for command in bhosts lsload lshosts; do # what is there is shown, and what is not said
        run -255 --separate-stderr "$command" -w n1 bogus n3
        [ "$stderr" = "bogus,n3: Bad host name" ]
        [[ "${lines[1]}" == "n1 "* ]]
    done
    run -255 --separate-stderr nodestat hpc nope
    [[ "$stderr" == "nope: No such queue" && "$output" == *n1* ]]
    run -255 --separate-stderr classstat hpc nope
    [[ "$stderr" == "nope: No such queue" && "$output" == *hpc* ]]
    run -0 bhosts n1
    [ "${lines[0]}" = "HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV " ]
    [[ "${lines[1]}" =~ ^n1\ +ok\ +-\ +32\ +0\ +0\ +0\ +0\ +0\ $ ]]
    lsid | grep -qx "My cluster name is dcc"
}

@test "bjobs -o: sizes in the unit that is asked for" {
    submitted -M 1GB -W 5 -o /dev/null sleep 100
    wait_state "$id" RUNNING
    [ "$(bjobs -noheader -o 'memlimit memlimit::M memlimit:-16:gb memlimit:16:K delimiter="|"' "$id")" = "1G|1024.0 Mbytes|1.0 Gbytes|1048576.0 Kbytes" ]
    [ "$(bjobs -noheader -o 'memlimit:-12:G stat' "$id")" = "  1.0 Gbytes RUN" ]
    [ "$(bjobs -o 'memlimit:12:T' -json "$id" | jq -r '.RECORDS[0].MEMLIMIT')" = "0.0 Tbytes" ]
    bkill "$id"
}

@test "bjobs -l: what was asked for, what it holds, memory; -UF does not break lines; max_mem is known" {
    submitted -n 2 -R "span[hosts=1] rusage[mem=1GB]" -J talk -W 60 -Jd "a word" -o out.%J 'sleep 600'
    wait_state "$id" RUNNING
    eventually sh -c "bjobs -noheader -o max_mem $id | grep -q Mbytes"
    run -0 bjobs -UF "$id"
    grep -qx "Job <$id>, Job Name <talk>, User <$(id -un)>, Project <default>, Status <RUN>, Queue <hpc>, Command <sleep 600>, Share group charged </$(id -un)>, Job Description <a word>" <<< "$output"
    grep -qE ": Submitted from host <.*>, CWD <$WORK>, Output File <$WORK/out.$id>, 2 Task\(s\), Requested Resources <rusage\[mem=1024.00/task\] span\[hosts=1\]>;$" <<< "$output"
    grep -qE ": Started 2 Task\(s\) on Host\(s\) <2\*n1>, Allocated 2 Slot\(s\) on Host\(s\) <2\*n1>, Execution Home <.*>, Execution CWD <$WORK>;$" <<< "$output"
    grep -qx " 60.0 min" <<< "$output"
    grep -qx "   2.0 G " <<< "$output"
    grep -qE "^ MAX MEM: [0-9]+ Mbytes$" <<< "$output"
    grep -qx " Combined: rusage\[mem=1024.00/task\] span\[hosts=1\]" <<< "$output"
    [ "$(bjobs -l "$id" | awk 'length > 80')" = "" ]
    bkill "$id"
}

@test "bhist and bacct: how long in which state, what happened, sums, times; -C, -t and what is no time" {
    submitted -H -J past -o /dev/null 'exit 3'
    eventually sh -c "[ \$(bhist $id | tail -1 | awk '{print \$5}') -ge 2 ]"
    bresume "$id"
    wait_state "$id" FAILED
    run -0 bhist "$id"
    [ "${lines[0]}" = "Summary of time in seconds spent in various states:" ]
    [ "${lines[1]}" = "JOBID   USER    JOB_NAME  PEND    PSUSP   RUN     USUSP   SSUSP   UNKWN   TOTAL" ]
    [[ "${lines[2]}" =~ ^$id\ +[^\ ]+\ +past\ +[0-9]+\ +[1-9][0-9]*\ +[0-9]+\ +0\ +0\ +0\ +[1-9][0-9]*\ *$ ]]
    run -0 bhist -l "$id"
    grep -qE ": Exited with exit code 3\. The CPU time used is [0-9.]+ seconds\.$" <<< "$output"
    grep -qE "^Summary of time in seconds spent in various states by  [A-Z][a-z][a-z] [A-Z][a-z][a-z] " <<< "$output"
    bhist -a | grep -qE "^$id "
    bhist -t .-1, -J past | grep -qE "^$id "
    run -255 --separate-stderr bhist -C 2001/1/1,2001/2/1
    [ "$stderr" = "No matching job found" ]
    run -255 --separate-stderr bhist -t yesterday
    [[ "$stderr" == "bhist: yesterday: Illegal time interval: "* ]]
    run -0 bacct "$id"
    grep -qx " Total number of done jobs:       0      Total number of exited jobs:     1" <<< "$output"
    bacct -l "$id" | grep -qx "     CPU_T     WAIT     TURNAROUND   STATUS     HOG_FACTOR    MEM    SWAP"
    bacct -e -J past | grep -qx " Total number of done jobs:       0      Total number of exited jobs:     1"
    bacct -C 2001/1/1,2001/2/1 | grep -qx " Total number of done jobs:       0      Total number of exited jobs:     0"
}

@test "bhist of a requeued job: each of its runs, the first one, too, and the time of all" {
    submitted -n 4 -R "span[ptile=2]" -J again -o /dev/null -r sleep 6141
    wait_state "$id" RUNNING
    sleep 1.1
    run -0 brequeue "$id"
    wait_state "$id" RUNNING
    eventually sh -c "bhist -l $id | grep -q requeued"
    run -0 bhist -UF -l "$id"
    [ "$(grep -c ': Dispatched 4 Task(s) on Host(s) <2\*n1> <2\*n2>,' <<< "$output")" = 2 ]
    [ "$(grep -oE ': Dispatched|: Running with|requeued' <<< "$output" | tr -d '\n ')" = ":Dispatched:Runningwithrequeued:Dispatched:Runningwith" ]
    [ "$(bhist "$id" | awk -v j="$id" '$1 == j { print $6 >= 1 }')" = 1 ]
    bkill "$id"
}

@test "bmod: what is given changes, what stands behind an n goes back, the rest stays" {
    submitted -H -J old -n 4 -R "rusage[mem=1GB] span[ptile=2]" -W 60 -o /dev/null true
    run -0 bmod -W 2:00 -J new "$id"
    [ "$output" = "Parameters of job <$id> are being changed" ]
    [ "$(squeue -h -j "$id" -o '%j %l %C %m')" = "new 2:00:00 4 1G" ]
    run -0 bmod -R "rusage[mem=2GB]" -q gpuv100 -w "done($id)" "$id" && false
    [[ "$output" == *"Job <$id>: "* ]]
    run -0 bmod -R "rusage[mem=2GB]" -q gpuv100 -b 2040:1:2:3:04 "$id"
    [ "$(squeue -h -j "$id" -o '%P %j %l %C %m')" = "gpuv100 new 2:00:00 4 2G" ]
    [ "$(bjobs -noheader -o specified_start_time "$id")" = "Jan  2 03:04" ]
    run -0 bmod -bn -n 3 "$id"
    [ "$(bjobs -noheader -o 'specified_start_time slots' "$id")" = "- 3" ]
    run -0 --separate-stderr bmod -W 10 -R 'order[ut]' "$id"
    [[ "$stderr" == "bmod: without effect: order[ut]: "* ]]
    run -255 --separate-stderr bmod "$id"
    [[ "$stderr" == "Job <$id>: No parameter is given "* ]]
    run -255 --separate-stderr bmod -sp 3 "$id"
    [[ "$stderr" == *"-sp"*"btop"* ]]
    bkill "$id"
    run -255 --separate-stderr bmod -W 1 "$id"
    [[ "$stderr" == "Job <$id>: "* ]]
}

@test "bmod -B, -N, -Bn, -Nn: each its own moments of mail" {
    mails() { scontrol show job "$id" | sed -n 's/.*MailType=//p'; }
    submitted -H -N -o /dev/null true
    local ends
    ends=$(mails)
    bmod -B "$id"
    [[ "$(mails)" == *BEGIN* && "$(mails)" == *END* ]]
    bmod -Bn "$id"
    [ "$(mails)" = "$ends" ]
    bmod -B "$id"
    bmod -Nn "$id"
    [ "$(mails)" = BEGIN ]
    bmod -Bn "$id"
    [[ "$(mails)" != *BEGIN* ]]
    bkill "$id"
}

@test "bhosts -o, -json, -gpu, -l; lsload; nodestat; bqueues -m and -o" {
    submitted -n 2 -gpu num=1 -o /dev/null sleep 600
    wait_state "$id" RUNNING
    [ "$(bhosts -noheader -o 'hname max ng' n1 satori1)" = "n1 32 2
satori1 160 4" ]
    [ "$(bhosts -o 'name status ng ngpus_avail' -json n1 | python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["HOSTS"], d["RECORDS"])')" = "1 [{'HOST_NAME': 'n1', 'STATUS': 'ok', 'NGPUS': '2', 'NGPUS_AVAIL': '1'}]" ]
    [ "$(bhosts -gpu n1 | awk '{print $1, $2, $(NF-3)}')" = "HOST_NAME GPU_ID NJOBS
n1 0 1
1 v100 0" ]
    bhosts -l n1 | grep -qE "^ok +1.00 +- +32 +2 +2 +0 +0 +0 +-$"
    [ "$(lsload n1 | head -1)" = "HOST_NAME       status  r15s   r1m  r15m   ut    pg  ls    it   tmp   swp   mem" ]
    lsload n1 | grep -qE "^n1 +ok +- +[0-9.]+ "
    [ "$(nodestat -F hpc | awk 'NR > 1 {print $1, $2, $3, $5, $7}')" = "n1 Running 30:32 gpu32gb gpu32gb,XeonGold6226R
n2 Idle 32:32 gpu32gb gpu32gb,XeonGold6226R" ]
    nodestat -g hpc | grep -qE "^n1 .* 1:2"
    scontrol create PartitionName=bare # it is there, and has no nodes
    run -0 --separate-stderr nodestat bare
    [ -z "$output$stderr" ]
    run -255 --separate-stderr nodestat bare nowhere
    [ "$stderr" = "nowhere: No such queue" ]
    scontrol delete PartitionName=bare
    [ "$(bqueues -m satori1 -o 'qname pend run' -noheader)" = "normal 0 0
normalx 0 0" ]
    bkill "$id"
}

@test "DTU: bstat, classstat; bpeek" {
    submitted -n 4 -J a_long_name -W 10 -e peek.err -o peek.%J 'echo now; echo trouble >&2; sleep 600'
    wait_state "$id" RUNNING
    eventually grep -q now "peek.$id"
    run -0 bstat "$id"
    [ "${lines[0]}" = "JOBID      USER    QUEUE      JOB_NAME   NALLOC STAT  START_TIME      ELAPSED" ]
    [[ "${lines[1]}" =~ ^$id\ +[^\ ]+\ +hpc\ +\*long_name\ +4\ RUN\ +[A-Z][a-z][a-z]\ [\ 0-9][0-9]\ [0-9][0-9]:[0-9][0-9]\ +0:0[01]:[0-9][0-9]$ ]]
    bstat -C | grep -qE "^$id .*%$"
    run -0 bstat -M "$id"
    [ "${lines[0]}" = "JOBID      USER    QUEUE      JOB_NAME   NALLOC          MEM          MAX   AVG          LIM" ]
    [[ "${lines[1]}" =~ ^$id\ +[^\ ]+\ +hpc\ +\*long_name\ +4\ .*\ -\ +[0-9.]+\ [MG]bytes$ ]]
    run -0 classstat hpc
    [ "${lines[0]}" = "queue                total  used avail  pend j-mig j-abs" ]
    [ "${lines[2]}" = "hpc                     64     4    60     0   0     0  " ]
    local first=$id
    submitted -b 12:31:23:59 -n 3 -q "hpc gpuv100" -o /dev/null true # in each of them it waits
    [ "$(classstat gpuv100 | awk '$1 == "gpuv100" { print $5 }')" = 3 ]
    [ "$(classstat hpc | awk '$1 == "hpc" { print $5 }')" = 3 ]
    bkill "$id"
    id=$first
    run -0 bpeek "$id"
    [ "$output" = $'<< output from stdout >>\nnow\n<< output from stderr >>\ntrouble' ]
    bkill "$id"
    wait_state "$id" CANCELLED
    run -255 --separate-stderr bpeek "$id"
    [ "$stderr" = "Job <$id> : Already finished." ]
}
