#!/bin/sh
# A run gives the same bytes twice, replays what it is told to, and refuses what it does not know. Usage: run.sh REMUDA_SIM; prints TAP.
sim=$1 here=$(dirname "$0") n=0 bad=0
is() { # WHAT GOT WANTED
    n=$((n + 1))
    if [ "$2" = "$3" ]; then echo "ok $n - $1"; else echo "not ok $n - $1: got '$2', wanted '$3'"; bad=1; fi
}
t=$here/m6-random400.swf
is "same input, same bytes" "$($sim run --untimed --json "$t")" "$($sim run --untimed --json "$t")"
is "starts have a line a job" "$($sim run --untimed --starts /dev/stderr "$t" 2>&1 >/dev/null | wc -l)" 401
is "a part of the jobs" "$($sim run --untimed --json --jobs 11..20 "$t" | grep -o '"jobs": [0-9]*')" '"jobs": 10'
is "wide jobs are counted" "$($sim run --untimed --json --machine 1 "$here/m1-tie.swf" | grep -o '"wide": [0-9]*')" '"wide": 7'
is "shaken differently" "$($sim run --untimed --json --shake 1,60 "$t" | grep -c "$($sim run --untimed --json "$t" | grep -o 'schedule": "[0-9a-f]*')")" 0
is "an unknown policy is refused" "$($sim run --policy sjff "$t" 2>&1 >/dev/null | grep -c sjff)" 1
is "an unknown estimate is refused" "$($sim run --estimates factor:0 "$t" 2>&1 >/dev/null | grep -c 'factor:N')" 1
is "the order is a setting" "$($sim run --untimed --json --set SchedulerParameters=order=sjf "$t" | grep -o 'schedule": "[0-9a-f]*')" \
    "$($sim run --untimed --json --policy sjf "$t" | grep -o 'schedule": "[0-9a-f]*')"
echo "1..$n"
exit $bad
