#include "node/step/counters.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/step/dir.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NET_BYTES  (256u << 10)
#define WORD_BYTES 4 /* what ports of InfiniBand count */

struct counters {
    bool hardware; /* only interfaces that have a device count */
    glob_t ports;
};

static bool is_hardware(struct span name)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/class/net/%.*s/device", (int)(name.len < 32 ? name.len : 32),
             name.data);
    return access(path, F_OK) == 0;
}

/* fn for each interface but the loopback: "  eth0: RX_BYTES 7 numbers TX_BYTES …" */
static void each_interface(const struct counters *c, struct counters_now *sum, bool *any_hardware)
{
    struct str text = STR_INIT;
    if (!small_file_read(AT_FDCWD, "/proc/net/dev", NET_BYTES, &text)) {
        str_done(&text);
        return;
    }
    struct span rest = span_of(str_text(&text)), line, name;
    while (span_next(&rest, '\n', &line)) {
        long long rx, tx;
        line = span_trim(line);
        if (!line.len || !memchr(line.data, ':', line.len) || !span_next(&line, ':', &name) ||
            span_is(name, "lo") ||
            sscanf(line.data, "%lld %*s %*s %*s %*s %*s %*s %*s %lld", &rx, &tx) != 2)
            continue;
        if (any_hardware)
            *any_hardware |= is_hardware(name);
        if (!sum || (c->hardware && !is_hardware(name)))
            continue;
        sum->net_rx = (sum->net_rx < 0 ? 0 : sum->net_rx) + rx;
        sum->net_tx = (sum->net_tx < 0 ? 0 : sum->net_tx) + tx;
    }
    str_done(&text);
}

struct counters *counters_new(void)
{
    struct counters *c = xcalloc(1, sizeof *c);
    each_interface(c, NULL, &c->hardware);
    if (glob("/sys/class/infiniband/*/ports/*/counters", 0, NULL, &c->ports) != 0) {
        globfree(&c->ports);
        c->ports = (glob_t){0};
    }
    return c;
}

void counters_free(struct counters *c)
{
    if (!c)
        return;
    globfree(&c->ports);
    free(c);
}

static void port_add(const char *port, const char *file, int64_t *sum)
{
    char path[256];
    struct str text = STR_INIT;
    snprintf(path, sizeof path, "%s/%s", port, file);
    if (small_file_read(AT_FDCWD, path, 64, &text))
        *sum = (*sum < 0 ? 0 : *sum) + strtoll(str_text(&text), NULL, 10) * WORD_BYTES;
    str_done(&text);
}

void counters_read(const struct counters *c, struct counters_now *ret)
{
    *ret = (struct counters_now){-1, -1, -1, -1};
    each_interface(c, ret, NULL);
    for (size_t i = 0; i < c->ports.gl_pathc; i++) {
        port_add(c->ports.gl_pathv[i], "port_rcv_data", &ret->ib_rx);
        port_add(c->ports.gl_pathv[i], "port_xmit_data", &ret->ib_tx);
    }
}
