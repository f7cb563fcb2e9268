/* What chance makes is no finding: loads of every shape and seed, with nothing to be said of them. */
#include "reading_curves.h"
#include "share.h"

/* ---- the table ---- */

static double made_well(size_t i)
{
    return made.level + made.noise * noise(i, made.salt);
}

static void of_what_is_well_nothing_is_said_however_it_shakes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        struct str words = STR_INIT, text = STR_INIT;
        if (!in_share(i, 7))
            continue;
        made.level = 60 + (double)(i % 40);
        made.noise = (double)(i * 7 % 40);
        made.salt = 1000 + i;
        read_made(made_well, 30 + i * 13, i % 3 ? 2000 : 10000, &words, &text);
        if (words.len)
            fail_msg("%f %f %u: [%s]\n%s", made.level, made.noise, made.salt, str_text(&words),
                     str_text(&text));
        str_done(&words);
        str_done(&text);
    }
}

/* Loads that come and go by chance, as a server's whose users ask when they like: of 900 samples
 * those of a burst, and of a pause, are some number in the mean, of any length by chance. That they
 * do is no phase, nor a round of the program; that there are many more from half of the time on is
 * one. */
static struct {
    double busy, burst, pause, later; /* percent; samples in the mean; pauses of the second half */
    unsigned salt;
} chance;

/* Other shapes and other seeds than those by which the bound was chosen: heavy tails, bursts of
 * levels of their own, above a load that never stops, of three levels, slow noise, single spikes;
 * and changes that are there. */
static struct {
    double v[HALF_H];
    unsigned salt;
    size_t drawn;
} fresh;

static double by_chance(size_t i)
{
    static size_t at, left;
    static bool on;
    if (i == 0) {
        at = left = 0;
        on = false;
    }
    while (left == 0) {
        double pause = i >= HALF_H / 2 && chance.later > 0 ? chance.later : chance.pause,
               mean = on ? pause : chance.burst;
        double even = (noise(at++, 500 + chance.salt) + 1) / 2, length = 1;
        for (double p = 1 - 1 / mean, q = p; even < q && length < 2000; q *= p)
            length++;
        on = !on;
        left = (size_t)length;
        if (i == 0 && at == 1) /* begins anywhere in a pause */
            on = chance.salt % 2;
    }
    left--;
    return on ? chance.busy + 8 * noise(i, 900 + chance.salt) : 0;
}

static size_t phases_told(void)
{
    struct str words = STR_INIT, text = STR_INIT;
    made.salt = chance.salt;
    read_made(by_chance, HALF_H, 2000, &words, &text);
    size_t told = strstr(str_text(&words), "phases") != NULL;
    if (told && getenv("READING_SHOW"))
        print_message("burst %.0f pause %.0f salt %u: %s", chance.burst, chance.pause, chance.salt,
                      str_text(&text));
    str_done(&words);
    str_done(&text);
    return told;
}

