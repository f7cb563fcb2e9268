#!/usr/bin/env bats
# What a site does to a cluster: programs before and after jobs, nodes that come and go, a configuration with a mistake, files copied about.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export SITE
    SITE=$(mktemp -d /tmp/remuda-site-XXXXXX)
    chmod 755 "$SITE"
    export REMUDA_STATE="$SITE/state"
    remuda up -q --nodes 2 --cpus 2 --mem 500
    CONF="$REMUDA_STATE/remuda.conf"
    cp "$CONF" "$SITE/good.conf"
    export CONF
}

teardown_file() {
    cp "$SITE/good.conf" "$CONF"
    remuda down
    rm -rf "$SITE"
}

setup() { cd "$SITE" || exit 1; }

reconfigured() { # reconfigured LINE…: the good configuration and these lines
    { cat "$SITE/good.conf"; printf '%s\n' "$@"; } >"$CONF"
    run -0 scontrol reconfigure
}

program() { printf '#!/bin/sh\n%s\n' "$2" >"$1"; chmod "${3:-755}" "$1"; }
is_over() { [ "$(sacct -n -X -P -j "$1" -o State)" = COMPLETED ]; }
is_held() { [ "$(squeue -h -j "$1" -o '%T %r')" = "PENDING launch failed requeued held" ]; }
is_drained() { sinfo -h -R -o '%E %N' | grep -q "log error"; }
resumed() { scontrol update NodeName=ALL State=RESUME; eventually nothing_drained; }
nothing_drained() { ! is_drained; }

@test "a pattern of prologs and epilogs: all of them, last name first, as Slurm's" {
    mkdir -p pro.d epi.d
    for n in 10-a 20-b 30-c; do
        program "pro.d/$n" "echo $n \$SLURM_JOB_ID >>$SITE/pro.log"
        program "epi.d/$n" "echo $n >>$SITE/epi.log"
    done
    reconfigured "Prolog=$SITE/pro.d/*" "Epilog=$SITE/epi.d/*"
    [ -z "$output" ]
    id=$(sbatch --parsable -w node1 -o /dev/null --wrap true)
    eventually is_over "$id"
    [ "$(cat pro.log)" = "30-c $id"$'\n'"20-b $id"$'\n'"10-a $id" ]
    eventually grep -q 10-a epi.log
    [ "$(cat epi.log)" = $'30-c\n20-b\n10-a' ]
}

@test "the first that fails is the last; the node is drained, the job waits, held" {
    program pro.d/20-b "echo 20-b >>$SITE/pro.log; exit 3"
    rm -f pro.log
    id=$(sbatch --parsable -w node1 -o /dev/null --wrap true)
    eventually is_held "$id"
    eventually is_drained
    [ "$(cut -d' ' -f1 pro.log)" = $'30-c\n20-b' ]
    grep -q "prolog $SITE/pro.d/20-b exited with 3" "$REMUDA_STATE/log/controller.log"
    scancel "$id"
    program pro.d/20-b true
    resumed
}

@test "all steps of a job wait for its prolog, and fail with it; the next runs it again" {
    program pro "echo \$SLURM_JOB_ID >>$SITE/pro.log; while [ ! -e $SITE/goes ]; do sleep 0.1; done; exit \$(cat $SITE/pro.status)"
    reconfigured "Prolog=$SITE/pro"
    rm -f pro.log goes ran.*
    echo 0 >pro.status
    salloc -Q -w node1 -n2 sh -c 'echo $SLURM_JOB_ID >alloc; srun -n1 --exact touch ran.a & srun -n1 --exact touch ran.b & wait; srun touch ran.c' &
    both() { [ "$(squeue -h -s | grep -vc extern)" = 2 ]; }
    eventually test -s pro.log
    eventually both
    sleep 0.5
    [ ! -e ran.a ]
    [ ! -e ran.b ]
    touch goes
    wait $!
    [ -e ran.a ]
    [ -e ran.b ]
    [ -e ran.c ]
    [ "$(cat pro.log)" = "$(cat alloc)" ]

    rm -f pro.log goes ran.*
    echo 3 >pro.status
    salloc -Q -w node1 -n2 sh -c 'srun -n1 --exact touch ran.a & srun -n1 --exact touch ran.b & wait; echo 0 >pro.status; srun touch ran.c' 2>said &
    eventually test -s pro.log
    eventually both
    touch goes
    wait $!
    [ ! -e ran.a ]
    [ ! -e ran.b ]
    [ -e ran.c ]
    [ "$(grep -c "prolog $SITE/pro exited with 3" said)" = 2 ]
    [ "$(wc -l <pro.log)" = 2 ]
    eventually is_drained
    resumed
}

