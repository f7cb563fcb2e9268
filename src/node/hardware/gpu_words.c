/* What the process that watches the GPUs says: to the daemon, and of a device. */
#include "node/hardware/gpu_parts.h"
#include "node/hardware/gpu_sentences.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

int64_t gpu_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

void gpu_say_all(struct gpu_helper *h)
{
    for (size_t at = 0; at < h->out.len;) {
        ssize_t n = send(GPU_PARENT_FD, h->out.data + at, h->out.len - at, MSG_NOSIGNAL);
        if (n <= 0)
            exit(0); /* the daemon is gone */
        at += (size_t)n;
    }
    str_clear(&h->out);
}

void gpu_asking(struct gpu_helper *h, const struct gpu *g)
{
    gpu_line_say(h, "at %d", g ? g->index : -1);
    gpu_say_all(h);
}

void gpu_line_say(struct gpu_helper *h, const char *format, ...)
{
    size_t from = h->out.len;
    va_list ap;
    va_start(ap, format);
    str_addv(&h->out, format, ap);
    va_end(ap);
    for (size_t i = from; i < h->out.len; i++)
        if (h->out.data[i] == '\n')
            h->out.data[i] = ' ';
    str_addc(&h->out, '\n');
}

void gpu_sign_say(struct gpu_helper *h, const struct gpu *g, enum device_sign sign, const char *why)
{
    gpu_line_say(h, "sign %d %s %s", g->index, device_sign_word(sign), why);
}

struct gpu_word gpu_word_of(enum device_sign sign, const char *format, ...)
{
    struct gpu_word w = {.sign = sign};
    va_list ap;
    va_start(ap, format);
    vsnprintf(w.why, sizeof w.why, format, ap);
    va_end(ap);
    return w;
}

struct gpu_word gpu_word_of_code(const struct gpu *g, const struct gpu_code *code, int number,
                                 const char *asked)
{
    int sign = code->sign == SIGN_WRONG ? DEVICE_DOUBT : code->sign;
    if (sign == SIGN_NONE || sign == DEVICE_WELL)
        return gpu_word_of(DEVICE_WELL, "%s", "");
    if (sign == DEVICE_LOST)
        return gpu_word_of(DEVICE_LOST, "GPU %s is lost: %s", g->uuid, code->name);
    return gpu_word_of((enum device_sign)sign, SAY_CANNOT_BE_ASKED, g->uuid, asked, code->name,
                       number, code->text);
}

struct gpu_asked gpu_asked_of(const struct gpu *g)
{
    return (struct gpu_asked){.index = g->index,
                              .is_part = g->nvidia.is_mig,
                              .activity = -1,
                              .uuid = g->uuid,
                              .has_base = g->has_base,
                              .base_bytes = g->base_bytes,
                              .now_ms = gpu_now_ms()};
}

void gpu_rate_say(struct gpu_counted *c, unsigned long long value, unsigned per_kib, int id,
                  struct str *out)
{
    ASSERT(per_kib > 0);
    int64_t now = gpu_now_ms(), passed = now - c->at_ms;
    if (c->known && value >= c->value && passed > 0)
        str_addf(out, " %d:%lld", id,
                 (long long)((double)(value - c->value) / per_kib * 1000 / (double)passed));
    *c = (struct gpu_counted){true, value, now};
}
