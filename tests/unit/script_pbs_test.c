/* #PBS lines and command lines of qsub: what job each becomes (spec/dialects.md
 * 1, 5 and 6). */
#include "script_help.h"

#include "script/pbs/pbs.h"

#include <stdio.h>

struct pbs_world {
    struct world *w;
    struct dialect_site site;
    struct pbs_request request;
};

static struct pbs_world *world_of(void **state)
{
    static struct pbs_world p;
    p.w = *state;
    p.site = dialect_site_standard();
    p.site.pbs_server = "head";
    p.site.user = "me";
    return &p;
}

/* `words`: of the command line, parted by '|'. */
static bool become(struct pbs_world *p, const char *script, const char *words)
{
    struct world *w = p->w;
    VEC(char *) argv = {0};
    char *text = arena_strdup(w->a, words), *save = NULL;
    unsigned lines;
    int rest;
    memset(w->comp, 0, sizeof *w->comp);
    memset(&w->err, 0, sizeof w->err);
    str_clear(&w->warnings);
    p->request = (struct pbs_request){.site = &p->site};
    vec_push(&argv, (char *)(uintptr_t) "qsub");
    for (char *word = strtok_r(text, "|", &save); word; word = strtok_r(NULL, "|", &save))
        vec_push(&argv, word);
    struct dialect_out d = {w->comp, FROM_DIRECTIVE, &w->env, w->a, &w->warnings};
    bool ok = pbs_read_words(&p->request, (int)argv.n, argv.v, &w->env, w->a, &rest, &w->err) &&
              pbs_read_script(&p->request, script, strlen(script), &w->env, w->a, &w->warnings,
                              &lines, &w->err) &&
              pbs_finish(&p->request, &d, &w->err) &&
              options_finish(w->comp, CMD_SBATCH, w->a, &w->warnings, &w->err);
    vec_done(&argv);
    return ok;
}

/* Without what every job of PBS has: --requeue and --export=NONE. */
static const char *options_of_world(const struct pbs_world *p)
{
    static char text[2000];
    const struct option_row *row;
    text[0] = 0;
    for (size_t i = 0; (row = option_at(i)); i++) {
        const char *given = p->w->comp->given[i];
        if (p->w->comp->source[i] == FROM_DEFAULT || !strcmp(row->name, "requeue") ||
            (!strcmp(row->name, "export") && !strcmp(given, "NONE")))
            continue;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s--%s%s%s", text[0] ? " " : "",
                 row->name, *given ? "=" : "", given);
    }
    return text;
}

struct row {
    const char *directives, *options;
};

static void rows_check(struct pbs_world *p, const struct row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char script[2000];
        snprintf(script, sizeof script, "#!/bin/sh\n%s\necho\n", row[i].directives);
        if (!become(p, script, ""))
            fail_msg("%s\nrefused: %s", row[i].directives, p->w->err.text);
        if (strcmp(options_of_world(p), row[i].options) != 0)
            fail_msg("%s\n  becomes  %s\n  expected %s", row[i].directives, options_of_world(p),
                     row[i].options);
    }
}

