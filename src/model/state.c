#include "model/state.h"

#include "base/alloc.h"
#include "base/str.h"

#define NAME(state, name, shorter, over) [JOB_##state] = name,
static const char *const state_names[] = {JOB_STATES(NAME)};
#undef NAME
const struct enum_names job_state_names = {state_names, ARRAY_LEN(state_names)};

#define SHORTER(state, name, shorter, over) [JOB_##state] = shorter,
static const char *const state_short_names[] = {JOB_STATES(SHORTER)};
#undef SHORTER

#define OVER(state, name, shorter, over) [JOB_##state] = over,
static const bool state_over[] = {JOB_STATES(OVER)};
#undef OVER

#define TO(state) (1u << JOB_##state)
/* How a job that holds nothing any more may have ended. */
#define ENDINGS                                                                                    \
    (TO(COMPLETED) | TO(CANCELLED) | TO(FAILED) | TO(TIMEOUT) | TO(NODE_FAIL) | TO(PREEMPTED) |    \
     TO(BOOT_FAIL) | TO(DEADLINE) | TO(OUT_OF_MEMORY))

/* From PENDING a job may end without having run (cancelled, deadline passed, dependency that can
 * never be satisfied, launch refused for good). A run ends at once when nothing of it is left, else
 * through COMPLETING; a run that is to be repeated goes through REQUEUED while it is cleaned. Ended
 * jobs may be requeued by hand (scontrol requeue). */
static const unsigned moves[JOB_STATE_COUNT] = {
    [JOB_PENDING] = TO(RUNNING) | TO(CANCELLED) | TO(FAILED) | TO(DEADLINE) | TO(SPECIAL_EXIT),
    [JOB_RUNNING] =
        TO(SUSPENDED) | TO(COMPLETING) | TO(REQUEUED) | TO(PENDING) | TO(SPECIAL_EXIT) | ENDINGS,
    [JOB_SUSPENDED] =
        TO(RUNNING) | TO(COMPLETING) | TO(REQUEUED) | TO(PENDING) | TO(SPECIAL_EXIT) | ENDINGS,
    [JOB_COMPLETING] = TO(REQUEUED) | TO(PENDING) | TO(SPECIAL_EXIT) | ENDINGS,
    [JOB_REQUEUED] = TO(PENDING) | TO(SPECIAL_EXIT) | TO(CANCELLED) | TO(COMPLETING),
    [JOB_SPECIAL_EXIT] = TO(PENDING) | TO(CANCELLED) | TO(DEADLINE),
    [JOB_COMPLETED] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_CANCELLED] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_FAILED] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_TIMEOUT] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_NODE_FAIL] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_PREEMPTED] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_BOOT_FAIL] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_DEADLINE] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_OUT_OF_MEMORY] = TO(PENDING) | TO(SPECIAL_EXIT),
    [JOB_RESIZING] = 0,
};

const char *job_state_short(enum job_state s)
{
    return (unsigned)s < JOB_STATE_COUNT ? state_short_names[s] : "?";
}

bool job_state_over(enum job_state s)
{
    return (unsigned)s < JOB_STATE_COUNT && state_over[s];
}

bool job_state_allowed(enum job_state from, enum job_state to)
{
    return (unsigned)from < JOB_STATE_COUNT && (unsigned)to < JOB_STATE_COUNT &&
           (moves[from] & 1u << to);
}

bool job_state_parse(const char *text, int32_t *ret)
{
    /* Slurm's states that none of our jobs is ever in. */
    static const char *const foreign[] = {
        "CONFIGURING",   "CF", "REVOKED",       "RV",       "SIGNALING",     "SI",
        "STAGE_OUT",     "SO", "STOPPED",       "ST",       "REQUEUE_FED",   "RF",
        "REQUEUE_HOLD",  "RH", "RESV_DEL_HOLD", "RD",       "POWER_UP_NODE", "PU",
        "LAUNCH_FAILED", "LF", "RECONFIG_FAIL", "UPDATE_DB"};
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (text_is_nocase(text, state_names[i]) || text_is_nocase(text, state_short_names[i])) {
            *ret = i;
            return true;
        }
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        if (text_is_nocase(text, foreign[i])) {
            *ret = -1;
            return true;
        }
    return false;
}

#define WORD(code, word, sentence) [REASON_##code] = word,
static const char *const reason_words[] = {JOB_REASONS(WORD)};
#undef WORD
const struct enum_names job_reason_names = {reason_words, ARRAY_LEN(reason_words)};

#define SENTENCE(code, word, sentence) [REASON_##code] = sentence,
static const char *const reason_sentences[] = {JOB_REASONS(SENTENCE)};
#undef SENTENCE

const char *job_reason_sentence(enum job_reason r)
{
    return (unsigned)r < REASON_COUNT ? reason_sentences[r] : "";
}
