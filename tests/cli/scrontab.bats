#!/usr/bin/env bats
# scrontab: tables of jobs that come again. Nothing here waits for a minute to begin; the times are those of unit tests.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    cluster --nodes 1 --cpus 2
    export EDITORS="$BATS_FILE_TMPDIR/editors"
    mkdir -p "$EDITORS"
}

teardown_file() { remuda down; }

setup() {
    cd "$WORK"
    scrontab -r 2>/dev/null || true
}

me() { id -un; }

jobs_of_tables() { squeue -h -o %i | sort -n | paste -sd' '; }

# editor NAME < SCRIPT: a program that changes the file it is given.
editor() {
    cat > "$EDITORS/$1"
    chmod +x "$EDITORS/$1"
    export VISUAL="$EDITORS/$1"
}

@test "a table is installed, listed and removed; its entries are jobs" {
    run -1 --separate-stderr scrontab -l
    [ "$stderr" = "no crontab for $(me)" ]
    run -1 scrontab -r
    cat > table <<'EOF'
# two jobs
OUT=/tmp/somewhere
#SCRON -t 5 -J first
#SCRON --comment=mine
59 23 31 12 * echo $OUT $HOME
@yearly /bin/sleep 60
EOF
    run -0 --separate-stderr scrontab table
    [ -z "$output$stderr" ]
    scrontab -l | cmp - table
    run -0 squeue -h -o "%j %t %r %l" --sort=i
    [ "${lines[0]}" = "first PD BeginTime 5:00" ]
    [ "${lines[1]%% *}" = sleep ]
    id=$(squeue -h -n first -o %i)
    run -0 scontrol show job "$id"
    [[ "$output" == *'   CronJob=Yes CrontabSpec="59 23 31 12 *"'* ]]
    [[ "$output" == *"EligibleTime=20"??"-12-31T23:59:00"* ]]
    [[ "$output" == *"WorkDir=$(getent passwd "$(id -u)" | cut -d: -f6)"* ]]
    scontrol write batch_script "$id" - | grep -qx 'echo /tmp/somewhere $HOME'
    squeue --json | grep -q '"cron": *"59 23 31 12 \*"'
    squeue --json | grep -q CRON_JOB
    run -0 --separate-stderr scrontab -r
    run -1 scrontab -l
    [ -z "$(jobs_of_tables)" ]
    [ "$(state "$id")" = CANCELLED ]
}

@test "a table comes from standard input, and -v counts its entries" {
    run -0 --separate-stderr scrontab -v - <<< "@daily true"
    [ "$stderr" = "scrontab: the table of $(me) has 1 entries" ]
    [ "$(scrontab -l)" = "@daily true" ]
    scrontab - < /dev/null # no entries is a table, too
    [ -z "$(scrontab -l)$(jobs_of_tables)" ]
}

@test "lines that end as on Windows; control characters are named by their line" {
    printf '0 0 1 1 * true\r\n0 0 2 1 * true\r\n' | scrontab -
    [ "$(scrontab -l)" = $'0 0 1 1 * true\n0 0 2 1 * true' ]
    run -1 scrontab - < <(printf '0 0 1 1 * true\n0 0 2 1 * a\033[2Jb\n')
    [[ "$output" == *"scrontab: error: line 2: there is a control character in it"*"the table was not changed"* ]]
    scrontab -r
}

@test "what is wrong is named by its line, and nothing changes" {
    scrontab - <<< "@daily true"
    before=$(jobs_of_tables)
    cat > table <<'EOF'
61 * * * * x
#SCRON --nosuchoption
* * * * * y
#SCRON --array=1-2
* * * * * y
@reboot z
* * * *
EOF
    run -1 --separate-stderr scrontab table
    [[ "${stderr_lines[0]}" == 'scrontab: error: line 1: minute "61"'* ]]
    [[ "${stderr_lines[1]}" == "scrontab: error: line 2: "*nosuchoption* ]]
    [[ "${stderr_lines[2]}" == "scrontab: error: line 4: --array: "* ]]
    [[ "${stderr_lines[3]}" == "scrontab: error: line 6: @reboot "* ]]
    [[ "${stderr_lines[4]}" == "scrontab: error: line 7: the day of the week is missing"* ]]
    [ "${stderr_lines[5]}" = "scrontab: error: the table was not changed" ]
    # and by the controller
    printf '@daily a\n#SCRON -p nowhere\n@daily b\n#SCRON --mem=900T\n@daily c\n' > table
    run -1 --separate-stderr scrontab table
    [[ "${stderr_lines[0]}" == "scrontab: error: line 3: Invalid partition name specified"* ]]
    [[ "${stderr_lines[1]}" == "scrontab: error: line 5: "* ]]
    [ "$(scrontab -l)" = "@daily true" ]
    [ "$(jobs_of_tables)" = "$before" ]
    run -1 scrontab nosuchfile
    run -1 scrontab -l -r
    run -1 scrontab
    head -c 70000 /dev/zero | tr '\0' '#' > table
    run -1 scrontab table
    [[ "$output" == *"64 KiB"* ]]
    printf '@daily x\0y\n' > table
    run -1 scrontab table
    printf '@daily \033[2J\n' > table
    run -1 scrontab table
    [ "$(scrontab -l)" = "@daily true" ]
}

