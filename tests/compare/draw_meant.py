"""What may differ in a drawn line, each rule with its reason (tests/compare/draw)."""
import re

# Keys of a record that are the moment's or the machine's.
MOMENT = re.compile(r"^(SubmitTime|EligibleTime|AccrueTime|StartTime|EndTime|LastSchedEval|SuspendTime|PreemptEligibleTime|PreemptTime|RunTime|SubmitLine|Command|WorkDir|AllocNode:Sid|Priority|Scheduler|BatchHost|SecsPreSuspend|JOB_GRES|Nodes)=.*\n", re.M)
# (stream, pattern, what is put there, reason): done to both sides before they are compared.
SAME = [
    (1, re.compile(r"\b2\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d"), "YYYY-MM-DDThh:mm:ss", "moments"),
    (0, re.compile(r"\b2\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d"), "YYYY-MM-DDThh:mm:ss", "moments"),
    (0, MOMENT, "", "moments and the machine"),
    (0, re.compile(r"^(Power|AllocTRES)=.*\n", re.M), "", "25.05: Power is gone, what is allocated stands in AllocTRES"),
    (0, re.compile(r"^ReqTRES=", re.M), "TRES=", "25.05: what is asked stands in ReqTRES"),
    (0, re.compile(r"\bgres:"), "gres/", "25.05: the TRES is named gres/gpu"),
    (0, re.compile(r"(?<==|,)gpu(?=[:,\n])"), "gres/gpu", "25.05: the TRES is named gres/gpu"),
    (0, re.compile(r"(?<=\|)gpu(?=[:,|\n])"), "gres/gpu", "25.05: the TRES is named gres/gpu"),
    (0, re.compile(r" (ExclusiveTopo=NO|MaxCPUsPerSocket=UNLIMITED|Watts=n/a)$| ExclusiveTopo=NO(?= )", re.M), "", "25.05: fields of partitions and reservations"),
    (0, re.compile(r"^   TRES=.*", re.M), "   TRES", "TRES of partitions without nodes, GPUs by type"),
    (0, re.compile(r"^WCKey=.*\n", re.M), "", "a workload key is shown where it was asked"),
    (0, re.compile(r"^NumNodes=(\d+)-\1$", re.M), r"NumNodes=\1", "22.05 shows some numbers of nodes as a range of one"),
    (0, re.compile(r",gres/gpu:p100=\d+"), "", "25.05: GPUs are counted by type, too"),
]
# (pattern of the line, of Slurm's streams, of ours, reason): a difference where all three match is meant. The streams are stdout, stderr and status
# on lines after each other.
REFUSED_ONCE = r"(?m)^\w+: error: (Batch job submission failed|Unable to allocate resources|allocation failure): (Requested node configuration|Requested node count|More processors|Node count|Job dependency|Requested time limit)|can not be satisfied$"
MEANT = [
    ("", r"(?m)^Submitted batch job", REFUSED_ONCE, "a request that can never be met is refused at once"),
    ("--batch|--bat", "", "not supported yet: --batch", "refused: --batch"),
    ("hold", "JobHeldAdmin", "JobHeldUser", "an operator holds his own jobs as their owner"),
    ("mcs", "", "not supported yet: --exclusive=mcs", "refused: MCS labels"),
    ("", "", "(there are no burst buffers|there is one cluster and no federation|X11 is not forwarded|Slurm dropped it in 24.05)", "refused by name"),
    ("sbatch|srun|salloc", "", r"(?m)^SystemComment=--", "what has no effect is told in the job's record"),
    ("(_|-a|array)", r"(?m)^Submitted batch job", "(?m)Invalid job array specification", "a range that makes no sense is refused"),
    ("(gpu|gres|GPU|GRES)", r"(?m)^Submitted batch job", "(?m)Invalid generic resource", "what is no GPU count, or a GPU that nobody has, is refused"),
    ("(?i)core.?spec|-S|thread.?spec", "since it's not allowed by configuration", "", "--core-spec is honoured where it is asked for"),
    (r"[0-9]{5,}", r"(?m)^Submitted batch job", "Invalid numeric value|is not a valid node count", "numbers beyond what there can be are refused"),
    (r"(='?'?( |$)|''|')", "(?m)^Submitted batch job", "Invalid numeric value", "what is no number is refused"),
    ("(?i)account", r"(?m)^Account=root", r"(?m)^Account=(?!root)", "the name is kept while AccountingStorageEnforce asks for none"),
    ("(?i)qos|-q", r"(?m)^QOS=$", r"(?m)^QOS=", "the name is kept while AccountingStorageEnforce asks for none"),
    ("(?i)switch", "(?m)^Switches", "(?m)^Switches", "the wait that was asked for is shown, not max_switch_wait"),
    (r"a\tb", "", r"a\\tb", "control characters in texts are shown, not sent"),
    (r"^S\w+=''", "", "", "an empty variable is as none"),
    (r"(-o|-e|-i|-J|-q|-D|-p|-A|--\w+|=) ?''", r"(?m)^Submitted batch job", r"(?m)^Submitted batch job", "an empty value is as none"),
    (r"(-t|--time|--time-min) ?=?-", r"(?m)^Submitted batch job", "Invalid", "what is no time is refused"),
    (r"main,( |$)|' main|,main", "", "Invalid partition name", "an empty name is no partition"),
    (r"^(script .*)?drawn sbatch.*(=| |'|-t)\d*:?\d+:\d+", "(?m)^(TimeLimit|TimeMin)=", "(?m)^(TimeLimit|TimeMin)=", "time limits are kept to the second"),
    (r"(?m)ntasks-per-core.*\d{5}", "", "", "numbers beyond 16 bits are kept"),
    ("sdiag", "(?m)^Server thread count", "(?m)^Server thread count", "counters of the daemon"),
    ("sacct .*(-e|--help)", "", "", "25.05: fields were added and renamed"),
    ("sinfo.* (-l|--long|-T|-R)", "NODELIST", "RESERVATION", "25.05: the column RESERVATION"),
    ("squeue|sinfo|sprio|sacct|sstat|scontrol.*(-v|--verbose)", "(loaded|init)", "", "no plugins are named"),
    ("drawn_(part|node|res) .*[+-]=''|[+-]=", "not supported|notation", "", "+= and -= of keys that have none"),
    ("drawn_res", "", "of a reservation: not supported", "refused by name"),
    ("sinfo", "Conflicting options, -a and -p", "", "clients ask with both"),
    ("scancel.*-v", "", "", "what is said along the way"),
    ("sshare", r"\A(?!(?s:.*)(phys|chem))", "", "while no accounts are in use a user is below the account named at submission"),
    ("sacct.*(associations|-x)", "", "not supported yet: --assoc|--associations: not supported", "refused: association ids"),
    ("(show|list) +trans", "Add Clusters", "", "transactions are told in sacctmgr's words, and no cluster is added"),
    ("sbatch", "", "(?m)^sbatch: it will wait: ", "that it will wait for a limit is said at once"),
    ("delete user", "(?m)^ Deleting user associations", "remove the default account of a user", "25.05: a default account stays while the user has another (AllowNoDefAcct)"),
    ("(?i)maxsubmitpa", "Unknown option: maxsubmitpa", "", "a word more for the same limit"),
    ("modify assoc", "No valid entity in modify command", "", "associations may be modified by name"),
    ("(?i)rawusage=0", "", "(?m)^ Modified", "that use is forgotten is said"),
    ("(?i)(show|list) cluster", r"\b9728\b", r"\b11008\b", "25.05's number of the protocol; the host by its name"),
    ("(?i)adminlevel=x", "", "", "a level that is none chooses nobody"),
    ("-M|clusters|CLUSTERS|-L", "", "", "there is one cluster, without a database of them"),
]


