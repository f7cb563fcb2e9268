#!/bin/sh
# The ten streams that are made against an order, as stories. Usage: streams.sh REMUDA_SIM FILE.story; prints TAP, and what was measured.
# REMUDA_TRACE_SIM plays them in place of REMUDA_SIM: `make test` names the program without sanitizers, as each has some thousand jobs through the whole of a
# controller. What memory could be misused by is played by REMUDA_SIM itself where a story is small (gangs).
case $2 in
*/stream_gangs.story) exec "$1" story "$2" ;;
*) exec "${REMUDA_TRACE_SIM:-$1}" story "$2" ;;
esac