@test "a prolog whose node's daemon is killed does not run beside the one that follows" {
    local job
    program pro "sleep 1000 & echo \$\$ \$! >>$SITE/pro.log; [ -e $SITE/goes ] || wait"
    reconfigured "Prolog=$SITE/pro"
    rm -f pro.log goes
    job=$(sbatch --parsable -o /dev/null -w node1 --wrap true)
    eventually test -s pro.log
    read -r shell child <pro.log
    kill -9 "$(cat "$REMUDA_STATE/nodes/node1/node.pid")"
    touch goes
    remuda up -q 3>&-
    eventually is_over "$job"
    [ "$(wc -l <pro.log)" = 2 ]
    ended() { ! grep -qs '^State:.[^Z]' "/proc/$1/status"; }
    eventually ended "$shell"
    eventually ended "$child"
    read -r _ child < <(tail -n1 pro.log)
    kill "$child"
    [ -z "$(ls "$REMUDA_STATE/nodes/node1/programs")" ]
    grep -q "had 1 of the site's programs run: ended" "$REMUDA_STATE/log/node-node1.log"
}

# As after a loss of power.
@test "a job's epilog is told all that is kept of it, though its step's part is lost" {
    local job
    program epi "echo epi \$SLURM_JOB_ID \$SLURM_JOB_NAME >>$SITE/around.log"
    reconfigured "Epilog=$SITE/epi"
    rm -f goes around.log
    for lost in 0 20; do
        job=$(sbatch --parsable -J torn -o /dev/null -w node1 --wrap "while [ ! -e $PWD/goes ]; do sleep 0.1; done")
        eventually test -s "$REMUDA_STATE/nodes/node1/steps/$job.1.batch/job"
        truncate -s $lost "$REMUDA_STATE/nodes/node1/steps/$job.1.batch/job"
        kill -9 "$(cat "$REMUDA_STATE/nodes/node1/node.pid")"
        remuda up -q 3>&-
        touch goes
        eventually grep -q "epi $job torn" around.log
        rm goes
    done
    job=$(sbatch --parsable -J torn -o /dev/null -w node1 --wrap "while [ ! -e $PWD/goes ]; do sleep 0.1; done")
    eventually test -s "$REMUDA_STATE/nodes/node1/visits/$job.1"
    kill -9 "$(cat "$REMUDA_STATE/nodes/node1/node.pid")"
    truncate -s 20 "$REMUDA_STATE/nodes/node1/visits/$job.1"
    remuda up -q 3>&-
    touch goes
    eventually is_drained
    grep -q "visits/$job.1 is not whole" "$REMUDA_STATE/log/controller.log"
    run ! grep -q "epi $job" around.log
    resumed
}

@test "an allocation has one prolog and one epilog, whatever becomes of the node's daemon between its steps" {
    program pro "echo pro \$SLURM_JOB_ID >>$SITE/around.log"
    program epi "echo epi \$SLURM_JOB_ID \$SLURM_JOB_USER \$SLURM_JOB_NAME >>$SITE/around.log"
    reconfigured "Prolog=$SITE/pro" "Epilog=$SITE/epi"
    rm -f alloc first second again ends around.log
    salloc -Q -J around -w node1 sh -c 'echo $SLURM_JOB_ID >alloc; srun true; touch first; while [ ! -e again ]; do sleep 0.1; done; srun true; touch second; while [ ! -e ends ]; do sleep 0.1; done' &
    eventually test -e first
    kill -9 "$(cat "$REMUDA_STATE/nodes/node1/node.pid")"
    remuda up -q 3>&-
    touch again
    eventually test -e second
    [ "$(cat around.log)" = "pro $(cat alloc)" ]
    kill -9 "$(cat "$REMUDA_STATE/nodes/node1/node.pid")" # it is not there when the allocation ends
    touch ends
    wait $! || true
    run ! grep -q epi around.log
    remuda up -q 3>&-
    eventually grep -q epi around.log
    [ "$(cat around.log)" = "pro $(cat alloc)"$'\n'"epi $(cat alloc) $(id -un) around" ]
    kept() { [ -n "$(ls "$REMUDA_STATE/nodes/node1/visits")" ]; }
    none_kept() { ! kept; }
    eventually none_kept
    nothing_drained
}

