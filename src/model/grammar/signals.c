#include "model/grammar/signals.h"

#include "base/alloc.h"
#include "base/str.h"

/* By number on Linux (signal(7), x86 and most others), given here so that simulators need no
 * headers. */
static const char *const names[] = {
    [1] = "HUP",   [2] = "INT",     [3] = "QUIT",  [4] = "ILL",     [5] = "TRAP",  [6] = "ABRT",
    [7] = "BUS",   [8] = "FPE",     [9] = "KILL",  [10] = "USR1",   [11] = "SEGV", [12] = "USR2",
    [13] = "PIPE", [14] = "ALRM",   [15] = "TERM", [16] = "STKFLT", [17] = "CHLD", [18] = "CONT",
    [19] = "STOP", [20] = "TSTP",   [21] = "TTIN", [22] = "TTOU",   [23] = "URG",  [24] = "XCPU",
    [25] = "XFSZ", [26] = "VTALRM", [27] = "PROF", [28] = "WINCH",  [29] = "IO",   [30] = "PWR",
    [31] = "SYS",
};
#define SIGNAL_MAX 64 /* real-time signals have numbers only */

bool signal_parse(const char *text, int *ret)
{
    int64_t number;
    if (text_to_i64(text, 1, SIGNAL_MAX, &number)) {
        *ret = (int)number;
        return true;
    }
    if (text_empty(text))
        return false;
    if (text_starts_nocase(text, "SIG"))
        text += 3;
    for (size_t i = 1; i < ARRAY_LEN(names); i++)
        if (text_is_nocase(text, names[i])) {
            *ret = (int)i;
            return true;
        }
    return false;
}

const char *signal_name(int signo)
{
    return signo > 0 && (size_t)signo < ARRAY_LEN(names) ? names[signo] : NULL;
}

/* 16 bits that no other value has, 4 of the word, 44 of the job's number. */
#define WORD_MAGIC UINT64_C(0xa11d)
#define WORD_SHIFT 44
#define JOB_MASK   ((UINT64_C(1) << WORD_SHIFT) - 1)

uint64_t signal_word_pack(enum signal_word word, uint64_t job_id)
{
    ASSERT(word <= SIGNAL_ENDS);
    return WORD_MAGIC << 48 | (uint64_t)word << WORD_SHIFT | (job_id & JOB_MASK);
}

enum signal_word signal_word_read(uint64_t value, uint64_t *ret_job_id)
{
    uint64_t word = value >> WORD_SHIFT & 0xf;
    bool ours = value >> 48 == WORD_MAGIC && word <= SIGNAL_ENDS;
    *ret_job_id = ours ? value & JOB_MASK : 0;
    return ours ? (enum signal_word)word : SIGNAL_PLAIN;
}
