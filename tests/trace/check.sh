#!/bin/sh
# Schedules of the simulator against those that programs which are not ours computed. Usage: check.sh REMUDA_SIM WHAT [FOLDER]; prints TAP.
# REMUDA_TRACE_SIM plays the open traces in place of REMUDA_SIM: `make test` names the program without sanitizers, of which these take several times as long.
# What memory could be misused by is played by REMUDA_SIM itself: each policy on small traces (conformance), one of them on an open trace (one-column).
# The open traces lie in FOLDER or $REMUDA_TRACES; a clone without them skips what needs them.
sim=$1 what=$2 here=$(dirname "$0")
whole=${REMUDA_TRACE_SIM:-$sim}
traces=${REMUDA_TRACES:-$3}
if [ "$what" = conformance ]; then
    set --
    for swf in "$here"/m*.swf; do set -- "$@" "$swf" "${swf%.swf}.expected.csv"; done
    exec "$sim" check "$@"
fi
if [ ! -d "$traces/expected" ]; then
    echo "ok 1 - $what # SKIP no traces in $traces; set REMUDA_TRACES to the folder of shared/traces"
    echo "1..1"
    exit 0
fi
case $what in
one-column) exec "$sim" check --only E-easy-user "$traces/philly-6c71a0-oct.swf.gz" "$traces/expected/philly-6c71a0-oct.csv.gz" ;;
reference) # what the tables of starts do not hold
    exec "$whole" check --only E-cons-user,E-cons-perfect,E-sjbf-perfect --reference "$traces/philly-6c71a0-oct.swf.gz" \
        "$traces/expected/reference.csv" "$traces/philly-b436b2-oct.swf.gz" "$traces/expected/reference.csv" ;;
reference-large) # all rows of the large one take minutes: remuda-sim check --reference TRACE reference.csv
    exec "$whole" check --only B-wfp3-user --reference "$traces/philly-2017-sep-oct.swf.gz" "$traces/expected/reference.csv" ;;
*) exec "$whole" check "$traces/$what.swf.gz" "$traces/expected/$what.csv.gz" ;;
esac
