# What the tests of containers share (load common before it): a user's own cluster, as a user, as of root's jobs podman starts none; stand-ins for the runtimes.

# Where the tests are root's: somebody with a range of ids, whom podman wants, or one of Debian's users.
OWNER=$(cut -d: -f1 /etc/subuid 2>/dev/null | head -n 1)
id "${OWNER:=games}" >/dev/null 2>&1 || OWNER=games
as_user() {
    [ "$(id -u)" = 0 ] || { "$@"; return; }
    setpriv --reuid=$OWNER --regid=$OWNER --clear-groups "$@"
}

setup_file() {
    export TOP REMUDA_STATE LOG STANDINS PLACES PATHS
    TOP=$(mktemp -d /tmp/containers-bats-XXXXXX)
    PATHS=$PATH
    REMUDA_STATE="$TOP/state" LOG="$TOP/log" STANDINS="$TOP/standins" PLACES="$TOP/places"
    mkdir -p "$STANDINS"/{enroot,apptainer,podman,none} "$TOP/home" "$TOP/data" "$PLACES"
    export HOME="$TOP/home" REMUDA_CONTAINER_DIR="$PLACES"
    [ "$(id -u)" != 0 ] || chown -R $OWNER "$TOP"
    chmod 755 "$TOP"
    cat >"$STANDINS/enroot/enroot" <<'P'
#!/bin/bash
echo "enroot $*" >>"$LOG"
case $1 in
import) [[ "$4" != *missing* ]] || { printf 'no such \033[1mimage\n' >&2; exit 1; }
    [[ "$4" != *slow* ]] || sleep 2
    [[ "$4" != *broken* ]] || { echo half >"$3"; exit 1; }
    echo image >"$3" ;;
create) [ -f "$5" ] || exit 1
    mkdir -p "$LOG.containers/$4" ;;
remove) rm -r "$LOG.containers/$3" ;;
start)
    shift
    while [[ "$1" == --* ]]; do
        case $1 in --conf) conf=$2; shift ;; --rc) rc=$2; shift ;; esac
        shift
    done
    [ -d "$LOG.containers/$1" ] || { echo "no container $1" >&2; exit 1; }
    [ -z "$SLOW" ] || sleep 1
    export ENROOT_ROOTFS="$LOG.containers/$1"
    . "$conf"
    mounts >>"$LOG"
    environ >"$LOG.environ"
    [ -z "$rc" ] || sed 's/^/rc /' "$rc" >>"$LOG"
    echo "home=$ENROOT_MOUNT_HOME root=$ENROOT_REMAP_ROOT rw=$ENROOT_ROOTFS_WRITABLE" >>"$LOG"
    shift
    exec "$@" ;;
esac
P
    cat >"$STANDINS/enroot/unsquashfs" <<'P'
#!/bin/sh
printf 'mkdir -p "/workspace" 2> /dev/null\ncd "/workspace" && unset OLDPWD || exit 1\nexec /entry "$@"\n'
P
    cat >"$STANDINS/apptainer/apptainer" <<'P'
#!/bin/bash
echo "apptainer $*" >>"$LOG"
case $1 in
pull) echo image >"$2" ;;
build) mkdir "$3" && echo kept >"$3/file" && mkdir -p "$3/shut/in" && chmod 555 "$3/shut" ;;
exec | run)
    env | grep ENV_ >>"$LOG"
    shift
    while [[ "$1" == --* ]]; do case $1 in --bind | --pwd | --home) shift ;; esac; shift; done
    [ -e "$1" ] || { echo "no image $1" >&2; exit 255; }
    export IMAGE=$1
    shift
    exec "$@" ;;
esac
P
    cat >"$STANDINS/podman/podman" <<'P'
#!/bin/bash
echo "podman $*" >>"$LOG"
[[ "$1" != --cgroup-manager=* ]] || shift
case $1 in
info) echo crun ;;
image) [ "$2" != inspect ] || printf 'PATH=/bin\nSHADE=image\n\n'; [ "$2" != exists ] ;;
wait) cat "$LOG.exit" ;;
run)
    shift
    while [[ "$1" == -* ]]; do
        case $1 in
        --pidfile) pid=$2; shift ;;
        --conmon-pidfile) monitor=$2; shift ;;
        --name | --volume | --env | --workdir) shift ;;
        --detach) detach=1 ;;
        esac
        shift
    done
    shift
    [ -n "$detach" ] || exec "$@"
    cat >"$LOG.monitor.$$" <<'M'
monitor=$1 pid=$2; shift 2
"$@" <&0 &
echo $! >"$pid"; echo $$ >"$monitor"; wait $!; echo $? >"$LOG.exit"
M
    (setsid bash "$LOG.monitor.$$" "$monitor" "$pid" "$@" <&0 &)
    until [ -s "$monitor" ]; do sleep 0.05; done ;;
esac
P
    chmod 755 "$STANDINS"/*/*
    as_user remuda up -q --nodes 2 --cpus 8 --mem 4000 --name boxes 3>&-
}

teardown_file() {
    as_user scancel -u "$(as_user id -un)" || true
    as_user remuda down
    rm -rf "$TOP"
}

setup() {
    as_user remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    cd "$TOP/home" || exit 1
    runtime enroot
    rm -rf "$LOG"*
}

# runtime NAME: that one's stand-in is found, and no other.
runtime() { export PATH="$STANDINS/$1:$PATHS" REMUDA_CONTAINER_RUNTIME="$1"; }
step() { as_user srun -Q "$@"; }
said() { grep -qF -e "$1" "$LOG" || { echo "not said: $1"; cat "$LOG"; return 1; }; }
unsaid() { ! grep -qF -e "$1" "$LOG" || { cat "$LOG"; return 1; }; }
nothing_left() { [ -z "$(as_user sh -c "ls -d $PLACES/*/*/* 2>/dev/null")" ] && [ -z "$(ls "$LOG.containers" 2>/dev/null)" ]; }
# a_job: an allocation to run steps in, $id.
a_job() {
    id=$(as_user sbatch --parsable -n4 -o none "$@" --wrap 'sleep 600')
    wait_state "$id" RUNNING
}

# typed WORDS…: srun in a terminal, and what is seen there.
typed() { as_user script -qec "srun -Q --pty $(printf '%q ' "$@")" /dev/null </dev/null | tr -d '\r'; }
