#!/bin/sh
# Schedules of the simulator against those that programs which are not ours computed. Usage: check.sh REMUDA_SIM WHAT [FOLDER]; prints TAP.
# The open traces lie in FOLDER or $REMUDA_TRACES; a clone without them skips what needs them.
sim=$1 what=$2 here=$(dirname "$0")
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
reference) # what the tables of starts do not hold
    exec "$sim" check --only E-cons-user,E-cons-perfect,E-sjbf-perfect --reference "$traces/philly-6c71a0-oct.swf.gz" \
        "$traces/expected/reference.csv" "$traces/philly-b436b2-oct.swf.gz" "$traces/expected/reference.csv" ;;
reference-large) # all rows of the large one take minutes: remuda-sim check --reference TRACE reference.csv
    exec "$sim" check --only B-wfp3-user --reference "$traces/philly-2017-sep-oct.swf.gz" "$traces/expected/reference.csv" ;;
*) exec "$sim" check "$traces/$what.swf.gz" "$traces/expected/$what.csv.gz" ;;
esac