@test "an epilog that a site has since a job began is not run without a word of that job" {
    program epi "env >>$SITE/since.env"
    rm -f since.env goes up
    for daemon in goes_on begins_anew; do
        reconfigured
        id=$(sbatch --parsable -D "$SITE" -w node1 -o /dev/null --wrap 'touch up; while [ ! -e goes ]; do sleep 0.1; done')
        eventually test -e up
        reconfigured "Epilog=$SITE/epi"
        if [ "$daemon" = begins_anew ]; then
            kill -9 "$(cat "$REMUDA_STATE/nodes/node1/node.pid")"
            remuda up -q 3>&-
        fi
        touch goes
        eventually is_over "$id"
        rm -f goes up
    done
    [ ! -e since.env ]
    [ "$(grep -c "job [0-9]* has no epilog here" "$REMUDA_STATE/log/node-node1.log")" = 2 ]
    nothing_drained
}

@test "programs that are not there: said when the configuration is read, and the node is drained" {
    for setting in "$SITE/none.d/*" "$SITE/none" "$SITE/pro.d/no-x"; do
        program pro.d/no-x true 644
        reconfigured "Prolog=$setting"
        [[ "$output" =~ "Prolog=$setting: " && "$output" =~ "Prolog error" ]]
        id=$(sbatch --parsable -w node1 -o /dev/null --wrap true)
        eventually is_held "$id"
        eventually is_drained
        [ "$(sinfo -h -n node2 -o %t)" = idle ]
        scancel "$id"
        reconfigured
        resumed
    done
    rm pro.d/no-x
}

@test "what a user exports reaches no program of root's" {
    [ "$(id -u)" = 0 ] || skip "needs root to be several users"
    as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups --reset-env env PATH="$PATH" HOME="$SITE/evil" REMUDA_STATE="$REMUDA_STATE" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
    as_nobody remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    mkdir -m 777 evil
    echo "/usr/bin/id -u >>$SITE/evil/seen" >evil/rc
    cp evil/rc evil/.profile
    for name in id env printf true; do program "evil/$name" "/usr/bin/id -u >>$SITE/evil/seen"; done
    for when in pro epi; do
        printf '#!/bin/bash\nenv >"%s"\n' "$SITE/$when.env" >"$when"
        chmod 755 "$when"
    done
    reconfigured "Prolog=$SITE/pro" "Epilog=$SITE/epi"
    id=$(as_nobody sbatch --parsable -D / -o /dev/null --get-user-env --export="ALL,BASH_ENV=$SITE/evil/rc,ENV=$SITE/evil/rc,SHELLOPTS=xtrace,LD_LIBRARY_PATH=$SITE/evil,PATH=$SITE/evil:/usr/bin:/bin,SLURM_JOB_UID=0" --wrap 'env true')
    eventually is_over "$id"
    eventually test -s epi.env
    [ "$(sort -u evil/seen)" = 65534 ]
    [ "$(grep -c "^BASH_ENV\|^ENV=\|^SHELLOPTS\|^LD_\|evil" pro.env epi.env)" = $'pro.env:0\nepi.env:0' ]
    [ "$(grep -h ^SLURM_JOB_UID= pro.env epi.env | sort -u)" = SLURM_JOB_UID=65534 ]
}

@test "an epilog that fails: the job is as it ended, the node is drained; a requeued job runs again" {
    program epi 'exit $(cat '"$SITE"'/epilog.status)'
    echo 3 >epilog.status
    reconfigured "Epilog=$SITE/epi"
    id=$(sbatch --parsable -w node1 -o /dev/null --wrap true)
    eventually is_over "$id"
    epilog_error() { [ "$(sinfo -h -R -o '%E %N')" = "Epilog error $1" ]; }
    eventually epilog_error node1
    [[ "$(grep 'is drained: its epilog failed' "$REMUDA_STATE/log/controller.log")" =~ "node node1 is drained: its epilog failed: epilog $SITE/epi exited with 3" ]]
    echo 0 >epilog.status
    scontrol update NodeName=node1 State=RESUME
    eventually nothing_drained

    id=$(sbatch --parsable -D "$SITE" -w node1 -o /dev/null --wrap 'touch up; while [ ! -e goes ]; do sleep 0.1; done')
    eventually test -e up
    echo 4 >epilog.status
    scontrol requeue "$id"
    eventually epilog_error node1
    touch goes
    echo 0 >epilog.status
    scontrol update NodeName=node1 State=RESUME
    eventually is_over "$id"
    [ "$(sacct -n -X -P -j "$id" -o Restarts)" = 1 ]
    nothing_drained
}

