/* Lists of processes. A list that is too short says how long it would have to be, and may have
 * grown when it is asked again. An entry has 24 bytes, or 32 with the first drivers of R535, under
 * the same names: so there is room for entries of 32 bytes always, filled with a pattern; what lies
 * beyond the short entries is untouched if they are short. */
#include "node/hardware/nvidia/nvml.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define LONG_BYTES 32u
#define ROOM_FIRST 64u
#define ROOM_MOST  65536u
#define TRIES      8
#define PATTERN    0xa5

static bool entries_are_long(const unsigned char *raw, size_t n)
{
    for (size_t i = n * sizeof(struct nvml_process); i < n * LONG_BYTES; i++)
        if (raw[i] != PATTERN)
            return true;
    return false;
}

static void entries_take(const unsigned char *raw, size_t n, struct nvml_processes *list)
{
    size_t bytes = entries_are_long(raw, n) ? LONG_BYTES : sizeof(struct nvml_process);
    for (size_t i = 0; i < n; i++) {
        struct nvml_process p;
        memcpy(&p, raw + i * bytes, sizeof p);
        vec_push(&list->v, p);
    }
}

int nvml_processes_read(nvml_list_fn fn, nvml_device device, struct nvml_processes *list)
{
    unsigned room = ROOM_FIRST;
    int code = fn ? NVML_TOO_SMALL : NVML_NOT_SUPPORTED;
    vec_clear(&list->v);
    for (int i = 0; i < TRIES && code == NVML_TOO_SMALL && room <= ROOM_MOST; i++) {
        size_t size = (size_t)room * LONG_BYTES;
        unsigned char *raw = xcalloc(1, size);
        unsigned n = room;
        memset(raw, PATTERN, size);
        code = fn(device, &n, (struct nvml_process *)(void *)raw);
        if (code == NVML_OK)
            entries_take(raw, n < room ? n : room, list);
        room = n > 2 * room ? n + n / 4 : 2 * room;
        free(raw);
    }
    return code;
}
