/* remuda-yardstick: how fast this machine is just now. Prints "COMPUTING REACHING": milliseconds of
 * CPU time of two fixed pieces of work, the best of several tries: one that only computes, and one
 * that only waits for memory (a walk through 64 MiB in no order).
 *
 * The work never changes: goals of the bench are multiples of it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TRIES         7
#define COMPUTE_STEPS 13000000u
#define PLACES        (1u << 23) /* of 8 bytes */
#define REACH_STEPS   200000u

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Each step needs the one before. */
static uint64_t compute(uint64_t x)
{
    for (uint32_t i = 0; i < COMPUTE_STEPS; i++) {
        x ^= x >> 27;
        x = x * UINT64_C(0x2545f4914f6cdd1d) + i;
        if (x & 1)
            x ^= x << 13;
    }
    return x;
}

static uint64_t *places_make(void)
{
    uint64_t *place = malloc(PLACES * sizeof *place);
    if (!place)
        abort();
    for (uint64_t i = 0, x = 1; i < PLACES; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        place[i] = x >> 32;
    }
    return place;
}

/* Where it looks next, each place says. */
static uint64_t reach(const uint64_t *place, uint64_t at)
{
    for (uint32_t i = 0; i < REACH_STEPS; i++)
        at = (place[at] + i) % PLACES;
    return at;
}

int main(void)
{
    uint64_t *place = places_make(), x = 88172645463325252u, at = 1;
    double best[2] = {1e9, 1e9};
    for (int i = 0; i < TRIES; i++) {
        double began = cpu_ms();
        x = compute(x);
        double between = cpu_ms();
        at = reach(place, at);
        double took[2] = {between - began, cpu_ms() - between};
        for (int k = 0; k < 2; k++)
            if (took[k] < best[k])
                best[k] = took[k];
    }
    free(place);
    printf("%.3f %.3f\n", best[0], best[1]);
    return x + at == 0; /* so that both are needed */
}
