/* #BSUB lines and command lines of bsub: what job each becomes (spec/dialects.md 1 to 4). */
#include "script_help.h"

#include "base/duration.h"
#include "script/lsf/lsf.h"
#include "script/lsf/select.h"

#include <stdio.h>

struct lsf_world {
    struct world *w;
    struct dialect_site site;
    struct lsf_request request;
};

static struct lsf_world *world_of(void **state)
{
    static struct lsf_world l;
    l.w = *state;
    l.site = dialect_site_standard();
    return &l;
}

static bool parts_finish(struct lsf_world *l, struct dialect_out *d)
{
    struct world *w = l->w;
    bool ok = true;
    for (size_t i = 0; ok && i < lsf_parts(&l->request); i++) {
        const struct lsf_request *part = lsf_part(&l->request, i, w->a, &w->err);
        d->o = &w->comp[i];
        ok = part && lsf_finish(part, d, &w->err) &&
             options_finish(d->o, CMD_SBATCH, w->a, &w->warnings, &w->err);
    }
    return ok;
}

static bool become(struct lsf_world *l, const char *script, const char *words)
{
    struct world *w = l->w;
    VEC(char *) argv = {0};
    char *text = arena_strdup(w->a, words), *save = NULL;
    unsigned lines;
    int rest;
    memset(w->comp, 0, COMPONENTS_MAX * sizeof *w->comp);
    memset(&w->err, 0, sizeof w->err);
    str_clear(&w->warnings);
    l->request = (struct lsf_request){.site = &l->site};
    vec_push(&argv, (char *)(uintptr_t) "bsub");
    for (char *word = strtok_r(text, "\x1f", &save); word; word = strtok_r(NULL, "\x1f", &save))
        vec_push(&argv, word);
    struct dialect_out d = {w->comp, FROM_DIRECTIVE, &w->env, w->a, &w->warnings};
    bool ok = lsf_read_script(&l->request, script, strlen(script), &w->env, w->a, &w->warnings,
                              &lines, &w->err) &&
              lsf_read_words(&l->request, (int)argv.n, argv.v, &w->env, w->a, &rest, &w->err) &&
              parts_finish(l, &d);
    vec_done(&argv);
    return ok;
}

/* The options of sbatch it became, by their names: "--ntasks=4 --time=90". */
static const char *options_of_world(const struct lsf_world *l)
{
    static char text[2000];
    const struct option_row *row;
    text[0] = 0;
    size_t n = option_count();
    for (size_t k = 0; k < n * lsf_parts(&l->request); k++) {
        const struct submit_options *o = &l->w->comp[k / n];
        size_t i = k % n;
        row = option_at(i);
        if (k && i == 0)
            snprintf(text + strlen(text), sizeof text - strlen(text), " :");
        if (o->source[i] == FROM_DEFAULT || !strcmp(row->name, "open-mode") ||
            (!strcmp(row->name, "output") && !strcmp(o->given[i], "%A.out")))
            continue;
        const char *given = o->given[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s--%s%s%s", text[0] ? " " : "",
                 row->name, *given ? "=" : "", given);
    }
    return text;
}

struct row {
    const char *directives, *options;
};

static void rows_check(struct lsf_world *l, const struct row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char script[2000];
        snprintf(script, sizeof script, "#!/bin/sh\n%s\necho\n", row[i].directives);
        if (!become(l, script, ""))
            fail_msg("%s\nrefused: %s", row[i].directives, l->w->err.text);
        if (strcmp(options_of_world(l), row[i].options) != 0)
            fail_msg("%s\n  becomes  %s\n  expected %s", row[i].directives, options_of_world(l),
                     row[i].options);
    }
}

