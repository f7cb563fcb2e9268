/* Energy of the machine's processors, by their own counters (RAPL), and their clocks. */
#ifndef REMUDA_NODE_STEP_CPU_ENERGY_H
#define REMUDA_NODE_STEP_CPU_ENERGY_H

#include <stdint.h>

struct cpu_energy; /* opaque */

/* NULL: there are no counters, or this user may not read them. */
struct cpu_energy *cpu_energy_new(void);
void cpu_energy_free(struct cpu_energy *e); /* NULL is fine */
/* Millijoules since the last time; 0 the first time. */
int64_t cpu_energy_read(struct cpu_energy *e);

/* CPU time of everybody since the machine started; -1 = that cannot be read. */
int64_t cpu_busy_us(void);
/* The clock of a CPU now; 0 = that is not told. */
int64_t cpu_clock_khz(uint32_t cpu);
/* That of the machine's first CPU, as the machine names it where the clock is not told. */
int64_t cpu_made_for_khz(void);

#endif