static void directives_become_a_job(void **state)
{
    static const struct row rows[] = {
        {"", "--nodes=1 --ntasks=1"},
        {"#PBS -N name -q workq", "--partition=workq --nodes=1 --ntasks=1"},
        {"#PBS -A acct -P proj", "--account=acct --nodes=1 --ntasks=1"},
        {"#PBS -P proj", "--account=proj --nodes=1 --ntasks=1"},
        {"#PBS -l select=1:ncpus=4:mem=8gb", "--cpus-per-task=4 --mem=8192M --nodes=1 --ntasks=1"},
        {"#PBS -l select=2:ncpus=4:mem=8gb", "--cpus-per-task=4 --mem-per-cpu=2048M --ntasks=2"},
        {"#PBS -l select=2:ncpus=4:mem=8gb -l place=scatter",
         "--cpus-per-task=4 --mem=8192M --nodes=2 --ntasks=2 "
         "--ntasks-per-node=1"},
        {"#PBS -l select=1:ncpus=8:mpiprocs=8", "--nodes=1 --ntasks=8"},
        {"#PBS -l select=2:ncpus=8:mpiprocs=4,place=scatter",
         "--cpus-per-task=2 --nodes=2 --ntasks=8 --ntasks-per-node=4"},
        {"#PBS -l select=3:ncpus=2,place=pack", "--cpus-per-task=2 --nodes=1 --ntasks=3"},
        {"#PBS -l select=1:ncpus=4:mem=4gb:ngpus=1+2:ncpus=1:mem=1gb,place=pack",
         "--cpus-per-task=2 --mem=6144M --nodes=1 --ntasks=3 --gpus-per-node=1"},
        {"#PBS -l select=1:ncpus=4+1:ncpus=4", "--cpus-per-task=4 --ntasks=2"},
        {"#PBS -l select=1:ncpus=4:ngpus=2",
         "--cpus-per-task=4 --nodes=1 --ntasks=1 --gpus-per-node=2"},
        {"#PBS -l select=2:ncpus=1:ngpus=1", "--ntasks=2 --gpus-per-task=1"},
        {"#PBS -l select=1:ncpus=1:bigmem=true:host=n1",
         "--nodes=1 --ntasks=1 --constraint=bigmem --nodelist=n1"},
        {"#PBS -l select=1:ncpus=1 -l place=excl", "--nodes=1 --ntasks=1 --exclusive"},
        {"#PBS -l nodes=2:ppn=4,mem=16gb", "--mem=8192M --nodes=2 --ntasks=8 --ntasks-per-node=4"},
        {"#PBS -l nodes=1:ppn=8:gpus=2:k80",
         "--nodes=1 --ntasks=8 --ntasks-per-node=8 --gpus-per-node=2 "
         "--constraint=k80"},
        {"#PBS -l nodes=1:ppn=2+2:ppn=2", "--nodes=3 --ntasks=6 --ntasks-per-node=2"},
        {"#PBS -l nodes=n1:ppn=2+n2:ppn=2",
         "--nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=n1,n2"},
        {"#PBS -l nodes=n1+n2", "--nodes=2 --ntasks=2 --ntasks-per-node=1 --nodelist=n1,n2"},
        {"#PBS -l nodes=1:gpus=1:reseterr",
         "--nodes=1 --ntasks=1 --ntasks-per-node=1 --gpus-per-node=1"},
        {"#PBS -u me -w /tmp", "--nodes=1 --ntasks=1"},
        {"#PBS -q work@head", "--partition=work --nodes=1 --ntasks=1"},
        {"#PBS -l nodes=1:gpus=1:exclusive_process",
         "--nodes=1 --ntasks=1 --ntasks-per-node=1 --gpus-per-node=1"},
        {"#PBS -l nodes=2:ppn=2#excl", "--nodes=2 --ntasks=4 --ntasks-per-node=2 --exclusive"},
        {"#PBS -l nodes=2:ppn=4 -l pmem=2gb",
         "--mem-per-cpu=2048M --nodes=2 --ntasks=8 --ntasks-per-node=4"},
        {"#PBS -l ncpus=4 -l mem=500mb", "--cpus-per-task=4 --mem=500M --nodes=1 --ntasks=1"},
        {"#PBS -l mem=104857600", "--mem=100M --nodes=1 --ntasks=1"},
        {"#PBS -l procs=16,mem=32gb", "--mem-per-cpu=2048M --ntasks=16"},
        {"#PBS -l walltime=90", "--time=0:01:30 --nodes=1 --ntasks=1"},
        {"#PBS -l walltime=30:00", "--time=0:30:00 --nodes=1 --ntasks=1"},
        {"#PBS -l walltime=100:00:00", "--time=100:00:00 --nodes=1 --ntasks=1"},
        {"#PBS -l walltime=1:00:00 -l walltime=2:00:00", "--time=1:00:00 --nodes=1 --ntasks=1"},
        {"#PBS -m abe -M a@b,c",
         "--mail-type=FAIL,BEGIN,END --mail-user=a@b,c --nodes=1 --ntasks=1"},
        {"#PBS -m n", "--nodes=1 --ntasks=1"},
        {"#PBS -a 1630", "--begin=2026-03-02T16:30:00 --nodes=1 --ntasks=1"},
        {"#PBS -a 0930", "--begin=2026-03-03T09:30:00 --nodes=1 --ntasks=1"},
        {"#PBS -a 202612312359.30", "--begin=2026-12-31T23:59:30 --nodes=1 --ntasks=1"},
        {"#PBS -h -p -5", "--hold --nice=5 --nodes=1 --ntasks=1"},
        {"#PBS -r n", "--no-requeue --nodes=1 --ntasks=1"},
        {"#PBS -J 0-10:2%3", "--array=0-10:2%3 --nodes=1 --ntasks=1"},
        {"#PBS -t 5", "--array=5 --nodes=1 --ntasks=1"},
        {"#PBS -V", "--nodes=1 --ntasks=1 --export=ALL"},
        {"#PBS -v A,B=1", "--nodes=1 --ntasks=1 --export=A,B=1"},
        {"#PBS -W depend=afterok:12.server:13[].server,afterany:14[3]",
         "--dependency=afterok:12:13,afterany:14_3 --nodes=1 --ntasks=1"},
        {"#PBS -W depend=afterokarray:12[],umask=77",
         "--dependency=afterok:12 --nodes=1 --ntasks=1"},
        {"#PBS -W depend=afterokarray:12[][5]:13[],afterstartarray:14[].s",
         "--dependency=numdone:12>=5,afterok:13,after:14 --nodes=1 --ntasks=1"},
        {"#PBS -W depend=beforeokarray:12[][5],beforeanyarray:13[]",
         "--dependency=numdone:12<5,numended:13<all --nodes=1 --ntasks=1"},
        {"#PBS -W depend=on:2,afterany:9", "--dependency=on:2,afterany:9 --nodes=1 --ntasks=1"},
        {"#PBS -W depend=before:1:2.srv,beforeok:3,beforenotok:4,beforeany:5[]",
         "--dependency=before:1:2,beforeok:3,beforenotok:4,beforeany:5 "
         "--nodes=1 --ntasks=1"},
        {"#PBS -l nodes=1:a|b -l feature=c|d", "--nodes=1 --ntasks=1 --ntasks-per-node=1 "
                                               "--constraint=(a|b)&(c|d)"},
        {"#PBS -l nodes=1:a|b:c", "--nodes=1 --ntasks=1 --ntasks-per-node=1 --constraint=(a|b)&c"},
        {"#PBS -W x=advres:res", "--reservation=res --nodes=1 --ntasks=1"},
        {"#PBS-joe -lnodes=1:ppn=2", "--nodes=1 --ntasks=2 --ntasks-per-node=2"},
        {"#PBS -hzN name", "--hold --nodes=1 --ntasks=1"},
        {"  #PBS -q x", "--partition=x --nodes=1 --ntasks=1"},
        {"##PBS -q x\n# PBS -q y\n#pbs -q z", "--nodes=1 --ntasks=1"},
        {"#PBS -l nodes=1\\\n#PBS :ppn=2", "--nodes=1 --ntasks=2 --ntasks-per-node=2"},
    };
    rows_check(world_of(state), rows, ARRAY_LEN(rows));
}

