/* What programs beside ours say: a mail server, the process that watches the GPUs, whose words are
 * those of vendors' libraries, and the kernel about a process, whose name is its owner's. The text
 * is each of them; of a mail server it comes in two pieces. */
#include "fuzz.h"

#include "node/hardware/gpu_watch.c" /* its reader of lines is nobody else's */
#include "node/step/proc_tree.h"
#include "smtp/letter.h"
#include "smtp/replies.h"

const char *const fuzz_words[] = {
    "220 mail.example.org ESMTP\r\n",
    "250-",
    "server mail:25\n",
    "name us\n",
    "from a@b\n",
    "to c\n",
    "RCPT TO:<c>\r\n",
    "250 OK\r\n",
    "550 5.1.1 no such user\r\n",
    "354",
    "\r\n",
    "\n",
    "at -1\n",
    "ready\n",
    "done\n",
    "seen 0 1 ",
    "seen 7 18446744073709551615 clean \n",
    "sign 0 ",
    "lost ",
    "held by 77",
    "used 7.1.0 ",
    "used 7.1.batch 100 4096\n",
    "usage 1\n",
    "library NVML 12\n",
    "77 (a) b) ",
    "R 1 77 77 0 -1 4194560 ",
    "0 0 0 0 ",
    "18446744073709551615 ",
    "-9223372036854775808 ",
    NULL,
};

/* ---- a mail server ---- */

static void smtp_check(const char *data, size_t size)
{
    struct replies r = {0};
    for (size_t at = 0, n = 0; at < size; at += n) {
        const char *end = memchr(data + at, '\n', size - at);
        n = end ? (size_t)(end - data) - at + 1 : size - at;
        if (data[at] == 'R')
            replies_sent(&r, data + at, n);
        else
            replies_came(&r, data + at, n);
        CHECK(replies_code(&r) >= 0 && replies_code(&r) <= 999);
        CHECK(r.last.len <= 500 && r.refused.len < 8000);
    }
    replies_done(&r);
}

static void letter_check(const char *text)
{
    struct str out = STR_INIT;
    struct arena *a = arena_new();
    struct letter l;
    if (letter_read(text, a, &l, NULL)) {
        const char *url = letter_url(&l, a);
        CHECK(!url || strncmp(url, "smtp", 4) == 0);
        CHECK(l.to.n > 0);
        letter_done(&l);
    }
    letter_lines_add(&out, text);
    for (const char *line = str_text(&out); *line; line = strchr(line, '\n') + 1)
        CHECK(strchr(line, '\r') == strchr(line, '\n') - 1 && strcspn(line, "\r") <= 998);
    str_done(&out);
    arena_free(a);
}

/* ---- the process that watches GPUs ---- */

struct heard {
    size_t looked, signs;
};

static void looked(void *ctx, const struct device_seen *seen, size_t n)
{
    struct heard *h = ctx;
    h->looked++;
    for (size_t i = 0; i < n; i++)
        CHECK(seen[i].why && (int)seen[i].sign >= 0 && (int)seen[i].sign < DEVICE_SIGNS_N);
}

static void signs(void *ctx, const struct device_seen *seen)
{
    struct heard *h = ctx;
    h->signs++;
    CHECK(seen->why && (int)seen->sign >= 0 && (int)seen->sign < DEVICE_SIGNS_N);
}

static void used(void *ctx, const struct gpu_used *used, size_t n, const struct gpu_now *gpus,
                 size_t ngpus, bool known)
{
    (void)ctx, (void)known;
    for (size_t i = 0; i < n; i++)
        CHECK(used[i].util >= 0 && used[i].util <= GPU_USED_PERCENT_MAX && used[i].mem_bytes >= 0);
}

static void watch_check(struct loop *l, struct log *log, const char *data, size_t size)
{
    static const struct gpu_watch_ops ops = {.looked = looked, .sign = signs, .used = used};
    struct heard heard = {0};
    struct gpu_watch *w = gpu_watch_new(l, log, NULL, NULL, &ops, &heard);
    w->timer = timer_new(l, too_late, w);
    w->start = timer_new(l, start_too_late, w);
    w->restart = timer_new(l, restart, w);
    vec_push(&w->asked, ((struct device_look){.index = 7, .use = 1}));
    str_addn(&w->in, data, size);
    lines_take(w);
    CHECK(!memchr(str_text(&w->in), '\n', w->in.len) && w->used.n <= GPU_USED_MAX &&
          w->seen.n <= SEEN_MAX);
    gpu_watch_free(w);
}

/* ---- the kernel ---- */

static void proc_check(char *text)
{
    struct proc_usage u;
    if (proc_usage_parse(text, &u))
        CHECK(u.cpu_user_us >= 0 && u.cpu_system_us >= 0 && u.rss_bytes >= 0 && u.vm_bytes >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct loop *l;
    static struct log *log;
    char *text = xstrndup((const char *)data, size);
    l = l ? l : loop_new(NULL);
    log = log ? log : log_open(NULL, LOG_IS_ERROR, NULL);
    smtp_check((const char *)data, size);
    letter_check(text);
    watch_check(l, log, (const char *)data, size);
    proc_check(text);
    free(text);
    return 0;
}
