/* Directives in scripts: the grammar and its traps (spec/guides.md 0.6,
 * spec/clients.md edges 15–18). */
#include "script_help.h"

#include "model/limits.h"

#include <sys/resource.h>

static const struct job_spec *spec_of(struct world *w, const char *text)
{
    if (!script_of(w, text, false))
        fail_msg("refused: %s\n%s", w->err.text, text);
    return &w->comp[0].spec;
}

static void script_refused(struct world *w, const char *text, const char *part)
{
    assert_false(script_of(w, text, false));
    if (!strstr(w->err.text, part) && !strstr(w->err.lead, part))
        fail_msg("\"%s\" does not say \"%s\"", w->err.text, part);
}

static void guides_word_for_word(void **state)
{
    struct world *w = *state;
    const struct job_spec *s = spec_of(w, "#! /bin/bash\n"
                                          "#SBATCH --account NAISS2024-22-1     # account\n"
                                          "#SBATCH --job-name my_job_name  # name\n"
                                          "#SBATCH --time=00:15:00   # (HHH:MM:SS)\n"
                                          "#SBATCH --error=job.%J.err   \n"
                                          "#SBATCH --output=job.%J.out\t\n"
                                          "#SBATCH --ntasks 2\n"
                                          "\n"
                                          "# a comment\n"
                                          "  # another\n"
                                          "#SBATCH --gpus-per-node=V100:1\n"
                                          "#SBATCH --mail-type=NONE --tasks-per-node=1\n"
                                          "srun python x.py\n");
    assert_string_equal(s->req.account, "NAISS2024-22-1");
    assert_string_equal(s->name, "my_job_name");
    assert_int_equal(s->req.time_limit_us, 900 * USEC_PER_SEC);
    assert_string_equal(s->std_err, "job.%J.err");
    assert_string_equal(s->std_out, "job.%J.out");
    assert_int_equal(s->req.ntasks, 2);
    assert_string_equal(s->req.gpus_per_node, "V100:1");
    assert_int_equal(s->req.ntasks_per_node, 1);
    assert_int_equal(w->warnings.len, 0);
}

static void words(void **state)
{
    struct world *w = *state;
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH --comment=\"x # y\"z -n 2\n")->comment,
                        "x # yz");
    assert_int_equal(w->comp[0].spec.req.ntasks, 2);
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH --comment='a \"b\" \\\\ c'\n")->comment,
                        "a \"b\" \\ c");
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH --comment=\"a \\\" b\"\n")->comment,
                        "a \" b");
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH --comment=x\\ y\\#z\n")->comment, "x y#z");
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH -J a#b -n 2\n")->name, "a");
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH -n2 -J last\n#SBATCH -J wins\n")->name,
                        "wins");
    assert_int_equal(spec_of(w, "#!/bin/sh\n#SBATCH-n2\n")->req.ntasks, 2);
    assert_int_equal(spec_of(w, "#!/bin/sh\n#SBATCH\n#SBATCH # nothing\n#SBATCH -n2")->req.ntasks,
                     2);
    assert_int_equal(
        spec_of(w, "#!/bin/sh\n# SBATCH -n2\n##SBATCH -n3\n #SBATCH -n4\n")->req.ntasks, 0);
}

static void mistakes_name_their_line(void **state)
{
    struct world *w = *state;
    script_refused(w, "#!/bin/sh\n\n#SBATCH -n two\n", "line 3: --ntasks: a whole number");
    script_refused(w, "#!/bin/sh\n#SBATCH --ndoes=2\n",
                   "line 2: unrecognized option '--ndoes=2' (did you mean '--nodes'?)");
    script_refused(w, "#!/bin/sh\n#SBATCH foo\n", "Invalid directive found in batch script: foo");
    script_refused(w, "#!/bin/sh\n#SBATCHER -n 2\n", "Invalid directive found in batch script: ER");
    script_refused(w, "#!/bin/sh\n#SBATCH --comment=\"a\n",
                   "fatal: job.sh: line 2: Unmatched `\"` in [--comment=\"a]");
    script_refused(w, "#!/bin/sh\n#SBATCH -n1 : -n2\n",
                   "fatal: job.sh: line 2: Unexpected `:` in [ : -n2]");
    script_refused(w, "#!/bin/sh\n#SBATCH:-n3\n",
                   "fatal: job.sh: line 2: Unexpected `:` in [:-n3]");
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH --comment=a:b -n2\n")->comment, "a:b");
    script_refused(w, "#!/bin/sh\n#SBATCH --bb=x\n", "not supported yet: --bb");
    script_refused(w, "#!/bin/sh\n#SBATCH --time\n", "requires an argument");
}

