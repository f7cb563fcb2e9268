#include "node/rsmi.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool symbol(const struct rsmi *r, const char *name, void *to)
{
    void *found = dlsym(r->library, name);
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

bool rsmi_open(struct rsmi *r, bool *ret_unfit)
{
    const char *path = getenv("REMUDA_RSMI");
    bool ok = true;
    memset(r, 0, sizeof *r);
    *ret_unfit = false;
    if (!path &&
        access("/dev/kfd", F_OK) != 0) /* no driver: the library would only complain, on standard error */
        return false;
    r->library = dlopen(path ? path : "librocm_smi64.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!r->library && !path)
        r->library = dlopen("librocm_smi64.so", RTLD_NOW | RTLD_LOCAL);
    if (!r->library)
        return false;
#define X(member, must, name, parameters) ok &= symbol(r, name, &r->member) || !(must);
    RSMI_FUNCTIONS(X)
#undef X
    *ret_unfit = !ok;
    return ok && r->init(0) == 0;
}

void rsmi_close(struct rsmi *r)
{
    if (r->library && r->shut_down)
        r->shut_down();
}

bool rsmi_uuid(const struct rsmi *r, uint32_t device, char *to)
{
    uint64_t id = 0;
    if (r->unique_id(device, &id) != 0 || !id)
        return false;
    snprintf(to, 32, "GPU-%016" PRIx64, id);
    return true;
}
