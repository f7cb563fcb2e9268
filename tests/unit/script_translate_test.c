/* remuda translate: what stays, what is told of, once each, and what has no equivalent. */
#include "script_translate_help.h"

/* ---- the lines ---- */

static void leaves_commands_and_comments_alone(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct translation t;
        assert_true(translated(w, lines[i].text, lines[i].from, lines[i].to, &t));
        struct str out = STR_INIT; /* without the notes */
        struct span rest = {t.text, t.len}, one;
        while (span_next(&rest, '\n', &one))
            if (one.len && !script_starts_with(one, "# remuda translate:"))
                str_addf(&out, "%.*s\n", (int)one.len, one.data);
        assert_string_equal(str_text(&out), lines[i].becomes);
        str_done(&out);
        translation_done(&t);
    }
}

static void each_note_is_once_and_says_what_is_there(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        struct translation t;
        unsigned found = 0;
        assert_true(translated(w, notes[i].text, notes[i].from, notes[i].to, &t));
        for (size_t k = 0; k < t.note.n; k++) {
            found += strncmp(t.note.v[k].text, notes[i].note, strlen(notes[i].note)) == 0;
            assert_null(strstr(t.note.v[k].text, "echo"));
        }
        if (found != 1)
            fail_msg("\"%s\" %u times in:\n%s", notes[i].note, found, t.text);
        unsigned called = 0;
        for (size_t k = 0; k < t.note.n; k++)
            called += strstr(t.note.v[k].text, " is a command of ") != NULL;
        assert_true(called <= 1);
        translation_done(&t);
    }
}

static void tells_what_has_no_equivalent(void **state)
{
    struct world *w = *state;
    struct translation t;
    assert_true(
        translated(w, "#!/bin/sh\n#SBATCH --qos=high --prefer=x -o y\necho $SLURM_JOB_NODELIST\n",
                   DIALECT_SLURM, DIALECT_LSF, &t));
    assert_non_null(strstr(t.text, "# remuda translate: --qos=high has no equivalent in LSF\n"));
    assert_non_null(strstr(t.text, "# remuda translate: --prefer=x has no equivalent in LSF\n"));
    assert_non_null(strstr(
        t.text, "# remuda translate: line 3: $SLURM_JOB_NODELIST stays; there it is $LSB_HOSTS"));
    assert_int_equal(t.note.n, 3);
    translation_done(&t);
    assert_true(
        translated(w, "#BSUB -Q 3\n#BSUB -w done(\"a\")\nls\n", DIALECT_LSF, DIALECT_SLURM, &t));
    assert_non_null(strstr(t.text, "# remuda translate: line 1 is left out: -Q is not supported"));
    assert_non_null(strstr(t.text, "# remuda translate: -w with jobs by name: left out"));
    translation_done(&t);
    assert_false(translated(w, "#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH -n 2\n",
                            DIALECT_SLURM, DIALECT_LSF, &t));
    assert_non_null(strstr(w->err.text, "a job of several components"));
    assert_false(translated(w, "#!/bin/sh\n#SBATCH --mem=1G --mem-per-cpu=1G\n", DIALECT_SLURM,
                            DIALECT_LSF, &t));
}

/* It has no select and place. */
static void torque_has_its_own_words(void **state)
{
    static const struct {
        const char *options, *becomes;
    } jobs[] = {
        {"-N 2 --ntasks-per-node=4 --mem=1G", "#PBS -l nodes=2:ppn=4\n#PBS -l mem=2048mb\n"},
        {"-n 8 --mem-per-cpu=700", "#PBS -l procs=8\n#PBS -l pmem=700mb\n"},
        {"-n 1 -c 4 -C 'a&b'", "#PBS -l nodes=1:ppn=4:a:b\n"},
        {"-n 2 -N 1 -w n1 --gpus-per-node=2", "#PBS -l nodes=n1:ppn=2:gpus=2\n"},
        {"-n 4 --gpus=2 --mem=1G", "#PBS -l gpus=2\n#PBS -l procs=4\n"},
        {"-N 2 -n 4 --exclusive", "#PBS -l nodes=2:ppn=2\n#PBS -n\n"},
    };
    struct world *w = *state;
    struct dialect_site site = dialect_site_standard();
    site.torque = true;
    w->env.site = arena_dup(w->a, &site, sizeof site);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct translation t;
        const char *text = arena_printf(w->a, "#!/bin/sh\n#SBATCH -o x %s\n", jobs[i].options);
        assert_true(translated(w, text, DIALECT_SLURM, DIALECT_PBS, &t));
        if (!strstr(t.text, jobs[i].becomes))
            fail_msg("%s: no \"%s\" in\n%s", jobs[i].options, jobs[i].becomes, t.text);
        assert_null(strstr(t.text, "select"));
        assert_null(strstr(t.text, "place"));
        translation_done(&t);
    }
}

/* Products of what each option allows are more than the fields of a layout have room for. */
static void the_largest_jobs_there_can_be_are_written(void **state)
{
    static const char *const jobs[] = {
        "-N 256-257 --ntasks-per-node=16777216 --mem=4G",
        "-N 2147483647 --ntasks-per-node=2147483647 -c 2147483647 --mem-per-cpu=1000T",
        "-n 2147483647 -c 2147483647 --mem-per-cpu=1000T",
        "-n 2147483647 --ntasks-per-node=2147483647 --mem=4G",
        "-n 2147483647 -N 2147483646 --gpus=2147483647",
        "-n 2147483647 --gpus-per-task=2147483647 -N 1"};
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        for (int to = DIALECT_LSF; to <= DIALECT_PBS; to++) {
            struct translation t;
            const char *text = arena_printf(w->a, "#!/bin/sh\n#SBATCH %s\n", jobs[i]);
            if (!translated(w, text, DIALECT_SLURM, (enum dialect)to, &t))
                fail_msg("%s: %s", jobs[i], w->err.text);
            assert_null(strstr(t.text, "=-")); /* below zero */
            assert_null(strstr(t.text, "-n -"));
            translation_done(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leaves_commands_and_comments_alone, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(each_note_is_once_and_says_what_is_there, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(tells_what_has_no_equivalent, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(torque_has_its_own_words, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(the_largest_jobs_there_can_be_are_written, world_setup,
                                        world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
