/* The moves. Who gives a device to somebody, takes it back, or asks for it to be tried again sets
 * the state itself (agent/devices.c). */
#include "agent/health.h"

enum { HEALTHS_N = HEALTH_GONE + 1, STAYS = HEALTHS_N };

#define U HEALTH_UNKNOWN
#define C HEALTH_CLEAN
#define I HEALTH_IN_USE
#define H HEALTH_HELD
#define B HEALTH_BROKEN
#define G HEALTH_GONE
#define o STAYS

/* A doubt's row says what the first one does; another makes it suspect. A look that finds a device
 * clean has asked whether it is well, too. */
// clang-format off
static const uint8_t moves[HEALTHS_N][DEVICE_SIGNS_N] = {
    /*                    CLEAN SHARED HELD WELL DOUBT BLIND RESET BROKEN LOST ABSENT */
    [HEALTH_UNKNOWN]   = {  C,    I,    H,   o,    o,    o,    B,    B,    G,    G },
    [HEALTH_CLEAN]     = {  o,    I,    H,   o,    o,    U,    B,    B,    G,    G },
    [HEALTH_IN_USE]    = {  C,    o,    H,   o,    o,    o,    B,    B,    G,    G },
    [HEALTH_HELD]      = {  C,    I,    o,   o,    o,    U,    B,    B,    G,    G },
    [HEALTH_SUSPECT]   = {  C,    I,    H,   U,    o,    o,    B,    B,    G,    G },
    [HEALTH_BROKEN]    = {  C,    I,    H,   U,    o,    o,    o,    o,    G,    G },
    [HEALTH_GONE]      = {  C,    I,    H,   U,    o,    o,    B,    B,    o,    o },
};
// clang-format on

#undef U
#undef C
#undef I
#undef H
#undef B
#undef G
#undef o

/* What was lost or found broken stays that, until an operator says otherwise; only the worse of the
 * two is still news. */
static bool is_heard(const struct health *h, enum device_sign sign)
{
    return !health_is_failed(h) || (h->state == HEALTH_BROKEN && sign == DEVICE_LOST);
}

bool health_note(struct health *h, enum device_sign sign)
{
    struct health before = *h;
    if (!is_heard(h, sign))
        return false;
    uint8_t to = moves[h->state][sign];
    bool doubt = sign == DEVICE_DOUBT;
    h->doubts = doubt ? h->doubts + (h->doubts < DOUBTS_MAX) : sign == DEVICE_BLIND ? h->doubts : 0;
    if (to != STAYS)
        h->state = (enum device_health)to;
    if (doubt && h->doubts >= DOUBTS_MAX && !health_is_ill(h))
        h->state = HEALTH_SUSPECT;
    if (sign == DEVICE_RESET || sign == DEVICE_ABSENT)
        h->returns = true;
    else if (sign == DEVICE_BROKEN || sign == DEVICE_LOST || !health_is_ill(h))
        h->returns = false;
    return h->state != before.state || h->returns != before.returns;
}

bool health_is_failed(const struct health *h)
{
    return (h->state == HEALTH_BROKEN || h->state == HEALTH_GONE) && !h->returns;
}

bool health_is_ill(const struct health *h)
{
    return h->state == HEALTH_SUSPECT || h->state == HEALTH_BROKEN || h->state == HEALTH_GONE;
}

const char *health_word(enum device_health state)
{
    static const char *const words[] = {
#define X(name, word, meaning) word,
        DEVICE_HEALTHS(X)
#undef X
    };
    return words[state];
}

const char *device_sign_word(enum device_sign sign)
{
    static const char *const words[] = {
#define X(name, word, meaning) word,
        DEVICE_SIGNS(X)
#undef X
    };
    return words[sign];
}
