/* What is said of jobs, and what is not: a table of profiles, each made of curves as nodes send
 * them. What is found is compared whole: a word too many fails as one too few. */
#include "base/alloc.h"
#include "reading/changes.h"
#include "reading/dips.h"
#include "reading/reading.h"
#include "reading_help.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define GAP_MS 2000
#define HALF_H 900u /* samples */

/* ---- shapes, by the number of the sample ---- */

typedef double (*shape_fn)(size_t i);

/* The guide's: 27 min of ten epochs that cannot be told apart, 27 min of ten that each end with
 * 20 s of nothing. */
#define EPOCH  81u /* samples: 2 min 42 s */
#define STANDS 10u
static double guide(size_t i)
{
    return i >= 10 * EPOCH && i % EPOCH >= EPOCH - STANDS ? 3 : 44 + 5 * noise(i, 1);
}
static double guide_cpu(size_t i)
{
    return 520 + 20 * noise(i, 2);
}
static double zero(size_t i)
{
    return (double)(i * 0);
}
static double flat(size_t i)
{
    return 93 + (double)(i * 0);
}
static double noisy(size_t i)
{
    return 80 + 18 * noise(i, 3);
}
static double wild(size_t i)
{
    return 50 + 50 * noise(i, 4);
}
static double dim(size_t i)
{
    return 30 + 3 * noise(i, 5);
}
static double full(size_t i)
{
    return 100 + (double)(i * 0);
}
static double bursts(size_t i)
{
    return i % 30 == 7 ? 85 : 0;
}
static double sm_none(size_t i)
{
    return 0.3 + 0.2 * noise(i, 6);
}
static double sm_well(size_t i)
{
    return 60 + 5 * noise(i, 7);
}
static double late_hang_util(size_t i)
{
    return i < 600 ? 90 + 5 * noise(i, 8) : 100;
}
static double late_hang_sm(size_t i)
{
    return i < 600 ? 55 + 5 * noise(i, 9) : 0.2;
}
static double dips_high(size_t i)
{
    return i % 60 >= 52 ? 5 : 92 + 4 * noise(i, 10);
}
static double dips_of_one(size_t i)
{
    return i % 50 == 49 ? 2 : 88 + 4 * noise(i, 11);
}
static double stalls(size_t i)
{
    static const unsigned at[] = {60, 95, 220, 400, 430, 700};
    for (size_t k = 0; k < ARRAY_LEN(at); k++)
        if (i >= at[k] && i < at[k] + 20 + 5 * (k % 3))
            return 0;
    return 85 + 6 * noise(i, 12);
}
static double ends_early(size_t i)
{
    return i < 400 ? 90 + 4 * noise(i, 13) : 0;
}
static double starts_late(size_t i)
{
    return i < 400 ? 0 : 90 + 4 * noise(i, 14);
}
static double two_levels(size_t i)
{
    return (i < 450 ? 88 : 60) + 4 * noise(i, 15);
}
static double swings(size_t i)
{
    return (i % 100 < 50 ? 92 : 62) + 3 * noise(i, 16);
}
static double slower(size_t i)
{
    return 45 + 5 * noise(i, 17);
}
static double one_cpu(size_t i)
{
    return 98 + 2 * noise(i, 18);
}
static double two_cpus(size_t i)
{
    return 190 + 9 * noise(i, 19);
}
static double six_cpus(size_t i)
{
    return 590 + 9 * noise(i, 20);
}
static double spike_cpu(size_t i)
{
    return i == 3 ? 800 : 100;
}
static double third_cpu(size_t i)
{
    return 32 + 2 * noise(i, 21);
}
static double rss_flat(size_t i)
{
    return 4000 + 20 * noise(i, 22);
}
static double rss_leaks(size_t i)
{
    return 2000 + 2.0 * (double)i + 60 * noise(i, 23);
}
static double rss_loads(size_t i)
{
    return i < 150 ? 100 + 30.0 * (double)i : 4600 + 10 * noise(i, 24);
}
static double rss_levels(size_t i) /* up, ever slower */
{
    return 8000 - 6000.0 * 120 / (120 + (double)i);
}
static double rss_step(size_t i)
{
    return i < 500 ? 2000 : 6000;
}
static double rss_full(size_t i)
{
    return 7900 + 50 * noise(i, 25);
}
static double rss_saws(size_t i) /* freed each time */
{
    return 2000 + 10.0 * (double)(i % 90);
}
static double pressed(size_t i)
{
    return 60 + 5 * noise(i, 26);
}
static double read_some(size_t i)
{
    return 9000 + 100 * noise(i, 27);
}
static double wrote_in_dips(size_t i)
{
    return i % 60 >= 52 ? 900000 : 200;
}
static double heat(size_t i)
{
    return i % 3 ? 0x20 : 0;
}
static double heat_clock(size_t i)
{
    return i % 3 ? 1100 : 1410;
}
static double hot(size_t i)
{
    return 88 + 2 * noise(i, 28);
}
static double power_cap(size_t i)
{
    return 4 + (double)(i * 0);
}
static double good_clock(size_t i)
{
    return 1900 + 20 * noise(i, 29);
}
static double power_cap_some(size_t i)
{
    return i % 2 ? 4 : 0;
}
static double power_clock(size_t i)
{
    return i % 2 ? 1300 : 1900;
}
static double ecc(size_t i)
{
    return i < 700 ? 2 : 5;
}
static double seven_hundred_w(size_t i)
{
    return 700 + (double)(i * 0);
}

static double first_half_idle(size_t i)
{
    return i < 450 ? 0 : 90 + 4 * noise(i, 30);
}
static double second_half_idle(size_t i)
{
    return i < 450 ? 90 + 4 * noise(i, 31) : 0;
}
static double rss_saws_slowly(size_t i) /* three times in the job */
{
    return 2000 + 10.0 * (double)(i % 300);
}
static double checkpoints(size_t i) /* 30 s every 10 min */
{
    return i % 300 >= 285 ? 4 : 90 + 4 * noise(i, 32);
}
static double written_then(size_t i)
{
    return i % 300 >= 285 ? 2000000 : 300;
}
static double evaluates(size_t i) /* 4 min of training, 1 min of evaluation */
{
    return (i % 150 < 120 ? 94 : 55) + 3 * noise(i, 33);
}
static double rss_runs_out(size_t i) /* faster and faster */
{
    return 1000 + 0.0086 * (double)i * (double)i;
}
static double rss_sudden(size_t i)
{
    return 900 + 10 * noise(i, 34);
}
static double notebook(size_t i) /* a minute of work, then a coffee */
{
    return i < 30 || (i > 500 && i < 530) ? 70 + 5 * noise(i, 35) : 0;
}
static double ends_with_a_minute(size_t i)
{
    return i < 870 ? 90 + 4 * noise(i, 36) : 0;
}
static double takes_turns(size_t i)
{
    return i / 15 % 2 ? 90 + 4 * noise(i, 37) : 1;
}
static double takes_other_turns(size_t i)
{
    return i / 15 % 2 ? 1 : 90 + 4 * noise(i, 38);
}
static double gpu_mem_caches(size_t i) /* an allocator that keeps what it once had */
{
    return i < 90 ? 2000 + 400.0 * (double)(i / 10) : 5600;
}
static double warms_up(size_t i)
{
    return i < 60 ? 0 : 90 + 4 * noise(i, 39);
}

/* ---- as real trainings look ---- */

