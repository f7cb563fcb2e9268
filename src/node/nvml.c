#include "node/nvml.h"

#include "base/str.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first of the symbols that the library has. */
static bool symbol(const struct nvml *n, const char *names, void *to)
{
    struct span rest = span_of(names), name;
    void *found = NULL;
    while (!found && span_next(&rest, ' ', &name)) {
        char text[96];
        snprintf(text, sizeof text, "%.*s", (int)name.len, name.data);
        found = dlsym(n->library, text);
    }
    memcpy(to, &found, sizeof found);
    return found != NULL;
}

enum nvml_opened nvml_open(struct nvml *n)
{
    const char *path = getenv("REMUDA_NVML");
    bool ok = true;
    memset(n, 0, sizeof *n);
    n->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return NVML_ABSENT;
#define X(member, must, symbols, parameters) ok &= symbol(n, symbols, &n->member) || !(must);
    NVML_FUNCTIONS(X)
#undef X
    if (!ok)
        return NVML_UNFIT;
    return n->init() == NVML_OK ? NVML_OPENED : NVML_NO_DRIVER;
}

void nvml_close(struct nvml *n)
{
    if (n->library && n->shutdown)
        n->shutdown();
}
