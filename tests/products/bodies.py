"""What the jobs of the products run: texts of scripts. `note`, `stay`, `until_up` are functions of SCRIPT; $G is where a step of both tasks goes in a heterogeneous job,
$G0 and $G1 where one of one task goes, $O what the ending wants of the step at hand (its limit, -K)."""

BODY = {
    "batch": '"$C" task0',
    "srun": 'srun $O $G "$C" task',
    "srun_twice": 'srun $G0 -N1 -n1 --exact --mem=5 "$C" taskA & A=$!\nsrun $G1 -N1 -n1 --exact --mem=5 "$C" taskB & B=$!\nstay $A; RC=$?; stay $B && [ $RC = 0 ]',
    "srun_tee": 'srun $O $G "$C" task | tee "$D/tee.$N"; [ ${PIPESTATUS[0]} = 0 ]',
    "signal": 'srun $O $G "$C" task',
    # All of a user's on one machine share a folder in /tmp, which one may remove while another makes its own in it.
    "mpirun": 'mpirun.openmpi --oversubscribe --mca orte_tmpdir_base "$D" -np 2 "$C" task',
    "sbcast": 'sbcast -f "$C" "$D/cast.$N" && srun $O $G "$D/cast.$N" task',
    "sattach": 'srun $O $G "$C" task',
    # Two steps have the two CPUs, two more wait for them.
    "many": """\
srun $G0 -N1 -n1 --exact --mem=5 "$C" taskA & A=$!
srun $G1 -N1 -n1 --exact --mem=5 "$C" taskB & B=$!
until_up taskA && until_up taskB
srun $G0 -N1 -n1 --exact --mem=5 "$C" taskC 2> "$D/c.$N" & X=$!
srun $G1 -N1 -n1 --exact --mem=5 "$C" taskD 2> "$D/d.$N" & Y=$!
until grep -q retrying "$D/c.$N" && grep -q retrying "$D/d.$N"; do sleep 0.1; done; note start queued "$N"
RC=0; for p in $A $B $X $Y; do stay $p || RC=$?; done; (exit $RC)""",
    # Steps without a command behind them: B beside A, C when A is over well, E never; steps that wait for their ends.
    "async": """\
Q="srun --async --parsable -N1 -n1 --exact --mem=5"
A=$($Q $G0 -o "$D/a.$N" "$C" taskA) && B=$($Q $G1 -o "$D/b.$N" "$C" taskB) && X=$($Q $G0 -d afterok:$A -o "$D/c.$N" "$C" taskC) && E=$($Q $G0 -d afternotok:$X -o "$D/e.$N" "$C" never)
until_up taskA && until_up taskB; note start queued "$N"
srun $G1 -N1 -n1 --overlap --mem=1 -d afterany:$B true & W=$!
stay $W; RC=$?
[ $RC != 0 ] || { srun $G0 -N1 -n1 --overlap --mem=1 -d afterany:$E true & stay $!; RC=$?; }
[ $RC = 0 ] || for i in 1 2 3 4 5; do sleep 0.2; done
cat "$D/a.$N" "$D/b.$N" "$D/c.$N"; (exit $RC)""",
    "overlap": """\
srun $G --mem=5 "$C" task & A=$!
until_up task0 && until_up task1
srun $G0 --overlap -N1 -n1 --mem=5 "$C" beside & B=$!
stay $A; RC=$?; stay $B && [ $RC = 0 ]""",
    # In a terminal that nothing can end.
    "pty": '"$C" terminal srun $O $G --pty "$C" task',
    # Each task has a line of its own (in components one line is for all: numbers go on from one to the next), and a file of its own.
    "multi": """\
if [ -n "$G" ]; then echo "* $C task"; else printf '%s\\n' "0 $C task" "1 $C task"; fi > "$D/lines.$N"
srun $O $G -o "$D/%A_%a_%s_%t.$N" --multi-prog "$D/lines.$N"; RC=$?
cat "$D"/*_*_*_*.$N; (exit $RC)""",
    # One step of two programs.
    "colon": 'srun $G0 -N1 -n1 --mem=5 "$C" taskA : $G1 -N1 -n1 --mem=5 "$C" taskB',
}

SCRIPT = """\
#!/bin/bash
export D=%(dir)s C=%(counter)s N=${SLURM_RESTART_COUNT:-0} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
note() { echo "$@" >> "$D/log"; }
for signal in TERM USR1 USR2 INT HUP; do trap "note sig script $N $signal" $signal; done
stay() { local rc; while :; do wait "$1"; rc=$?; kill -0 "$1" 2>/dev/null || break; done; wait "$1" 2>/dev/null; return $?; }
until_up() { until grep -qx "start $1 $N" "$D/log"; do sleep 0.1; done; }
G="%(both)s" G0="%(first)s" G1="%(second)s" O="%(step)s"
%(before)s
"$C" helper & H=$!
note start script "$N"
%(body)s
RC=$?
kill -KILL $H
note end script "$N"
exit $RC
"""


# A third node is given back before anything begins.
RESIZE = 'cd "$D" && scontrol update JobId=$SLURM_JOB_ID NumNodes=2 && . ./slurm_job_${SLURM_JOB_ID}_resize.sh'
