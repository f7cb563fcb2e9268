#!/bin/sh
# A site's own jobs and its live queue, replayed on its configuration, and two configurations beside each other. Usage: site.sh REMUDA_SIM; prints TAP.
sim=$1 here=$(dirname "$0") n=0 bad=0
d=$(mktemp -d) && trap 'rm -rf "$d"' EXIT
export TZ=UTC
is() { # WHAT GOT WANTED
    n=$((n + 1))
    if [ "$2" = "$3" ]; then echo "ok $n - $1"; else echo "not ok $n - $1: got '$2', wanted '$3'"; bad=1; fi
}
has() { # WHAT TEXT PATTERN
    n=$((n + 1))
    if printf '%s' "$2" | grep -Eq -- "$3"; then echo "ok $n - $1"; else echo "not ok $n - $1: no '$3' in '$2'"; bad=1; fi
}
conf=$here/site.conf jobs=$here/site.sacct queue=$here/site.squeue swf=$here/m6-random400.swf

# ---- accounting ----
out=$($sim run --untimed --from-sacct "$jobs" --config "$conf" --starts "$d/s.csv")
has "what was left out is counted" "$out" "5 jobs on 32 CPUs and 8 GPUs; left out: 1 that did not run, 1 too wide for the machine, 1 that have not ended"
has "a job that no node can hold is named with the nearest" "$out" "8: .*the nearest are n\[1-4\] with 32000 MiB"
has "a partition that is not there is said" "$out" "partitions that the configuration lacks, sent to its default one: 1"
is "starts: ids as people know them, times since 1970, why" "$(sed -n 2,6p "$d/s.csv" | cut -d, -f1,3,7 | tr '\n' ' ')" \
    "1,1790000000,head 2_7,1790003600,head 3,1790000200,backfill 5+0,1790007200,reservation 8,,refused "
is "a job that depended on another arrives when it was eligible" "$(grep '^5+0' "$d/s.csv" | cut -d, -f2)" 1790004000
sed 's/1790000\([0-9]*\)/1790000\1/g' "$jobs" | awk -F'|' 'BEGIN{OFS="|"}{for(i=NF;i>1;i--)printf "%s|",$i;print $1}' >"$d/turned"
$sim run --untimed --from-sacct "$d/turned" --config "$conf" --starts "$d/t.csv" >/dev/null
is "columns come in any order" "$(cat "$d/t.csv")" "$(cat "$d/s.csv")"
sed 's/1790003610|01/2026-09-21T15:13:30|01/; s/|1790000000|1790000010/|2026-09-21T14:13:20|2026-09-21T14:13:30/' "$jobs" >"$d/dated"
$sim run --untimed --from-sacct "$d/dated" --config "$conf" --starts "$d/t.csv" >/dev/null
is "dates are local times" "$(cat "$d/t.csv")" "$(cat "$d/s.csv")"
is "standard input, gzipped" "$(gzip -c "$jobs" | $sim run --untimed --from-sacct - --config "$conf" --json | grep -o 'sha256_schedule.*')" \
    "$($sim run --untimed --from-sacct "$jobs" --config "$conf" --json | grep -o 'sha256_schedule.*')"
has "without a configuration it needs a machine" "$($sim run --from-sacct "$jobs" 2>&1)" "give --config FILE or --machine"
has "a flat machine will do" "$($sim run --untimed --from-sacct "$jobs" --machine 64 --json)" '"jobs": 6,'
cut -d'|' -f1-6 "$jobs" >"$d/few"
has "a missing column is named, with the command that gives all" "$($sim run --from-sacct "$d/few" --machine 32 2>&1)" "a column is missing: Submit.*sacct -aXP.*TimelimitRaw"
sed 's/1790000200|1790000200|1790000210/yesterday|1790000200|1790000210/' "$jobs" >"$d/bad"
has "a time that is none is named with its line" "$($sim run --from-sacct "$d/bad" --machine 32 2>&1)" "line 4, Submit: 'yesterday'"
echo "FAILED|8" >>"$d/few"
has "a line that is too short is named" "$($sim run --from-sacct "$d/few" --machine 32 2>&1)" "line 11 has 2 cells, the first line names 6"
: >"$d/empty"
has "an empty table" "$($sim run --from-sacct "$d/empty" --machine 32 2>&1)" "it is empty"
has "a file that is not there" "$($sim run --from-sacct "$d/none" --machine 32 2>&1)" "$d/none: No such file"
echo "NodeName=n1 CPUs=banana" >"$d/bad.conf"
has "a wrong configuration is named with its line" "$($sim run --from-sacct "$jobs" --config "$d/bad.conf" 2>&1)" "bad.conf:1: CPUs"
echo "ClusterName=x" >"$d/bare.conf"
has "a configuration without nodes" "$($sim run --from-sacct "$jobs" --config "$d/bare.conf" 2>&1)" "describes nodes .* and partitions"

# ---- beside each other ----
sed 's/n\[1-4\]/n[1-8]/' "$conf" >"$d/larger.conf"
out=$($sim compare --untimed --from-sacct "$jobs" --a "$conf" --b "$d/larger.conf" --svg "$d/both.svg")
has "both columns, and how it was" "$out" "as it ran +A +B +B / A"
has "waits with their ratio" "$out" "wait, mean +[0-9:]+ +[0-9:]+ +[0-9:]+ +0\.[0-9]+"
has "who gains" "$out" "With B [1-9][0-9]* jobs? .* start earlier"
is "the picture has two columns of three rows" "$(grep -c 'class="busy"\|class="waiting"' "$d/both.svg")" 6
is "and is one element" "$(grep -c '^<svg\|^</svg>' "$d/both.svg")" 2
is "--config twice does the same" "$($sim run --untimed --json --from-sacct "$jobs" --config "$conf" --config "$d/larger.conf")" \
    "$($sim compare --untimed --json --from-sacct "$jobs" --a "$conf" --b "$d/larger.conf")"