/* People end a directive with a backslash, as a command that goes on. */
static void a_backslash_at_the_end_is_nothing(void **state)
{
    struct world *w = *state;
    const struct job_spec *s = spec_of(w, "#!/bin/sh\n#SBATCH -n3 \\\n#SBATCH -N2\\ \n");
    assert_int_equal(s->req.ntasks, 3);
    assert_int_equal(s->req.min_nodes, 2);
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH -J a \\\n")->name, "a");
    assert_int_equal(spec_of(w, "#!/bin/sh\n#SBATCH \\\n#SBATCH -n2 ''\n")->req.ntasks, 2);
    assert_string_equal(spec_of(w, "#!/bin/sh\n#SBATCH --comment=a\\\\\n")->comment, "a\\");
    script_refused(w, "#!/bin/sh\n#SBATCH -n2 -J \\\n", "requires an argument");
    spec_of(w, "#!/bin/sh\n#SBATCH -n3 \\\n#SBATCH -N2 \\\n\ntrue\n");
    assert_int_equal(w->warnings.len, 0);
    spec_of(w, "#!/bin/sh\n#SBATCH -n3 \\\n    -N2\n");
    assert_non_null(strstr(str_text(&w->warnings), "line 3: a command, no part of the directive"));
}

static void only_before_the_first_command(void **state)
{
    struct world *w = *state;
    assert_int_equal(
        spec_of(w, "#!/bin/sh\n#SBATCH -n2\necho\n#SBATCH -n3\n#SBATCH -N3\n")->req.ntasks, 2);
    assert_string_equal(str_text(&w->warnings),
                        "line 4: ignored, because it stands after the first "
                        "command: #SBATCH -n3\n"
                        "line 5: ignored, because it stands after the first "
                        "command: #SBATCH -N3\n");
    spec_of(w, "#!/bin/sh\ntrue\n#SBATCH 1\n#SBATCH 2\n#SBATCH 3\n#SBATCH "
               "4\n#SBATCH 5\n");
    assert_non_null(strstr(str_text(&w->warnings), "and 2 more such lines"));
}

/* A script that writes another script says nothing wrong. */
static void here_documents_are_left_alone(void **state)
{
    struct world *w = *state;
    spec_of(w, "#!/bin/sh\ncat > job.sh <<EOF\n#!/bin/sh\n#SBATCH "
               "-n3\nEOF\nsbatch job.sh\n");
    assert_int_equal(w->warnings.len, 0);
    spec_of(w, "#!/bin/sh\ncat <<-'END' > x\n#SBATCH -n3\n\tEND\nwc <<< "
               "\"$x\"\n#SBATCH -n4\n");
    assert_string_equal(str_text(&w->warnings),
                        "line 6: ignored, because it stands after the first "
                        "command: #SBATCH -n4\n");
    spec_of(w, "#!/bin/sh\nx=$((1 << 2))\n#SBATCH -n4\n2)\n");
    assert_int_equal(w->ncomp, 1);
}

static void components(void **state)
{
    struct world *w = *state;
    spec_of(w, "#!/bin/sh\n#SBATCH -n1 hetjob -n2\n#SBATCH hetjob\n#SBATCH "
               "-n3\n#SBATCH packjob\n");
    assert_int_equal(w->ncomp, 4);
    spec_of(w, "#!/bin/sh\n#SBATCH -n1\n#SBATCH HETJOB\n#SBATCH -n3\n#SBATCH Packjob\n");
    assert_int_equal(w->ncomp, 3);
    spec_of(w, "#!/bin/sh\n#SBATCH -n1 hetjob -n2\n#SBATCH hetjob\n#SBATCH -n3\n#SBATCH packjob\n");
    assert_int_equal(w->comp[0].spec.req.ntasks, 1);
    assert_int_equal(w->comp[1].spec.req.ntasks, 2);
    assert_int_equal(w->comp[2].spec.req.ntasks, 3);
    struct str many = STR_INIT;
    str_add(&many, "#!/bin/sh\n");
    for (int i = 0; i < COMPONENTS_MAX; i++)
        str_add(&many, "#SBATCH hetjob\n");
    script_refused(w, str_text(&many), "at most 128 components");
    str_done(&many);
}