static void lines_behind_the_first_command_are_dead(void **state)
{
    struct pbs_world *p = world_of(state);
    assert_true(become(p, "#!/bin/sh\n#PBS -q a\n\n# comment\necho\n#PBS -q b\n", ""));
    assert_string_equal(options_of_world(p), "--partition=a --nodes=1 --ntasks=1");
    assert_string_equal(str_text(&p->w->warnings),
                        "line 6: not read, because it stands after the first "
                        "command: #PBS -q b\n");
    assert_true(become(p, "#SBATCH -n 9\n#PBS -q a\n", ""));
    assert_string_equal(str_text(&p->w->warnings),
                        "line 1: #SBATCH lines are not read; qsub reads #PBS\n");
}

/* Of -l each resource of the command line counts, and the script's others
 * beside it. */
static void the_command_line_beats_the_script(void **state)
{
    struct pbs_world *p = world_of(state);
    assert_true(become(p, "#PBS -q a -l walltime=10,mem=1gb -A x\n", "-q|b|-lwalltime=20"));
    assert_string_equal(options_of_world(p), "--account=x --partition=b --time=0:00:20 --mem=1024M "
                                             "--nodes=1 --ntasks=1");
    /* Of -W each attribute. */
    static const struct {
        const char *of_line, *of_script;
    } attributes[] = {{"depend=afterok:1", "depend=afterok:2"},
                      {"block=true", "block=false"},
                      {"umask=077", "umask=022"},
                      {"group_list=mine", "group_list=other"},
                      {"x=advres:one", "x=advres:two"}};
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++)
        for (size_t k = 0; k < ARRAY_LEN(attributes); k++) {
            char script[200], line[100];
            snprintf(script, sizeof script, "#PBS -W %s,%s\n#PBS -W run_count=1\n",
                     attributes[k].of_script,
                     attributes[(k + 1) % ARRAY_LEN(attributes)].of_script);
            snprintf(line, sizeof line, "-W%s", attributes[i].of_line);
            assert_true(become(p, script, line));
            const struct pbs_request *r = &p->request;
            bool said[ARRAY_LEN(attributes)] = {false};
            said[k] = said[(k + 1) % ARRAY_LEN(attributes)] = true;
            const char *depend = i == 0 ? "afterok:1" : said[0] ? "afterok:2" : NULL;
            assert_true(text_is(r->depend, depend));
            assert_int_equal(r->wait, i == 1);
            assert_true(text_is(r->umask, i == 2 ? "077" : said[2] ? "022" : NULL));
            assert_true(text_is(r->group, i == 3 ? "mine" : said[3] ? "other" : NULL));
            assert_true(text_is(r->reservation, i == 4 ? "one" : said[4] ? "two" : NULL));
        }
    assert_true(become(p, "#MINE -q a\n#PBS -q b\n", "-C|#MINE"));
    assert_string_equal(options_of_world(p), "--partition=a --nodes=1 --ntasks=1");
}

