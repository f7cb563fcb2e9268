/* The clocks. Only the shells read them; the pure machines are told. */
#ifndef REMUDA_IO_CLOCK_H
#define REMUDA_IO_CLOCK_H

#include <stdint.h>

int64_t clock_now_us(void);       /* wall clock: µs since 1970 UTC */
int64_t clock_monotonic_us(void); /* never goes back; for how long something took */
/* Both as they were at one moment, to within a millisecond: who compares their difference with an
 * earlier one must not take a machine that stood still between two readings for a clock that was
 * set. */
void clock_both(int64_t *ret_now_us, int64_t *ret_monotonic_us);
/* Processor time of this thread: what something cost, however busy the machine is. */
int64_t clock_thread_ns(void);

#endif
