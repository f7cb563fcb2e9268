#!/usr/bin/env bats
# remuda import slurm: sites as they are written, taken over whole or not at all.
bats_require_minimum_version 1.5.0
load common

SITES="$BATS_TEST_DIRNAME/sites"

setup() {
    export REMUDA_STATE="$BATS_TEST_TMPDIR/state"
    unset SLURM_CONF
    cd "$BATS_TEST_TMPDIR"
}

teardown() { [ ! -e "$REMUDA_STATE/controller.pid" ] || remuda down; }

has() { [[ "$output" == *"$1"* ]] || { echo "not said: $1"; echo "$output"; return 1; }; }

@test "a centre of 2,000 nodes: each line is told what becomes of it, and nothing is changed by a dry run" {
    run -0 remuda import slurm --conf "$SITES/centre" --dry-run
    has "cluster perl: 2000 nodes, 5 partitions, default regular_milan"
    has "partition system: "
    has "slurm.conf:10: AccountingStorageHost is known to Slurm but has no effect in Remuda"
    has "slurm.conf:20: SchedulerParameters=bf_continue"
    has 'slurm.conf:33: unknown key "SpankPluginOfTheSite"'
    has "acct_gather.conf: energy, bytes and profiles are gathered without it"
    has "job_container.conf: "
    has "slurm.conf:3: SlurmctldHost: the controller is where"
    has "slurm.conf:4: SlurmctldHost: "
    has "slurm.conf:6: StateSaveLocation: "
    has "slurm.conf:11: AccountingStoragePass: a secret"
    [[ "$output" != *"dbd.socket"* ]]
    [ ! -e "$REMUDA_STATE" ]
}

@test "it is written once, the same the second time, and a cluster starts with it" {
    cp -r "$SITES/university" site
    run -0 remuda import slurm --conf site
    has "written: $REMUDA_STATE/remuda.conf"
    has "written: $REMUDA_STATE/topology.conf"
    run -0 remuda import slurm --conf site
    has "as it was: $REMUDA_STATE/remuda.conf"
    [ "$(find "$REMUDA_STATE" -type f | wc -l)" -eq 2 ]
    sed -i 's/^KillWait=.*/KillWait=31/' site/slurm.conf
    run -0 remuda import slurm --conf site
    has "remuda.conf.before-import"
    remuda up -q 3>&-
    run -0 sinfo -h -o '%P %D %l'
    has "batch* 68 7-00:00:00"
    run -0 scontrol show config
    has "KillWait                = 31 sec"
    run -0 scontrol show topology
    has "SwitchName=spine"
}