static double llm(size_t i) /* a checkpoint of 90 s every half hour */
{
    return i % 900 >= 855 ? 6 + 3 * noise(i, 60) : 98 + 1.5 * noise(i, 61);
}
static double llm_sm(size_t i)
{
    return i % 900 >= 855 ? 2 : 71 + 3 * noise(i, 62);
}
static double llm_writes(size_t i)
{
    return i % 900 >= 855 ? 1400000 : 90;
}
static double llm_cpu(size_t i)
{
    return 880 + 40 * noise(i, 63);
}
static double serves(size_t i) /* whenever somebody asks */
{
    return noise(i / 12, 64) > 0.3 ? 70 + 25 * noise(i, 65) : 0;
}
static double serves_cpu(size_t i)
{
    return noise(i / 12, 64) > 0.3 ? 120 + 10 * noise(i, 66) : 3;
}
static double loader_bound(size_t i) /* each third batch is waited for */
{
    return i % 3 == 2 ? 12 + 8 * noise(i, 67) : 88 + 9 * noise(i, 68);
}
static double eight_cpus(size_t i)
{
    return 788 + 9 * noise(i, 69);
}
static double straggles_util(size_t i) /* who waits in a collective is busy, too */
{
    return 99 + noise(i, 70);
}
static double waits_sm(size_t i)
{
    return 44 + 3 * noise(i, 71);
}
static double straggles_sm(size_t i)
{
    return 79 + 3 * noise(i, 72);
}
static double simulates_then_learns(size_t i) /* 40 s on CPUs, 20 s on the GPU */
{
    return i % 30 < 20 ? 4 + 2 * noise(i, 73) : 93 + 4 * noise(i, 74);
}
static double simulates_cpu(size_t i)
{
    return i % 30 < 20 ? 1570 + 20 * noise(i, 75) : 130 + 9 * noise(i, 76);
}
static double tokenizes_first(size_t i) /* 12 min */
{
    return i < 360 ? 0 : 95 + 3 * noise(i, 77);
}
static double tokenizes_cpu(size_t i)
{
    return i < 360 ? 1560 + 20 * noise(i, 78) : 210 + 20 * noise(i, 79);
}
static double slice(size_t i)
{
    return 83 + 6 * noise(i, 80);
}
static double hot_after_a_while(size_t i)
{
    return i > 300 ? 0x20 : 0;
}
static double slowed_clock(size_t i)
{
    return i > 300 ? 1230 + 15 * noise(i, 81) : 1755;
}
static double warmer(size_t i)
{
    return i > 300 ? 89 + noise(i, 82) : 71 + noise(i, 83);
}

static double day_of_requests(size_t i) /* a day: nobody asks at night, from 22 to 6 o'clock */
{
    size_t hour = (i / 1800 + 22) % 24;
    double often = hour >= 22 || hour < 6 ? 0.98 : 0.2;
    return noise(i / 9, 90) > often ? 64 + 20 * noise(i, 91) : 0;
}
static double evaluation_bursts(size_t i) /* five of 40 s at any times, fuller than the training */
{
    static const unsigned at[] = {110, 205, 390, 610, 640};
    for (size_t k = 0; k < ARRAY_LEN(at); k++)
        if (i >= at[k] && i < at[k] + 20)
            return 97 + noise(i, 92);
    return 72 + 4 * noise(i, 93);
}
static double checkpoint_stalls(size_t i) /* each of them longer, as the disk fills */
{
    size_t at = i % 180;
    return at >= 120 && at < 126 + i / 180 * 6 ? 1 : 94 + 3 * noise(i, 94);
}
static double straggler(size_t i)
{
    return 97 + 2 * noise(i, 95);
}
static double waits_for_it(size_t i)
{
    return 64 + 6 * noise(i, 96);
}
static double rss_to_plateau(size_t i) /* a cache that fills for two thirds of the time */
{
    return (i < 600 ? 3000 + 30.0 * (double)i : 21000) + 15 * noise(i, 97);
}
static double gpu_mem_to_plateau(size_t i) /* of an inference server: fills with requests */
{
    return i < 500 ? 18000 + 100.0 * (double)(i / 4) : 30500;
}
static double slow_node(size_t i)
{
    return 51 + 5 * noise(i, 98);
}
static double loads_and_trains(size_t i) /* of 30 s: 8 s of imports */
{
    return i < 8 ? 0 : 88 + 6 * noise(i, 99);
}
static double saw_of_loader(size_t i) /* a queue that runs dry: full for 12 s, half for 4 */
{
    return i % 8 < 6 ? 93 + 4 * noise(i, 100) : 41 + 9 * noise(i, 101);
}
static double batch_with_tail(size_t i) /* requests all at once: the longest are done last */
{
    return i < 780 ? 97 + 2 * noise(i, 102) : 97 * (900 - (double)i) / 120;
}
static double sequences_of_any_length(size_t i) /* each batch as long as it is */
{
    return 74 + 20 * noise(i / 3, 103) + 4 * noise(i, 104);
}
static double curriculum(size_t i)
{
    return (i < 300 ? 41 : i < 620 ? 63 : 92) + 4 * noise(i, 105);
}
static double week_of_training(size_t i) /* a checkpoint of two minutes each three hours */
{
    return i % 5400 >= 5340 ? 4 : 96 + 2 * noise(i, 106);
}
static double rss_of_a_week(size_t i) /* up by 3 GiB a day, as a list that is kept */
{
    return 9000 + 0.0711 * (double)i + 40 * noise(i, 107);
}

/* ---- curves ---- */

struct part {
    const char *node;
    int32_t device; /* SERIES_OF_STEP */
    uint16_t id;
    shape_fn shape;
    size_t gap_from, gap_to; /* samples that did not come */
    uint32_t rank;           /* of TASK_CPU; of step 0, 1000 more of step 1, … */
    size_t lost_every;       /* each such sample did not come; 0 = none */
    size_t step_at;          /* from this sample on the node's clock is */
    int64_t step_ms;         /* so much ahead, or behind */
};

#define STEP SERIES_OF_STEP

static void part_add(struct curves *c, const struct part *p, size_t n, int64_t gap_ms)
{
    struct series_source_key key = {
        .job_id = 7,
        .attempt = 1,
        .step_id = p->device < 0 && p->id != SERIES_TASK_CPU ? -1 : (int64_t)p->rank / 1000,
        .device = p->device};
    strcpy(key.node, p->node);
    int64_t *at_ms = xcalloc(n + 1, sizeof *at_ms);
    double *v = xcalloc(n + 1, sizeof *v);
    size_t came = 0;
    for (size_t i = 0; i < n; i++) {
        bool lost = p->lost_every && noise(i, 50) < 2.0 / (double)p->lost_every - 1;
        v[came] = p->shape(i);
        at_ms[came] = BEGAN_MS + (int64_t)i * gap_ms + (i >= p->step_at ? p->step_ms : 0);
        came += !lost && (i < p->gap_from || i >= p->gap_to);
    }
    curve_put(c, &key, p->id, p->rank % 1000, at_ms, v, came, gap_ms);
    free(at_ms);
    free(v);
}

/* ---- the table ---- */

#define A(device, value, shape)                                                                    \
    {                                                                                              \
        "gpu7", device, SERIES_##value, shape, 0, 0, 0, 0, 0, 0                                    \
    }
#define B(device, value, shape)                                                                    \
    {                                                                                              \
        "gpu8", device, SERIES_##value, shape, 0, 0, 0, 0, 0, 0                                    \
    }

#define RANK(rank, shape)                                                                          \
    {                                                                                              \
        "gpu7", STEP, SERIES_TASK_CPU, shape, 0, 0, rank, 0, 0, 0                                  \
    }

struct profile {
    const char *what;
    struct part part[16];
    size_t n;
    int32_t cpus, nodes;
    int64_t mem_mib;
    const char *found;   /* words of all findings, in their order */
    const char *says[6]; /* all of these are in the text */
    enum job_state state;
    int64_t gap_ms; /* 0 = GAP_MS */
};

