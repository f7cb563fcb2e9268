/* Limits by time of day (TimeWindows= of a partition), which are in force only then:
 *   windows = window { ";" window }
 *   window  = days HH:MM-HH:MM limit { limit }       to before from: until then on the next day
 *   days    = "daily" | "weekdays" | "weekend" | day [ "-" day ] { "," day [ "-" day ] }     day =
 *           mon, tue, … sun
 *   limit   = max_nodes=N | max_time=TIME | max_jobs_per_user=N
 * "weekdays 08:00-18:00 max_jobs_per_user=2 max_time=4:00:00; weekend 00:00-24:00 max_nodes=16" */
#ifndef REMUDA_MODEL_TIME_WINDOWS_H
#define REMUDA_MODEL_TIME_WINDOWS_H

#include "base/arena.h"
#include "base/calendar/zone.h"
#include "base/err.h"

struct time_window {
    uint32_t days;                        /* bit 0 = Sunday: days on which it opens */
    int32_t from_min, to_min;             /* minutes of the day; to ≤ from: of the next day */
    int32_t max_nodes, max_jobs_per_user; /* 0 = no limit */
    int64_t max_time_us;                  /* of jobs that start in it */
};
struct time_windows {
    struct time_window *v; /* in the arena, in the order of the text */
    size_t n;
};

/* The hours of a limit, as a window without limits: "weekdays 08:00-18:00". */
bool time_hours_parse(const char *text, struct arena *a, struct time_windows *ret,
                      struct err *ret_err);
/* "mon-fri:8-18" to the same in the form that is stored, "mon-fri 08:00-18:00", in the arena. */
const char *time_hours_of(const char *text, struct arena *a, struct err *ret_err);
/* Is one of them open then? */
bool time_windows_open(const struct time_windows *w, int64_t at_us, const struct zone *z);
/* ERR_INVALID says what is wrong and what is allowed. */
bool time_windows_parse(const char *text, struct arena *a, struct time_windows *ret,
                        struct err *ret_err);
/* The least of each limit of the windows that are open then; zeros where there is none. */
void time_windows_at(const struct time_windows *w, int64_t at_us, const struct zone *z,
                     struct time_window *ret);
/* When one of them opens or closes next after that; INT64_MAX = never. */
int64_t time_windows_next(const struct time_windows *w, int64_t at_us, const struct zone *z);

#endif
