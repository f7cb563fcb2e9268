/* Shapes of curves, by the number of the sample, and loads that have them. */
#ifndef REMUDA_TESTS_READING_LOADS_H
#define REMUDA_TESTS_READING_LOADS_H

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
static inline double guide(size_t i)
{
    return i >= 10 * EPOCH && i % EPOCH >= EPOCH - STANDS ? 3 : 44 + 5 * noise(i, 1);
}
static inline double guide_cpu(size_t i)
{
    return 520 + 20 * noise(i, 2);
}
static inline double zero(size_t i)
{
    return (double)(i * 0);
}
static inline double flat(size_t i)
{
    return 93 + (double)(i * 0);
}
static inline double noisy(size_t i)
{
    return 80 + 18 * noise(i, 3);
}
static inline double wild(size_t i)
{
    return 50 + 50 * noise(i, 4);
}
static inline double dim(size_t i)
{
    return 30 + 3 * noise(i, 5);
}
static inline double full(size_t i)
{
    return 100 + (double)(i * 0);
}
static inline double bursts(size_t i)
{
    return i % 30 == 7 ? 85 : 0;
}
static inline double sm_none(size_t i)
{
    return 0.3 + 0.2 * noise(i, 6);
}
static inline double sm_well(size_t i)
{
    return 60 + 5 * noise(i, 7);
}
static inline double late_hang_util(size_t i)
{
    return i < 600 ? 90 + 5 * noise(i, 8) : 100;
}
static inline double late_hang_sm(size_t i)
{
    return i < 600 ? 55 + 5 * noise(i, 9) : 0.2;
}
static inline double dips_high(size_t i)
{
    return i % 60 >= 52 ? 5 : 92 + 4 * noise(i, 10);
}
static inline double dips_of_one(size_t i)
{
    return i % 50 == 49 ? 2 : 88 + 4 * noise(i, 11);
}
static inline double stalls(size_t i)
{
    static const unsigned at[] = {60, 95, 220, 400, 430, 700};
    for (size_t k = 0; k < ARRAY_LEN(at); k++)
        if (i >= at[k] && i < at[k] + 20 + 5 * (k % 3))
            return 0;
    return 85 + 6 * noise(i, 12);
}
static inline double ends_early(size_t i)
{
    return i < 400 ? 90 + 4 * noise(i, 13) : 0;
}
static inline double starts_late(size_t i)
{
    return i < 400 ? 0 : 90 + 4 * noise(i, 14);
}
static inline double two_levels(size_t i)
{
    return (i < 450 ? 88 : 60) + 4 * noise(i, 15);
}
static inline double swings(size_t i)
{
    return (i % 100 < 50 ? 92 : 62) + 3 * noise(i, 16);
}
static inline double slower(size_t i)
{
    return 45 + 5 * noise(i, 17);
}
static inline double one_cpu(size_t i)
{
    return 98 + 2 * noise(i, 18);
}
static inline double two_cpus(size_t i)
{
    return 190 + 9 * noise(i, 19);
}
static inline double six_cpus(size_t i)
{
    return 590 + 9 * noise(i, 20);
}
static inline double spike_cpu(size_t i)
{
    return i == 3 ? 800 : 100;
}
static inline double third_cpu(size_t i)
{
    return 32 + 2 * noise(i, 21);
}
static inline double rss_flat(size_t i)
{
    return 4000 + 20 * noise(i, 22);
}
static inline double rss_leaks(size_t i)
{
    return 2000 + 2.0 * (double)i + 60 * noise(i, 23);
}
static inline double rss_loads(size_t i)
{
    return i < 150 ? 100 + 30.0 * (double)i : 4600 + 10 * noise(i, 24);
}
static inline double rss_levels(size_t i) /* up, ever slower */
{
    return 8000 - 6000.0 * 120 / (120 + (double)i);
}
static inline double rss_step(size_t i)
{
    return i < 500 ? 2000 : 6000;
}
static inline double rss_full(size_t i)
{
    return 7900 + 50 * noise(i, 25);
}
static inline double rss_saws(size_t i) /* freed each time */
{
    return 2000 + 10.0 * (double)(i % 90);
}
static inline double pressed(size_t i)
{
    return 60 + 5 * noise(i, 26);
}
static inline double read_some(size_t i)
{
    return 9000 + 100 * noise(i, 27);
}
static inline double wrote_in_dips(size_t i)
{
    return i % 60 >= 52 ? 900000 : 200;
}
static inline double heat(size_t i)
{
    return i % 3 ? 0x20 : 0;
}
static inline double heat_clock(size_t i)
{
    return i % 3 ? 1100 : 1410;
}
static inline double hot(size_t i)
{
    return 88 + 2 * noise(i, 28);
}
static inline double power_cap(size_t i)
{
    return 4 + (double)(i * 0);
}
static inline double good_clock(size_t i)
{
    return 1900 + 20 * noise(i, 29);
}
static inline double power_cap_some(size_t i)
{
    return i % 2 ? 4 : 0;
}
static inline double power_clock(size_t i)
{
    return i % 2 ? 1300 : 1900;
}
static inline double ecc(size_t i)
{
    return i < 700 ? 2 : 5;
}
static inline double seven_hundred_w(size_t i)
{
    return 700 + (double)(i * 0);
}

