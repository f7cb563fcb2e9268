"""A tree of 100,000 associations: how long it takes to load, to show, to start with, and what it takes of memory; and what limits cost a submission."""
import time

from goals import at_most, ratio_at_most

ACCOUNTS, USERS_EACH = 1000, 100


def site(path):
    """A file for sacctmgr load: 1,000 accounts of 100 users each, each with a limit."""
    with open(path, "w") as f:
        f.write("Cluster - 'bench':Fairshare=1:QOS='normal'\nParent - 'root'\n")
        for a in range(ACCOUNTS):
            f.write(f"Account - 'acc{a}':Description='acc{a}':Organization='org':Fairshare=1:GrpJobs=100\n")
        for a in range(ACCOUNTS):
            f.write(f"Parent - 'acc{a}'\n")
            for u in range(USERS_EACH):
                f.write(f"User - 'u{(a * 37 + u) % 20000}':Fairshare=1:MaxJobs=10\n")


def enforce(c, run, stage):
    with open(c.dir / "state" / "remuda.conf", "a") as f:
        f.write("AccountingStorageEnforce=limits,qos\n")
    run(stage / "bin/scontrol", "reconfigure", env=c.env)


def restart(c, run, stage):
    """Until a command is answered."""
    run(stage / "remuda", "down", env=c.env)
    began = time.monotonic()
    run(stage / "remuda", "up", "-q", env=c.env)
    run(stage / "bin/squeue", env=c.env)
    return time.monotonic() - began


def tree(Cluster, run, row, stage):
    c = Cluster()
    n = ACCOUNTS * (USERS_EACH + 1)
    try:
        enforce(c, run, stage)
        empty = min(restart(c, run, stage) for _ in range(3))
        before = c.rss()
        site(c.dir / "site.cfg")
        row("accounts-load", c.time(stage / "bin/sacctmgr", "-i", "load", c.dir / "site.cfg"), "s", f"{n:,} associations", "")
        row("accounts-show", min(c.time(stage / "bin/sacctmgr", "show", "assoc", "-P") for _ in range(3)), "s", "sacctmgr show assoc -P", "", at_most(1, "s"))
        time.sleep(1.5)  # then what the load left free is the system's again
        row("accounts-bytes-loaded", (c.rss() - before) / n, "bytes each", "after the load, with one limit each", "", at_most(400, "bytes", scaled=False))
        full = min(restart(c, run, stage) for _ in range(3))
        row("accounts-start", full, "s", f"{empty:.2f} s without", f"{full / empty:.3f} x", ratio_at_most(1.5, full / empty))
        each = (c.rss() - before) / n
        row("accounts-bytes", each, "bytes each", "with one limit each", "", at_most(400, "bytes", scaled=False))
    finally:
        c.close()


def submissions(Cluster, run, row, stage, load):
    """sbatch in a cluster with limits and one without, in turn."""
    plain, limited = Cluster(), Cluster()
    n, least = 100, [None, None]
    try:
        enforce(limited, run, stage)
        manage = [stage / "bin/sacctmgr", "-i", "-Q"]
        run(*manage, "add", "account", "physics", "GrpTRES=cpu=100000", "MaxSubmitJobs=100000", "GrpSubmitJobs=100000", env=limited.env)
        run(*manage, "add", "user", "root", "account=physics", "MaxJobs=100", "MaxTRESPerJob=cpu=100", env=limited.env)
        run(*manage, "modify", "qos", "normal", "set", "MaxJobsPerUser=100", "MaxSubmitJobsPerUser=100000", "MaxWall=100:00:00", env=limited.env)
        for c in (plain, limited):
            (c.dir / "job.sh").write_text("#!/bin/bash\ntrue\n")
        for turn in range(6):
            c = (plain, limited)[turn % 2]
            account = [] if c is plain else ["-A", "physics"]
            took = float(run(load, "spawn", n, stage / "bin/sbatch", "--hold", *account, "-o", "/dev/null", c.dir / "job.sh", env=c.env))
            least[turn % 2] = took if least[turn % 2] is None else min(took, least[turn % 2])
        ratio = least[1] / least[0]
        row("sbatch-limits", least[1] / n * 1e3, "ms", f"{least[0] / n * 1e3:.2f} ms without", f"{ratio:.3f} x", ratio_at_most(1.1, ratio))
    finally:
        plain.close()
        limited.close()


def measure(Cluster, run, row, stage, load):
    submissions(Cluster, run, row, stage, load)
    tree(Cluster, run, row, stage)
