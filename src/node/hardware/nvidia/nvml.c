#include "node/hardware/nvidia/nvml.h"

#include "base/str.h"
#include "node/hardware/gpu_code.h"
#include "node/hardware/gpu_sentences.h"

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

enum nvml_opened nvml_open(struct nvml *n, struct str *why)
{
    const char *path = getenv("REMUDA_NVML");
    const char *missing = NULL;
    struct str unused = STR_INIT;
    why = why ? why : &unused;
    memset(n, 0, sizeof *n);
    n->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        str_addf(why, SAY_NVML_NO_LIBRARY, dlerror());
        str_done(&unused);
        return NVML_ABSENT;
    }
#define X(member, must, symbols, parameters)                                                       \
    if (!symbol(n, symbols, &n->member) && (must))                                                 \
        missing = symbols;
    NVML_FUNCTIONS(X)
#undef X
    int code = missing ? NVML_OK : n->init();
    if (missing) {
        str_addf(why, SAY_NVML_LACKS, missing);
    } else if (code != NVML_OK) {
        struct str said = STR_INIT;
        gpu_code_say(nvml_code(code), code, &said);
        str_addf(why, SAY_NVML_NOT_STARTED, str_text(&said));
        str_done(&said);
    }
    str_done(&unused);
    return missing ? NVML_UNFIT : code == NVML_OK ? NVML_OPENED : NVML_NO_DRIVER;
}

void nvml_close(struct nvml *n)
{
    if (n->library && n->shutdown)
        n->shutdown();
}

void nvml_version_say(const struct nvml *n, struct str *out)
{
    char text[96] = "";
    str_add(out, "NVML");
    if (n->library_version && n->library_version(text, sizeof text) == NVML_OK)
        str_addf(out, " %.95s", text);
    if (n->driver_version && n->driver_version(text, sizeof text) == NVML_OK)
        str_addf(out, ", driver %.95s", text);
}

bool nvml_is_called(const struct nvml *n, nvml_device d, const char *uuid)
{
    char its[96] = "";
    return n->uuid(d, its, sizeof its) == NVML_OK && text_is(its, uuid);
}