static void what_comes_and_goes_by_chance_has_no_phases(void **state)
{
    static const double lengths[] = {3, 6, 12, 25};
    size_t wrong = 0, missed = 0, tried = 0;
    (void)state;
    for (unsigned salt = 0; salt < worlds_of(7); salt++)
        for (size_t i = 0; i < ARRAY_LEN(lengths) * ARRAY_LEN(lengths); i++) {
            chance.busy = 60 + (double)(salt % 4) * 10;
            chance.burst = lengths[i % ARRAY_LEN(lengths)];
            chance.pause = lengths[i / ARRAY_LEN(lengths)];
            chance.salt = salt * 100 + (unsigned)i;
            chance.later = 0;
            wrong += phases_told();
            tried++;
        }
    for (unsigned salt = 0; salt < worlds_of(40); salt++) {
        chance.burst = 6;
        chance.pause = 50;
        chance.later = 2;
        chance.salt = 5000 + salt;
        missed += !phases_told();
    }
    print_message("phases of %zu by chance: %zu; missed of %zu: %zu\n", tried, wrong,
                  (size_t)worlds_of(40), missed);
    assert_true(wrong * 100 <= tried * 2);
    assert_true(missed * 100 <= worlds_of(40) * 5);
}
static double draw(void) /* 0 to 1 */
{
    return (noise(fresh.drawn++, 70001 + fresh.salt) + 1) / 2;
}
static double fresh_at(size_t i)
{
    return fresh.v[i] < 0 ? 0 : fresh.v[i] > 100 ? 100 : fresh.v[i];
}
/* From one sample to another: stretches of a level each, of so many samples in the mean. */
static void stretches(size_t from, size_t to, const double *level, const double *mean, size_t kinds,
                      double tail)
{
    size_t kind = (size_t)(draw() * (double)kinds) % kinds;
    for (size_t i = from; i < to;) {
        double even = draw() * 0.999, length = 1 + mean[kind] * (1 / (1 - even * tail) - 1) / tail,
               at = level[kind] + 10 * (draw() - 0.5) * (level[kind] > 5);
        for (size_t k = 0; k < (size_t)length && k < 45 && i < to; k++)
            fresh.v[i++] = at + 6 * (draw() - 0.5) * (level[kind] > 5);
        kind = (kind + 1 + (size_t)(draw() * (double)(kinds - 1))) % kinds;
    }
}
static void slow_noise(size_t from, size_t to, double level, double like, double spread)
{
    double off = 0;
    for (size_t i = from; i < to; i++) {
        off = like * off + spread * (draw() + draw() + draw() - 1.5);
        fresh.v[i] = level + off;
    }
}
static void fresh_chance(unsigned kind)
{
    double on = 3 + 15 * draw(), pause = 3 + 15 * draw();
    switch (kind) {
    case 0: stretches(0, HALF_H, (double[]){80, 0}, (double[]){on, pause}, 2, 0.95); break;
    case 1: stretches(0, HALF_H, (double[]){85, 25}, (double[]){on, pause}, 2, 0.6); break;
    case 2: stretches(0, HALF_H, (double[]){0, 40, 90}, (double[]){on, pause, 8}, 3, 0.6); break;
    case 3:
        stretches(0, HALF_H, (double[]){90, 60, 30, 0}, (double[]){on, on, pause, 5}, 4, 0.9);
        break;
    case 4: slow_noise(0, HALF_H, 50, 0.85 + 0.1 * draw(), 6); break;
    default: stretches(0, HALF_H, (double[]){95, 0}, (double[]){1, pause * 3}, 2, 0.5); break;
    }
}
static void fresh_change(unsigned kind)
{
    size_t at = HALF_H / 4 + (size_t)(draw() * HALF_H / 2);
    switch (kind) {
    case 0:
        slow_noise(0, at, 80, 0.3, 6);
        slow_noise(at, HALF_H, 45 + 10 * draw(), 0.3, 6);
        break;
    case 1:
        stretches(0, at, (double[]){85, 0}, (double[]){3, 15}, 2, 0.6);
        stretches(at, HALF_H, (double[]){85, 0}, (double[]){15, 2}, 2, 0.6);
        break;
    case 2:
        slow_noise(0, at, 70, 0.8, 6);
        slow_noise(at, HALF_H, 35, 0.8, 6);
        break;
    default:
        slow_noise(0, HALF_H / 3, 30, 0.5, 5);
        slow_noise(HALF_H / 3, HALF_H * 2 / 3, 80, 0.5, 5);
        slow_noise(HALF_H * 2 / 3, HALF_H, 30, 0.5, 5);
        break;
    }
}
static size_t fresh_told(void)
{
    struct str words = STR_INIT, text = STR_INIT;
    made.salt = fresh.salt;
    read_made(fresh_at, HALF_H, 2000, &words, &text);
    size_t told = strstr(str_text(&words), "phases") != NULL;
    if (getenv("READING_SHOW"))
        print_message("salt %u told %zu: %s", fresh.salt, told, told ? str_text(&text) : "\n");
    str_done(&words);
    str_done(&text);
    return told;
}
static void loads_of_other_shapes_and_seeds(void **state)
{
    size_t wrong[6] = {0}, missed[4] = {0}, wrong_all = 0, missed_all = 0;
    (void)state;
    for (unsigned i = 0; i < worlds_of(102); i++) {
        fresh.salt = i;
        fresh.drawn = 0;
        fresh_chance(i % 6);
        wrong[i % 6] += fresh_told();
    }
    for (unsigned i = 0; i < worlds_of(40); i++) {
        fresh.salt = 10000 + i;
        fresh.drawn = 0;
        fresh_change(i % 4);
        missed[i % 4] += !fresh_told();
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        print_message("phases by chance, shape %zu: %zu\n", i, wrong[i]);
        wrong_all += wrong[i];
    }
    for (size_t i = 0; i < ARRAY_LEN(missed); i++) {
        print_message("missed of those that change, shape %zu: %zu\n", i, missed[i]);
        missed_all += missed[i];
    }
    assert_true(wrong_all * 100 <= worlds_of(102) * 2);
    assert_true(missed_all * 100 <= worlds_of(40) * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_what_is_well_nothing_is_said_however_it_shakes),
        cmocka_unit_test(what_comes_and_goes_by_chance_has_no_phases),
        cmocka_unit_test(loads_of_other_shapes_and_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