static void other_systems_directives(void **state)
{
    struct world *w = *state;
    assert_int_equal(spec_of(w, "#!/bin/sh\n#PBS -l nodes=2:ppn=4\n#PBS -N x\ntrue\n")->req.ntasks,
                     8);
    assert_null(w->comp[0].spec.export_env);
    assert_string_equal(w->comp[0].spec.name, "x");
    assert_null(w->comp[0].spec.work_dir);
    script_refused(w, "#!/bin/sh\n#PBS -l nodes=1:frob=2\ntrue\n", "line 2: -l nodes=1:frob=2");
    assert_int_equal(spec_of(w, "#!/bin/sh\ntrue\n#BSUB -q normal -n 4 -W 24:00\n")->req.ntasks, 4);
    assert_string_equal(w->comp[0].spec.req.partition, "normal");
    assert_int_equal(w->comp[0].spec.req.time_limit_us, 24 * 3600 * USEC_PER_SEC);
    assert_null(w->comp[0].spec.std_out);
    assert_string_equal(str_text(&w->warnings),
                        "read as LSF's, for it has #BSUB lines and no #SBATCH: "
                        "--partition=normal --time=1440 --ntasks=4\n");
    script_refused(w, "#!/bin/sh\n\n#BSUB -W long\n", "line 3: -W long");
    script_refused(w, "#!/bin/sh\n#BSUB -w done(1)\n", "bsub < FILE");
    assert_true(script_of(w, "#!/bin/sh\n#PBS -l nodes=1\ntrue\n", true));
    spec_of(w, "#!/bin/sh\n#PBS -l nodes=1\n#SBATCH -n2\ntrue\n");
    assert_non_null(strstr(w->comp[0].no_effect, "#PBS"));
    spec_of(w, "#!/bin/sh\necho '#PBS' \n#PBSX\n");
}

static void old_magic_word(void **state)
{
    struct world *w = *state;
    assert_int_equal(spec_of(w, "#!/bin/sh\n#SLURM -n2\n#SLURM -N2\n")->req.ntasks, 2);
    assert_string_equal(str_text(&w->warnings), "line 2: write #SBATCH instead of #SLURM\n");
}

static void check(struct world *w, const char *text, size_t len, const char *part)
{
    memset(&w->err, 0, sizeof w->err);
    bool ok = script_check(text, len, "job.sh", &w->err);
    if (ok != (part == NULL))
        fail_msg("%.30s: %s", text, ok ? "was taken" : w->err.text);
    if (part && !strstr(w->err.text, part) && !strstr(w->err.lead, part))
        fail_msg("\"%s\" does not say \"%s\"", w->err.text, part);
}

static void what_is_a_script(void **state)
{
    struct world *w = *state;
#define CHECK_SCRIPT(text, part) check(w, text, sizeof text - 1, part)
    CHECK_SCRIPT("#!/bin/sh\n", NULL);
    CHECK_SCRIPT("#! /bin/bash -l\necho\n", NULL);
    CHECK_SCRIPT("", "Batch script is empty!");
    CHECK_SCRIPT(" \n\t\n", "only whitespace");
    CHECK_SCRIPT("echo\n", "This does not look like a batch script");
    CHECK_SCRIPT("''' Job Script\n'''\n#SBATCH -n1\n", "Python docstring");
    CHECK_SCRIPT("\"\"\"x\"\"\"\n", "Python docstring");
    CHECK_SCRIPT("import os\n", "Python program");
    CHECK_SCRIPT("\n#!/bin/sh\n", "at the very top");
    CHECK_SCRIPT("\xef\xbb\xbf#!/bin/sh\n", "byte order mark");
    CHECK_SCRIPT("#!/bin/sh\r\necho\r\n", "sed -i 's/\\r$//' job.sh");
    CHECK_SCRIPT("#!/bin/sh\necho \0\n", "NULL character");
    char *big = xcalloc(1, LIMIT_SCRIPT_BYTES + 2);
    memset(big, '\n', LIMIT_SCRIPT_BYTES + 1);
    memcpy(big, "#!/bin/sh", 9);
    check(w, big, LIMIT_SCRIPT_BYTES + 1, "a batch script has at most 4194304");
    big[LIMIT_SCRIPT_BYTES] = 0;
    check(w, big, LIMIT_SCRIPT_BYTES, NULL);
    free(big);
}

static int64_t most_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

/* 50,000 words of a line of 100 KB had 2.5 GB, each room for the rest of it. */
static void many_words_cost_what_they_are(void **state)
{
    struct world *w = *state;
    struct str text = STR_INIT;
    str_add(&text, "#!/bin/sh\n#SBATCH");
    for (int i = 0; i < 50000; i++)
        str_add(&text, " a");
    str_add(&text, "\n");
    int64_t before = most_kib();
    assert_false(script_of(w, str_text(&text), false));
    assert_true(most_kib() - before < 200 * 1024);
    str_done(&text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        T(guides_word_for_word),
        T(words),
        T(many_words_cost_what_they_are),
        T(mistakes_name_their_line),
        T(a_backslash_at_the_end_is_nothing),
        T(only_before_the_first_command),
        T(here_documents_are_left_alone),
        T(components),
        T(other_systems_directives),
        T(old_magic_word),
        T(what_is_a_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
