/* Whole workloads in stories: thousands of jobs of which one thing is told, what must hold. */
#ifndef REMUDA_SIM_STORY_STREAM_H
#define REMUDA_SIM_STORY_STREAM_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>

/* "stream KIND[,seed=N…] [crash=TIME[,TIME…]] [as-array] [most=TIME] [WORD=…]": a stream made
 * against an order (sim/report/streams.h), in a world of its own with the nodes and settings of
 * `config`. The controller dies at each of these times and is back after half a minute; as-array:
 * equal jobs that come together are one array; most: what is asked in place of the stream's gate;
 * other words are of SchedulerParameters. What is asked, and whether it holds, is added to `said`;
 * what was measured is printed, as a comment of TAP. False: the line is none, or the world broke,
 * with the reason. */
bool story_stream(const char *config, char *const *word, size_t n, struct str *said,
                  struct err *ret_err);

#endif
