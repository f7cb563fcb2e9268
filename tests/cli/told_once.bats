#!/usr/bin/env bats
# The controller is killed after it has committed what it was asked, before it says so: the command waits for the next controller, hears what it would have
# heard, and nothing is done twice.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export WORK="$BATS_FILE_TMPDIR" REMUDA_STATE="$BATS_FILE_TMPDIR/state"
    cat >"$WORK/kill.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
/* An answer of that kind is about to leave. */
static void look(const void *data, size_t n)
{
    const char *kind = getenv("KILL_BEFORE"), *once = getenv("KILL_ONCE");
    char text[64];
    if (!kind || n < 8 || access(once, F_OK) != 0)
        return;
    snprintf(text, sizeof text, "\"%s\"", kind);
    if (memmem(data, n < 200 ? n : 200, text, strlen(text))) {
        unlink(once);
        raise(SIGKILL);
    }
}
#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
ssize_t write(int fd, const void *data, size_t n) { look(data, n); return NEXT(write)(fd, data, n); }
ssize_t writev(int fd, const struct iovec *v, int n) { for (int i = 0; i < n; i++) look(v[i].iov_base, v[i].iov_len); return NEXT(writev)(fd, v, n); }
ssize_t send(int fd, const void *data, size_t n, int flags) { look(data, n); return NEXT(send)(fd, data, n, flags); }
ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    for (size_t i = 0; i < m->msg_iovlen; i++)
        look(m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
    return NEXT(sendmsg)(fd, m, flags);
}
END
    cc -shared -fPIC -o "$WORK/kill.so" "$WORK/kill.c"
    touch "$WORK/once"
    remuda up -q --nodes 1 --cpus 8 --mem 4000 --name once 3>&-
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

# killed_before KIND COMMAND…: the controller is killed as it is about to answer with KIND, and another is started; the command's output in $output.
killed_before() {
    local kind=$1 pid
    shift
    kill -9 "$(remuda status --pid controller)"
    touch "$WORK/once"
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$WORK/kill.so" KILL_BEFORE="$kind" KILL_ONCE="$WORK/once" remudad controller --state "$REMUDA_STATE" 3>&-
    pid=$(remuda status --pid controller)
    (while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done; remuda up -q) 3>&- &
    run -0 "$@"
    echo "$*: $output"
    wait
    [ ! -e "$WORK/once" ] # it was killed
}

jobs() { squeue -h -r -t all --name="$1" -o %i | wc -l; }

@test "a job is submitted once, by whatever command, and its number is told" {
    for how in plain "array --array=0-2" "held -H" "later --begin=now+1hour"; do
        read -r name option <<<"$how"
        # shellcheck disable=SC2086
        killed_before submitted sbatch --parsable -J "$name" $option -n1 --mem=10 -o /dev/null --wrap true
        [ -n "$(squeue -h -t all -j "$output" -o %i)" ]
        [ "$(jobs "$name")" = "$([ "$name" = array ] && echo 3 || echo 1)" ]
    done
    killed_before submitted sbatch --parsable -J het -n1 --mem=10 -o /dev/null : -n1 --mem=10 --wrap true
    [ "$(jobs het)" = 2 ]
    killed_before submitted salloc -Q -J alloc -n1 --mem=10 bash -c 'echo $SLURM_JOB_ID'
    [ "$(jobs alloc)" = 1 ]
    killed_before submitted srun -Q -J run -n1 --mem=10 bash -c 'echo $SLURM_JOB_ID'
    [ "$(jobs run)" = 1 ]
    killed_before submitted bsub -J lsf -o /dev/null true
    [ "$(jobs lsf)" = 1 ]
    killed_before submitted bash -c 'echo true | qsub -N pbs -o /dev/null -j oe'
    [ "$(jobs pbs)" = 1 ]
}

@test "what changes a job is done once" {
    id=$(sbatch --parsable -n1 --mem=10 -o /dev/null --wrap 'sleep 300')
    wait_state "$id" RUNNING
    killed_before done scontrol requeue "$id"
    eventually test "$(sacct -n -P -D -X -j "$id" -o JobID | wc -l)" -ge 2
    [ "$(squeue -h -j "$id" -O RestartCnt | tr -d ' ')" = 1 ]
    killed_before done scancel "$id"
    wait_state "$id" CANCELLED
}

@test "a step is made once" {
    killed_before step_created salloc -Q -J step -n1 --mem=10 srun -Q -n1 true
    [ "$(sacct -n -P -j "$(squeue -h -t all --name=step -o %i)" -o JobID | grep -c '\.[0-9]')" = 1 ]
}