static void directives_become_a_job(void **state)
{
    static const struct row rows[] = {
        {"", "--ntasks=1"},
        {"#BSUB -n 4", "--ntasks=4"},
        {"#BSUB -n4 -W30", "--time=30 --ntasks=4"},
        {"#BSUB -W 90", "--time=90 --ntasks=1"},
        {"#BSUB -W 1:30", "--time=90 --ntasks=1"},
        {"#BSUB -W 24:00", "--time=1440 --ntasks=1"},
        {"#BSUB -W 1:00/hostA", "--time=60 --ntasks=1"},
        {"#BSUB -q hpc\n#BSUB -q gpuv100", "--partition=gpuv100 --ntasks=1"},
        {"#BSUB -q \"short long\"", "--partition=short,long --ntasks=1"},
        {"#BSUB -J name   # a comment", "--job-name=name --ntasks=1"},
        {"#BSUB -J \"n[1-100:2,150]%5\"",
         "--array=1-100:2,150%5 --job-name=n --ntasks=1 --output=%A.%a.out"},
        {"#BSUB -J n[1-3]", "--array=1-3 --job-name=n --ntasks=1 --output=%A.%a.out"},
        {"#BSUB -P proj -G grp", "--account=grp --ntasks=1"},
        {"#BSUB -P proj", "--account=proj --ntasks=1"},
        {"#BSUB -R \"span[hosts=1]\" -n 4", "--nodes=1 --ntasks=4"},
        {"#BSUB -n 16 -R \"span[ptile=4]\"", "--nodes=4 --ntasks=16 --ntasks-per-node=4"},
        {"#BSUB -n 10 -R span[ptile=4]", "--nodes=3 --ntasks=10 --ntasks-per-node=4"},
        {"#BSUB -n 4 -R \"rusage[mem=5GB]\" -R \"span[hosts=1]\"",
         "--mem=5120M --nodes=1 --ntasks=4"},
        {"#BSUB -n 4 -R \"span[hosts=1] rusage[mem=10GB]\"", "--mem=10240M --nodes=1 --ntasks=4"},
        {"#BSUB -R \"rusage[mem=4000]\"", "--mem=4000M --ntasks=1"},
        {"#BSUB -n 2 -R \"rusage[mem=2GB/task]\"", "--mem-per-cpu=2048M --ntasks=2"},
        {"#BSUB -n 4 -R \"rusage[mem=8GB/job]\"", "--mem-per-cpu=2048M --ntasks=4"},
        {"#BSUB -n 4 -R \"rusage[mem=8GB/job] span[hosts=1]\"", "--mem=8192M --nodes=1 --ntasks=4"},
        {"#BSUB -M 18GB", "--mem-per-cpu=18432M --ntasks=1"},
        {"#BSUB -M 2048000!", "--mem-per-cpu=2000M --ntasks=1"},
        {"#BSUB -M 5GB -R \"rusage[mem=4GB]\"", "--mem=4096M --ntasks=1"},
        {"#BSUB -R \"select[gpu32gb]\"", "--ntasks=1 --constraint=gpu32gb"},
        {"#BSUB -R \"select[gpu80gb && model == XeonGold6226R]\"",
         "--ntasks=1 --constraint=gpu80gb&XeonGold6226R"},
        {"#BSUB -R \"select[(a || model==b) && c]\"", "--ntasks=1 --constraint=(a|b)&c"},
        {"#BSUB -R \"select[a||b]\" -R \"select[c]\"", "--ntasks=1 --constraint=(a|b)&c"},
        {"#BSUB -R \"select[a||b]\" -R \"select[c||d]\"", "--ntasks=1 --constraint=(a|b)&(c|d)"},
        {"#BSUB -R \"select[a && (b && c)]\"", "--ntasks=1 --constraint=a&b&c"},
        {"#BSUB -R \"select[((ncpus>=2 && (a || b)) && ((c && d)))]\"",
         "--mincpus=2 --ntasks=1 --constraint=(a|b)&c&d"},
        {"#BSUB -R \"select[a && (ncpus>=2 && (type==any && (b)))]\"",
         "--mincpus=2 --ntasks=1 --constraint=a&b"},
        {"#BSUB -R \"select[type==any]\"", "--ntasks=1"},
        {"#BSUB -R \"select[hname!='h1']\"", "--ntasks=1 --exclude=h1"},
        {"#BSUB -R \"select[mem>=4000] rusage[mem=4000]\"", "--mem=4000M --ntasks=1"},
        {"#BSUB -R \"select[tmp>=1000] rusage[tmp=2000]\"", "--ntasks=1 --tmp=2000M"},
        {"#BSUB -R \"rusage[matlab=2,duration=5m]\"", "--licenses=matlab:2 --ntasks=1"},
        {"#BSUB -R \"affinity[core(4)]\" -n 2", "--cpus-per-task=4 --ntasks=2"},
        {"#BSUB -R \"cu[type=rack:maxcus=2]\"", "--ntasks=1 --switches=2"},
        {"#BSUB -R \"order[-mem:ut]\"", "--ntasks=1"},
        {"#BSUB -R \"2*{select[a] span[ptile=1]} + 4*{rusage[mem=1GB/host] span[hosts=1]}\" -W 10 "
         "-J x -H",
         "--hold --job-name=x --time=10 --nodes=2 --ntasks=2 --ntasks-per-node=1 --constraint=a : "
         "--job-name=x --time=10 --mem=1024M --nodes=1 --ntasks=4"},
        {"#BSUB -n 6 -R \"select[c]\" -R \"2*{a}+{rusage[ngpus_physical=1]}\" -w done(12)",
         "--kill-on-invalid-dep=no --ntasks=2 --constraint=c&a : --ntasks=4 --gpus-per-node=1 "
         "--constraint=c"},
        {"#BSUB -gpu \"num=1:mode=exclusive_process\"", "--ntasks=1 --gpus-per-node=1"},
        {"#BSUB -gpu \"num=2/task:gmodel=V100-32G\"",
         "--ntasks=1 --gpu-mem=32768M --gpus-per-task=V100:2"},
        {"#BSUB -gpu -", "--ntasks=1 --gpus-per-node=1"},
        {"#BSUB -gpu num=4", "--ntasks=1 --gpus-per-node=4"},
        {"#BSUB -R \"rusage[ngpus_physical=2]\"", "--ntasks=1 --gpus-per-node=2"},
        {"#BSUB -o gpu_%J.out -e gpu_%J.err", "--ntasks=1 --error=gpu_%A.err --output=gpu_%A.out"},
        {"#BSUB -o a_%I_%j", "--ntasks=1 --output=a_0_%%j"},
        {"#BSUB -o x -e x", "--ntasks=1 --output=x"},
        {"#BSUB -o out/", "--ntasks=1 --output=out/%A.out"},
        {"#BSUB -outdir d -o x", "--ntasks=1 --output=d/x"},
        {"#BSUB -u me@x -B -N", "--mail-type=BEGIN,END,FAIL --mail-user=me@x --ntasks=1"},
        {"#BSUB -Ne", "--mail-type=FAIL --ntasks=1"},
        {"#BSUB -t 16:00", "--deadline=2026-03-02T16:00:00 --ntasks=1"},
        {"#BSUB -t 16:00 -W 10", "--deadline=2026-03-02T16:00:00 --time=10 --ntasks=1"},
        {"#BSUB -t 16:00 -W 24:00", "--deadline=2026-03-02T16:00:00 --ntasks=1"},
        {"#BSUB -g /a/b -C 0 -S 8MB -D 100 -F 1", "--ntasks=1"},
        {"#BSUB -R \"select[mem>4000 && !a]\"", "--ntasks=1"},
        {"#BSUB -gpu num=4:gtile=2",
         "--ntasks=1 --sockets-per-node=2 --gpus-per-node=4 --gpus-per-socket=2"},
        {"#BSUB -e err/", "--ntasks=1 --error=err/%A.err"},
        {"#BSUB -env \"all, ~A, B=1\"", "--ntasks=1 --export=all,B=1"},
        {"#BSUB -x -H -r", "--hold --requeue --ntasks=1 --exclusive"},
        {"#BSUB -nnodes 2", "--nodes=2 --exclusive"},
        {"#BSUB -b 16:00", "--begin=2026-03-02T16:00:00 --ntasks=1"},
        {"#BSUB -b 9:30", "--begin=2026-03-03T09:30:00 --ntasks=1"},
        {"#BSUB -b 2026:12:31:23:59", "--begin=2026-12-31T23:59:00 --ntasks=1"},
        {"#BSUB -wa USR2 -wt 5", "--signal=B:USR2@300 --ntasks=1"},
        {"#BSUB -env \"all, A, B=1\"", "--ntasks=1 --export=all,A,B=1"},
        {"#BSUB -env none", "--ntasks=1 --export=NONE"},
        {"#BSUB -L /bin/bash", "--ntasks=1"},
        {"#BSUB -U res -Jd \"two words\" -cwd /tmp",
         "--comment=two words --reservation=res --ntasks=1 --chdir=/tmp"},
    };
    rows_check(world_of(state), rows, ARRAY_LEN(rows));
}

