/* remuda lint without a cluster: what is found in which script, what is understood, and that each
 * rule finds something. */
#include "script_help.h"

#include "script/lines.h"
#include "script/lint/lint.h"

#include <stdio.h>

/* `found`: "rule:line …", in order of lines, all of it. Directories named "none…" are not there. */
struct lint_case {
    enum dialect dialect;
    const char *text, *found;
};

#define S(lines, found_) {DIALECT_SLURM, "#!/bin/bash\n" lines, found_},
#define L(lines, found_) {DIALECT_LSF, "#!/bin/bash\n" lines, found_},
#define P(lines, found_) {DIALECT_PBS, "#!/bin/bash\n" lines "cd $PBS_O_WORKDIR\n", found_},

// clang-format off
static const struct lint_case cases[] = {
    /* nothing */
    S("#SBATCH -n 4 -t 1:00:00 --mem=4G\n#SBATCH --output=x.%j\nsrun a\n", "")
    S("#SBATCH --gres=gpu:1   # a comment\n#SBATCH --mail-type=END --mail-user=a@b\n", "")
    S("##SBATCH --exclusive\n# SBATCH is what it is read by\n#SBATCH -t 30:00\n", "")
    S("echo\ncat > x <<EOF\n#SBATCH -n 2\n# SBATCH -n 2\nEOF\n", "")
    S("#SBATCH --array=1-9 -o x.%A_%a\necho $SLURM_ARRAY_TASK_ID ${HOME}\n", "")
    S("#SBATCH --mail-type=NONE --mail-user=a@b\n", "")
    L("#BSUB -n 4 -W 90 -q q\n#BSUB -oo out.%J\nls\n#BSUB -J late\n", "")
    L("#BSUB -J \"a[1-9]\" -oo o.%J.%I -R \"rusage[mem=2GB/host] span[hosts=1]\"\necho $LSB_JOBINDEX $SLURM_JOB_ID\n", "")
    P("#PBS -N a -l nodes=1:ppn=4,walltime=1:00:00,mem=4gb\n#PBS -M a@b -m ae\n", "")
    P("  #PBS -q q\n#PBS -J 0-9 -o o^array_index^\n#PBS -e e^array_index^\necho $PBS_ARRAY_INDEX\n", "")
    P("#PBS -m n -M a@b\n", "")
    /* the script */
    {DIALECT_SLURM, "", "no-script:1"},
    {DIALECT_SLURM, "#SBATCH -n 1\n", "no-script:1"},
    {DIALECT_SLURM, "\xef\xbb\xbf#!/bin/sh\n#SBATCH -n 1\n", "no-script:1"},
    {DIALECT_LSF, "#BSUB -n 1\nls\n", ""},
    {DIALECT_SLURM, "#!/bin/sh\r\n#SBATCH -n 1\r\nls\r\n", "dos-lines:1"},
    {DIALECT_PBS, "#!/bin/sh\n#PBS -d .\nls\r\n", "dos-lines:3"},
    {DIALECT_SLURM, "module load x\n#!/bin/sh\n#SBATCH -n 1\n", "no-script:1 late-shebang:2 late-directive:3"},
    {DIALECT_SLURM, "\n#!/bin/sh\n", "no-script:1 late-shebang:2"},
    S("ls\n#SBATCH -n 1\n", "late-directive:3")
    P("ls\n#PBS -n\n", "late-directive:3")
    S("./a > x 2>&1 &\n", "left-running:2") S("./a &\n./b &\nwait\n", "") S("./a &\n./b\n", "") S("cd x &&\n./a && ./b\n", "")
    S("ibrun -n 4 ./a\n", "foreign-command:2") L("  aprun ./a\nblaunch h hostname\njsrun -n1 ./a\n", "foreign-command:2") S("echo ibrun\n", "")
    S("# SBATCH -n 1\n#SBTACH -n 1\n#sbatch -n 1\n #SBATCH -n 1\n#SBATCH: -n 1\n#BATCH --n 1\n",
      "misspelt-directive:2 misspelt-directive:3 misspelt-directive:4 misspelt-directive:5 bad-option:6 misspelt-directive:7")
    L("# BSUB -n 1\n#BUSB -n 1\n #BSUB -n 1\n", "misspelt-directive:2 misspelt-directive:3 misspelt-directive:4")
    P("# PBS -n\n#pbs -n\n#PSB -n\n", "misspelt-directive:2 misspelt-directive:3 misspelt-directive:4")
    S("#SBATCH \xe2\x80\x93n 1\n", "typography:2 bad-option:2")
    S("#SBATCH -gres=gpu:1\n#SBATCH -partition=x -n4 -o%j -J-time\n", "one-dash:2 bad-option:2 one-dash:3")
    S("#SBATCH --comment=\xe2\x80\x9c" "a\xe2\x80\x9d\n", "typography:2")
    L("#BSUB -n 2 \\\n  -q q\n#BSUB -oo \\\n#BSUB x.%J\n", "continued-line:3")
    P("#PBS -l ncpus=2 \\\n-q q\n#PBS -N b\n", "continued-line:3")
    /* options */
    S("#SBATCH --partitoin=x\n#SBATCH -n\n#SBATCH --exclusive user\n#SBATCH --mem=16Gi\n", "bad-option:2 bad-value:3 bad-option:4 bad-value:5")
    S("#SBATCH --power=x --account=a\n#SBATCH --job-name=\"a\n", "refused-option:2 bad-value:3")
    S("#SBATCH --mem=4G\n#SBATCH --mem-per-cpu=4G\n", "bad-value:3")
    S("#SBATCH --gres=gpu:2\n#SBATCH --gpus-per-node=4\n", "bad-value:3 gpus-twice:3")
    S("#SBATCH --gres-flags=enforce-binding\n", "no-effect:2")
    S("#SBATCH -N 4 -n 2\n", "adjusted:2")
    L("#BSUB -Q 1\n#BSUB -zz\n#BSUB -W 1:2:3\n#BSUB -n 2,4\n#BSUB -sp 3\n#BSUB -gpu mps=yes\n",
      "refused-option:2 bad-option:3 bad-value:4 adjusted:5 no-effect:6 refused-option:7")
    L("#BSUB -J \"a[0-3]\" -gpu num=x\n#BSUB -gpu mps=yes -gpu num=1:mode=shared\n",
      "bad-value:2 bad-value:2 refused-option:3 no-effect:3")
    P("#PBS -T x\n#PBS -l walltim=3:0:0\n#PBS -N a # b\n#PBS -l select=1 -l ncpus=3\n#PBS -p 3\n#PBS -Y\n",
      "refused-option:2 bad-option:3 bad-option:4 no-effect:6 bad-option:7 bad-value")
    P("#PBS -l select=1:frob=2+1:ncpus=4\n#PBS -l select=2:mpiprocs=2\n", "refused-option:2")
    P("#PBS -l nodes=2:ppn=4\n#PBS -l procs=8\n#PBS -N x\n", "no-effect:3")
    P("#PBS -l procs=8\n#PBS -N x\n#PBS -l nodes=2:ppn=4\n", "no-effect:4")
    P("#PBS -l select=1:ncpus=2,pmem=1gb -m e -M a@b\n", "no-effect:2")
    P("#PBS -v A=1\n#PBS -v B=2\n", "repeated:3")
    P("#PBS -l select=1:ncpus=2+1:ncpus=4\n#PBS -l select=2:mpiprocs=2\n", "repeated:3")
    P("#PBS -J 1-3\n#PBS -l select=1:ncpus=2+1:ncpus=4\n", "refused-option")
    S("#SBATCH -n 1\n#SBATCH -n 2\n#SBATCH -n 2\n", "repeated:3")
    L("#BSUB -q a\n#BSUB -q b\n#BSUB -R \"rusage[mem=1GB]\"\n#BSUB -R \"span[hosts=1]\"\n", "repeated:3")
    P("#PBS -l walltime=1:00:00\n#PBS -l mem=1gb,walltime=2:00:00\n#PBS -l mem=1gb\n", "repeated:3")
    /* two systems */
    S("#SBATCH -t 10\n#BSUB -W 20\n#PBS -l walltime=600\n", "two-dialects:3 other-dialect:4")
    S("#SBATCH -t 10\n#PBS -l walltime=600 -q b\n", "two-dialects:3")
    L("#BSUB -W 10\n#SBATCH -t 10\n", "other-dialect:3")
    L("#BSUB -n 4 -W 10\n#SBATCH --ntasks=8\n", "two-dialects:3")
    P("#PBS -l walltime=600\n#SBATCH -t 20\n", "two-dialects:3")
    S("#SLURM -n 2\n", "old-directive:2")
    S("#SBATCH -n 2 \\\n#SBATCH -t 5 \\ \n  --mem=3G\n", "continued-line:4")
    S("#SBATCH -n 2 \\\n\n#SBATCH -t 5\n", "")
    /* what no shell sees */
    S("#SBATCH -o $HOME/x\n#SBATCH -J $(date)\n#SBATCH -e ~/x\n#SBATCH -A a # $HOME\n", "not-expanded:2 not-expanded:3 not-expanded:4")
    L("#BSUB -oo /tmp/$USER.%J\n", "not-expanded:2")
    P("#PBS -A $USER\n", "not-expanded:2")
    S("#SBATCH -J run#1\n#SBATCH --comment=\"a#b\" # c\n", "cut-by-hash:2")
    /* units */
    S("#SBATCH -t 24:00\n", "time-unit:2") S("#SBATCH -t 2:00\n", "time-unit:2") S("#SBATCH -t 48\n", "time-unit:2")
    S("#SBATCH -t 60:00\n", "") S("#SBATCH -t 20\n", "") S("#SBATCH -t 1-0\n", "") S("#SBATCH -t 10:30\n", "")
    L("#BSUB -W 24:00\n", "hours:2")
    P("#PBS -l walltime=24:00\n", "time-unit:2") P("#PBS -l walltime=90\n", "time-unit:2") P("#PBS -l select=1:ncpus=2,walltime=90\n", "time-unit:2")
    P("#PBS -l walltime=3600\n", "")
    S("#SBATCH --mem=16\n", "tiny-memory:2") S("#SBATCH --mem-per-cpu=4\n", "tiny-memory:2") S("#SBATCH --mem=0\n", "")
    L("#BSUB -M 4000\n", "tiny-memory:2") L("#BSUB -R \"rusage[mem=8]\"\n", "tiny-memory:2")
    P("#PBS -l mem=4000\n", "tiny-memory:2") P("#PBS -l select=1:ncpus=1:mem=16mb\n", "tiny-memory:2")
    L("#BSUB -n 4 -R \"rusage[mem=4GB]\"\n", "memory-per:2")
    P("#PBS -l nodes=2:ppn=2,mem=8gb\n", "memory-per:2")
    /* names */
    S("#SBATCH -J a_%j\n", "name-pattern:2") L("#BSUB -J a_%J\n", "name-pattern:2") P("#PBS -N a_%j\n", "name-pattern:2")
    S("#SBATCH -o a_%I -e b_%J\n", "pattern:2") L("#BSUB -oo a_%j\n", "pattern:2") P("#PBS -o a_%j\n", "pattern:2")
    S("#SBATCH -a 1-3 -o x\n", "shared-output:2") S("#SBATCH -a 1-3 -o x.%A\n", "shared-output:2")
    L("#BSUB -J a[1-3]\n#BSUB -oo x.%J\n", "shared-output:3")
    P("#PBS -J 1-3 -j oe\n#PBS -o x\n", "shared-output:3")
    L("#BSUB -o x\n", "continued-output:2") L("#BSUB -o x.%J\n", "")
    S("#SBATCH -o none/x\n#SBATCH -e there/%x/x\n", "no-directory:2") S("#SBATCH -D nonesuch\n", "no-directory:2")
    L("#BSUB -oo none/x.%J\n", "no-directory:2") P("#PBS -o none/x\n", "no-directory:2")
    S("#SBATCH -i none/x\n", "no-directory:2")
    /* the job */
    S("#SBATCH --mail-user=a@b\n", "mail-type:2") L("#BSUB -u a@b\n", "mail-type:2")
    S("#SBATCH --mail-type=END\n", "mail-user:2") L("#BSUB -N\n", "mail-user:2") P("#PBS -m abe\n", "mail-user:2")
    S("#SBATCH -N 2 --ntasks-per-node=4\n#SBATCH -n 16\n", "nodes-and-tasks:3")
    S("#SBATCH -N 2 --ntasks-per-node=4 -n 4\n", "nodes-and-tasks:2") S("#SBATCH -N 2 --ntasks-per-node=4 -n 8\n", "")
    S("#SBATCH --gres=gpu:2\n#SBATCH --gpus=2\n", "gpus-twice:3")
    S("#SBATCH --gres=nic:2\n#SBATCH --gpus=2\n", "")
    S("#SBATCH --array=10 -o %a\n", "array-of-one:2") P("#PBS -t 10\n", "array-of-one:2") S("#SBATCH --array=0 -o %a\n", "")
    P("#PBS -l select=2:ncpus=4\n", "chunks-together:2") P("#PBS -l select=2:ncpus=4 -l place=scatter\n", "")
    {DIALECT_PBS, "#!/bin/sh\n#PBS -q q\n./a\n", "home-directory"},
    {DIALECT_PBS, "#!/bin/sh\n#PBS -q q -d x\n./a\n", ""},
    {DIALECT_LSF, "#BSUB -L /bin/bash\nls\n", "login-shell:1"},
    S("cd $PBS_O_WORKDIR; echo ${LSB_JOBINDEX}\n", "foreign-variable:2 foreign-variable:2")
    L("wc $PBS_NODEFILE\n", "foreign-variable:2") P("echo $LSB_JOBID \\$LSB_X\n", "foreign-variable:2")
};
// clang-format on

