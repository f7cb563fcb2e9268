/* Floating point is allowed here: these orders are never what the daemon decides by. Keys are
 * computed exactly as the references do, in doubles, so that ties fall the same way; a double is
 * then read as a whole number of the same order. */
#include "sim/replay/refs.h"

#include "base/alloc.h"
#include "base/str.h"

#include <math.h>
#include <string.h>

const struct ref_policy ref_policies[] = {
    {"fcfs", REF_ARRIVAL, REF_ARRIVAL, REF_NONE, NULL, "in order of arrival, none passes"},
    {"fifo", REF_ARRIVAL, REF_ARRIVAL, REF_NONE, NULL, "the same"},
    {"easy", REF_ARRIVAL, REF_ARRIVAL, REF_EASY, NULL,
     "arrival; what cannot delay the first may pass"},
    {"sjbf", REF_ARRIVAL, REF_SJF, REF_EASY, NULL, "arrival; the shortest pass first"},
    {"sjf", REF_SJF, REF_SJF, REF_EASY, NULL, "shortest estimate first"},
    {"saf", REF_SAF, REF_SAF, REF_EASY, NULL, "smallest area first"},
    {"wfp3", REF_WFP3, REF_WFP3, REF_EASY, NULL, "largest width x (wait / estimate)^3 first"},
    {"f1", REF_F1, REF_F1, REF_EASY, NULL, "F1 of Carastan-Santos and de Camargo"},
    {"cons", REF_ARRIVAL, REF_ARRIVAL, REF_CONSERVATIVE, NULL,
     "every job has a place; compressed at each end"},
    {"default", REF_DAEMON, REF_DAEMON, REF_EASY, "", "the daemon without any setting"},
    {"ageing", REF_DAEMON, REF_DAEMON, REF_EASY, "order=ageing", "the daemon's default by name"},
    {"wfp", REF_DAEMON, REF_DAEMON, REF_EASY, "order=wfp", "WFP3 in fixed point"},
    {"priority", REF_DAEMON, REF_DAEMON, REF_EASY, "order=priority",
     "the daemon's multifactor priority"},
};
const size_t ref_policy_count = ARRAY_LEN(ref_policies);

static const char *const order_names[] = {
    [REF_ARRIVAL] = "arrival", [REF_SJF] = "sjf", [REF_SAF] = "saf",
    [REF_WFP3] = "wfp3",       [REF_F1] = "f1",   [REF_DAEMON] = "daemon"};

const struct ref_policy *ref_policy_named(const char *name)
{
    for (size_t i = 0; i < ref_policy_count; i++)
        if (text_is(name, ref_policies[i].name))
            return &ref_policies[i];
    return NULL;
}

bool ref_order_named(const char *name, enum ref_order *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(order_names); i++)
        if (text_is(name, order_names[i])) {
            *ret = (enum ref_order)i;
            return true;
        }
    return false;
}

const char *ref_order_name(enum ref_order order)
{
    ASSERT((size_t)order < ARRAY_LEN(order_names));
    return order_names[order];
}

/* Smaller doubles become larger whole numbers. */
static int64_t key_of(double smaller_first)
{
    int64_t bits;
    memcpy(&bits, &smaller_first, sizeof bits);
    return ~(bits ^ (bits >> 63 & INT64_MAX));
}

static double f1(double estimate, double procs, int64_t submit)
{
    return log10(estimate) * procs + 870 * log10(submit > 0 ? (double)submit : 0.1);
}

int64_t ref_key(enum ref_order order, int64_t estimate, int64_t procs, int64_t submit, int64_t now)
{
    switch (order) {
    case REF_ARRIVAL:
    case REF_DAEMON: break;
    case REF_SJF: return -(estimate << 24 | procs);
    case REF_SAF: return -(estimate * procs);
    case REF_WFP3:
        return key_of(-pow((double)(now - submit) / (double)estimate, 3) * (double)procs);
    case REF_F1: return key_of(f1((double)estimate, (double)procs, submit));
    }
    return 0;
}
