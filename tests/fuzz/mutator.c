/* How libFuzzer changes an input: half of the time as it always does, otherwise by the target's own
 * words, put in, put over what is there, or made the whole input. Without them it would have to
 * guess the names of a protocol byte by byte. */
#include "fuzz.h"

#include "base/rng.h"

#include <string.h>

/* libFuzzer's own change of `size` bytes, of which at most `most` may become; how many there are
 * then. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
/* libFuzzer's hook, called instead of the above. Changes data in place; how many bytes there are
 * then, at most `most`. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static const char *word_choose(struct rng *r)
{
    const char *const *words = fuzz_names && rng_below(r, 2) ? fuzz_names : fuzz_words;
    size_t n = 0;
    while (words[n])
        n++;
    return n ? words[rng_below(r, n)] : "";
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    struct rng r = {seed};
    if (rng_below(&r, 2))
        return LLVMFuzzerMutate(data, size, most);
    const char *word = word_choose(&r);
    size_t len = strlen(word), at = rng_below(&r, size + 1), over = 0;
    switch (rng_below(&r, 8)) {
    case 0: at = size = 0; break; /* the word alone */
    case 1: at = size; break;     /* at the end */
    case 2:
    case 3: over = rng_below(&r, size - at + 1); break; /* over what is there */
    default: break;                                     /* between */
    }
    if (size - over + len > most)
        return LLVMFuzzerMutate(data, size, most);
    memmove(data + at + len, data + at + over, size - at - over);
    memcpy(data + at, word, len);
    return size - over + len;
}
