/* Runs a fuzz target without libFuzzer: the same inputs in every run, joined from the target's own
 * words and from random bytes. Most are wrong in one place only, so that they get past the first
 * check. A failure aborts; the input that did it is printed before, as hexadecimal. */
#include "fuzz.h"

#include "base/rng.h"
#include "base/str.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#ifndef INPUTS
#define INPUTS 20000
#endif
#define SEED UINT64_C(20261121)

static struct str input; /* what the target reads now; for the handler */

static void input_print(int sig)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2];
    (void)!write(STDERR_FILENO, "input: ", 7);
    for (size_t i = 0; i < input.len; i++) {
        hex[0] = digits[(unsigned char)input.data[i] >> 4];
        hex[1] = digits[(unsigned char)input.data[i] & 15];
        (void)!write(STDERR_FILENO, hex, 2);
    }
    (void)!write(STDERR_FILENO, "\n", 1);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void piece_add(struct rng *r, size_t words)
{
    static const char marks[] = "0123456789,-[]:/.+ %T";
    switch (rng_below(r, 8)) {
    case 0: str_addc(&input, (char)rng_below(r, 256)); break;
    case 1: str_add_u64(&input, rng_next(r) >> rng_below(r, 64)); break;
    case 2:
    case 3: str_addc(&input, marks[rng_below(r, sizeof marks - 1)]); break;
    case 4: str_cut(&input, rng_below(r, input.len + 1)); break;
    default: str_add(&input, fuzz_words[rng_below(r, words)]);
    }
}

int main(void)
{
    struct rng r = {SEED};
    size_t words = 0;
    while (fuzz_words[words])
        words++;
    signal(SIGABRT, input_print);
    printf("1..1\n");
    for (int i = 0; i < INPUTS; i++) {
        str_clear(&input);
        for (uint64_t pieces = rng_below(&r, 8); pieces; pieces--)
            piece_add(&r, words);
        LLVMFuzzerTestOneInput((const uint8_t *)str_text(&input), input.len);
    }
    str_done(&input);
    printf("ok 1 - %d inputs\n", INPUTS);
    return 0;
}