static const struct profile profiles[] = {
    {.what = "the guide's own",
     .part = {A(0, GPU_UTIL, guide), A(STEP, CPU, guide_cpu), A(STEP, RSS, rss_flat)},
     .n = 20 * EPOCH,
     .cpus = 6,
     .mem_mib = 16000,
     .found = "phases gpu-low",
     .says =
         {"it had 2 phases: 14:13 to 14:40 its GPUs 44 % busy, 14:40 to 15:07 39 % busy",
          "GPU 0 was never above 50 %", "in phase 2 (",
          "fell to 3 % every 2 min 42 s for 20 s, 10 times: input stalls between epochs",
          "5.2 of its 6 CPUs were full meanwhile: ask for more CPUs (-c) or more loader workers"}},
    {.what = "flat and high",
     .part = {A(0, GPU_UTIL, flat), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "noisy and well",
     .part = {A(0, GPU_UTIL, noisy), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "anything at all",
     .part = {A(0, GPU_UTIL, wild), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "by its processors too",
     .part = {A(0, GPU_UTIL, flat), A(0, GPU_SM, sm_well), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "never touched",
     .part = {A(2, GPU_UTIL, zero), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-unused",
     .says = {"GPU 2 was never used: ask for no GPU"}},
    {.what = "one of four never touched",
     .part = {A(0, GPU_UTIL, flat), A(1, GPU_UTIL, flat), A(2, GPU_UTIL, flat),
              A(3, GPU_UTIL, zero), A(STEP, CPU, two_cpus)},
     .n = HALF_H,
     .cpus = 2,
     .found = "gpu-unused",
     .says = {"GPU 3 was never used: ask for 3 GPUs"}},
    {.what = "three of four never touched",
     .part = {A(0, GPU_UTIL, flat), A(1, GPU_UTIL, zero), A(2, GPU_UTIL, zero),
              A(3, GPU_UTIL, zero)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-unused",
     .says = {"GPUs 1-3 were never used: ask for 1 GPU,"}},
    {.what = "low all the time",
     .part = {A(0, GPU_UTIL, dim), A(STEP, CPU, third_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-low",
     .says = {"never above 50 % (33 % at most, 30 % in the mean): larger batches"}},
    {.what = "low, its one loader full",
     .part = {A(0, GPU_UTIL, dim), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 8,
     .found = "gpu-low",
     .says = {"1 of its 8 CPUs was busy: more loader workers"}},
    {.what = "eight low ones are one sentence",
     .part = {A(0, GPU_UTIL, dim), A(1, GPU_UTIL, dim), A(2, GPU_UTIL, dim), A(3, GPU_UTIL, dim),
              B(0, GPU_UTIL, dim), B(1, GPU_UTIL, dim), B(2, GPU_UTIL, dim), B(3, GPU_UTIL, dim)},
     .n = HALF_H,
     .cpus = 2,
     .nodes = 2,
     .found = "gpu-low",
     .says = {"gpu7 GPUs 0-3, gpu8 GPUs 0-3 were never above 50 %"}},
    {.what = "in bursts",
     .part = {A(0, GPU_UTIL, bursts), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-low",
     .says = {"GPU 0 was busy in 2.8 % of the time, in bursts"}},
    {.what = "hangs from the start",
     .part = {A(0, GPU_UTIL, full), A(0, GPU_SM, sm_none), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-hang",
     .says = {"its processors had work in 0.3 % of it: it waited, as in a collective that hangs"}},
    {.what = "hangs at the end, both",
     .part = {A(0, GPU_UTIL, late_hang_util), A(0, GPU_SM, late_hang_sm),
              A(1, GPU_UTIL, late_hang_util), A(1, GPU_SM, late_hang_sm), A(STEP, CPU, two_cpus)},
     .n = 2 * HALF_H,
     .cpus = 2,
     .found = "gpu-hang",
     .says = {"GPUs 0,1 were busy 100 % of the time from "}},
    {.what = "dips that come regularly",
     .part = {A(0, GPU_UTIL, dips_high), A(STEP, CPU, third_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-dips",
     .says = {"GPU 0: it fell to 5 % every 2 min for 16 s, 15 times, as between epochs or for "
              "checkpoints: ",
              "see what the program does there"}},
    {.what = "dips while it writes",
     .part = {A(0, GPU_UTIL, dips_high), A(STEP, CPU, third_cpu), A(STEP, WRITE, wrote_in_dips)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-dips",
     .says = {"15 times: checkpoints; it wrote 879 MiB/s meanwhile: write checkpoints"}},
    {.what = "dips of a sample",
     .part = {A(0, GPU_UTIL, dips_of_one), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 2,
     .found = "gpu-dips",
     .says = {"every 1 min 40 s for 2 s, 18 times"}},
    {.what = "stands still, whenever",
     .part = {A(0, GPU_UTIL, stalls), A(STEP, CPU, one_cpu), A(STEP, PSI_IO, pressed)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-stalls disks",
     .says = {"GPU 0 stood still 6 times, ", "waited for disks"}},
    {.what = "done early",
     .part = {A(0, GPU_UTIL, ends_early), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases gpu-idle",
     .says = {"did nothing from ", "16 min 38 s: end the job"}},
    {.what = "begins late",
     .part = {A(0, GPU_UTIL, starts_late), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases gpu-idle",
     .says = {"prepare data in a job without GPUs"}},
    {.what = "two levels",
     .part = {A(0, GPU_UTIL, two_levels), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases",
     .says = {"its GPUs 88 % busy", " 60 % busy"}},
    {.what = "swings",
     .part = {A(0, GPU_UTIL, swings), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases",
     .says = {"comes again each 3 min 20 s, between "}},
    {.what = "uneven",
     .part = {A(0, GPU_UTIL, flat), A(1, GPU_UTIL, slower), A(2, GPU_UTIL, flat)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-uneven",
     .says = {"GPU 1 was busy 45 % in the mean, the others 93 %"}},
    {.what = "uneven nodes",
     .part = {A(0, GPU_UTIL, flat), B(0, GPU_UTIL, wild), A(STEP, CPU, one_cpu),
              B(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 2,
     .nodes = 2,
     .found = "gpu-uneven",
     .says = {"gpu8 GPU 0 was busy 50 %"}},
    {.what = "slowed by heat",
     .part = {A(0, GPU_UTIL, flat), A(0, GPU_THROTTLE, heat), A(0, GPU_SM_CLOCK, heat_clock),
              A(0, GPU_TEMP, hot)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-heat",
     .says = {"slowed by heat in 67 % of the time, at up to 90 C: 1100 MHz instead of 1410"}},
    {.what = "at its power limit, and well",
     .part = {A(0, GPU_UTIL, flat), A(0, GPU_THROTTLE, power_cap), A(0, GPU_SM_CLOCK, good_clock)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "slowed by its power limit",
     .part = {A(0, GPU_UTIL, flat), A(0, GPU_THROTTLE, power_cap_some),
              A(0, GPU_SM_CLOCK, power_clock), A(0, GPU_POWER, seven_hundred_w)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-power",
     .says = {"at up to 700 W: 1300 MHz instead of 1900"}},
    {.what = "memory errors",
     .part = {A(0, GPU_UTIL, flat), A(0, GPU_ECC, ecc)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-ecc",
     .says = {"had 3 memory errors"}},
    {.what = "leaks",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_leaks)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = "memory-grows",
     .says = {"its memory grew steadily, from 2.5 GiB to 3.6 GiB, 3.5 GiB an hour; at that rate "
              "its 31 GiB last another "}},
    {.what = "leaks on the GPU",
     .part = {A(0, GPU_UTIL, flat), A(0, GPU_MEM, rss_leaks)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-memory-grows",
     .says = {"the memory in use of GPU 0 grew steadily"}},
    {.what = "loads its data, then stays",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_loads)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = ""},
    {.what = "grows ever slower",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_levels)},
     .n = 3 * HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = ""},
    {.what = "one step up",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_step)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = ""},
    {.what = "is freed each time",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_saws)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = ""},
    {.what = "nearly full",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_full)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 8000,
     .found = "memory-full",
     .says = {"nearly full: 7.8 GiB of 7.8 GiB: ask for more (--mem=12000M)"}},
    {.what = "more than it asked for",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_full)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 100,
     .found = "memory-full",
     .says = {"it used more memory than it had asked for: 7.8 GiB, asked were 100 MiB: ask for "
              "more (--mem=11925M)"}},
    {.what = "ran out",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_full)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 10000,
     .state = JOB_OUT_OF_MEMORY,
     .found = "memory-full",
     .says = {"it ran out of memory: 7.8 GiB of 9.8 GiB"}},
    {.what = "swaps",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_flat), A(STEP, SWAP, rss_flat)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = "swaps",
     .says = {"had up to 3.9 GiB swapped out"}},
    {.what = "CPUs that it does not need",
     .part = {A(STEP, CPU, two_cpus)},
     .n = HALF_H,
     .cpus = 16,
     .found = "cpus-unused",
     .says =
         {"of its 16 CPUs at most 2.0 were busy at a time: ask for fewer (-c, -n): 3 would do"}},
    {.what = "and one moment of all",
     .part = {A(STEP, CPU, spike_cpu)},
     .n = HALF_H,
     .cpus = 16,
     .found = "cpus-unused",
     .says = {"at most 1.0 were busy at a time but for moments (8.0)"}},
    {.what = "its CPUs at work",
     .part = {A(STEP, CPU, six_cpus)},
     .n = HALF_H,
     .cpus = 6,
     .found = ""},
    {.what = "more threads than CPUs",
     .part = {A(STEP, CPU, six_cpus), A(STEP, PSI_CPU, pressed)},
     .n = HALF_H,
     .cpus = 6,
     .found = "cpus-short",
     .says = {"waited for one in 60 % of the time"}},
    {.what = "disks",
     .part = {A(STEP, CPU, one_cpu), A(STEP, PSI_IO, pressed), A(STEP, READ, read_some),
              A(STEP, WRITE, zero)},
     .n = HALF_H,
     .cpus = 1,
     .found = "disks",
     .says = {"waited for disks in 60 % of the time, and read 8.8 MiB/s, wrote nothing"}},
    {.what = "its second node did nothing",
     .part = {A(STEP, CPU, six_cpus), B(STEP, CPU, zero)},
     .n = HALF_H,
     .cpus = 12,
     .nodes = 2,
     .found = "cpus-unused nodes-uneven",
     .says = {"gpu8 did nothing, while the busiest node used 5.9 CPUs: start the program on each "
              "node with srun"}},
    {.what = "its second node did little",
     .part = {A(STEP, CPU, six_cpus), B(STEP, CPU, two_cpus)},
     .n = HALF_H,
     .cpus = 12,
     .nodes = 2,
     .found = "nodes-uneven",
     .says = {"gpu8 used 1.9 CPUs in the mean, the busiest node 5.9"}},
    {.what = "ranks that do the same",
     .part = {A(STEP, CPU, six_cpus), RANK(0, one_cpu), RANK(1, one_cpu), RANK(2, noisy),
              RANK(3, one_cpu), RANK(4, noisy), RANK(5, flat)},
     .n = HALF_H,
     .cpus = 6,
     .found = ""},
    {.what = "ranks that shake",
     .part = {RANK(0, wild), RANK(1, wild), RANK(2, noisy), RANK(3, wild)},
     .n = HALF_H,
     .cpus = 4,
     .found = ""},
    {.what = "a rank that waits",
     .part = {RANK(0, one_cpu), RANK(1, one_cpu), RANK(2, dim), RANK(3, one_cpu)},
     .n = HALF_H,
     .cpus = 4,
     .found = "ranks-uneven",
     .says = {"rank 2 of step 0 (gpu7) used 30 % of a CPU in the mean, the others 98 %: it waits "
              "for data, disks or a lock"}},
    {.what = "steps of which each has a rank that waits",
     .part = {RANK(0, one_cpu), RANK(1, dim), RANK(2, one_cpu), RANK(1000, one_cpu),
              RANK(1001, one_cpu), RANK(1002, dim), RANK(2000, one_cpu), RANK(2001, one_cpu)},
     .n = HALF_H,
     .cpus = 3,
     .found = "ranks-uneven ranks-uneven",
     .says = {"rank 1 of step 0 (gpu7) used 30 % of a CPU", "rank 2 of step 1 (gpu7) used 30 %"}},
    {.what = "of many steps that are alike three are told of",
     .part = {RANK(0, one_cpu), RANK(1, one_cpu), RANK(1000, dim), RANK(1001, one_cpu),
              RANK(1002, one_cpu), RANK(2000, dim), RANK(2001, one_cpu), RANK(2002, one_cpu),
              RANK(3000, dim), RANK(3001, one_cpu), RANK(3002, one_cpu), RANK(4000, dim),
              RANK(4001, one_cpu), RANK(4002, one_cpu)},
     .n = HALF_H,
     .cpus = 3,
     .found = "ranks-uneven ranks-uneven ranks-uneven"},
    {.what = "a rank that works while the others wait",
     .part = {RANK(0, one_cpu), RANK(1, zero), RANK(2, zero), RANK(3, zero)},
     .n = HALF_H,
     .cpus = 4,
     .found = "ranks-uneven",
     .says = {"of 4 ranks one alone was at work, rank 0 of step 0 (gpu7): 98 % of a CPU, the "
              "others 0 %: what it does alone"}},
    {.what = "ranks that are done long before the last",
     .part = {RANK(0, ends_early), RANK(1, ends_early), RANK(2, ends_early), RANK(3, one_cpu)},
     .n = HALF_H,
     .cpus = 4,
     .found = "ranks-uneven",
     .says = {"half of the 4 ranks of step 0 were done after 13 min 18 s, the last, rank 3, after "
              "29 min 58 s: share the work in smaller pieces"}},
    {.what = "ranks whose processes ended",
     .part = {{"gpu7", STEP, SERIES_TASK_CPU, one_cpu, 300, HALF_H, 0, 0, 0, 0},
              {"gpu7", STEP, SERIES_TASK_CPU, one_cpu, 300, HALF_H, 1, 0, 0, 0},
              RANK(2, one_cpu)},
     .n = HALF_H,
     .cpus = 3,
     .found = "ranks-uneven",
     .says = {"half of the 3 ranks of step 0 were done after 9 min 58 s, the last, rank 2"}},
    {.what = "ranks of GPUs, that all work",
     .part = {A(0, GPU_UTIL, flat), A(1, GPU_UTIL, flat), RANK(0, one_cpu), RANK(1, dim)},
     .n = HALF_H,
     .cpus = 2,
     .found = ""},
    {.what = "nodes that differ are not told of twice",
     .part = {A(STEP, CPU, six_cpus), B(STEP, CPU, two_cpus), RANK(0, one_cpu), RANK(1, dim),
              RANK(2, one_cpu)},
     .n = HALF_H,
     .cpus = 12,
     .nodes = 2,
     .found = "nodes-uneven",
     .says = {"gpu8 used 1.9 CPUs"}},
    {.what = "a node was away",
     .part = {{"gpu7", 0, SERIES_GPU_UTIL, flat, 200, 500, 0, 0, 0, 0}, A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gap",
     .says =
         {"nothing is known of GPU 0 of gpu7 from 14:19 to 14:30, 10 min 2 s: no samples came"}},
    {.what = "an instance at work, of which no more is known",
     .part = {A(0, GPU_MEM, rss_flat), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "an instance that idles, on a GPU that says so",
     .part = {A(0, GPU_SM, zero), A(0, GPU_MEM, rss_flat)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-unused",
     .says = {"GPU 0 was never at work, with up to 3.9 GiB of its memory in use"}},
    {.what = "short",
     .part = {A(0, GPU_UTIL, zero), A(STEP, CPU, one_cpu)},
     .n = 20,
     .cpus = 8,
     .found = ""},
    {.what = "one sample",
     .part = {A(0, GPU_UTIL, zero), A(STEP, CPU, one_cpu)},
     .n = 1,
     .cpus = 8,
     .found = ""},
    {.what = "one of eight idle in the first half",
     .part = {A(0, GPU_UTIL, flat), A(1, GPU_UTIL, flat), A(2, GPU_UTIL, flat),
              A(3, GPU_UTIL, first_half_idle), A(4, GPU_UTIL, flat), A(5, GPU_UTIL, flat),
              A(6, GPU_UTIL, flat), A(7, GPU_UTIL, flat)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-idle",
     .says = {"GPU 3 did nothing from 14:13 to 14:28, 14 min 58 s, while others worked: see why"}},
    {.what = "one of two done at half of the time",
     .part = {A(0, GPU_UTIL, flat), A(1, GPU_UTIL, second_half_idle)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases gpu-idle",
     .says = {"GPU 1 did nothing from ", "while others worked: see why"}},
    {.what = "memory that is freed, rarely",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_saws_slowly)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = ""},
    {.what = "checkpoints every 10 min",
     .part = {A(0, GPU_UTIL, checkpoints), A(STEP, CPU, one_cpu), A(STEP, WRITE, written_then)},
     .n = 7200,
     .cpus = 4,
     .found = "gpu-dips cpus-unused",
     .says = {"every 10 min for 30 s, 24 times", "checkpoints"}},
    {.what = "an evaluation in each epoch",
     .part = {A(0, GPU_UTIL, evaluates), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases",
     .says = {"comes again each 5 min"}},
    {.what = "no GPU, its CPUs full",
     .part = {A(STEP, CPU, six_cpus), A(STEP, RSS, rss_flat)},
     .n = HALF_H,
     .cpus = 6,
     .mem_mib = 16000,
     .found = ""},
    {.what = "ran out of memory",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_runs_out)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 8000,
     .state = JOB_OUT_OF_MEMORY,
     .found = "memory-grows memory-full",
     .says = {"it ran out of memory: 7.8 GiB of 7.8 GiB"}},
    {.what = "ran out of memory between two samples",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_sudden)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 8000,
     .state = JOB_OUT_OF_MEMORY,
     .found = "memory-full",
     .says = {"it ran out of memory: its samples saw 910 MiB of 7.8 GiB at most, so that what it "
              "asked for at the end came at once"}},
    {.what = "ran out of memory at once",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_sudden)},
     .n = 3,
     .cpus = 1,
     .mem_mib = 8000,
     .state = JOB_OUT_OF_MEMORY,
     .found = "memory-full",
     .says = {"it ran out of memory"}},
    {.what = "a third of the samples lost, here and there",
     .part = {{"gpu7", 0, SERIES_GPU_UTIL, noisy, 0, 0, 0, 3, 0, 0},
              {"gpu7", STEP, SERIES_CPU, one_cpu, 0, 0, 0, 3, 0, 0}},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "the node's clock was set back by ten minutes",
     .part = {{"gpu7", 0, SERIES_GPU_UTIL, noisy, 0, 0, 0, 0, 500, -600000},
              {"gpu7", STEP, SERIES_CPU, one_cpu, 0, 0, 0, 0, 500, -600000}},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "the node's clock was set by a minute and a half",
     .part = {{"gpu7", 0, SERIES_GPU_UTIL, noisy, 0, 0, 0, 0, 500, 90000},
              {"gpu7", STEP, SERIES_CPU, one_cpu, 0, 0, 0, 0, 500, 90000}},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "a notebook",
     .part = {A(0, GPU_UTIL, notebook), A(STEP, CPU, third_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases gpu-low gpu-idle",
     .says =
         {"in bursts",
          "did nothing 2 times for 10 min or longer, 27 min 58 s in all, the longest from 14:14 to "
          "14:30, 15 min 40 s: a server that nobody asks, or a notebook",
          "14:13:20 to 14:14:19 its GPUs 70 % busy, 14:14:19 to 14:30:00 0 % busy"}},
    {.what = "the last minute without the GPU",
     .part = {A(0, GPU_UTIL, ends_with_a_minute), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "the first two minutes without the GPU",
     .part = {A(0, GPU_UTIL, warms_up), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "two GPUs that take turns",
     .part = {A(0, GPU_UTIL, takes_turns), A(1, GPU_UTIL, takes_other_turns)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-dips",
     .says = {"GPUs 0,1 took turns: "}},
    {.what = "GPU memory that an allocator keeps",
     .part = {A(0, GPU_UTIL, flat), A(0, GPU_MEM, gpu_mem_caches)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "a training of a language model, with checkpoints",
     .part = {A(0, GPU_UTIL, llm), A(1, GPU_UTIL, llm), A(2, GPU_UTIL, llm), A(3, GPU_UTIL, llm),
              A(0, GPU_SM, llm_sm), A(1, GPU_SM, llm_sm), A(2, GPU_SM, llm_sm),
              A(3, GPU_SM, llm_sm), A(STEP, CPU, llm_cpu), A(STEP, WRITE, llm_writes)},
     .n = 21600,
     .cpus = 12,
     .found = "gpu-dips",
     .says =
         {"GPUs 0-3: it fell to 3 % every 30 min for 1 min 30 s, 24 times: checkpoints; it wrote "
          "1.3 GiB/s meanwhile: write checkpoints beside the training"}},
    {.what = "two hours of it",
     .part = {A(0, GPU_UTIL, llm), A(0, GPU_SM, llm_sm), A(STEP, CPU, llm_cpu),
              A(STEP, WRITE, llm_writes)},
     .n = 3600,
     .cpus = 12,
     .found = ""},
    {.what = "a server of inference",
     .part = {A(0, GPU_UTIL, serves), A(STEP, CPU, serves_cpu)},
     .n = HALF_H * 2,
     .cpus = 2,
     .found = "gpu-stalls",
     .says = {"GPU 0 stood still 40 times, 32 min 24 s in all", "nobody asked"}},
    {.what = "a server of inference, a day of it",
     .part = {A(0, GPU_UTIL, day_of_requests), A(STEP, CPU, third_cpu)},
     .n = 43200,
     .cpus = 2,
     .found = "phases gpu-idle cpus-unused",
     .says = {"it had 2 phases", " 1 % busy",
              "did nothing 10 times for 10 min or longer, 7 h 40 min in all, the longest from "}},
    {.what = "a server whose memory fills and stays",
     .part = {A(0, GPU_UTIL, noisy), A(0, GPU_MEM, gpu_mem_to_plateau), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "requests all at once, and the tail of the longest",
     .part = {A(0, GPU_UTIL, batch_with_tail), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "batches of any length",
     .part = {A(0, GPU_UTIL, sequences_of_any_length), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "evaluations at any times, fuller than the training",
     .part = {A(0, GPU_UTIL, evaluation_bursts), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = ""},
    {.what = "checkpoints that take ever longer",
     .part = {A(0, GPU_UTIL, checkpoint_stalls), A(1, GPU_UTIL, checkpoint_stalls),
              A(STEP, CPU, two_cpus)},
     .n = 2 * HALF_H,
     .cpus = 2,
     .found = "gpu-dips",
     .says = {"GPUs 0,1: it fell to 1 % every 6 min for ", ", 10 times"}},
    {.what = "loaders whose queue runs dry, by half",
     .part = {A(0, GPU_UTIL, saw_of_loader), A(STEP, CPU, eight_cpus)},
     .n = HALF_H,
     .cpus = 8,
     .found = "gpu-dips",
     .says = {"it fell to 38 % every 16 s for 4 s, 108 times: input stalls; 7.9 of its 8 CPUs were "
              "full meanwhile"}},
    {.what = "one rank of four with more to do: the others wait, and show it",
     .part = {A(0, GPU_UTIL, waits_for_it), A(1, GPU_UTIL, waits_for_it), A(2, GPU_UTIL, straggler),
              A(3, GPU_UTIL, waits_for_it), A(STEP, CPU, six_cpus)},
     .n = HALF_H,
     .cpus = 6,
     .found = "gpu-uneven",
     .says = {"GPUs 0,1,3 were busy 64 % in the mean, the other 97 %: the work"}},
    {.what = "a node of four that is slow",
     .part = {{"n1", 0, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0},
              {"n1", 1, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0},
              {"n2", 0, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0},
              {"n2", 1, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0},
              {"n3", 0, SERIES_GPU_UTIL, slow_node, 0, 0, 0, 0, 0, 0},
              {"n3", 1, SERIES_GPU_UTIL, slow_node, 0, 0, 0, 0, 0, 0},
              {"n4", 0, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0},
              {"n4", 1, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0}},
     .n = HALF_H,
     .cpus = 8,
     .nodes = 4,
     .found = "gpu-uneven",
     .says = {"n3 GPUs 0,1 were busy 51 % in the mean, the others 93 %"}},
    {.what = "memory that fills and then stays",
     .part = {A(STEP, CPU, one_cpu), A(STEP, RSS, rss_to_plateau)},
     .n = HALF_H,
     .cpus = 1,
     .mem_mib = 32000,
     .found = ""},
    {.what = "harder and harder",
     .part = {A(0, GPU_UTIL, curriculum), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "phases",
     .says = {"it had 3 phases", " 63 % busy"}},
    {.what = "half a minute, a sample each second",
     .part = {A(0, GPU_UTIL, loads_and_trains), A(STEP, CPU, one_cpu)},
     .n = 31,
     .gap_ms = 1000,
     .cpus = 1,
     .found = ""},
    {.what = "half a minute",
     .part = {A(0, GPU_UTIL, loads_and_trains), A(STEP, CPU, one_cpu)},
     .n = 15,
     .cpus = 8,
     .found = ""},
    {.what = "a week, with checkpoints and what it keeps in memory",
     .part = {A(0, GPU_UTIL, week_of_training), A(STEP, CPU, one_cpu), A(STEP, RSS, rss_of_a_week)},
     .n = 302400,
     .cpus = 1,
     .mem_mib = 64000,
     .found = "gpu-dips memory-grows",
     .says = {"every 3 h for 2 min, 56 times, as between epochs or for checkpoints: see",
              "its memory grew steadily"}},
    {.what = "vision, whose loaders are too slow",
     .part = {A(0, GPU_UTIL, loader_bound), A(STEP, CPU, eight_cpus)},
     .n = HALF_H,
     .cpus = 8,
     .found = "gpu-stalls",
     .says = {"GPU 0 waited in 33 % of the time, 299 times for 2 s or so; 7.9 of its 8 CPUs were "
              "full meanwhile: ask for more CPUs (-c) or more loader workers"}},
    {.what = "the same, and nothing says why",
     .part = {A(0, GPU_UTIL, loader_bound), A(STEP, CPU, eight_cpus)},
     .n = HALF_H,
     .cpus = 16,
     .found = "cpus-unused"},
    {.what = "one of two has more to do: who waits is not known",
     .part = {A(0, GPU_UTIL, straggles_util), A(1, GPU_UTIL, straggles_util),
              A(0, GPU_SM, waits_sm), A(1, GPU_SM, straggles_sm), A(STEP, CPU, six_cpus)},
     .n = HALF_H,
     .cpus = 6,
     .found = ""},
    {.what = "one of four is waited for: the others are busy in a collective",
     .part = {A(0, GPU_UTIL, straggles_util), A(1, GPU_UTIL, straggles_util),
              A(2, GPU_UTIL, straggles_util), A(3, GPU_UTIL, straggles_util),
              A(0, GPU_SM, waits_sm), A(1, GPU_SM, waits_sm), A(2, GPU_SM, straggles_sm),
              A(3, GPU_SM, waits_sm), A(STEP, CPU, six_cpus)},
     .n = HALF_H,
     .cpus = 6,
     .found = "gpu-uneven",
     .says = {"GPU 2 had work for 79 % of its processors in the mean, the others for 44 %, and all "
              "were busy: the others waited"}},
    {.what = "one of three is hot and slow",
     .part = {A(0, GPU_UTIL, flat), A(1, GPU_UTIL, flat), A(2, GPU_UTIL, flat),
              A(2, GPU_THROTTLE, hot_after_a_while), A(2, GPU_SM_CLOCK, slowed_clock),
              A(2, GPU_TEMP, warmer), A(STEP, CPU, six_cpus)},
     .n = HALF_H,
     .cpus = 6,
     .found = "gpu-heat",
     .says = {"GPU 2 was slowed by heat in 67 % of the time, at up to 90 C: "}},
    {.what = "reinforcement learning: CPUs simulate, then the GPU learns",
     .part = {A(0, GPU_UTIL, simulates_then_learns), A(STEP, CPU, simulates_cpu)},
     .n = HALF_H,
     .cpus = 16,
     .found = "phases gpu-low",
     .says =
         {"the load of its GPUs comes again each 1 min, between 3 and 94 %",
          "GPU 0 stood in 67 % of the time, and was busy 93 % else; 16 of its 16 CPUs were full"}},
    {.what = "tokens are made first",
     .part = {A(0, GPU_UTIL, tokenizes_first), A(1, GPU_UTIL, tokenizes_first),
              A(STEP, CPU, tokenizes_cpu)},
     .n = HALF_H * 2,
     .cpus = 16,
     .found = "phases gpu-idle",
     .says = {"GPUs 0,1 did nothing from 14:13 to 14:25, 11 min 58 s: prepare data in a job "
              "without GPUs"}},
    {.what = "all of many nodes",
     .part = {{"n1", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n2", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n3", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n4", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n10", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n11", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0}},
     .n = HALF_H,
     .cpus = 6,
     .nodes = 6,
     .found = "gpu-low",
     .says = {"all 6 GPUs were never above 50 %"}},
    {.what = "one of many nodes is not at work as the others",
     .part = {{"n1", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n2", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n3", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n4", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0},
              {"n10", 0, SERIES_GPU_UTIL, zero, 0, 0, 0, 0, 0, 0},
              {"n11", 0, SERIES_GPU_UTIL, dim, 0, 0, 0, 0, 0, 0}},
     .n = HALF_H,
     .cpus = 6,
     .nodes = 6,
     .found = "gpu-unused gpu-low",
     .says = {"n10 GPU 0 was never used", "n1 GPU 0, n2 GPU 0, n3 GPU 0, n4 GPU 0 and those of 1 "
                                          "more node were never above 50 %"}},
    {.what = "two instances (MIG), one at work",
     .part = {A(0, GPU_SM, slice), A(1, GPU_SM, zero), A(STEP, CPU, one_cpu)},
     .n = HALF_H,
     .cpus = 1,
     .found = "gpu-unused",
     .says = {"GPU 1 was never used"}},
    {.what = "a job of a second", .part = {A(0, GPU_UTIL, zero)}, .n = 2, .cpus = 8, .found = ""},
    {.what = "none", .n = 0, .cpus = 8, .found = ""},
};

static void words_of(const struct reading *r, struct str *out)
{
    for (size_t i = 0; i < r->found.n; i++)
        str_addf(out, "%s%s", i ? " " : "", finding_word(r->found.v[i].kind));
}

static void profile_read(const struct profile *p, int64_t gap_ms, bool bound, struct reading *r)
{
    struct curves c = {0};
    struct job j = {.alloc_cpus = p->cpus,
                    .alloc_nodes = p->nodes ? p->nodes : 1,
                    .alloc_mem_mib = p->mem_mib,
                    .state = p->state,
                    .start_us = BEGAN_MS * 1000,
                    .end_us = (BEGAN_MS + (int64_t)p->n * gap_ms) * 1000};
    if (bound)
        reading_bound(&c, &j, j.end_us, 1u << 20);
    for (size_t i = 0; i < ARRAY_LEN(p->part) && p->part[i].node; i++)
        part_add(&c, &p->part[i], p->n, gap_ms);
    curves_order(&c);
    reading_make(&c, &j, &civil_utc, r);
    curves_done(&c);
}

static void each_profile_says_what_it_must_and_nothing_else(void **state)
{
    size_t wrong = 0;
    (void)state;
    assert_true(ARRAY_LEN(profiles) >= 30);
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
        const struct profile *p = &profiles[i];
        struct reading r;
        struct str words = STR_INIT, text = STR_INIT;
        profile_read(p, p->gap_ms ? p->gap_ms : GAP_MS, i % 2, &r);
        words_of(&r, &words);
        reading_write(&r, &text);
        bool ok = text_is(str_text(&words), p->found);
        for (size_t k = 0; k < ARRAY_LEN(p->says) && p->says[k]; k++)
            ok = ok && strstr(str_text(&text), p->says[k]);
        if (!ok)
            print_error("%s: [%s], wanted [%s]\n%s\n", p->what, str_text(&words), p->found,
                        str_text(&text));
        wrong += !ok;
        str_done(&words);
        str_done(&text);
        reading_done(&r);
    }
    assert_int_equal(wrong, 0);
}

/* The guide's exercise with other numbers, and profiles of which nothing is to be said. */
static struct {
    size_t epoch, stands;
    double level, noise;
    unsigned salt;
} made;

static double made_guide(size_t i)
{
    return i >= 10 * made.epoch && i % made.epoch >= made.epoch - made.stands
               ? 2
               : made.level + made.noise * noise(i, made.salt);
}
static double made_well(size_t i)
{
    return made.level + made.noise * noise(i, made.salt);
}

static void read_made(shape_fn shape, size_t n, int64_t gap_ms, struct str *words, struct str *text)
{
    struct reading r;
    struct profile p = {.part = {A(0, GPU_UTIL, shape), A(STEP, CPU, one_cpu)}, .n = n, .cpus = 1};
    profile_read(&p, gap_ms, made.salt % 2, &r);
    words_of(&r, words);
    reading_write(&r, text);
    reading_done(&r);
}

static void the_guides_case_is_found_whatever_its_numbers(void **state)
{
    static const size_t epochs[] = {12, 20, 45, 81, 150, 400}, stands[] = {1, 2, 5, 10, 40};
    (void)state;
    for (unsigned i = 0; i < ARRAY_LEN(epochs) * ARRAY_LEN(stands) * 3; i++) {
        struct str words = STR_INIT, text = STR_INIT, every = STR_INIT;
        made.epoch = epochs[i % ARRAY_LEN(epochs)];
        made.stands = stands[i / ARRAY_LEN(epochs) % ARRAY_LEN(stands)];
        made.level = 25 + (double)(i % 20);
        made.noise = 1 + (double)(i % 4);
        made.salt = i;
        if (made.stands * 3 > made.epoch)
            continue;
        read_made(made_guide, 20 * made.epoch, i % 2 ? 1000 : 2000, &words, &text);
        str_add(&every, ", 10 times");
        if (!text_is(str_text(&words), "phases gpu-low") ||
            !strstr(str_text(&text), str_text(&every)))
            fail_msg("%zu %zu %f %f %u: [%s]\n%s", made.epoch, made.stands, made.level, made.noise,
                     made.salt, str_text(&words), str_text(&text));
        str_done(&words);
        str_done(&text);
        str_done(&every);
    }
}

static void of_what_is_well_nothing_is_said_however_it_shakes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        struct str words = STR_INIT, text = STR_INIT;
        made.level = 60 + (double)(i % 40);
        made.noise = (double)(i * 7 % 40);
        made.salt = 1000 + i;
        read_made(made_well, 30 + i * 13, i % 3 ? 2000 : 10000, &words, &text);
        if (words.len)
            fail_msg("%f %f %u: [%s]\n%s", made.level, made.noise, made.salt, str_text(&words),
                     str_text(&text));
        str_done(&words);
        str_done(&text);
    }
}

/* A week: what is read of it is bounded, and says the same. */
static void a_long_job_is_read_in_bounds(void **state)
{
    struct reading r;
    struct str words = STR_INIT;
    struct profile p = {
        .part = {A(0, GPU_UTIL, dim), A(STEP, CPU, one_cpu), A(STEP, RSS, rss_leaks)},
        .n = 302400,
        .cpus = 1};
    (void)state;
    profile_read(&p, GAP_MS, true, &r);
    words_of(&r, &words);
    assert_string_equal(str_text(&words), "gpu-low memory-grows");
    assert_true(r.samples <= 20001);
    str_done(&words);
    reading_done(&r);
}

/* What is well in an hour is well in a week, whose samples are put together to cells of 30 s. */
static void a_week_that_was_well(void **state)
{
    struct reading r;
    struct profile p = {.part = {A(0, GPU_UTIL, evaluates), A(STEP, RSS, rss_saws)},
                        .n = 302400,
                        .mem_mib = 32000,
                        .cpus = 1};
    (void)state;
    profile_read(&p, GAP_MS, true, &r);
    for (size_t i = 0; i < r.found.n; i++)
        assert_int_equal(r.found.v[i].kind, FOUND_PHASES);
    reading_done(&r);
}

static void more_curves_than_the_bound_are_left_out(void **state)
{
    struct curves c = {.most = 3};
    (void)state;
    for (int32_t i = 0; i < 8; i++)
        part_add(&c, &(struct part){"gpu7", i, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0}, 100,
                 GAP_MS);
    curves_order(&c);
    assert_int_equal(c.v.n, 3);
    assert_true(c.cut);
    curves_done(&c);
}

/* Loads that come and go by chance, as a server's whose users ask when they like: of 900 samples
 * those of a burst, and of a pause, are some number in the mean, of any length by chance. That they
 * do is no phase, nor a round of the program; that there are many more from half of the time on is
 * one. */
static struct {
    double busy, burst, pause, later; /* percent; samples in the mean; pauses of the second half */
    unsigned salt;
} chance;

static double by_chance(size_t i)
{
    static size_t at, left;
    static bool on;
    if (i == 0) {
        at = left = 0;
        on = false;
    }
    while (left == 0) {
        double pause = i >= HALF_H / 2 && chance.later > 0 ? chance.later : chance.pause,
               mean = on ? pause : chance.burst;
        double even = (noise(at++, 500 + chance.salt) + 1) / 2, length = 1;
        for (double p = 1 - 1 / mean, q = p; even < q && length < 2000; q *= p)
            length++;
        on = !on;
        left = (size_t)length;
        if (i == 0 && at == 1) /* begins anywhere in a pause */
            on = chance.salt % 2;
    }
    left--;
    return on ? chance.busy + 8 * noise(i, 900 + chance.salt) : 0;
}

static size_t phases_told(void)
{
    struct str words = STR_INIT, text = STR_INIT;
    made.salt = chance.salt;
    read_made(by_chance, HALF_H, 2000, &words, &text);
    size_t told = strstr(str_text(&words), "phases") != NULL;
    if (told && getenv("READING_SHOW"))
        print_message("burst %.0f pause %.0f salt %u: %s", chance.burst, chance.pause, chance.salt,
                      str_text(&text));
    str_done(&words);
    str_done(&text);
    return told;
}

static void what_comes_and_goes_by_chance_has_no_phases(void **state)
{
    static const double lengths[] = {3, 6, 12, 25};
    size_t wrong = 0, missed = 0, tried = 0;
    (void)state;
    for (unsigned salt = 0; salt < 20; salt++)
        for (size_t i = 0; i < ARRAY_LEN(lengths) * ARRAY_LEN(lengths); i++) {
            chance.busy = 60 + (double)(salt % 4) * 10;
            chance.burst = lengths[i % ARRAY_LEN(lengths)];
            chance.pause = lengths[i / ARRAY_LEN(lengths)];
            chance.salt = salt * 100 + (unsigned)i;
            chance.later = 0;
            wrong += phases_told();
            tried++;
        }
    for (unsigned salt = 0; salt < 100; salt++) {
        chance.burst = 6;
        chance.pause = 50;
        chance.later = 2;
        chance.salt = 5000 + salt;
        missed += !phases_told();
    }
    print_message("phases of %zu by chance: %zu; missed of 100: %zu\n", tried, wrong, missed);
    assert_true(wrong * 100 <= tried * 2);
    assert_true(missed <= 5);
}

/* Other shapes and other seeds than those by which the bound was chosen: heavy tails, bursts of
 * levels of their own, above a load that never stops, of three levels, slow noise, single spikes;
 * and changes that are there. */
static struct {
    double v[HALF_H];
    unsigned salt;
    size_t drawn;
} fresh;
static double draw(void) /* 0 to 1 */
{
    return (noise(fresh.drawn++, 70001 + fresh.salt) + 1) / 2;
}
static double fresh_at(size_t i)
{
    return fresh.v[i] < 0 ? 0 : fresh.v[i] > 100 ? 100 : fresh.v[i];
}
/* From one sample to another: stretches of a level each, of so many samples in the mean. */
static void stretches(size_t from, size_t to, const double *level, const double *mean, size_t kinds,
                      double tail)
{
    size_t kind = (size_t)(draw() * (double)kinds) % kinds;
    for (size_t i = from; i < to;) {
        double even = draw() * 0.999, length = 1 + mean[kind] * (1 / (1 - even * tail) - 1) / tail,
               at = level[kind] + 10 * (draw() - 0.5) * (level[kind] > 5);
        for (size_t k = 0; k < (size_t)length && k < 45 && i < to; k++)
            fresh.v[i++] = at + 6 * (draw() - 0.5) * (level[kind] > 5);
        kind = (kind + 1 + (size_t)(draw() * (double)(kinds - 1))) % kinds;
    }
}
static void slow_noise(size_t from, size_t to, double level, double like, double spread)
{
    double off = 0;
    for (size_t i = from; i < to; i++) {
        off = like * off + spread * (draw() + draw() + draw() - 1.5);
        fresh.v[i] = level + off;
    }
}
static void fresh_chance(unsigned kind)
{
    double on = 3 + 15 * draw(), pause = 3 + 15 * draw();
    switch (kind) {
    case 0: stretches(0, HALF_H, (double[]){80, 0}, (double[]){on, pause}, 2, 0.95); break;
    case 1: stretches(0, HALF_H, (double[]){85, 25}, (double[]){on, pause}, 2, 0.6); break;
    case 2: stretches(0, HALF_H, (double[]){0, 40, 90}, (double[]){on, pause, 8}, 3, 0.6); break;
    case 3:
        stretches(0, HALF_H, (double[]){90, 60, 30, 0}, (double[]){on, on, pause, 5}, 4, 0.9);
        break;
    case 4: slow_noise(0, HALF_H, 50, 0.85 + 0.1 * draw(), 6); break;
    default: stretches(0, HALF_H, (double[]){95, 0}, (double[]){1, pause * 3}, 2, 0.5); break;
    }
}
static void fresh_change(unsigned kind)
{
    size_t at = HALF_H / 4 + (size_t)(draw() * HALF_H / 2);
    switch (kind) {
    case 0:
        slow_noise(0, at, 80, 0.3, 6);
        slow_noise(at, HALF_H, 45 + 10 * draw(), 0.3, 6);
        break;
    case 1:
        stretches(0, at, (double[]){85, 0}, (double[]){3, 15}, 2, 0.6);
        stretches(at, HALF_H, (double[]){85, 0}, (double[]){15, 2}, 2, 0.6);
        break;
    case 2:
        slow_noise(0, at, 70, 0.8, 6);
        slow_noise(at, HALF_H, 35, 0.8, 6);
        break;
    default:
        slow_noise(0, HALF_H / 3, 30, 0.5, 5);
        slow_noise(HALF_H / 3, HALF_H * 2 / 3, 80, 0.5, 5);
        slow_noise(HALF_H * 2 / 3, HALF_H, 30, 0.5, 5);
        break;
    }
}
static size_t fresh_told(void)
{
    struct str words = STR_INIT, text = STR_INIT;
    made.salt = fresh.salt;
    read_made(fresh_at, HALF_H, 2000, &words, &text);
    size_t told = strstr(str_text(&words), "phases") != NULL;
    if (getenv("READING_SHOW"))
        print_message("salt %u told %zu: %s", fresh.salt, told, told ? str_text(&text) : "\n");
    str_done(&words);
    str_done(&text);
    return told;
}
static void loads_of_other_shapes_and_seeds(void **state)
{
    size_t wrong[6] = {0}, missed[4] = {0}, wrong_all = 0, missed_all = 0;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        fresh.salt = i;
        fresh.drawn = 0;
        fresh_chance(i % 6);
        wrong[i % 6] += fresh_told();
    }
    for (unsigned i = 0; i < 100; i++) {
        fresh.salt = 10000 + i;
        fresh.drawn = 0;
        fresh_change(i % 4);
        missed[i % 4] += !fresh_told();
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        print_message("phases of 50 by chance, shape %zu: %zu\n", i, wrong[i]);
        wrong_all += wrong[i];
    }
    for (size_t i = 0; i < ARRAY_LEN(missed); i++) {
        print_message("missed of 25 that change, shape %zu: %zu\n", i, missed[i]);
        missed_all += missed[i];
    }
    assert_true(wrong_all * 100 <= 300 * 2);
    assert_true(missed_all <= 5);
}

/* ---- the methods by themselves ---- */

static void changes_are_found_where_they_are_and_nowhere_else(void **state)
{
    double v[600];
    size_t at[8];
    (void)state;
    for (unsigned salt = 0; salt < 200; salt++) {
        for (size_t i = 0; i < 600; i++)
            v[i] = 60 + 10 * noise(i, 100 + salt);
        assert_int_equal(changes_find((const double *const[]){v}, 1, 600, 30, 2, at, 8), 0);
        for (size_t i = 0; i < 600; i++)
            v[i] = (i < 200 ? 60 : i < 450 ? 40 : 75) + 10 * noise(i, 100 + salt);
        assert_int_equal(changes_find((const double *const[]){v}, 1, 600, 30, 2, at, 8), 2);
        assert_in_range(at[0], 195, 205);
        assert_in_range(at[1], 445, 455);
    }
}

static void periods_are_found_and_noise_has_none(void **state)
{
    double v[600], like;
    (void)state;
    for (unsigned salt = 0; salt < 100; salt++) {
        for (size_t i = 0; i < 600; i++)
            v[i] = 60 + 10 * noise(i, 300 + salt);
        assert_int_equal(period_find(v, 600, 4, &like), 0);
        for (size_t i = 0; i < 600; i++)
            v[i] = (i % 47 < 20 ? 60 : 85) + 10 * noise(i, 300 + salt);
        assert_in_range(period_find(v, 600, 4, &like), 46, 48);
        assert_true(like > 0.5);
    }
    assert_int_equal(period_find(v, 5, 4, &like), 0);
}

/* Epochs are no clock: their lengths differ. */
static void dips_that_come_nearly_regularly_are_regular(void **state)
{
    (void)state;
    for (unsigned salt = 0; salt < 50; salt++) {
        struct curve c = {.value = series_value_of(SERIES_GPU_UTIL), .gap_ms = GAP_MS};
        struct dips d;
        size_t next = 60, ends = 0;
        for (size_t i = 0; i < 900; i++) {
            if (i == next) {
                ends = i + 5 + (size_t)(2 + 2 * noise(i, salt));
                next = i + 60 + (size_t)(8 + 8 * noise(i + 1, salt));
            }
            vec_push(&c.at, ((struct moment){BEGAN_MS + (int64_t)i * GAP_MS,
                                             i < ends ? 2 : 80 + 5 * noise(i, salt)}));
        }
        dips_find(&c, 0, INT64_MAX, &d);
        assert_in_range(d.every_ms, 110000, 155000);
        assert_in_range(d.for_ms, 10000, 20000);
        dips_done(&d);
        vec_done(&c.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_profile_says_what_it_must_and_nothing_else),
        cmocka_unit_test(the_guides_case_is_found_whatever_its_numbers),
        cmocka_unit_test(of_what_is_well_nothing_is_said_however_it_shakes),
        cmocka_unit_test(what_comes_and_goes_by_chance_has_no_phases),
        cmocka_unit_test(loads_of_other_shapes_and_seeds),
        cmocka_unit_test(a_long_job_is_read_in_bounds),
        cmocka_unit_test(a_week_that_was_well),
        cmocka_unit_test(more_curves_than_the_bound_are_left_out),
        cmocka_unit_test(changes_are_found_where_they_are_and_nowhere_else),
        cmocka_unit_test(periods_are_found_and_noise_has_none),
        cmocka_unit_test(dips_that_come_nearly_regularly_are_regular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