/* Parts that differ: one component each; what is of the job as a whole is of the first. */
static void parts_that_differ_are_components(void **state)
{
    static const struct {
        const char *line, *part[4];
    } rows[] = {
        {"-l select=2:ncpus=8:mem=4gb+1:ncpus=2:ngpus=1 -l walltime=60 -q workq -h",
         {"--hold --partition=workq --time=0:01:00 --cpus-per-task=8 --mem-per-cpu=512M --ntasks=2",
          "--partition=workq --time=0:01:00 --cpus-per-task=2 --nodes=1 --ntasks=1 "
          "--gpus-per-node=1"}},
        {"-l select=1:ncpus=1+1:ncpus=2+1:ncpus=1",
         {"--nodes=1 --ntasks=1", "--cpus-per-task=2 --nodes=1 --ntasks=1",
          "--nodes=1 --ntasks=1"}},
        {"-l nodes=2:ppn=4:gpus=1+1:ppn=2:big,mem=6gb -l feature=fast",
         {"--mem=2048M --nodes=2 --ntasks=8 --ntasks-per-node=4 --gpus-per-node=1 "
          "--constraint=fast",
          "--mem=2048M --nodes=1 --ntasks=2 --ntasks-per-node=2 --constraint=big&fast"}},
        {"-l nodes=n1:ppn=2+2:ppn=2",
         {"--nodes=1 --ntasks=2 --ntasks-per-node=2 --nodelist=n1",
          "--nodes=2 --ntasks=4 --ntasks-per-node=2"}},
    };
    struct pbs_world *p = world_of(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char script[300];
        size_t parts = 0;
        snprintf(script, sizeof script, "#PBS %s\n", rows[i].line);
        assert_false(become(p, script, "")); /* one job alone says no */
        while (rows[i].part[parts])
            parts++;
        assert_int_equal(pbs_parts(&p->request), parts);
        for (size_t k = 0; k < parts; k++) {
            struct dialect_out d = {p->w->comp, FROM_DIRECTIVE, &p->w->env, p->w->a,
                                    &p->w->warnings};
            memset(p->w->comp, 0, sizeof *p->w->comp);
            assert_true(pbs_part_finish(&p->request, k, &d, &p->w->err));
            assert_string_equal(options_of_world(p), rows[i].part[k]);
        }
    }
    assert_false(become(p, "#PBS -J 1-3 -l select=1:ncpus=4+2:ncpus=2\n", ""));
    struct dialect_out d = {p->w->comp, FROM_DIRECTIVE, &p->w->env, p->w->a, &p->w->warnings};
    assert_false(pbs_part_finish(&p->request, 0, &d, &p->w->err));
    assert_non_null(strstr(p->w->err.text, "an array of jobs whose parts differ"));
}

