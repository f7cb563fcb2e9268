#!/usr/bin/env bats
# docs/examples.md, from the page alone: its scripts are saved under the names it gives them, its commands are typed.
bats_require_minimum_version 1.5.0
load common

setup_file() {
    export EXAMPLES
    EXAMPLES=$(mktemp -d /tmp/remuda-examples-XXXXXX)
    export REMUDA_STATE="$EXAMPLES/state"
    remuda up -q --nodes 2 --cpus 4 --mem 4G --gres gpu:v100:2
    mkdir "$EXAMPLES/work"
    awk -v dir="$EXAMPLES/work" '
        /^`[a-z]+\.sh`:$/ { name = substr($0, 2, length($0) - 3); next }
        /^```/ { if (kind != "") { kind = "" } else { kind = $0 == "```" ? "text" : substr($0, 4) } next }
        /^## / { section++ }
        kind == "sh" { print > (dir "/" name) }
        kind == "console" { sub(/^\$ /, ""); print > (dir "/" section ".commands") }
    ' "$BATS_TEST_DIRNAME/../../docs/examples.md"
}

teardown_file() {
    remuda down
    rm -rf "$EXAMPLES"
}

typed() { # typed SECTION: its commands, one after the other, until one fails
    cd "$EXAMPLES/work"
    run -0 bash -e "$1.commands"
}

@test "one GPU in a batch job; what it used" {
    typed 1
    [[ "$output" =~ "GPU 0 of job" && "$output" =~ "epochs: 3" && "$output" =~ "gres/gpu=1" && "$output" =~ "State: COMPLETED" ]]
}

@test "several nodes: a rendezvous for all ranks" {
    typed 3
    [ "${lines[-1]}" = 2 ]
    [ "$(sed 's/.* at \(.*\), GPUs.*/\1/' "$EXAMPLES/work/ddp.out" | sort -u | wc -l)" = 1 ]
    [ "$(grep -c 'GPUs 0,1$' "$EXAMPLES/work/ddp.out")" = 2 ]
}

@test "an array, a chain, a run that is saved" {
    typed 4
    [ "${lines[-1]}" = "learning rate 0.0005" ]
    typed 5
    [ "${lines[-1]}" = data ]
    typed 6
    [ "${lines[-1]}" = "saved at step 3" ]
}

@test "in LSF's words, in PBS's words" {
    typed 7
    [[ "$output" =~ "DONE lsf_job" && "${lines[-1]}" = "slots: 2" ]]
    typed 8
    [[ "${lines[-1]}" =~ "pbs_job" ]]
}

@test "no section of the page is left out" {
    [ "$(grep -c '^## ' "$BATS_TEST_DIRNAME/../../docs/examples.md")" = 8 ]
    [ "$(ls "$EXAMPLES"/work/*.sh | wc -l)" = "$(grep -c '^`[a-z]*.sh`:$' "$BATS_TEST_DIRNAME/../../docs/examples.md")" ]
}
