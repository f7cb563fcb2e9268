#include "model/job/stopped.h"

#include "base/str.h"
#include "model/state.h"

bool job_is_stopped(const struct job *j)
{
    return j->state == JOB_RUNNING && j->stopped_us;
}

const char *job_state_shown(const struct job *j)
{
    return job_is_stopped(j) ? STATE_STOPPED : enum_name(&job_state_names, j->state);
}

const char *job_state_shown_short(const struct job *j)
{
    return job_is_stopped(j) ? "ST" : job_state_short(j->state);
}

bool state_word_is_stopped(const char *word)
{
    return text_is_nocase(word, STATE_STOPPED) || text_is_nocase(word, "ST");
}
