/* Any text, as a workload (Standard Workload Format, accounting, a live queue): read or refused
 * with a sentence. What is read can be cleaned, shaken and cut, and holds nothing a replay could
 * not take. */
#include "fuzz.h"

#include "base/alloc.h"
#include "sim/replay/accounting.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "; MaxProcs: 640\n",
    "1 0 -1 100 8 -1 -1 8 3600 -1 1 7 -1 -1 3 -1 -1 -1\n",
    "JobID|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|ReqNodes|ReqMem|ReqTRES|User|"
    "Partition|"
    "State\n",
    "7_1|1790000000|1790000000|1790000010|1790000020|10|60|4|1|4Gn|cpu=4,mem=4G,gres/"
    "gpu:a100=2|ann|batch|COMPLETED\n",
    "8|2026-09-21T14:13:20|Unknown|None|Unknown|0|UNLIMITED|4|1|500Mc||bob|batch|CANCELLED by 7\n",
    "JOBID|STATE|SUBMIT_TIME|START_TIME|TIME_LIMIT|TIME|CPUS|NODELIST|TRES_ALLOC|REASON\n",
    "10|RUNNING|1790000000|1790000000|2:00:00|1:00:00|24|n[1-3]|cpu=24|None\n",
    "11|PENDING|1790001000|N/A|UNLIMITED|0:00|32|||Resources\n",
    "|",
    "\n",
    "-1",
    "9223372036854775807",
    "99999999999999999999",
    "1e9",
    ".",
    "\"",
    NULL};

static void trace_use(struct trace *t)
{
    for (size_t i = 1; i < t->job.n; i++)
        CHECK(t->job.v[i - 1].submit <= t->job.v[i].submit);
    trace_clean(t, 1 << 20);
    for (size_t i = 0; i < t->job.n; i++) {
        const struct trace_job *j = &t->job.v[i];
        CHECK(j->run > 0 && j->procs > 0 && j->procs <= 1 << 20 && j->submit >= 0);
        CHECK(j->run <= j->estimate && j->estimate < INT64_C(1) << 40 &&
              j->submit < INT64_C(1) << 40);
        CHECK(j->mem_mib >= 0 && j->gpus <= INT64_C(1) << 33);
    }
    trace_shake(t, 1, 60);
    trace_keep(t, 2, 5);
    trace_done(t);
}

static void table_use(const char *text, bool queue)
{
    struct text_table table;
    struct trace t;
    struct err e = {0};
    if (!table_parse(xstrdup(text), '|', &table, &e)) {
        CHECK(e.text[0]);
        return;
    }
    bool ok = queue ? squeue_parse(&table, 0, &t, &e) : sacct_parse(&table, &t, &e);
    CHECK(ok || e.text[0]);
    if (ok)
        trace_use(&t);
    table_done(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xmalloc(size + 1), *copy;
    struct trace t;
    struct err e = {0};
    size_t line;
    memcpy(text, data, size);
    text[size] = '\0';
    copy = xstrdup(text);
    if (trace_parse(copy, &t, &line, &e))
        trace_use(&t);
    else
        CHECK(e.text[0] && line > 0);
    free(copy);
    table_use(text, false);
    table_use(text, true);
    free(text);
    return 0;
}
