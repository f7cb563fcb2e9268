/* A GPU's type, as jobs ask for it (--gres=gpu:mi300x:2), from the names its maker gives it. Names
 * come from NVML ("NVIDIA A100-SXM4-40GB"), from a board's own memory ("AMD INSTINCT MI250 (MCM)
 * OAM AC MBA") and from the list of PCI devices, where the chip's name is followed by what it is
 * sold as ("Aldebaran/MI200 [Instinct MI250X/MI250]"): that in brackets counts, of several the
 * first. */
#include "base/alloc.h"
#include "node/hardware/discover_gpus.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 48

/* AMD's accelerators by the device's number on the bus: so the type does not change when a list of
 * names is updated, and is known where there is none. */
static const struct {
    uint32_t device;
    const char *type;
} amd_types[] = {
    {0x6860, "mi25"},   {0x686c, "mi25"},   {0x66a1, "mi50"},   {0x738c, "mi100"},
    {0x738e, "mi100"},  {0x7408, "mi250x"}, {0x740c, "mi250"},  {0x740f, "mi210"},
    {0x7410, "mi210"},  {0x74a0, "mi300a"}, {0x74a1, "mi300x"}, {0x74a2, "mi308x"},
    {0x74a5, "mi325x"}, {0x74a8, "mi308x"}, {0x74a9, "mi300x"}, {0x74b5, "mi300x"},
    {0x74b6, "mi308x"}, {0x74b9, "mi325x"}, {0x74bd, "mi300x"}, {0x75a0, "mi350x"},
    {0x75a3, "mi355x"}, {0x75b0, "mi350x"}, {0x75b3, "mi355x"},
};

const char *amd_type_of_device(uint32_t device)
{
    for (size_t i = 0; i < sizeof amd_types / sizeof amd_types[0]; i++)
        if (amd_types[i].device == device)
            return amd_types[i].type;
    return NULL;
}

static bool has_digit(const char *word)
{
    return strpbrk(word, "0123456789") != NULL;
}

static bool is_accelerator(const char *word)
{
    return tolower((unsigned char)word[0]) == 'm' && tolower((unsigned char)word[1]) == 'i' &&
           isdigit((unsigned char)word[2]);
}

static bool is_hex_id(const char *word)
{
    return word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
}

/* The next word of a name; a dash and what follows it are left out. False at the end. */
static bool word_next(const char **at, char *word, size_t size)
{
    ASSERT(size > 0);
    static const char between[] = " /,;()[]\t";
    *at += strspn(*at, between);
    size_t len = strcspn(*at, between);
    snprintf(word, size, "%.*s", (int)len, *at);
    word[strcspn(word, "-")] = '\0';
    *at += len;
    return len > 0;
}

/* "MI…" wherever it stands, else the first word with a digit; letters before a lone number stay
 * with it: "RTX 3090". */
static bool model_of(const char *words, char *ret, size_t size)
{
    char word[WORD_MAX], before[WORD_MAX] = "";
    for (const char *at = words; word_next(&at, word, sizeof word);)
        if (is_accelerator(word)) {
            snprintf(ret, size, "%s", word);
            return true;
        }
    for (const char *at = words; word_next(&at, word, sizeof word);) {
        if (has_digit(word) && !is_hex_id(word)) {
            snprintf(ret, size, "%s%s", isdigit((unsigned char)word[0]) ? before : "", word);
            return true;
        }
        snprintf(before, sizeof before, "%s", has_digit(word) ? "" : word);
    }
    return false;
}

/* What stands in the last brackets; "" = none. */
static void sold_as(const char *name, char *ret, size_t size)
{
    const char *begin = strrchr(name, '[');
    ret[0] = '\0';
    if (begin)
        snprintf(ret, size, "%.*s", (int)strcspn(begin + 1, "]"), begin + 1);
}

static void letters_plain(char *text, const char *also)
{
    char *to = text;
    for (const char *c = text; *c; c++)
        if (isalnum((unsigned char)*c) || strchr(also, *c))
            *to++ = (char)tolower((unsigned char)*c);
    *to = '\0';
}

void gpu_type_of(const char *name, char *ret, size_t size)
{
    ASSERT(size > 0);
    char whole[256], sold[256], type[2 * WORD_MAX] = "", instance[WORD_MAX] = "";
    const char *mig = strstr(name, " MIG ");
    snprintf(whole, sizeof whole, "%.*s", mig ? (int)(mig - name) : (int)sizeof whole, name);
    sold_as(whole, sold, sizeof sold);
    if (!model_of(sold, type, sizeof type))
        model_of(whole, type, sizeof type);
    letters_plain(type, "_");
    if (mig)
        snprintf(instance, sizeof instance, "%s", mig + 5);
    letters_plain(instance, "_.+-"); /* "1g.10gb+me" */
    snprintf(ret, size, "%s%s%s", type[0] ? type : "gpu", instance[0] ? "_" : "", instance);
}
