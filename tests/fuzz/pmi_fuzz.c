/* What tasks of an MPI program say to their node (PMI, both versions), what another node brings to
 * a meeting, and where the command says that tasks are. */
#include "fuzz.h"

#include "agent/pmi.h"
#include "agent/pmi_map.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "cmd=init pmi_version=1 pmi_subversion=1\n",
    "cmd=init pmi_version=2 pmi_subversion=0\n",
    "cmd=put kvsname=f key=k value=v\n",
    "cmd=get kvsname=f key=k\n",
    "cmd=barrier_in\n",
    "cmd=abort exitcode=3\n",
    "mcmd=spawn\n",
    "endcmd\n",
    "21    cmd=kvs-put;key=a;;b;",
    "13    cmd=kvs-fence;",
    "37    cmd=info-getnodeattr;key=a;wait=TRUE;",
    "32    cmd=info-putnodeattr;key=a;value=b;",
    "thrid=1;",
    "a 0-1\n",
    "b 2\n",
    "\n",
    ";",
    "999999",
    NULL,
};

static void say(void *ctx, size_t place, const char *bytes, size_t len)
{
    (void)ctx;
    CHECK(place < 2 && bytes && len > 0 && len < 2 * PMI_SPACE_BYTES);
}

static void meet(void *ctx, struct span data)
{
    struct pmi **p = ctx;
    pmi_learn(*p, data);
    pmi_met(*p);
}

static void abort_take(void *ctx, int32_t rank, int32_t code, struct span why)
{
    (void)ctx, (void)code;
    CHECK(rank >= 0 && (why.data || !why.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pmi_ops ops = {say, meet, abort_take};
    static const int32_t ranks[] = {0, 1};
    const char *bytes = (const char *)data;
    char *map = xstrndup(bytes, size);
    struct pmi *p;
    int32_t *node_of, nodes;
    if (pmi_map_read(map, 3, &node_of, &nodes)) {
        struct str vector = STR_INIT;
        pmi_map_vector(node_of, 3, &vector);
        CHECK(vector.len > 8);
        str_done(&vector);
    }
    free(node_of);
    p = pmi_new(&(struct pmi_world){.name = "f", .map = map, .size = 3, .rank = ranks, .n = 2},
                &ops, &p);
    pmi_learn(p, (struct span){bytes, size});
    for (size_t at = 0, n; at < size; at += n) { /* in pieces, to both */
        n = size - at < 1 + at % 40 ? size - at : 1 + at % 40;
        pmi_take(p, 0, bytes + at, n);
    }
    pmi_take(p, 1, bytes, size);
    pmi_ended(p, 0);
    pmi_free(p);
    free(map);
    return 0;
}
