/* What the makers' libraries answer, and what each answer means for the device that was asked
 * about: one row a code. A code that is in no row casts doubt. */
#ifndef REMUDA_NODE_HARDWARE_GPU_CODE_H
#define REMUDA_NODE_HARDWARE_GPU_CODE_H

#include "agent/health.h"
#include "base/str.h"

/* The answer says nothing about the device: it does not tell this. */
#define SIGN_NONE (-1)
/* The question was wrong, or its handle is of something that is not there any more: where the
 * answer is needed, a doubt. */
#define SIGN_WRONG (-2)

struct gpu_code {
    int code;
    const char *name; /* as its maker writes it */
    int sign;         /* enum device_sign, SIGN_NONE or SIGN_WRONG */
    /* It is about the library or its driver, not about one device: the library is opened anew. */
    bool of_library;
    const char *text; /* for people: what it means, and what helps */
};

const struct gpu_code *nvml_code(int code); /* never NULL */
/* Row by row; NULL after the last. */
const struct gpu_code *nvml_code_row(size_t i);
/* "NVML_ERROR_DRIVER_NOT_LOADED (9): the NVIDIA driver is not loaded; …", appended. */
void gpu_code_say(const struct gpu_code *c, int code, struct str *out);

#endif