static void the_script_is_read_to_its_end(void **state)
{
    struct lsf_world *l = world_of(state);
    assert_true(become(l,
                       "echo begin\n#BSUB -n 3 \\\n#BSUB -W 5\necho\n  #BSUB -q x\n##BSUB -q y\n"
                       "# BSUB -q z\n#SBATCH -n 9\n#BSUB -J last",
                       ""));
    assert_string_equal(options_of_world(l), "--job-name=last --time=5 --ntasks=3");
    assert_non_null(
        strstr(str_text(&l->w->warnings), "line 7: not read, because it does not begin"));
    assert_non_null(strstr(str_text(&l->w->warnings), "line 8: #SBATCH lines are not read"));
}

static void the_command_line_beats_the_script(void **state)
{
    struct lsf_world *l = world_of(state);
    assert_true(become(l, "#BSUB -n 3 -W 5 -q a\n",
                       "-W\x1f"
                       "10\x1f"
                       "-q\x1f"
                       "b c"));
    assert_string_equal(options_of_world(l), "--partition=b,c --time=10 --ntasks=3");
}

/* Units and what memory is of are the site's. */
static void sites_differ(void **state)
{
    struct lsf_world *l = world_of(state);
    l->site.lsf_mem_per_slot = true;
    assert_true(become(l, "#BSUB -n 4 -R rusage[mem=16GB]\n", ""));
    assert_string_equal(options_of_world(l), "--mem-per-cpu=16384M --ntasks=4");
    l->site.lsf_limit_kib = 1024 * 1024;
    l->site.lsf_mem_of_job = true;
    assert_true(become(l, "#BSUB -n 4 -R span[hosts=1] -M 8\n", ""));
    assert_string_equal(options_of_world(l), "--mem=8192M --nodes=1 --ntasks=4");
}