static inline double first_half_idle(size_t i)
{
    return i < 450 ? 0 : 90 + 4 * noise(i, 30);
}
static inline double second_half_idle(size_t i)
{
    return i < 450 ? 90 + 4 * noise(i, 31) : 0;
}
static inline double rss_saws_slowly(size_t i) /* three times in the job */
{
    return 2000 + 10.0 * (double)(i % 300);
}
static inline double checkpoints(size_t i) /* 30 s every 10 min */
{
    return i % 300 >= 285 ? 4 : 90 + 4 * noise(i, 32);
}
static inline double written_then(size_t i)
{
    return i % 300 >= 285 ? 2000000 : 300;
}
static inline double evaluates(size_t i) /* 4 min of training, 1 min of evaluation */
{
    return (i % 150 < 120 ? 94 : 55) + 3 * noise(i, 33);
}
static inline double rss_runs_out(size_t i) /* faster and faster */
{
    return 1000 + 0.0086 * (double)i * (double)i;
}
static inline double rss_sudden(size_t i)
{
    return 900 + 10 * noise(i, 34);
}
static inline double notebook(size_t i) /* a minute of work, then a coffee */
{
    return i < 30 || (i > 500 && i < 530) ? 70 + 5 * noise(i, 35) : 0;
}
static inline double ends_with_a_minute(size_t i)
{
    return i < 870 ? 90 + 4 * noise(i, 36) : 0;
}
static inline double takes_turns(size_t i)
{
    return i / 15 % 2 ? 90 + 4 * noise(i, 37) : 1;
}
static inline double takes_other_turns(size_t i)
{
    return i / 15 % 2 ? 1 : 90 + 4 * noise(i, 38);
}
static inline double gpu_mem_caches(size_t i) /* an allocator that keeps what it once had */
{
    return i < 90 ? 2000 + 400.0 * (double)(i / 10) : 5600;
}
static inline double warms_up(size_t i)
{
    return i < 60 ? 0 : 90 + 4 * noise(i, 39);
}

/* ---- as real trainings look ---- */

static inline double llm(size_t i) /* a checkpoint of 90 s every half hour */
{
    return i % 900 >= 855 ? 6 + 3 * noise(i, 60) : 98 + 1.5 * noise(i, 61);
}
static inline double llm_sm(size_t i)
{
    return i % 900 >= 855 ? 2 : 71 + 3 * noise(i, 62);
}
static inline double llm_writes(size_t i)
{
    return i % 900 >= 855 ? 1400000 : 90;
}
static inline double llm_cpu(size_t i)
{
    return 880 + 40 * noise(i, 63);
}
static inline double serves(size_t i) /* whenever somebody asks */
{
    return noise(i / 12, 64) > 0.3 ? 70 + 25 * noise(i, 65) : 0;
}
static inline double serves_cpu(size_t i)
{
    return noise(i / 12, 64) > 0.3 ? 120 + 10 * noise(i, 66) : 3;
}
static inline double loader_bound(size_t i) /* each third batch is waited for */
{
    return i % 3 == 2 ? 12 + 8 * noise(i, 67) : 88 + 9 * noise(i, 68);
}
static inline double eight_cpus(size_t i)
{
    return 788 + 9 * noise(i, 69);
}
static inline double straggles_util(size_t i) /* who waits in a collective is busy, too */
{
    return 99 + noise(i, 70);
}
static inline double waits_sm(size_t i)
{
    return 44 + 3 * noise(i, 71);
}
static inline double straggles_sm(size_t i)
{
    return 79 + 3 * noise(i, 72);
}
static inline double simulates_then_learns(size_t i) /* 40 s on CPUs, 20 s on the GPU */
{
    return i % 30 < 20 ? 4 + 2 * noise(i, 73) : 93 + 4 * noise(i, 74);
}
static inline double simulates_cpu(size_t i)
{
    return i % 30 < 20 ? 1570 + 20 * noise(i, 75) : 130 + 9 * noise(i, 76);
}
static inline double tokenizes_first(size_t i) /* 12 min */
{
    return i < 360 ? 0 : 95 + 3 * noise(i, 77);
}
static inline double tokenizes_cpu(size_t i)
{
    return i < 360 ? 1560 + 20 * noise(i, 78) : 210 + 20 * noise(i, 79);
}
static inline double slice(size_t i)
{
    return 83 + 6 * noise(i, 80);
}
static inline double hot_after_a_while(size_t i)
{
    return i > 300 ? 0x20 : 0;
}
static inline double slowed_clock(size_t i)
{
    return i > 300 ? 1230 + 15 * noise(i, 81) : 1755;
}
static inline double warmer(size_t i)
{
    return i > 300 ? 89 + noise(i, 82) : 71 + noise(i, 83);
}

