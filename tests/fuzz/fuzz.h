/* A fuzz target: reads bytes that may be anything, and aborts if what it tests breaks a promise. */
#ifndef REMUDA_TESTS_FUZZ_H
#define REMUDA_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry, or standalone.c's. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Texts that are near what the target reads, ending with NULL: standalone.c cuts and joins them. */
extern const char *const fuzz_words[];
/* More of them, mostly names from tables, likewise; for libFuzzer alone, as among so many nothing
 * would come together by chance. A target may have none. */
extern const char *const fuzz_names[] __attribute__((weak));

#endif