@test "what the first import kept beside is not lost by the next ones" {
    mkdir -p "$REMUDA_STATE"
    echo "# written by hand" >"$REMUDA_STATE/remuda.conf"
    cp -r "$SITES/university" site
    for n in 1 2 3; do
        echo "# change $n" >>site/slurm.conf
        remuda import slurm --conf site
    done
    [ "$(cat "$REMUDA_STATE/remuda.conf.before-import")" = "# written by hand" ]
    [ "$(grep -c "^# change" "$REMUDA_STATE/remuda.conf.before-import.2")" = 1 ]
    [ "$(grep -c "^# change" "$REMUDA_STATE/remuda.conf.before-import.3")" = 2 ]
    # what is kept already is not kept twice
    cp "$REMUDA_STATE/remuda.conf.before-import" "$REMUDA_STATE/remuda.conf"
    remuda import slurm --conf site
    [ ! -e "$REMUDA_STATE/remuda.conf.before-import.4" ]
}

@test "what is not understood keeps everything from being written, unless it is left out" {
    cp -r "$SITES/university" site
    printf 'PartitionName=bad Nodes=nosuch[1-2]\nKillWait=soon\n' >>site/slurm.conf
    n=$(wc -l <site/slurm.conf)
    run -1 remuda import slurm --conf site
    has "Not understood:"
    has "slurm.conf:$n: KillWait"
    has "slurm.conf:$((n - 1)): "
    has "nothing was written: 2 lines"
    [ ! -e "$REMUDA_STATE" ]
    run -0 remuda import slurm --conf site --leave-out
    grep -q '^#KillWait=soon' "$REMUDA_STATE/remuda.conf"
    grep -q '^KillWait=30' "$REMUDA_STATE/remuda.conf"
}

@test "a key that is not known takes nothing else of its line away, whatever its letters" {
    mkdir keys
    for key in Newer new_er v2.key Net-Speed X9; do
        printf 'NodeName=n[1-2] %s=1\n%s=1\nPartitionName=p Nodes=ALL Default=YES %s=1\n' "$key" "$key" "$key" >keys/slurm.conf
        rm -rf "$REMUDA_STATE"
        run -0 remuda import slurm --conf keys
        has "2 nodes, 1 partitions"
        grep -qx "NodeName=n\[1-2\] $key=1" "$REMUDA_STATE/remuda.conf"
        grep -qx "#$key=1" "$REMUDA_STATE/remuda.conf"
        run -0 remuda config check "$REMUDA_STATE/remuda.conf"
    done
}

@test "a named pipe for a file is refused, not waited for" {
    mkdir site
    mkfifo site/slurm.conf
    run -1 timeout 20 remuda import slurm --conf site
    has "slurm.conf is a named pipe"
    rm site/slurm.conf
    printf 'ClusterName=x\nNodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\nInclude more.conf\n' >site/slurm.conf
    mkfifo site/more.conf
    run -1 timeout 20 remuda import slurm --conf site
    has "more.conf is a named pipe"
}

@test "a line of topology.conf that makes no sense is told with its place, like any other" {
    mkdir site
    printf 'ClusterName=x\nNodeName=n[1-4] CPUs=4\nPartitionName=p Nodes=ALL\n' >site/slurm.conf
    printf 'SwitchName=leaf[1-2] Nodes=n[1-4]\nSwitchName=top Switches=leaf[1-2]\n' >site/topology.conf
    run -1 remuda import slurm --conf site
    has "cluster x: 4 nodes, 1 partitions"
    has "topology.conf:2: SwitchName: top names the switch leaf1, which no line describes"
    run -0 remuda import slurm --conf site --leave-out
    grep -q '^#SwitchName=top' "$REMUDA_STATE/topology.conf"
}

@test "strange directories" {
    run -1 remuda import slurm --conf /nonexistent
    has "/nonexistent/slurm.conf"
    mkdir odd
    echo 'Include slurm.conf' >odd/slurm.conf
    run -1 remuda import slurm --conf odd
    has "too deep"
    printf 'ClusterName=x\0y\n' >odd/slurm.conf
    run -1 remuda import slurm --conf odd
    has "zero byte"
    head -c 50000 /dev/urandom | tr -d '\0' >odd/slurm.conf
    run -1 remuda import slurm --conf odd
    printf 'NodeName=n[1-2] CPUs=1\nPartitionName=p Nodes=n[1-2] Default=YES # \033[31mred\n\033]0;x\007=1\n' >odd/slurm.conf
    run remuda import slurm --conf odd --dry-run
    [[ "$output" != *$'\033'* ]]
    run -2 remuda import pbs --conf odd
    run -2 remuda import slurm
}

@test "what slurmdbd.conf says of the past is taken over; the rest of it is named, and no secret is told" {
    cp -r "$SITES/university" site
    printf 'KillWait=31 \\' >>site/slurm.conf
    cat >site/slurmdbd.conf <<'EOF'
# of the database
DbdHost=db1
StoragePass=hush StorageUser=slurm
PurgeJobAfter=24months ArchiveJobs=yes # two of one line
PurgeEventAfter = \
  30days
ArchiveDir="/srv/kept past"
Include more.conf
PrivateData=jobs
EOF
    echo 'PurgeSuspendAfter=12' >site/more.conf
    run -0 remuda import slurm --conf site --dry-run
    has "slurmdbd.conf: 5 settings, at the end of remuda.conf"
    has "slurmdbd.conf:2: DbdHost: accounting is in the controller's store"
    has "slurmdbd.conf:3: StoragePass: a secret"
    has "slurmdbd.conf:3: StorageUser: "
    has "slurmdbd.conf:9: PrivateData: it stands in remuda.conf"
    has "more.conf:1: PurgeSuspendAfter"
    [[ "$output" != *hush* ]]
    for _ in 1 2; do run -0 remuda import slurm --conf site; done
    has "as it was: $REMUDA_STATE/remuda.conf"
    [[ "$(cat "$REMUDA_STATE/remuda.conf")" != *hush* ]]
    remuda up -q 3>&-
    run -0 scontrol show config
    has "KillWait                = 31 sec"
    [[ "$output" =~ PurgeJobAfter[\ =]+24months ]]
    [[ "$output" =~ ArchiveJobs[\ =]+[Yy] ]]
    [[ "$output" =~ PurgeEventAfter[\ =]+30days ]]
    [[ "$output" =~ ArchiveDir[\ =]+/srv/kept\ past ]]
}

@test "no password is taken over, in whatever line, and what is kept beside stays as closed as it was" {
    mkdir site
    cat >site/slurm.conf <<'EOF'
ClusterName=x
AccountingStoragePass=hush1
AccountingStorageUser=slurm accountingstoragepass="hush2 hush3" KillWait=31
JobCompPass = \
  hush4\
hush5
# JobCompPass=hush6 of last year
DefaultStoragePass= hush7
KillWait=31 JobCompPass=ab"hush10 hush11"hush12
Include more.conf
NodeName=n[1-4] CPUs=4
PartitionName=p Nodes=ALL Default=YES
EOF
    echo '#StoragePass="hush8' >site/more.conf
    mkdir -p "$REMUDA_STATE"
    (umask 077 && echo "# JobCompPass=hush9" >"$REMUDA_STATE/remuda.conf")
    run -0 remuda import slurm --conf site
    [[ "$output" != *hush* ]]
    has "slurm.conf:2: AccountingStoragePass: a secret"
    [ "$(stat -c %a "$REMUDA_STATE/remuda.conf.before-import")" = 600 ]
    [ -z "$(grep -l hush "$REMUDA_STATE"/*.conf)" ]
    grep -q '^#AccountingStoragePass=withheld$' "$REMUDA_STATE/remuda.conf"
    grep -q 'AccountingStorageUser=slurm accountingstoragepass=withheld KillWait=31$' "$REMUDA_STATE/remuda.conf"
    grep -q '^KillWait=31 JobCompPass=withheld$' "$REMUDA_STATE/remuda.conf"
    [ "$(grep -c . "$REMUDA_STATE/remuda.conf")" = 13 ]
}

@test "what cannot be taken over is told wherever it stands in a line" {
    mkdir site
    cat >site/slurm.conf <<'EOF'
ClusterName=x SlurmUser = slurm # StateSaveLocation=/old
NodeName=n1 CPUs=4 JobCompPass=hush
PartitionName=p Nodes=ALL Comment="SlurmctldHost=no key"
EOF
    run -1 remuda import slurm --conf site
    has "slurm.conf:1: SlurmUser: the controller runs as who starts it"
    has "slurm.conf:2: JobCompPass: a secret"
    has "1 lines are not understood"
    [[ "$output" != *StateSaveLocation* && "$output" != *SlurmctldHost* ]]
    [ ! -e "$REMUDA_STATE" ]
    sed -i '1s/SlurmUser/\\\n&/' site/slurm.conf
    run -0 remuda import slurm --conf site
    has "slurm.conf:2: SlurmUser: the controller runs as who starts it"
    grep -q '^ClusterName=x ' "$REMUDA_STATE/remuda.conf"
}

@test "a line is not left out for one of its keys: what stands beside it is not lost without a word" {
    mkdir site
    for line in 'SlurmUser=slurm KillWait=60' 'SlurmUser = slurm \\\n  KillWait=60' 'SlurmUser=a\\#b KillWait=60'; do
        printf "ClusterName=x\n$line\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL\n" >site/slurm.conf
        run -1 remuda import slurm --conf site
        has "slurm.conf:2: SlurmUser: the controller runs as who starts it"
        has "it needs a line of its own"
    done
    cat >site/slurm.conf <<'EOF'
ClusterName=x
StateSaveLocation = \
  /old # of last year
Bogus=1 \
  KillWait=61
DefaultStoragePass=hush MinJobAge=301
NodeName = n1 Bogus=1 CPUs=4
PartitionName=p Nodes=ALL Default=YES
EOF
    run -0 remuda import slurm --conf site
    has "cluster x: 1 nodes, 1 partitions"
    has "slurm.conf:2: StateSaveLocation: "
    grep -q '^#StateSaveLocation' "$REMUDA_STATE/remuda.conf"
    remuda up -q 3>&-
    run -0 scontrol show config
    has "KillWait                = 61 sec"
    has "MinJobAge               = 301 sec"
}

@test "names of a stranger's configuration write nothing else to the terminal" {
    mkdir site
    printf 'ClusterName=x\033[2J\nNodeName=n1 CPUs=1\nPartitionName=p\033[1m Nodes=n1\n' >site/slurm.conf
    run -0 remuda import slurm --conf site --dry-run
    has 'cluster x\x1b[2J: 1 nodes, 0 partitions'
    has "slurm.conf:3: PartitionName: a name of a partition holds no control characters"
    [[ "$output" != *$'\033'* ]]
}

@test "files that include others again and again end" {
    mkdir site
    printf 'ClusterName=x\nInclude a1\nNodeName=n1\nPartitionName=p Nodes=n1\n' >site/slurm.conf
    yes 'Include a2' | head -80000 >site/a1
    yes 'Include a3' | head -80000 >site/a2
    touch site/a3
    run -1 timeout 60 remuda import slurm --conf site --dry-run
    has "too many files, or too large ones, are included"
    sed -i '5,$d' site/a1 site/a2
    run -0 remuda import slurm --conf site --dry-run
    # the parser includes what stands in a line behind another setting
    yes '# CgroupMountpoint=/sys/fs/cgroup' | head -32000 >site/cgroup.conf
    yes 'KillWait=30 Include=cgroup.conf' | head -100000 >>site/slurm.conf
    run -1 timeout 60 remuda import slurm --conf site --dry-run
    has "too many files, or too large ones, are included"
    sed -i '10,$d' site/slurm.conf
    run -0 remuda import slurm --conf site --dry-run
}

@test "a large file of blanks, or of lines that go on, is read in a moment" {
    mkdir site
    begin='ClusterName=x\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL Default=YES'
    for rest in "tr '\\0' ' ' </dev/zero" "yes '\\'" "yes 'SlurmUser=a \\'"; do
        for between in '\n' ' JobCompPass="'; do
            { printf "$begin$between"; eval "$rest" | head -c 1000000; } >site/slurm.conf
            timeout 60 remuda import slurm --conf site --dry-run >said 2>&1 || [ $? = 1 ]
        done
    done
}

@test "a comment goes on in no line: what follows it is taken over" {
    mkdir site
    cat >site/slurm.conf <<'EOF'
ClusterName=x
Bogus=1 # see \
NodeName=n1 CPUs=4
Bogus2=1 \ # and so on
  KillWait=31
# JobCompPass=hush\
PartitionName=p Nodes=ALL # "
JobCompPass= \ # as in the year before
  hush
PartitionName=q Nodes=ALL
EOF
    printf '# old \\\nPurgeJobAfter=12month\\\nPurgeStepAfter=1month\nArchiveDir="/a # \\\nb" # DbdHost \\\nArchiveJobs=yes\n' >site/slurmdbd.conf
    run -0 remuda import slurm --conf site
    has "cluster x: 1 nodes, 2 partitions"
    has "slurmdbd.conf: 4 settings"
    has 'slurm.conf:2: unknown key "Bogus"'
    [[ "$output" != *hush* ]]
    [ -z "$(grep hush "$REMUDA_STATE/remuda.conf")" ]
    grep -q '^NodeName=n1 CPUs=4$' "$REMUDA_STATE/remuda.conf"
    grep -q '^ArchiveDir="/a #  b"$' "$REMUDA_STATE/remuda.conf"
}

@test "a line of slurmdbd.conf that makes no sense keeps everything from being written" {
    cp -r "$SITES/university" site
    printf 'PurgeJobAfter=3fortnights\nPurgeJobAfter\n=\n' >site/slurmdbd.conf
    run -1 remuda import slurm --conf site
    has "slurmdbd.conf:1: PurgeJobAfter"
    has "slurmdbd.conf:2: Key=Value is expected"
    has "slurmdbd.conf:3: Key=Value is expected"
    [ ! -e "$REMUDA_STATE" ]
    run -0 remuda import slurm --conf site --leave-out
    grep -q '^#PurgeJobAfter=3fortnights' "$REMUDA_STATE/remuda.conf"
}

@test "accounts are loaded as a whole, and again without doubling anything" {
    mkdir -p "$REMUDA_STATE"
    printf 'ClusterName=perl\nNodeName=v1 CPUs=4 RealMemory=2000 Gres=gpu:2 Virtual=YES\nPartitionName=main Nodes=v1 Default=YES\n' >"$REMUDA_STATE/remuda.conf"
    remuda up -q 3>&-
    run -0 remuda import slurm --accounts "$SITES/accounts.cfg" --dry-run
    run -0 sacctmgr -nP show account format=account
    [ "$output" = root ]
    run -0 remuda import slurm --accounts "$SITES/accounts.cfg"
    run -0 sacctmgr -nP show assoc format=account,user,maxjobs,grptres
    first=$output
    has "m1|ann|4|"
    has "m1|||gres/gpu=64"
    run -0 remuda import slurm --accounts "$SITES/accounts.cfg"
    run -0 sacctmgr -nP show assoc format=account,user,maxjobs,grptres
    [ "$output" = "$first" ]
    { cat "$SITES/accounts.cfg"; echo "Account - 'm3':GrpNonsense=3"; } >bad.cfg
    sed -i "s/'m2'/'m9'/" bad.cfg
    run -1 remuda import slurm --accounts bad.cfg
    run -0 sacctmgr -nP show assoc format=account,user,maxjobs,grptres
    [ "$output" = "$first" ]
}

@test "QOS are taken from what sacctmgr -P show qos prints, with the accounts that use them" {
    mkdir -p "$REMUDA_STATE"
    printf 'ClusterName=perl\nNodeName=v1 CPUs=4 RealMemory=2000 Virtual=YES\nPartitionName=main Nodes=v1 Default=YES\n' >"$REMUDA_STATE/remuda.conf"
    remuda up -q 3>&-
    cat >qos.txt <<'EOF'
Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|GrpTRESMins|GrpTRESRunMins|GrpJobs|GrpSubmit|GrpWall|MaxTRES|MaxTRESPerNode|MaxTRESMins|MaxWall|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxTRESPA|MaxJobsPA|MaxSubmitPA|MinTRES
normal|0|00:00:00|||cluster|||1.000000|||||||||||||||||
regular|25|00:00:00|opp||cluster|DenyOnLimit||2.000000|cpu=100|||7|20|||||1-00:00:00|cpu=8|4|50||||
opp|0|00:10:00|||cancel|||0.500000||||||||||08:00:00||7|50||||
EOF
    printf "Cluster - 'perl':Fairshare=1:QOS='normal'\nParent - 'root'\nAccount - 'm1':Description='m1':Organization='o':Fairshare=1:QOS='regular,opp':DefaultQOS='opp'\n" >dump.cfg
    run -0 remuda import slurm --qos qos.txt --accounts dump.cfg --dry-run
    run -0 sacctmgr -nP show qos format=name
    [ "$output" = normal ]
    for _ in 1 2; do
        run -0 remuda import slurm --qos qos.txt --accounts dump.cfg
        run -0 sacctmgr -P show qos format=name,priority,gracetime,preempt,flags,usagefactor,grptres,grpjobs,grpsubmit,maxwall,maxtrespu,maxjobspu,maxsubmitpu
        has "normal|0|00:00:00|||1.000000|"
        has "regular|25|00:00:00|opp|DenyOnLimit|2.000000|cpu=100|7|20|1-00:00:00|cpu=8|4|50"
        has "opp|0|00:10:00|||0.500000||||08:00:00||7|50"
        run -0 sacctmgr -nP show assoc account=m1 format=qos,defaultqos
        has "opp,regular|opp"
    done
    printf 'Name|Priority\nx|soon\n' >bad.txt
    run -1 remuda import slurm --qos bad.txt
    printf 'x|1\n' >bad.txt
    run -1 remuda import slurm --qos bad.txt
    has "names of the columns are expected"
}

# columns FILE-OR-"-" NAME…: these columns of what sacct -P printed.
columns() {
    python3 -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1]) if sys.argv[1] != "-" else sys.stdin, delimiter="|", quoting=csv.QUOTE_NONE))
