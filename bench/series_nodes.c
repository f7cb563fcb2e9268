/* What the series of very many nodes cost the controller: 1,000 nodes, each of 8 GPUs and 4 steps,
 * sampled every 2 s, send what is new each 5 s as a node's daemon does (pieces, then whole blocks),
 * for some minutes of their time; the blocks are looked at and written as controller/series_store.c
 * does it, a transaction a second. Printed is the CPU time of that, as a part of the time that
 * would have passed; what the network takes is not in it.
 *
 *   remuda-series-bench DIRECTORY */
#include "base/alloc.h"
#include "base/duration.h"
#include "store/sqlite/series_file.h"
#include "wire/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define NODES    1000
#define GPUS     8
#define STEPS    4
#define SOURCES  (GPUS + STEPS)
#define GAP_S    2
#define FLUSH_S  5
#define SECONDS  192 /* each source has one and a half whole blocks */
#define BEGAN_MS INT64_C(1790000000000)

struct source {
    struct series_grow *grow;
    size_t queued;
};

static struct source source[NODES][SOURCES];
static uint64_t blocks, bytes;

static double cpu_s(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void sources_make(void)
{
    for (int n = 0; n < NODES; n++)
        for (int i = 0; i < SOURCES; i++) {
            struct series_source_key key = {.job_id = (uint64_t)(n * STEPS + i % STEPS + 1),
                                            .attempt = 1,
                                            .step_id = i < GPUS ? 0 : -1,
                                            .device = i < GPUS ? i : SERIES_OF_STEP};
            snprintf(key.node, sizeof key.node, "node%04d", n);
            snprintf(key.name, sizeof key.name, "%s", i < GPUS ? "a100 GPU-0123456789" : "");
            source[n][i].grow = series_grow_new(&key);
        }
}

/* A load that is neither flat nor noise. */
static void sample(struct source *s, int n, int i, int second)
{
    struct series_point p[14];
    for (int k = 0; k < 14; k++)
        p[k] = (struct series_point){
            .id = (uint16_t)(i < GPUS ? SERIES_GPU_UTIL + k : SERIES_CPU + k),
            .value = 40 * (k + 1) + (n * 7 + i * 3 + k + second * second / 3) % (5 + k)};
    series_grow_add(s->grow, BEGAN_MS + second * 1000 + n % 900, GAP_S * 1000, p, 14);
}

static void put(struct series_file *f, const struct str *block)
{
    struct series_head h;
    struct err err = {0};
    if (!series_head_read(block->data, block->len, &h, NULL))
        exit(1);
    const struct series_row row = {.job_id = h.key.job_id,
                                   .attempt = h.key.attempt,
                                   .node = h.key.node,
                                   .step_id = h.key.step_id,
                                   .device = h.key.device,
                                   .whole = h.whole,
                                   .first_ms = h.first_ms,
                                   .last_ms = h.last_ms,
                                   .data = block->data,
                                   .len = block->len};
    if (!series_file_put(f, &row, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    blocks++;
    bytes += block->len;
}

/* What a node's daemon does is not counted. */
static double node_sends(struct series_file *f, int n)
{
    struct str block[SOURCES] = {0};
    double used;
    for (int i = 0; i < SOURCES; i++) {
        struct source *s = &source[n][i];
        size_t count = series_grow_count(s->grow);
        bool whole = count >= SERIES_BLOCK_SAMPLES - 3;
        if (count > s->queued)
            series_grow_encode(s->grow, whole ? 0 : s->queued, whole, &block[i]);
        s->queued = count;
        if (whole) {
            series_grow_clear(s->grow);
            s->queued = 0;
        }
    }
    used = cpu_s();
    for (int i = 0; i < SOURCES; i++)
        if (block[i].len)
            put(f, &block[i]);
    used = cpu_s() - used;
    for (int i = 0; i < SOURCES; i++)
        str_done(&block[i]);
    return used;
}

static double second_pass(struct series_file *f, int second)
{
    struct err err = {0};
    double used = cpu_s();
    if (!series_file_begin(f, &err))
        exit(1);
    used = cpu_s() - used;
    for (int n = 0; n < NODES; n++) {
        for (int i = 0; i < SOURCES && second % GAP_S == n % GAP_S; i++)
            sample(&source[n][i], n, i, second);
        if (second % FLUSH_S == n % FLUSH_S)
            used += node_sends(f, n);
    }
    double commit = cpu_s();
    if (!series_file_commit(f, &err))
        exit(1);
    return used + cpu_s() - commit;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct stat st = {0};
    double used = 0;
    char *path = xasprintf("%s/2026-09-21.db", argc > 1 ? argv[1] : ".");
    struct series_file *f = series_file_open(path, true, &err);
    if (!f) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    sources_make();
    for (int second = 0; second < SECONDS; second++)
        used += second_pass(f, second);
    series_file_close(f);
    stat(path, &st);
    double percent = 100 * used / SECONDS;
    printf("series-1000 nodes | %.3f %% of a core | <= 2\n", percent);
    printf("series-1000 nodes, scaled to 10,000 | %.2f %% of a core | <= 20\n", percent * 10);
    printf("series-1000 nodes, written | %.3f MB/min |\n", (double)st.st_size / 1e6 * 60 / SECONDS);
    fprintf(stderr, "%llu blocks of %llu bytes\n", (unsigned long long)blocks,
            (unsigned long long)bytes);
    for (int n = 0; n < NODES; n++)
        for (int i = 0; i < SOURCES; i++)
            series_grow_free(source[n][i].grow);
    free(path);
    return 0;
}