class Verdict:
    def __init__(self, differ, meant, theirs, ours):
        self.differ, self.meant, self.theirs, self.ours = differ, meant, theirs, ours


def first(text):
    return text.split("\n", 1)[0]


def judge(line, theirs, ours):
    """theirs, ours: [stdout, stderr, status]"""
    theirs, ours, meant = list(theirs), list(ours), set()
    for stream, pattern, put, _ in SAME:
        for side in (theirs, ours):
            side[stream] = re.sub(pattern, put, side[stream])
    if re.search(r"^TRES=(?!.*mem=)", ours[0], re.M):  # a job that asks no memory has its share by CPUs (decisions/0006)
        theirs[0] = re.sub(r"(?<=^TRES=)(.*?)mem=[^,\n]*,?", r"\1", theirs[0], flags=re.M)
    differ = []
    if theirs[0] != ours[0]:
        if sorted(theirs[0].splitlines()) == sorted(ours[0].splitlines()) and re.search("squeue|sinfo|sprio|sacct", line):
            meant.add("the order among equals")
            ours[0] = theirs[0]
        else:
            differ.append("stdout")
    if first(theirs[1]) != first(ours[1]):
        differ.append("stderr")
    if theirs[2] != ours[2]:
        differ.append("exit code")
    for of_line, of_theirs, of_ours, reason in MEANT:
        if differ and re.search(of_line, line) and re.search(of_theirs, "\n".join(theirs)) and re.search(of_ours, "\n".join(ours)):
            meant.add(reason)
            differ = []
    return Verdict(differ, meant, theirs, ours)