/* -o and -e continue their files, -oo and -eo begin them anew, each for itself. */
static void each_file_is_opened_as_its_option_says(void **state)
{
    static const struct {
        const char *directives;
        enum open_mode mode;
    } rows[] = {
        {"", OPEN_APPEND},
        {"#BSUB -o a", OPEN_APPEND},
        {"#BSUB -oo a", OPEN_TRUNCATE},
        {"#BSUB -o a -e b", OPEN_APPEND},
        {"#BSUB -oo a -eo b", OPEN_TRUNCATE},
        {"#BSUB -oo a -e b", OPEN_TRUNCATE_OUTPUT},
        {"#BSUB -o a -eo b", OPEN_TRUNCATE_ERROR},
        {"#BSUB -oo a -e a", OPEN_TRUNCATE},
    };
    struct lsf_world *l = world_of(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char script[200];
        snprintf(script, sizeof script, "#!/bin/sh\n%s\necho\n", rows[i].directives);
        assert_true(become(l, script, ""));
        if ((enum open_mode)l->w->comp->spec.open_mode != rows[i].mode)
            fail_msg("%s: %d", rows[i].directives, (int)l->w->comp->spec.open_mode);
    }
}

/* What select[] asks of hosts, word by word, of one that has it and one that has not. */
static void hosts_answer_a_select(void **state)
{
    static const struct lsf_host_facts host = {"n1", "gpu32gb,XeonGold6226R", 4096, 100, 8, 2};
    static const struct {
        const char *text;
        bool holds;
    } rows[] = {
        {"gpu32gb", true},
        {"!gpu32gb", false},
        {"sxm2", false},
        {"! sxm2", true},
        {"defined(gpu32gb)", true},
        {"!defined(sxm2)", true},
        {"model==XeonGold6226R", true},
        {"model != XeonGold6226R", false},
        {"hname==n1", true},
        {"hname!='n1'", false},
        {"type==any", true},
        {"mem>4000", true},
        {"mem>4GB", false},
        {"mem>=4GB", true},
        {"mem==4GB", true},
        {"maxmem<4GB", false},
        {"tmp>1000", false},
        {"ncpus>=8", true},
        {"ncpus>8", false},
        {"ngpus>0", true},
        {"ngpus==0", false},
        {"ngpus", true},
        {"r1m<0.5 && ut", true},
        {"sxm2 || gpu32gb && mem>1", true},
        {"(sxm2 || gpu32gb) && mem>1TB", false},
        {"sxm2 && gpu32gb || ncpus==8", true},
        {"!(sxm2 || ncpus<8)", true},
        {"!!gpu32gb", true},
    };
    struct err e = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct span text = span_of(rows[i].text);
        if (!lsf_select_check(text, 1024, &e))
            fail_msg("%s: %s", rows[i].text, e.text);
        if (lsf_select_holds(text, 1024, &host) != rows[i].holds)
            fail_msg("%s", rows[i].text);
    }
    static const char *const none[] = {"",     "a &&",    "a b",  "(a",       "a)", "mem>x",
                                       "mem>", "frob==1", "&& a", "hname<n1", "!"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (lsf_select_check(span_of(none[i]), 1024, &e))
            fail_msg("\"%s\" is an expression?", none[i]);
    char deep[400];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_false(lsf_select_check(span_of(deep), 1024, &e));
    struct str part = STR_INIT;
    assert_true(lsf_select_part(span_of("a && b select[mem>1] rusage[mem=2] select[c]"), &part));
    assert_string_equal(str_text(&part), "(a && b)&&(mem>1)&&(c)");
    assert_false(lsf_select_part(span_of("select[a"), &part));
    str_done(&part);
}