static inline double day_of_requests(
    size_t i) /* a day: nobody asks at night, from 22 to 6 o'clock */
{
    size_t hour = (i / 1800 + 22) % 24;
    double often = hour >= 22 || hour < 6 ? 0.98 : 0.2;
    return noise(i / 9, 90) > often ? 64 + 20 * noise(i, 91) : 0;
}
static inline double evaluation_bursts(
    size_t i) /* five of 40 s at any times, fuller than the training */
{
    static const unsigned at[] = {110, 205, 390, 610, 640};
    for (size_t k = 0; k < ARRAY_LEN(at); k++)
        if (i >= at[k] && i < at[k] + 20)
            return 97 + noise(i, 92);
    return 72 + 4 * noise(i, 93);
}
static inline double checkpoint_stalls(size_t i) /* each of them longer, as the disk fills */
{
    size_t at = i % 180;
    return at >= 120 && at < 126 + i / 180 * 6 ? 1 : 94 + 3 * noise(i, 94);
}
static inline double straggler(size_t i)
{
    return 97 + 2 * noise(i, 95);
}
static inline double waits_for_it(size_t i)
{
    return 64 + 6 * noise(i, 96);
}
static inline double rss_to_plateau(size_t i) /* a cache that fills for two thirds of the time */
{
    return (i < 600 ? 3000 + 30.0 * (double)i : 21000) + 15 * noise(i, 97);
}
static inline double gpu_mem_to_plateau(size_t i) /* of an inference server: fills with requests */
{
    return i < 500 ? 18000 + 100.0 * (double)(i / 4) : 30500;
}
static inline double slow_node(size_t i)
{
    return 51 + 5 * noise(i, 98);
}
static inline double loads_and_trains(size_t i) /* of 30 s: 8 s of imports */
{
    return i < 8 ? 0 : 88 + 6 * noise(i, 99);
}
static inline double saw_of_loader(size_t i) /* a queue that runs dry: full for 12 s, half for 4 */
{
    return i % 8 < 6 ? 93 + 4 * noise(i, 100) : 41 + 9 * noise(i, 101);
}
static inline double batch_with_tail(size_t i) /* requests all at once: the longest are done last */
{
    return i < 780 ? 97 + 2 * noise(i, 102) : 97 * (900 - (double)i) / 120;
}
static inline double sequences_of_any_length(size_t i) /* each batch as long as it is */
{
    return 74 + 20 * noise(i / 3, 103) + 4 * noise(i, 104);
}
static inline double curriculum(size_t i)
{
    return (i < 300 ? 41 : i < 620 ? 63 : 92) + 4 * noise(i, 105);
}
static inline double week_of_training(size_t i) /* a checkpoint of two minutes each three hours */
{
    return i % 5400 >= 5340 ? 4 : 96 + 2 * noise(i, 106);
}
static inline double rss_of_a_week(size_t i) /* up by 3 GiB a day, as a list that is kept */
{
    return 9000 + 0.0711 * (double)i + 40 * noise(i, 107);
}

#endif