@test "programs around a task hold for batch scripts, as Slurm's: variables, lines, the end; signals reach the script" {
    program tp 'echo "export SCRATCH=/scratch/$SLURM_JOB_ID"; echo "unset LEFT_OUT"; echo "print by $(id -un)"'
    program te 'echo "after $SLURM_JOB_ID $SCRATCH" >>log.te'
    reconfigured "TaskProlog=$SITE/tp" "TaskEpilog=$SITE/te"
    id=$(LEFT_OUT=1 sbatch --parsable -D "$SITE" -o "$SITE/around.out" --wrap 'echo "$SCRATCH <$LEFT_OUT>"; srun -n1 sh -c "echo step \$SCRATCH"; exit 7')
    failed() { [ "$(sacct -n -X -P -j "$1" -o State,ExitCode)" = "$2" ]; }
    eventually failed "$id" "FAILED|7:0"
    [ "$(cat around.out)" = $'by '"$(id -un)"$'\n'"/scratch/$id <>"$'\n'"by $(id -un)"$'\n'"step /scratch/$id" ]
    [ "$(cat log.te)" = "after $id /scratch/$id"$'\n'"after $id /scratch/$id" ]

    id=$(sbatch --parsable -D "$SITE" -o "$SITE/trap.out" --wrap 'trap "echo told" USR1; trap "echo ends; exit 3" TERM; echo up; while :; do sleep 0.1; done')
    eventually grep -q up trap.out
    scancel -b -s USR1 "$id"
    eventually grep -q told trap.out
    scancel -s TERM -f "$id"
    eventually failed "$id" "FAILED|3:0"
    eventually grep -q "after $id" log.te
    [ "$(grep -c told trap.out)" = 1 ]

    array=$(sbatch --parsable -D "$SITE" --array=0-1 -o /dev/null --wrap '[ "$SCRATCH" = "/scratch/$SLURM_JOB_ID" ]')
    eventually is_over "${array}_0"
    eventually is_over "${array}_1"

    program tp 'exit 9'
    id=$(sbatch --parsable -D "$SITE" -o "$SITE/fails.out" --wrap 'echo never')
    eventually failed "$id" "FAILED|9:0"
    grep -q "TaskProlog failed status=9" fails.out
    run ! grep -q never fails.out
}

@test "a node that the configuration no longer names goes, when its jobs are over; it comes back as it was" {
    reconfigured
    id=$(sbatch --parsable -w node2 -o /dev/null --wrap "while [ ! -e $SITE/go ]; do sleep 0.1; done")
    runs() { [ "$(squeue -h -j "$id" -o %T)" = RUNNING ]; }
    eventually runs
    grep -q 'NodeName=node\[1-2\]' "$SITE/good.conf"
    sed 's/node\[1-2\]/node1/g' "$SITE/good.conf" >"$CONF"
    scontrol reconfigure
    withdrawn() { [[ "$(scontrol show node node2)" =~ "no longer configured" ]]; }
    eventually withdrawn
    touch go
    eventually is_over "$id"
    gone() { ! scontrol show node node2 >/dev/null 2>&1 && ! remuda status | grep -q node2 && ! sinfo -N -h | grep -q node2; }
    eventually gone
    cp "$SITE/good.conf" "$CONF"
    scontrol reconfigure
    back() { [ "$(sinfo -h -n node2 -o %t)" = idle ]; }
    eventually back
}

ended() { ! kill -0 "$1" 2>/dev/null; }

@test "down works with an error in the configuration, and stops daemons of nodes it no longer names" {
    pids=$(cat "$REMUDA_STATE"/controller.pid "$REMUDA_STATE"/nodes/node?/node.pid)
    printf 'NodeName=node1 CPUs=many\n' >"$CONF"
    run -0 remuda down
    [[ "$output" =~ "the configuration cannot be read" && "$output" =~ "is down" ]]
    for pid in $pids; do
        eventually ended "$pid"
    done
    cp "$SITE/good.conf" "$CONF"
    remuda up -q
}

@test "a store that was copied or restored is nobody else's to read" {
    remuda down
    cp "$REMUDA_STATE/remuda.db" "$REMUDA_STATE/remuda.db.yesterday"
    chmod 644 "$REMUDA_STATE"/remuda.db*
    remuda up -q
    [ "$(stat -c %a "$REMUDA_STATE"/remuda.db* | sort -u)" = 600 ]
    grep -q "remuda.db, which has everybody's scripts and environments in it, could be read by others (mode 0644): it is 0600 now" "$REMUDA_STATE/log/controller.log"
    rm "$REMUDA_STATE/remuda.db.yesterday"
}

@test "a partition whose QOS nobody made is named by remuda status, until it is there" {
    reconfigured "PartitionName=limited Nodes=ALL QOS=nowhere"
    remuda status | grep -q "partition limited has QOS=nowhere, and there is no such QOS: its limits do not hold until .sacctmgr add qos nowhere."
    sacctmgr -i -Q add qos nowhere
    [ -z "$(remuda status | grep nowhere)" ]
    reconfigured
    sacctmgr -i -Q delete qos nowhere
}
