#!/usr/bin/env bats
# What comes beside the programs: pages, completion, which build they are; what a configuration means before it is taken.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster --nodes 2 --cpus 4 --mem 4G --gres gpu:v100:2 --name complete
    export PREFIX="$BATS_FILE_TMPDIR/prefix" SOURCE="$BATS_TEST_DIRNAME/../.."
    MESON_SOURCE_ROOT="$SOURCE" MESON_INSTALL_DESTDIR_PREFIX="$PREFIX" "$SOURCE/tools/install-pages" "$(command -v remuda)"
    JOB=$(sbatch --parsable -J many -o /dev/null --wrap 'sleep 300')
    export JOB
    sacctmgr -i -Q add account physics
}

teardown_file() {
    scancel -u "$(id -un)" || true
    remuda down
}

setup() { cd "$WORK" || exit 1; }

@test "every command has a link, a manual page and completion" {
    # As meson reads it, and as the program says it.
    [ "$(sed -nE 's/^ *X\("([a-z0-9_]*)", [a-z0-9_]*, (SLURM|LSF|PBS), .*/\1/p' "$SOURCE/src/cli/program/commands.h" | sort)" = "$(remuda commands | sort)" ]
    for name in $(remuda commands); do
        [ -s "$PREFIX/share/man/man1/$name.1" ] || { echo "no page: $name"; false; }
        [ -s "$PREFIX/share/bash-completion/completions/$name" ]
        [ -s "$PREFIX/share/fish/vendor_completions.d/$name.fish" ]
        grep -qw -- "$name" <(head -n1 "$PREFIX/share/zsh/site-functions/_remuda")
    done
    for name in $(remuda help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        [ -s "$PREFIX/share/man/man1/$name.1" ] || [ -s "$PREFIX/share/man/man1/remuda-$name.1" ] || { echo "no page: $name"; false; }
    done
}

@test "remuda env: what PATH has of its own stays before ours, unless its system is named; LSF's directories" {
    export HOME="$WORK" XDG_CACHE_HOME="$WORK/cache"
    mkdir -p other
    printf '#!/bin/sh\n' > other/bsub
    chmod +x other/bsub
    local ours plain="/usr/bin:/bin"
    ours=$(dirname "$(readlink -f "$(command -v remuda)")")
    remuda=$(command -v remuda)
    # What a shell finds after eval of the lines, by PATH of $1 and the options behind it.
    finds() { (PATH=$1; eval "$("$remuda" env "${@:3}")"; type -p "$2" || echo none); }
    [[ "$(finds "$plain" bsub)" == "$ours"/* && "$(finds "$plain" qsub)" == "$ours"/* ]]
    [ "$(finds "$WORK/other:$plain" bsub)" = "$WORK/other/bsub" ]
    [[ "$(finds "$WORK/other:$plain" bjobs)" == "$ours"/* && "$(finds "$WORK/other:$plain" sbatch)" == "$ours"/* ]]
    [[ "$(finds "$WORK/other:$plain" bsub --dialects lsf)" == "$ours"/* ]]
    [ "$(finds "$plain" qstat --dialects slurm,lsf)" = none ]
    [[ "$(finds "$plain" remuda --dialects pbs)" == "$ours"/* ]]
    run -2 --separate-stderr remuda env --dialects frob
    [[ "$stderr" == *'slurm, lsf, pbs (with commas) or all, not "frob"'* ]]
    (eval "$(remuda env --dialects lsf)"; grep -qx "LSF_UNIT_FOR_LIMITS=KB" "$LSF_ENVDIR/lsf.conf" && [ -x "$LSF_BINDIR/bsub" ] && [ -d "$LSF_SERVERDIR" ])
}

@test "remuda env: an interactive bash has completion, where it is installed; other shells are told nothing of it" {
    mkdir -p "$PREFIX/bin"
    cp "$(readlink -f "$(command -v remuda)")" "$PREFIX/bin/remuda"
    run -0 --separate-stderr env -i PATH=/usr/bin:/bin HOME="$HOME" bash --norc -ic 'eval "$('"$PREFIX"'/bin/remuda env)"; complete -p sbatch'
    [ "$output" = "complete -F _remuda_complete sbatch" ]
    run -0 env -i PATH=/usr/bin:/bin HOME="$HOME" sh -c 'eval "$('"$PREFIX"'/bin/remuda env)"; echo "$PATH"'
    [ "$output" = "$PREFIX/bin:/usr/bin:/bin" ]
}

@test "a command that is not there has its name, and says what is there instead" {
    local name n=0
    for name in $(comm -13 <(remuda commands | sort) <(remuda commands all | sort)); do
        run -1 --separate-stderr "$name" -x y
        [[ "$stderr" == "$name: not there yet: "*"; "* ]] || { echo "$stderr"; false; }
        n=$((n + 1))
    done
    [ "$n" -gt 40 ]
    run -1 --separate-stderr remuda sview
    [[ "$stderr" == "sview: not there yet: "* ]]
    # As meson reads it, and as the program says it.
    [ "$(sed -nE 's/^ *X\("([a-z0-9_]*)", (SLURM|LSF|PBS), .*/\1/p' "$SOURCE/src/cli/program/absent.h" | wc -l)" = "$n" ]
}

@test "manual pages have nothing that mandoc warns of, and all options" {
    command -v mandoc >/dev/null || skip "needs mandoc"
    for page in "$PREFIX"/share/man/man1/*.1; do
        mandoc -T lint -W warning "$page" || { echo "$page"; false; }
    done
    text=$(mandoc -T ascii "$PREFIX/share/man/man1/sbatch.1" | col -b)
    [[ "$text" == *"--partition="* && "$text" == *"SBATCH_PARTITION"* && "$text" == *"OPTIONS THAT ARE REFUSED"* ]]
}

@test "every option of every command stands in the page of compatibility, the refused ones with a reason" {
    remuda docs "$WORK/pages"
    page="$WORK/pages/compatibility.md"
    grep -q '^| squeue | `--json` | honoured' "$page"
    grep -q '^| sbatch | `--partition` | honoured' "$page"
    run ! grep -E '\| refused \|  ?\|' "$page"
}

# completed WORDS…: what remuda says may stand at the end of that line.
completed() { remuda complete "$@" | cut -f1; }

@test "completion: options, values and words from the cluster as it is" {
    [[ "$(completed squeue --part)" == *"--partition="* ]]
    [ "$(completed bsub -nno)" = "-nnodes" ]
    [ "$(completed squeue --partition=ma)" = "--partition=main" ]
    [ "$(completed squeue -p ma)" = main ]
    [ "$(completed sbatch --nodelist=node1,nod)" = "--nodelist=node1,node2" ] # node1 stands there already
    [ "$(completed sbatch -pma)$(completed sbatch -d aftern)" = "-pmainafternotok:" ]
    [ "$(completed sbatch --gres=gpu:)$(completed sbatch -G v)" = "--gres=gpu:v100v100" ]
    [ "$(completed sacct --format=User,Elapsed,Elaps)" = "--format=User,Elapsed,ElapsedRaw" ]
    [ "$(completed sacct -u "$(id -un)" -s CANC)$(completed sinfo -t MAI)" = CANCELLEDMAINT ]
    [ "$(completed sbatch --mail-type=BEGIN,EN)$(completed scancel -s USR1)" = "--mail-type=BEGIN,ENDUSR1" ]
    [ "$(completed scontrol update NodeName=node1 State=RES)" = "State=RESUME" ]
    [ "$(completed remuda translate --to ls)" = lsf ]
    [[ "$(completed scancel '')" == *"$JOB"* ]]
    [[ "$(completed remuda why '')" == *"$JOB"* ]]
    [[ "$(completed scontrol show job '')" == *"$JOB"* ]]
    [ "$(completed scontrol show par)" = partition ]
    [ "$(completed remuda sta)" = status ]
    [ "$(completed squeue --states=PEN)" = "--states=PENDING" ]
    [ "$(completed scontrol update Par)" = "PartitionName=" ]
    [ "$(completed scontrol update NodeName=node1,no)" = "NodeName=node1,node2" ]
    [[ "$(completed bkill '')" == *"$JOB"* && "$(completed qdel '')" == *"$JOB"* ]]
    [ "$(completed bsub -q ma)$(completed qsub -q ma)$(completed bjobs -q ma)" = mainmainmain ]
    [ "$(completed bsub -G phy)$(completed qsub -A phy)$(completed sacctmgr add user x account=phy)" = "physicsphysicsaccount=physics" ]
    [ "$(completed bjobs -J man)$(completed qselect -N man)$(completed qsig -s USR2)" = manymanyUSR2 ]
    [ "$(completed qmove ma)" = main ]
    [[ "$(completed bswitch main '')" == *"$JOB"* ]]
    [ "$(completed bhosts node)" = $'node1\nnode2' ]
    local array
    array=$(sbatch --parsable -H -a 1-3 --wrap true)
    [ "$(completed bkill "$array")" = "$array" ] # the whole of it, once
    scancel "$array"
    array=$(sbatch --parsable -a 3-4 -o /dev/null --wrap 'sleep 300')
    wait_state "${array}_3" RUNNING
    wait_state "${array}_4" RUNNING
    [ "$(completed scancel "$array" | sort)" = "$array"$'\n'"${array}_3"$'\n'"${array}_4" ]
    scancel "$array"
    [ "$(REMUDA_STATE=$WORK/none completed scancel '')" = "" ] # nobody there: nothing, at once
}

# typed SHELL: lines of each system and the key TAB, in a terminal of that shell.
typed() {
    command -v "$1" >/dev/null || skip "there is no $1"
    HOME=$WORK run -0 python3 "$BATS_TEST_DIRNAME/type_tab.py" "$1" "$PREFIX" \
        "squeue --partition=m" "squeue --partition=main" "squeue --part" "squeue --partition=" \
        "sbatch -A phy" "sbatch -A physics" "sbatch --nodelist=node1,n" "sbatch --nodelist=node1,node2" \
        "sbatch --gres=gpu:" "sbatch --gres=gpu:v100" "sbatch -d afterok:${JOB%?}" "sbatch -d afterok:$JOB" \
        "scontrol show par" "scontrol show partition" "remuda sta" "remuda status" \
        "bsub -q m" "bsub -q main" "bsub -nno" "bsub -nnodes" "bjobs -J ma" "bjobs -J many" \
        "qsub -q m" "qsub -q main" "qsub -A phy" "qsub -A physics" "qmove m" "qmove main"
}

@test "completion typed in bash" {
    typed bash
    run -0 bash --norc -c '. "$PREFIX/share/bash-completion/completions/remuda"
        COMP_LINE="scontrol show par" COMP_POINT=${#COMP_LINE}; _remuda_complete scontrol; echo "${COMPREPLY[*]}"
        complete -p scancel'
    [ "$output" = $'partition\ncomplete -F _remuda_complete scancel' ]
}

@test "completion typed in zsh" { typed zsh; }

@test "completion typed in fish" { typed fish; }

@test "daemons of another build are told of, and a restart puts this one in their place; jobs run on" {
    old="$BATS_FILE_TMPDIR/old"
    mkdir -p "$old" "$WORK/other"
    for p in remuda remudad remuda-shepherd; do cp "$(dirname "$(readlink -f "$(command -v remuda)")")/$p" "$old/"; done
    grep -q '0\.1\.0+' "$old/remudad" || skip "built outside of a repository: builds have no names"
    sed -i 's/0\.1\.0+/0.0.9+/g' "$old/remudad" "$old/remuda"
    export REMUDA_STATE="$WORK/other"
    "$old/remuda" up -q --nodes 1 --cpus 2 --mem 500 3>&-
    id=$(sbatch --parsable -o /dev/null --wrap 'sleep 300')
    wait_state "$id" RUNNING
    [[ "$(remuda status)" == *"build        controller,node1: 0.0.9+"* ]]
    run -0 --separate-stderr remuda up 3>&-
    [[ "$stderr" == *"2 daemons are of another build, 0.0.9+"*"remuda up --restart"* ]]
    run -0 --separate-stderr remuda up --restart 3>&-
    [ -z "$stderr" ]
    [[ "$(remuda status)" != *"0.0.9+"* ]]
    [ "$(state "$id")" = RUNNING ]
    # What could not start again is not stopped.
    echo "KillWait=never" >> "$REMUDA_STATE/remuda.conf"
    run -1 --separate-stderr remuda up --restart 3>&-
    [[ "$stderr" == *"KillWait"*"the daemons that run go on"* ]]
    [ "$(state "$id")" = RUNNING ]
    scancel "$id"
    remuda down
}

@test "config check: what means something else first, the rest counted, all with -v, as JSON; 1 where it cannot be taken" {
    cat > slurm.conf <<'END'
ClusterName=c
SlurmctldHost=a
SlurmctldHost=b
AuthType=auth/munge
SlurmdPort=6818
TreeWidth=50
StateSaveLocation=/var/spool/slurm
SelectTypeParameters=CR_Socket_Memory
HealthCheckProgram=/usr/sbin/nhc
PreemptTyp=x
NodeName=n1 CPUs=4
PartitionName=p Nodes=n1 Default=YES
END
    run -0 remuda config check slurm.conf
    [ "${lines[0]}" = "slurm.conf can be taken: cluster c, 1 node, 1 partition, default p" ]
    [[ "${lines[1]}" == "  slurm.conf:3: a second SlurmctldHost, b, has no effect"* ]]
    [[ "${lines[2]}" == "  slurm.conf:8: SelectTypeParameters=CR_Socket_Memory: "* ]]
    [[ "${lines[3]}" == "  slurm.conf:9: HealthCheckProgram is known to Slurm but has no effect in Remuda: nodes are not checked"* ]]
    [[ "${lines[4]}" == "  1 key is not known (PreemptTyp (did you mean PreemptType?)); 5 settings of Slurm's have no effect"* ]]
    [ ${#lines[@]} = 5 ]
    run -0 remuda config check -v slurm.conf
    [[ "$output" == *"slurm.conf:6: TreeWidth is known"* && "$output" == *"slurm.conf:7: StateSaveLocation has no effect"* ]]
    [ "$(remuda config check --json slurm.conf | jq -r '[.warnings[] | select(.weighs == "meaning")] | length')" = 3 ]
    echo 'MaxTime=x' > bad.conf
    echo 'PrivateData=jobbs' >> bad.conf
    run -1 remuda config check bad.conf
    [[ "$output" == "remuda config: error: "*"bad.conf:2: PrivateData: "*"did you mean jobs?"* ]]
    # Of a program the drain's reason is named as sinfo -R has it.
    printf 'Epilog=%s/none.sh\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES\n' "$WORK" > programs.conf
    run -0 remuda config check programs.conf
    [[ "$output" == *"Epilog=$WORK/none.sh: "*'("Epilog error" in sinfo -R)'* ]]
}

@test "make without dpkg: what is there is taken, what is missing is named as this system's packages are called" {
    bin="$WORK/bin"
    mkdir -p "$bin"
    # Not by links: a compiler looks for its parts beside the name it is called by.
    for tool in sh cc gcc as ld pkg-config sed sort tr cat; do printf '#!/bin/sh\nexec %s "$@"\n' "$(PATH=/usr/bin:/bin command -v $tool)" > "$bin/$tool"; done # no ccache, which looks for the compiler on PATH
    chmod +x "$bin"/*
    printf 'ID=rocky\nID_LIKE="rhel centos fedora"\n' > os
    run -1 env PATH="$bin" REMUDA_OS_RELEASE="$WORK/os" PKG_CONFIG_LIBDIR=/nonexistent sh "$SOURCE/tools/deps" build
    [[ "$output" == *"dnf install "*"hwloc-devel"*"libuv-devel"*"ninja-build"*"sqlite-devel"* ]]
    for tool in meson ninja; do ln -sf /bin/true "$bin/$tool"; done
    run env PATH="$bin" sh "$SOURCE/tools/deps" build
    [ "$status" = 0 ] && [ -z "$output" ] || { pkg-config --exists hwloc || skip "the libraries of the build are not here"; echo "$output"; false; }
}
