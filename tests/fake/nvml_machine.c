/* What machine the fake of NVML plays, and what its file says that happens to it. */
#include "nvml_fake.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define A100 "NVIDIA A100-SXM4-40GB", 40 * GIB
/* Device files' numbers run against the GPUs' own, as they may on real machines. */
static const struct machine machines[] = {
    {"a100x8",
     8,
     {{A100, 3, {99}},
      {A100, 3, {99}},
      {A100, 3, {99}},
      {A100, 3, {99}},
      {A100, 12, {99}},
      {A100, 12, {99}},
      {A100, 12, {99}},
      {A100, 12, {99}}}},
    {"a100x4",
     4,
     {{A100, 3, {4}}, {A100, 3, {3}}, {A100, 3, {2}}, {A100, 3, {1}}}}, /* 0-3 and 1-2 are linked */
    {"a100x2", 2, {{A100, 3}, {A100, 3}}},
    {"a100mig",
     2,
     {{A100,
       3,
       {0},
       {{"NVIDIA A100-SXM4-40GB MIG 3g.20gb", 20 * GIB, 2, 0},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GIB, 9, 0},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 5 * GIB, 10, 0}}},
      {A100, 3}}},
    {"mixed",
     4,
     {{"Tesla V100-SXM2-16GB", 16 * GIB, 1, {2}},
      {"Tesla V100-SXM2-16GB", 16 * GIB, 1, {1}},
      {"Tesla T4", 15 * GIB, 2},
      {"Tesla T4", 15 * GIB, 2}}},
    {"none", 0, {{0}}},
};

/* ---- the file ---- */

const struct machine *fake_the_machine(void)
{
    const char *path = getenv("REMUDA_FAKE_GPUS");
    char line[256] = "", name[64] = "a100x4";
    FILE *f = path ? fopen(path, "re") : NULL;
    if (f && fgets(line, sizeof line, f))
        sscanf(line, "machine %63s", name);
    if (f)
        fclose(f);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (strcmp(machines[i].name, name) == 0)
            return &machines[i];
    return &machines[1];
}

/* The n-th line about that device with that word: its numbers. */
int fake_fact(const char *word, unsigned gpu, unsigned n, unsigned long long *a,
              unsigned long long *b)
{
    const char *path = getenv("REMUDA_FAKE_GPUS");
    char line[256], first[32];
    unsigned which;
    int found = 0;
    FILE *f = path ? fopen(path, "re") : NULL;
    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long long one = 0, two = 0;
        if (sscanf(line, "%31s %u %llu %llu", first, &which, &one, &two) < 2 ||
            strcmp(first, word) != 0 || which != gpu || n-- != 0)
            continue;
        found = 1;
        *a = one;
        *b = two;
    }
    if (f)
        fclose(f);
    return found;
}

/* ---- handles: number + 1; of instances 100 + number + 1 ------------------------------------- */

unsigned fake_number_of(const void *device)
{
    return (unsigned)((uintptr_t)device - 1);
}
int fake_is_instance(const void *device)
{
    return fake_number_of(device) >= 100;
}
unsigned fake_whole_of(const void *device)
{
    return fake_is_instance(device) ? 0 : fake_number_of(device);
}
const struct instance *fake_instance_of(const void *device)
{
    return &fake_the_machine()->gpu[0].instance[fake_number_of(device) - 100];
}
int fake_lost(const void *device)
{
    unsigned long long a, b;
    return fake_fact("lost", fake_whole_of(device), 0, &a, &b);
}

/* What a line "answer:CALL GPU CODE" wants; OK: nothing. */
int fake_wanted(const char *call, unsigned gpu)
{
    unsigned long long code, b;
    char word[32];
    snprintf(word, sizeof word, "answer:%s", call);
    return fake_fact(word, gpu, 0, &code, &b) ? (int)code : OK;
}

int fake_gone(unsigned gpu)
{
    unsigned long long a, b;
    return fake_fact("gone", gpu, 0, &a, &b);
}

/* What its name ends in. */
unsigned fake_name_of(unsigned gpu)
{
    unsigned long long name, b;
    return fake_fact("named", gpu, 0, &name, &b) ? (unsigned)name : gpu + 1;
}

/* A handle is what starts a GPU. */
void fake_handle_slowly(unsigned gpu)
{
    static unsigned started;
    unsigned long long ms, b;
    if (gpu < 32 && !(started >> gpu & 1) && fake_fact("slow", gpu, 0, &ms, &b))
        usleep((useconds_t)ms * 1000);
    started |= gpu < 32 ? 1u << gpu : 0;
}