static bool directory_there(const char *path, const char *from)
{
    (void)from;
    return strncmp(path, "none", 4) != 0;
}

static void look(struct world *w, const struct lint_case *c, struct lint *l)
{
    *l = (struct lint){.dialect = c->dialect, .env = &w->env, .a = w->a};
    lint_read(l, c->text, strlen(c->text), 0, NULL, "job.sh", directory_there);
}

static const char *found_text(struct world *w, const struct lint *l)
{
    struct str out = STR_INIT;
    for (size_t i = 0; i < l->finding.n; i++) {
        const struct lint_finding *f = &l->finding.v[i];
        str_addf(&out, "%s%s", i ? " " : "", lint_rules[f->rule].name);
        if (f->line)
            str_addf(&out, ":%u", f->line);
    }
    const char *kept = arena_strdup(w->a, str_text(&out));
    str_done(&out);
    return kept;
}

static void says_of_each_script_what_is_wrong(void **state)
{
    struct world *w = *state;
    size_t wrong = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct lint l;
        look(w, &cases[i], &l);
        const char *found = found_text(w, &l);
        if (strcmp(found, cases[i].found) != 0) {
            wrong++;
            print_error("%s\nis found: %s\nexpected: %s\n", cases[i].text, found, cases[i].found);
            for (size_t k = 0; k < l.finding.n; k++)
                print_error("    %u: %s\n", l.finding.v[k].line, l.finding.v[k].text);
        }
        lint_done(&l);
    }
    assert_int_equal(wrong, 0);
}

