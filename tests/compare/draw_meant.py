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
    (0, re.compile(r",gres/gpu:p100=\d+"), "", "25.05: GPUs are counted by type, too"),
]
# (pattern of the line or "", stream, pattern of Slurm's, pattern of ours, reason): a difference of that stream where all match is meant.
MEANT = []


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