static void what_is_not_there_is_refused_by_name(void **state)
{
    static const struct {
        const char *line, *says;
    } rows[] = {
        {"-l foo=1", "Unknown resource Resource_List.foo"},
        {"-l waltime=1", "(did you mean \"walltime\"?)"},
        {"-l cput=10", "-l cput is not supported: walltime limits the run"},
        {"-l select=1:ncpus=4 -l ncpus=2",
         "cannot be used with \"select\" or \"place\", resource is: ncpus"},
        {"-l select=2:ncpus=1 -l ngpus=1",
         "cannot be used with \"select\" or \"place\", resource is: ngpus"},
        {"-l place=pack", "Cannot have \"place\" without \"select\""},
        {"-l select=1:ncpus=4+2:ncpus=2", "-l select with different chunks is not supported"},
        {"-l nodes=1:ppn=4+2:ppn=2", "-l nodes with different parts is not supported"},
        {"-l select=1:ncpus=4+0:ncpus=2", "a chunk at least is needed"},
        {"-l select=1:frob=3", "-l select with frob is not supported"},
        {"-l select=2:system=polaris", "nodes with a feature are polaris=true"},
        {"-l mem=lots", "\"lots\": a size is needed"},
        {"-l walltime=1:2:3:4", "a time is needed"},
        {"-W stagein=x", "-W stagein is not supported"},
        {"-W umask=", "octal digits up to 777 are needed"},
        {"-W umask=7777", "octal digits up to 777 are needed"},
        {"-W umask=9", "octal digits up to 777 are needed"},
        {"-W umask=37777777777777777777777", "octal digits up to 777 are needed"},
        {"-W depend=syncwith:3", "-W depend=syncwith is not supported"},
        {"-W depend=on:0", "on:COUNT says for how many jobs"},
        {"-W depend=on:1,on:2", "on:COUNT is said once"},
        {"-W depend=before:3[1]", "names jobs and arrays as a whole"},
        {"-W depend=afterok:3[][4]", "a count of elements is for afterokarray"},
        {"-W depend=afterok:3[1][4]", "\"3[1][4]\" is no job id"},
        {"-W depend=afterok", "names no job"},
        {"-W depend=afterok:x", "\"x\" is no job id"},
        {"-l select=999999999:ncpus=1+999999999:ncpus=1+999999999:ncpus=1", "--ntasks"},
        {"-l select=999999999:mpiprocs=9+999999999:mpiprocs=9:ncpus=999999999 -l place=pack",
         "-l select"},
        {"-l nodes=999999999:ppn=1+999999999:ppn=1+999999999:ppn=1", "-l nodes"},
        {"-W depend=frob:1", "there is no \"frob\""},
        {"-u other", "-u with another user is not supported: submit as that user"},
        {"-l nodes=n1:ppn=2+2:ppn=2", "-l nodes with different parts is not supported"},
        {"-q work@other", "-q @other is not supported: this server is head"},
        {"-D /", "-D is not supported"},
        {"-p 5000", "-1024 to 1023 is allowed"},
        {"-j x", "oe, eo and n are allowed"},
        {"-a 99", "[[[[CC]YY]MM]DD]hhmm[.SS] is needed"},
        {"-N a # note", "line 1: directive error: -N a # note"},
        {"-N \"open", "unmatched \""},
        {"-y", "unrecognized option '-y'"},
    };
    struct pbs_world *p = world_of(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char script[300];
        snprintf(script, sizeof script, "#PBS %s\n", rows[i].line);
        if (become(p, script, ""))
            fail_msg("\"%s\" was taken", rows[i].line);
        if (!strstr(p->w->err.text, rows[i].says))
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", rows[i].line, p->w->err.text,
                     rows[i].says);
    }
}

