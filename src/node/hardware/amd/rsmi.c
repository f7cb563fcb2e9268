#include "node/hardware/amd/rsmi.h"
#include "node/hardware/amd/answer.h"
#include "node/hardware/gpu_sentences.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* AMD's packages put it below /opt/rocm, where no linker looks, with the number of their release; a
 * distribution's has 1. */
static const char *const names[] = {"librocm_smi64.so.7", "librocm_smi64.so.6",
                                    "librocm_smi64.so.5", "librocm_smi64.so.1", "librocm_smi64.so"};
#define NAMES (sizeof names / sizeof names[0])

static bool symbol(const struct rsmi *r, const char *name, void *to)
{
    void *found = dlsym(r->library, name);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

static bool library_open(struct rsmi *r, const char *dir, const char *name)
{
    snprintf(r->path, sizeof r->path, "%s%s%s", dir ? dir : "", dir ? "/lib/" : "", name);
    r->library = dlopen(r->path, RTLD_NOW | RTLD_LOCAL);
    return r->library != NULL;
}

static bool library_find(struct rsmi *r, struct str *why)
{
    const char *path = getenv("REMUDA_RSMI"), *rocm = getenv("ROCM_PATH");
    const char *const dirs[] = {rocm ? rocm : "/opt/rocm", rocm ? "/opt/rocm" : NULL, NULL};
    if (path && library_open(r, NULL, path))
        return true;
    if (path) {
        struct str where = STR_INIT;
        str_addf(&where, "%s, as REMUDA_RSMI says", path);
        str_addf(why, SAY_AMD_NO_LIBRARY, str_text(&where));
        str_done(&where);
        return false;
    }
    for (size_t d = 0; d < 3; d++)
        for (size_t i = 0; i < NAMES && (dirs[d] || d == 2); i++)
            if (library_open(r, dirs[d], names[i]))
                return true;
    struct str where = STR_INIT;
    str_addf(&where,
             "librocm_smi64.so.7, .6, .5 or .1, in %s%s/opt/rocm/lib and where the "
             "linker looks",
             rocm ? rocm : "", rocm ? "/lib, " : "");
    str_addf(why, SAY_AMD_NO_LIBRARY, str_text(&where));
    str_done(&where);
    return false;
}

bool rsmi_open(struct rsmi *r, struct str *why)
{
    const char *lacks = NULL, *word = NULL;
    memset(r, 0, sizeof *r);
    if (!library_find(r, why))
        return false;
#define X(member, must, name, parameters)                                                          \
    if (!symbol(r, name, &r->member) && (must) && !lacks)                                          \
        lacks = name;
    RSMI_FUNCTIONS(X)
#undef X
    if (lacks) {
        str_addf(why, SAY_AMD_LACKS, r->path, lacks);
        return false;
    }
    int code = r->init(0);
    if (code == 0)
        return true;
    amd_answer_of_rsmi(code, &word);
    str_addf(why, SAY_AMD_NOT_STARTED, r->path, code, word);
    r->shut_down = NULL;
    return false;
}

void rsmi_close(struct rsmi *r)
{
    if (r->library && r->shut_down)
        r->shut_down();
}