/* Found where a cluster is asked, or by a command: tests/cli/lint.bats. */
static bool is_of_cluster(enum lint_rule rule)
{
    return rule == RULE_NO_CLUSTER || rule == RULE_PARTITION || rule == RULE_ABOVE_LIMIT ||
           rule == RULE_GPU_TYPE || rule == RULE_REFUSED || rule == RULE_RUN_AS_COMMAND;
}

static void has_a_script_for_each_rule(void **state)
{
    (void)state;
    for (size_t r = 0; r < LINT_RULE_COUNT; r++) {
        bool seen = is_of_cluster((enum lint_rule)r);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
            seen |= strstr(cases[i].found, lint_rules[r].name) != NULL;
        if (!seen)
            fail_msg("no script shows the rule %s", lint_rules[r].name);
    }
}

static void attributes_what_it_becomes_to_its_line(void **state)
{
    struct world *w = *state;
    const struct lint_case c = {
        DIALECT_LSF,
        "#BSUB -n 8\n#BSUB -R \"span[ptile=4]\"\n#BSUB -R \"rusage[mem=2GB]\"\n#BSUB -W 90\n", ""};
    struct lint l;
    look(w, &c, &l);
    assert_int_equal(lint_line_of(&l, "ntasks"), 1);
    assert_int_equal(lint_line_of(&l, "nodes"), 2);
    assert_int_equal(lint_line_of(&l, "ntasks-per-node"), 2);
    assert_int_equal(lint_line_of(&l, "mem"), 3);
    assert_int_equal(lint_line_of(&l, "time"), 4);
    assert_int_equal(lint_line_of(&l, "partition"), 0);
    assert_true(l.readable);
    lint_done(&l);
}