static void what_counts_for_nothing_beside_the_rest_is_said(void **state)
{
    static const struct {
        const char *of, *beside, *alone;
    } rows[] = {{"select=2:ncpus=2", "pmem=1gb", "ncpus=2,pmem=1gb"},
                {"select=2:ncpus=2", "vmem=1gb", "ncpus=2,vmem=1gb"},
                {"nodes=2:ppn=2", "ncpus=4", "ncpus=4"},
                {"nodes=2:ppn=2", "procs=4", "procs=4"},
                {"nodes=2:ppn=2", "mpiprocs=4", "select=1:mpiprocs=4"},
                {"nodes=2:ppn=2", "place=scatter", "select=2:ncpus=2,place=scatter"},
                {"nodes=2:ppn=2", "place=pack:excl", "nodes=2:ppn=2,place=free:excl"},
                {"nodes=2:ppn=2", "place=vscatter", "nodes=2:ppn=2,place=group=rack"},
                {"nodes=2:ppn=2,mem=4gb", "vmem=8gb", "nodes=2:ppn=2,vmem=8gb"},
                {"mem=4gb", "vmem=8gb", "vmem=8gb"},
                {"mem=4gb", "pmem=1gb", "pmem=1gb"},
                {"pmem=1gb", "vmem=8gb", "vmem=8gb"},
                {"procs=8", "mpiprocs=4", "ncpus=4,mpiprocs=4"}};
    struct pbs_world *p = world_of(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int way = 0; way < 4; way++) { /* one line or two, in either order */
            char script[200];
            snprintf(script, sizeof script,
                     way == 0   ? "#PBS -l %1$s,%2$s\n"
                     : way == 1 ? "#PBS -l %2$s,%1$s\n"
                     : way == 2 ? "#PBS -l %1$s\n#PBS -l %2$s\n"
                                : "#PBS -l %2$s\n#PBS -l %1$s\n",
                     rows[i].of, rows[i].beside);
            char says[40];
            const char *place = strstr(rows[i].beside, "scatter") ? "=scatter"
                                : strstr(rows[i].beside, "pack")  ? "=pack" /* the rest counts */
                                                                  : "";
            snprintf(says, sizeof says, "-l %.*s%s: ", (int)strcspn(rows[i].beside, "="),
                     rows[i].beside, place);
            assert_true(become(p, script, ""));
            assert_non_null(strstr(p->w->comp->no_effect, says));
            snprintf(script, sizeof script, "#PBS -l %s\n", rows[i].alone);
            assert_true(become(p, script, ""));
            assert_null(p->w->comp->no_effect);
        }
}

static void torque_differs(void **state)
{
    struct pbs_world *p = world_of(state);
    p->site.torque = true;
    assert_true(become(p, "#PBS -P proj\n", ""));
    assert_string_equal(p->request.project, "proj");
    p->site.user = "root";
    assert_false(become(p, "#PBS -P other\n", ""));
    assert_non_null(strstr(p->w->err.text, "-P of root (run as another user) is not supported"));
    /* Torque's umask is octal behind a 0 only; Pro's always. */
    assert_true(become(p, "#PBS -W umask=63\n", ""));
    assert_string_equal(p->request.umask, "77");
    assert_true(become(p, "#PBS -W umask=077\n", ""));
    assert_string_equal(p->request.umask, "077");
    assert_true(become(p, "#PBS -W umask=18\n", ""));
    assert_string_equal(p->request.umask, "22");
    assert_false(become(p, "#PBS -W umask=600\n", ""));
    assert_non_null(strstr(p->w->err.text, "a number up to 511, or octal digits up to 0777"));
    /* A word that is none is passed over, and what is an option behind it is obeyed. */
    assert_true(become(p, "#PBS -N a # note -q gpu and more -l walltime=90\n", ""));
    assert_string_equal(p->request.queue, "gpu");
    assert_int_equal(p->request.l.wall_s, 90);
    assert_string_equal(p->request.name, "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(directives_become_a_job, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(lines_behind_the_first_command_are_dead, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(the_command_line_beats_the_script, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(parts_that_differ_are_components, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_refused_by_name, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(what_counts_for_nothing_beside_the_rest_is_said,
                                        world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(torque_differs, world_setup, world_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