static void what_is_not_there_is_refused_by_name(void **state)
{
    static const struct {
        const char *words, *says;
    } rows[] = {
        {"-Q\x1f"
         "1",
         "-Q is not supported: test the code in the script"},
        {"-app\x1f"
         "x",
         "-app is not supported"},
        {"-frobnicate", "unrecognized option '-frobnicate'"},
        {"-cwdd\x1f"
         "x",
         "(did you mean '-cwd'?)"},
        {"-W", "option requires an argument -- 'W'"},
        {"-W\x1f"
         "1:2:3",
         "-W 1:2:3: \"1:2:3\" is no LSF run limit"},
        {"-n\x1f"
         "many",
         "-n many: a number of slots is needed"},
        {"-R\x1f"
         "rusage[mem=x]",
         "\"x\": a size is needed"},
        {"-R\x1f"
         "select[(a && b]",
         "\"(a && b\": a parenthesis is missing"},
        {"-R\x1f"
         "span[hosts=2]",
         "hosts=1, hosts=-1, ptile=N, stripe and block are allowed"},
        {"-R\x1f"
         "frob[x]",
         "no such section"},
        {"-R\x1f"
         "span[hosts=1",
         "the bracket is not closed"},
        {"-R\x1f"
         "{a} || {b}",
         "-R {…} || {…} is not supported"},
        {"-R\x1f"
         "2*{a}2*{b}",
         "parts are joined by +"},
        {"-R\x1f"
         "2{a}",
         "a number of slots is needed"},
        {"-R\x1f"
         "2*{a",
         "2*{…}+4*{…} is needed"},
        {"-R\x1f"
         "{a}+2*{b}",
         "only the last part may be without a number"},
        {"-R\x1f"
         "2*{frob[x]}+1*{b}",
         "no such section"},
        {"-n\x1f"
         "5\x1f-R\x1f"
         "2*{a}+2*{b}",
         "has parts of 4 slots, and -n is 5"},
        {"-n\x1f"
         "2\x1f-R\x1f"
         "2*{a}+{b}",
         "has parts of 2 slots and more, and -n is 2"},
        {"-R\x1f"
         "2*{a}+{b}",
         "the last part has no number, which needs -n"},
        {"-J\x1f"
         "a[1-2]\x1f-R\x1f"
         "2*{a}+1*{b}",
         "an array of jobs whose parts differ is not supported"},
        {"-R\x1f"
         "select[!a && (b]",
         "a parenthesis is not closed"},
        {"-R\x1f"
         "select[frob==3 || mem>1]",
         "\"frob\": no such resource"},
        {"-R\x1f"
         "rusage[mem=(1 2):duration=(3 4)]",
         "-R rusage[] with phases is not supported"},
        {"-p\x1f"
         "10",
         "-p is not supported"},
        {"-C\x1f"
         "much",
         "an amount is needed"},
        {"-R\x1f"
         "same[rack]",
         "same[type], same[model] and same[hname] are taken"},
        {"-gpu\x1f"
         "num=1:frob=2",
         "\"frob\": no such key"},
        {"-gpu\x1f"
         "mps=yes",
         "-gpu mps is not supported"},
        {"-J\x1f"
         "n[0-3]",
         "begin at 1"},
        {"-J\x1f"
         "n[1-3",
         "an array is NAME[1-10]"},
        {"-w\x1f"
         "numdone(1)",
         "how many is missing: numdone(1,>=3), or * for all"},
        {"-w\x1f"
         "done(1,3)",
         "cannot be read at \",3)\""},
        {"-w\x1f"
         "exit(1,*)",
         "cannot be read at \"*)\""},
        {"-w\x1f"
         "!done(1[*])",
         "-w with ! before an element for each is not supported"},
        {"-w\x1f"
         "numrun(1[*],3)",
         "-w num…() of an element is not supported"},
        {"-w\x1f"
         "post_err(1)",
         "-w post_err() is not supported"},
        {"-w\x1f"
         "external(1,\"x\")",
         "-w external() is not supported"},
        {"-w\x1f"
         "done(1) &&",
         "cannot be read at"},
        {"-w\x1f"
         "frob(1)",
         "there is no condition \"frob\""},
        {"-w\x1f"
         "done(1",
         "cannot be read at"},
        {"-q\x1f"
         " ",
         "a queue is needed"},
        {"-b\x1f"
         "25:00",
         "[[[year:]month:]day:]hour:minute is needed"},
    };
    struct lsf_world *l = world_of(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (become(l, "", rows[i].words))
            fail_msg("\"%s\" was taken", rows[i].words);
        if (!strstr(l->w->err.text, rows[i].says))
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", rows[i].words, l->w->err.text,
                     rows[i].says);
    }
    assert_false(become(l, "\n#BSUB -J \"open\n", ""));
    assert_string_equal(l->w->err.text, "line 2: the quote is not closed");
}

static void what_has_no_effect_is_said(void **state)
{
    struct lsf_world *l = world_of(state);
    assert_true(become(l, "#BSUB -We 10 -sla x -n 2,4 -R order[ut]\n", ""));
    assert_non_null(strstr(l->w->comp->no_effect, "-We: only -W counts"));
    assert_non_null(strstr(l->w->comp->no_effect, "-sla: there are no service classes"));
    assert_non_null(strstr(l->w->comp->no_effect, "order[ut]"));
    assert_non_null(strstr(str_text(&l->w->warnings), "-n: 2 slots are taken"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(directives_become_a_job, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(the_script_is_read_to_its_end, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(the_command_line_beats_the_script, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(sites_differ, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(each_file_is_opened_as_its_option_says, world_setup,
                                        world_teardown),
        cmocka_unit_test(hosts_answer_a_select),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_refused_by_name, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(what_has_no_effect_is_said, world_setup, world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