at = [rows[0].index(name) for name in sys.argv[2:]]
for row in sorted(rows[1:], key=lambda row: (row[at[0]].split(".")[0], row[at[1]], row[at[0]])):
    print("|".join(row[i] for i in at))' "$@"
}

@test "past jobs as a Slurm 22.05 printed them: sacct says of each what that said, once, and their numbers are not given again" {
    export TZ=UTC
    real="$SITES/past/sacct.txt"
    remuda up -q --nodes 1 --cpus 2 --mem 2000 --name past 3>&-
    run -0 remuda import slurm --jobs "$real" --dry-run
    has "sacct.txt: 8 jobs (numbers 70001 to 70012), 10 steps"
    has "Not taken over:"
    has "1 jobs that were not over"
    has "columns AssocID,AveCPU,"
    has "Nothing was changed: --dry-run"
    [ "$(sacct -a -n -X -S 2020-01-01)" = "" ]
    for twice in "8 added, 0 were there" "0 added, 8 were there"; do
        run -0 remuda import slurm --jobs "$real"
        has "jobs: $twice"
        names="JobIDRaw Start JobID JobName User UID Account Partition QOS Submit End Elapsed State ExitCode AllocTRES NodeList NTasks Timelimit"
        columns "$real" $names | grep -v ^70010 >said
        sacct -a -P -D -S 2020-01-01 -o "${names// /,}" | columns - $names >ours
        diff said ours
    done
    [ "$(sreport -n -P cluster AccountUtilizationByUser start=2026-11-01 end=2026-12-01 -t seconds | tail -1 | cut -d'|' -f2,3,5)" = "root|root|3" ]
    run -0 seff 70008
    has "State: COMPLETED (exit code 0)"
    [ "$(sbatch --parsable -n1 -o /dev/null --wrap true)" = 70013 ]
}