is "a policy is replayed on the other side's machine" \
    "$($sim compare --untimed --json --from-sacct "$jobs" --a "$conf" --b easy | grep -o '"machine": "[^"]*"' | sort -u | wc -l)" 1
out=$($sim compare --untimed --a easy --b default "$swf")
has "traces, too" "$out" "A is easy, B is default"
has "who loses is named" "$out" "later by most"
has "an unknown side is refused with the nearest" "$($sim compare --a easy --b defualt "$swf" 2>&1)" "neither a configuration file nor a policy nor KEY=VALUE; did you mean default"
has "one side is not enough" "$($sim compare --a easy "$swf" 2>&1)" "two sides are needed"
is "the same twice makes nobody worse" "$($sim compare --untimed --json --a easy --b easy "$swf" | grep -o '"earlier": 0, "later": 0')" '"earlier": 0, "later": 0'

# ---- the live queue ----
out=$($sim run --untimed --from-live="$queue" --config "$conf")
has "what can start now does" "$out" "^  12 +cid .* now$"
has "what waits has its time" "$out" "^  11 +bob .* 1:00:00 +43:20 +Mon 21 Sep 16:13 +1:00:00$"
has "held jobs are left out and counted" "$out" "left out: 1 held"
has "two configurations" "$($sim compare --untimed --from-live="$queue" --a "$conf" --b "$d/larger.conf")" "^  11 +bob .*Mon 21 Sep 16:13 +Mon 21 Sep 15:13 +-1:00:00"
mkdir "$d/bin"
printf '#!/bin/sh\ncase "$*" in *--Format=*) cat %s/site.squeue ;; *) exit 1 ;; esac\n' "$(cd "$here" && pwd)" >"$d/bin/squeue"
chmod +x "$d/bin/squeue"
has "squeue is asked" "$(PATH=$d/bin:$PATH $sim run --untimed --from-live --config "$conf")" "^  12 +cid .* now$"
printf '#!/bin/sh\nexit 1\n' >"$d/bin/squeue"
has "a cluster that is down is said" "$(PATH=$d/bin:$PATH $sim run --from-live --config "$conf" 2>&1)" "squeue did not tell the queue"

# ---- switches ----
sched() { $sim run --untimed --json "$@" | grep -o 'sha256_schedule.*'; }
is "--depth of the whole queue changes nothing" "$(sched --policy easy --depth 100000 "$swf")" "$(sched --policy easy "$swf")"
[ "$(sched --policy easy --depth 2 "$swf")" != "$(sched --policy easy "$swf")" ]; is "--depth 2 does" $? 0
has "the daemon has no such cap" "$($sim run --depth 5 "$swf" 2>&1)" "considers every waiting job"
# A user whose runs are equal is predicted right from the third on; the predictions change the schedule, and nobody is killed by them.
awk 'BEGIN{print "; MaxProcs: 4"; for(i=1;i<=40;i++) print i, i*10, -1, 100, 1+i%4, -1, -1, 1+i%4, 1000*(1+i%3), -1, 1, 7, -1,-1,-1,-1,-1,-1}' >"$d/same.swf"
is "predictions of equal runs are as good as knowledge at last" \
    "$($sim run --untimed --policy sjbf --estimates predict --starts /dev/stderr "$d/same.swf" 2>&1 >/dev/null | awk -F, 'NR>1{r[$4-$3]++}END{print r[100]}')" 40
n1=$(sched --policy sjbf --estimates predict "$d/same.swf")
[ "$n1" != "$(sched --policy sjbf "$d/same.swf")" ]; is "and change the schedule" $? 0
printf 'name,cpu_milli,memory_mib,gpu,model\na,8000,64000,4,T4\nb,16000,64000,0,\n' >"$d/nodes.csv"
has "a table of nodes is a machine" "$($sim run --untimed --machine "$d/nodes.csv" "$here/m4-burst.swf")" "on 24 CPUs and 4 GPUs"
has "a wrong one is named" "$($sim run --machine "$d/none.csv" "$swf" 2>&1)" "none.csv: No such file"
has "other choices of nodes" "$($sim run --untimed --machine 4x8 --nodes least-lost "$swf")" "idle +[0-9.]+ % of what was idle"
has "only for nodes" "$($sim run --nodes first-fit "$swf" 2>&1)" "goes with a machine of equal nodes"
# 80,640 processors (CEA Curie): all widths and the machine times 2,520 give the same starts.
awk '/^;/{if(/MaxProcs/)print "; MaxProcs: " $3*2520;else print;next}{if($5>0)$5*=2520;if($8>0)$8*=2520;print}' "$swf" >"$d/wide.swf"
$sim run --untimed --policy easy --jobs 1..60 --starts "$d/a.csv" "$swf" >/dev/null
out=$($sim run --untimed --policy easy --jobs 1..60 --starts "$d/b.csv" "$d/wide.swf")
has "a machine of 80,640 processors" "$out" "on 80640 processors"
is "starts as a small one does" "$(cut -d, -f1-4 "$d/b.csv")" "$(cut -d, -f1-4 "$d/a.csv")"
has "two workloads are refused" "$($sim run --from-sacct "$jobs" "$swf" 2>&1)" "two workloads"
has "none is refused" "$($sim run 2>&1)" "what is to be replayed"
echo "1..$n"
exit $bad
