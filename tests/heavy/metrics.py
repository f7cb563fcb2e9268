#!/usr/bin/env python3
"""1,000 short jobs with a GPU each, as something that scrapes /metrics/running sees them. Usage: metrics.py PORT

Each is on every page from its start to its end, once for itself and once for its device, and on none that was asked for after its end.
"""
import collections
import re
import subprocess
import sys
import time
import urllib.request

JOBS = 1000
SLACK_S = 1  # the accounting has full seconds


def page():
    begun = time.time()
    with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics/running", timeout=60) as answer:
        return begun, answer.read().decode()


def seconds(text):
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


def pages_until_all_ended(job):
    pages, until = [], time.time() + 300
    while time.time() < until:
        pages.append(page())
        if not subprocess.check_output(["squeue", "-h", "-j", job, "-o", "%A"], text=True).strip():
            return pages + [page()]
        time.sleep(0.3)
    sys.exit(f"job {job} did not end")


def on_pages(pages, name):
    """Job -> numbers of the pages that it is on, once each."""
    on = collections.defaultdict(list)
    for number, (_, text) in enumerate(pages):
        for job, times in collections.Counter(re.findall(rf'^{name}\{{job_id="(\d+)"', text, re.M)).items():
            assert times == 1, (name, job, times)
            on[job].append(number)
    return on


def main():
    job = subprocess.check_output(["sbatch", "--parsable", "-a", f"0-{JOBS - 1}", "-c1", "--mem=10", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "sleep 1.5"], text=True).strip()
    pages = pages_until_all_ended(job)
    of_job, of_device = on_pages(pages, "remuda_job_info"), on_pages(pages, "remuda_job_device")
    assert of_job == of_device, "a job without its device, or a device without its job"
    rows = [line.split("|") for line in subprocess.check_output(["sacct", "-X", "-n", "-P", "-j", job, "-o", "JobIDRaw,Start,End,State"], text=True).split()]
    assert len(rows) == JOBS and {row[3] for row in rows} == {"COMPLETED"}, collections.Counter(row[3] for row in rows)
    for number, start, end, _ in rows:
        on = of_job.get(number, [])
        wanted = [i for i, (begun, _) in enumerate(pages[:-1]) if begun > seconds(start) + SLACK_S and pages[i + 1][0] < seconds(end)]
        assert set(wanted) <= set(on), (number, wanted, on)
        assert on == list(range(on[0], on[-1] + 1)) if on else not wanted, (number, on)
        assert not on or pages[on[-1]][0] <= seconds(end) + SLACK_S, (number, end, pages[on[-1]][0])
    print(f"{len(pages)} pages; {len(of_job)} of {JOBS} jobs seen")
    assert len(of_job) > JOBS * 0.9, len(of_job)
    assert "job_id=" not in pages[-1][1]


main()