@test "past jobs that make no sense: the line is named, and none is taken over" {
    remuda up -q --nodes 1 --cpus 2 --mem 2000 --name past 3>&-
    {
        echo "JobID|JobIDRaw|State|Start|End|AllocTRES|User"
        for n in $(seq 1 300); do echo "$n|$n|COMPLETED|2026-01-01T00:00:00|2026-01-01T01:00:00|cpu=2|root"; done
    } >good
    sed '200s/cpu=2/cpu=lots/; 250s/COMPLETED/DONE/' good >bad
    run -1 remuda import slurm --jobs bad
    has 'bad:200: AllocTRES is "cpu=lots"'
    has 'bad:250: State is "DONE"'
    has "no job was taken over"
    [ "$(sacct -a -n -X -S 2020-01-01)" = "" ]
    run -1 remuda import slurm --jobs /nonexistent
    has "/nonexistent: No such file"
    run -1 remuda import slurm --jobs "$SITES/university/slurm.conf"
    has "the first line must name the columns"
    # killed on its way, it goes on where it was
    remuda import slurm --jobs good >/dev/null &
    sleep 0.02
    kill -9 $! || true
    run -0 remuda import slurm --jobs good
    [ "$(sacct -a -n -X -P -S 2020-01-01 -o JobID | wc -l)" -eq 300 ]
    [ "$(sreport -n -P cluster AccountUtilizationByUser start=2026-01-01 end=2026-02-01 -t hours | tail -1 | cut -d'|' -f5)" -eq 600 ]
    # another job of a number that is here is left out
    sed 's/^7|7|\(.*\)T00:00:00/7|7|\1T00:30:00/' good >other
    run -0 remuda import slurm --jobs other
    has "1 jobs were left out: their numbers are here those of other jobs (7 is the first)"
}

@test "a configuration of several files is taken over whole, or as it was, whenever the command is killed" {
    cp -r "$SITES/university" site
    remuda import slurm --conf site
    before=$(cat "$REMUDA_STATE"/*.conf | cksum)
    sed -i 's/^KillWait=.*/KillWait=31/' site/slurm.conf
    echo "# another" >>site/topology.conf
    for after in 0 0.002 0.004 0.006 0.008 0.01 0.015; do
        remuda import slurm --conf site >/dev/null 2>&1 &
        sleep "$after"
        kill -9 $! 2>/dev/null || true
        wait || true
        # whoever reads next finds all of it or nothing
        remuda import slurm --conf "$SITES/university" --dry-run >/dev/null
        [ -e "$REMUDA_STATE/.together" ] || {
            new=$(grep -c "^KillWait=31" "$REMUDA_STATE/remuda.conf" || true)
            topo=$(grep -c "^# another" "$REMUDA_STATE/topology.conf" || true)
            [ "$new" = "$topo" ]
        }
    done
    [ -n "$before" ]
}
