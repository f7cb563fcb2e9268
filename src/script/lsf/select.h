/* The expression of select[] of LSF, asked about one host after the other. */
#ifndef REMUDA_SCRIPT_LSF_SELECT_H
#define REMUDA_SCRIPT_LSF_SELECT_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What a host has; features NULL = none. */
struct lsf_host_facts {
    const char *name, *features; /* "gpu32gb,XeonGold6226R" */
    int64_t mem_mib, tmp_mib;    /* 0 = not known */
    int32_t cpus, gpus;
};

/* Is the text an expression? `kib`: the unit of sizes without one, in KiB. ERR_VALUE names what is
 * none. */
bool lsf_select_check(struct span text, int64_t kib, struct err *ret_err);
/* Of an expression that was checked. Load (r1m, ut …) holds of every host, as it changes. */
bool lsf_select_holds(struct span text, int64_t kib, const struct lsf_host_facts *host);
/* The text of -R, or of `bhosts -R`: what stands in its select sections, and before the first
 * section, each in parentheses with && between; "" = nothing. False: a bracket is not closed. */
bool lsf_select_part(struct span text, struct str *out);

#endif
