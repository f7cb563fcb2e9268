/* Where a signal changes for good, and how long it takes to come again. */
#ifndef REMUDA_READING_CHANGES_H
#define REMUDA_READING_CHANGES_H

#include <stddef.h>

#define CHANGES_N 1000u /* samples of a signal at most: the work grows with their square */

/* The places at which the mean or the spread of the signals changes: of n samples each of
 * `channels` signals, in units of which a spread below `still` is none. No stretch is shorter than
 * `least`. Returns how many there are, at most `max`, in order, none of them 0 or n. */
size_t changes_find(const double *const *signal, size_t channels, size_t n, size_t least,
                    double still, size_t *ret_at, size_t max);

/* How much a change of the mean weighs at `border` of n samples: the square of how many standard
 * errors it is, if what is before it and what is after it were one load that changes by chance.
 * Samples that are like those before them count for fewer. `still`: as above. */
double change_weight(const double *signal, size_t n, size_t border, double still);

/* After how many samples the signal is most like itself (at least `least`, at most n / 4), and how
 * much: 1 = the same. 0 = it does not come again. */
size_t period_find(const double *signal, size_t n, size_t least, double *ret_like);

#endif
