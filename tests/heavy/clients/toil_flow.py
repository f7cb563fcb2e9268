"""Toil: a root job with three children, whose values come back. Usage: toil_flow.py --batchSystem … STORE."""
from toil.common import Toil
from toil.job import Job


def child(job, n):
    return n * n


def root(job):
    return [job.addChildJobFn(child, n, memory="400M", cores=1, disk="10M").rv() for n in range(3)]


if __name__ == "__main__":
    options = Job.Runner.getDefaultArgumentParser().parse_args()
    with Toil(options) as toil:
        print("values", toil.start(Job.wrapJobFn(root, memory="400M", cores=1, disk="10M")))