@test "the editor: a new table, a changed one, none; a mistake is edited again, and nothing is lost" {
    editor first <<'EOF'
#!/bin/sh
grep -q '^# Each line is a job' "$1" && echo '@daily first' > "$1"
EOF
    run -0 scrontab -e
    [ "$(scrontab -l)" = "@daily first" ]
    editor same <<< '#!/bin/true'
    run -0 --separate-stderr scrontab -e
    [ "$stderr" = "scrontab: nothing was changed" ]
    editor twice <<'EOF'
#!/bin/sh
if grep -q wrong "$1"; then echo '@daily right' > "$1"; else echo '99 * * * * wrong' > "$1"; fi
EOF
    run -0 scrontab -e <<< y
    [[ "$output" == *"line 1: minute \"99\""*"Edit it again?"* ]]
    [ "$(scrontab -l)" = "@daily right" ]
    editor wrong <<'EOF'
#!/bin/sh
echo '99 * * * * my work' > "$1"
EOF
    run -1 --separate-stderr scrontab -e <<< n
    file=$(sed -n 's/^scrontab: your text is in //p' <<< "$stderr")
    [ "$(cat "$file")" = "99 * * * * my work" ]
    [ "$(stat -c %a "$file")" = 600 ]
    rm "$file"
    editor fails <<< '#!/bin/false'
    run -1 --separate-stderr scrontab -e < /dev/null
    [[ "$stderr" == *"did not end well"* ]]
    rm "$(sed -n 's/^scrontab: your text is in //p' <<< "$stderr")"
    [ "$(scrontab -l)" = "@daily right" ]
}

@test "-r -i asks" {
    scrontab - <<< "@daily true"
    run -1 scrontab -r -i <<< n
    [ "$(scrontab -l)" = "@daily true" ]
    run -0 scrontab -r -i <<< y
    run -1 scrontab -l
}

@test "scontrol does not change such a job; scancel takes its lines out" {
    printf '#SCRON -t 1\n@daily a\n@yearly b\n' | scrontab -
    read -r a b <<< "$(jobs_of_tables)"
    run -1 --separate-stderr scontrol update jobid="$a" timelimit=5
    [[ "$stderr" == *"Cannot modify scrontab jobs through scontrol"* ]]
    run -1 --separate-stderr scontrol hold "$a"
    [[ "$stderr" == *"Cannot modify scrontab jobs through scontrol"* ]]
    run -1 scontrol requeue "$a"
    [[ "$output" == *"Job is pending execution"* ]]
    scancel "$a"
    [ "$(scrontab -l)" = "$(printf '#DISABLED: #SCRON -t 1\n#DISABLED: @daily a\n@yearly b')" ]
    [ "$(jobs_of_tables)" = "$b" ]
}

@test "a table outlives kill -9 of the controller" {
    printf '@daily a\n@yearly b\n' | scrontab -
    before=$(jobs_of_tables)
    kill -9 "$(cat "$REMUDA_STATE/controller.pid")"
    remuda up -q 3>&-
    [ "$(scrontab -l)" = "$(printf '@daily a\n@yearly b')" ]
    [ "$(jobs_of_tables)" = "$before" ]
}

@test "ScronParameters: explicit_scancel, disable" {
    scrontab - <<< "@daily true"
    echo "ScronParameters=enable,explicit_scancel" >> "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    id=$(jobs_of_tables)
    run -1 --separate-stderr scancel "$id"
    [ "${stderr_lines[0]}" = "scancel: error: Kill job error on job id $id: Cannot cancel scrontab jobs without --cron flag." ]
    scancel --cron "$id"
    [ "$(scrontab -l)" = "#DISABLED: @daily true" ]
    sed -i 's/^ScronParameters=.*/ScronParameters=disable/' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    run -1 scrontab - <<< "@daily true"
    [[ "$output" == *"scrontab is disabled on this cluster"* ]]
    scrontab -r
    scontrol show config | grep -qE '^ScronParameters += disable$'
    sed -i '/^ScronParameters/d' "$REMUDA_STATE/remuda.conf"
    scontrol reconfigure
    scontrol show config | grep -qE '^ScronParameters += enable$'
}

@test "another user's table: root changes it, nobody else does" {
    if [ "$(id -u)" -ne 0 ]; then
        run -1 scrontab -u root -r
        [[ "$output" == *"only root"* ]]
        skip "the rest is for root"
    fi
    SHARED=$(mktemp -d /tmp/remuda-scrontab-XXXXXX)
    chmod 755 "$SHARED"
    export REMUDA_STATE="$SHARED/state"
    as_daemon() { setpriv --reuid=daemon --regid=daemon --clear-groups "$@"; }
    as_daemon remuda version >/dev/null 2>&1 || skip "the programs are not readable for other users here"
    remuda up -q --nodes 1 --cpus 1 3>&-
    scrontab -u nobody - <<< "@daily true"
    listed=$(scrontab -u nobody -l)
    none=$(scrontab -l 2>&1 || true)
    names=$(squeue -h -u nobody -o %j)
    other=$(as_daemon scrontab -u nobody -l 2>&1 || true)
    removes=$(as_daemon scrontab -u nobody -r 2>&1 || true)
    stays=$(scrontab -u nobody -l)
    scrontab -u nobody -r
    left=$(squeue -h -u nobody)
    unknown=$(scrontab -u nosuchuser -l 2>&1 || true)
    remuda down
    rm -rf "$SHARED"
    [ "$listed" = "@daily true" ]
    [ "$none" = "no crontab for root" ]
    [ "$names" = true ]
    [[ "$other" == *"only operators"* ]]
    [[ "$removes" == *"only root"* ]]
    [ "$stays" = "@daily true" ]
    [ -z "$left" ]
    [[ "$unknown" == *"there is no user nosuchuser here"* ]]
}