static void goes_on_behind_what_it_cannot_read(void **state)
{
    struct world *w = *state;
    const struct lint_case c = {
        DIALECT_SLURM, "#!/bin/sh\n#SBATCH --mem=x -n 3\n#SBATCH --no -N 2\n#SBATCH -c 2\n", ""};
    struct lint l;
    look(w, &c, &l);
    assert_int_equal(lint_count(&l, LINT_ERROR), 2);
    assert_int_equal(l.comp[0].spec.req.ntasks, 3);
    assert_int_equal(l.comp[0].spec.req.cpus_per_task, 2);
    assert_int_equal(lint_status(&l), 2);
    lint_done(&l);
}

static void tells_a_directory_that_is_made_from_one_that_must_be_there(void **state)
{
    struct world *w = *state;
    const struct lint_case c = {DIALECT_SLURM,
                                "#!/bin/sh\n#SBATCH -o none/%j -e none/%j -i none/in\n", ""};
    struct lint l;
    look(w, &c, &l);
    assert_int_equal(lint_count(&l, LINT_NOTE), 1);
    assert_int_equal(lint_count(&l, LINT_ERROR), 1);
    lint_done(&l);
}

static void takes_a_script_of_late_lines_for_the_system_they_name(void **state)
{
    (void)state;
    const char pbs[] = "#!/bin/sh\ncd x\n#PBS -N a\n", both[] = "ls\n#PBS -N a\n#SBATCH -n 1\n";
    unsigned all;
    assert_int_equal(script_dialect(pbs, sizeof pbs - 1, &all), DIALECT_PBS);
    assert_int_equal(all, 0);
    assert_int_equal(script_dialect(both, sizeof both - 1, &all), DIALECT_SLURM);
}

/* Every cut of every script: nothing is read past its end. */
static void reads_scripts_that_end_anywhere(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].text);
        for (size_t n = 0; n < len; n += 1 + len / 12) {
            struct arena *a = arena_new();
            char *cut = xcalloc(1, n + 1);
            memcpy(cut, cases[i].text, n);
            for (unsigned d = DIALECT_SLURM; d <= DIALECT_PBS; d++) {
                struct lint l = {.dialect = d, .env = &w->env, .a = a};
                lint_read(&l, cut, n, 0, NULL, "job.sh", directory_there);
                lint_done(&l);
            }
            free(cut);
            arena_free(a);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_of_each_script_what_is_wrong, world_setup,
                                        world_teardown),
        cmocka_unit_test(has_a_script_for_each_rule),
        cmocka_unit_test_setup_teardown(attributes_what_it_becomes_to_its_line, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(goes_on_behind_what_it_cannot_read, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(tells_a_directory_that_is_made_from_one_that_must_be_there,
                                        world_setup, world_teardown),
        cmocka_unit_test(takes_a_script_of_late_lines_for_the_system_they_name),
        cmocka_unit_test_setup_teardown(reads_scripts_that_end_anywhere, world_setup,
                                        world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
