/* The options of bsub, and the lines of scripts that hold them. A value is checked here where it is
 * LSF's own; what it shares with sbatch is checked when it becomes that (finish.c). */
#include "script/lsf/lsf.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/grammar/signals.h"
#include "script/dialect_rows.h"
#include "script/lsf/write.h"

#include <string.h>
#include <sys/resource.h>

#define LSF_SETTER(name)                                                                           \
    static bool name##_in(struct lsf_request *r, const struct option_row *row, const char *value,  \
                          const struct option_env *env, struct arena *a, struct err *ret_err);     \
    static SETTER(name)                                                                            \
    {                                                                                              \
        return name##_in(to, row, value, env, a, ret_err);                                         \
    }                                                                                              \
    static bool name##_in(struct lsf_request *r, const struct option_row *row, const char *value,  \
                          const struct option_env *env, struct arena *a, struct err *ret_err)

static bool refuse(const struct option_row *row, const char *value, const char *allowed,
                   struct err *e)
{
    return dialect_blame_row(e, row, value, allowed);
}

/* ---- size ---- */

LSF_SETTER(set_slots)
{
    struct span rest = span_of(value), low;
    span_next(&rest, ',', &low);
    r->slots_max = 0;
    return (lsf_count_read(low, INT32_MAX, &r->slots) &&
            (!strchr(value, ',') ||
             (lsf_count_read(rest, INT32_MAX, &r->slots_max) && r->slots_max >= r->slots))) ||
           refuse(row, value, "a number of slots is needed: 4; or the least and the most: 4,8",
                  ret_err);
}

LSF_SETTER(set_hosts_whole)
{
    return lsf_count_read(span_of(value), INT32_MAX, &r->whole_hosts) ||
           refuse(row, value, "a number of hosts is needed", ret_err);
}

LSF_SETTER(set_limit)
{
    struct span size = span_of(value);
    if (size.len && size.data[size.len - 1] == '!')
        size.len--;
    return (lsf_size_read(size, r->site->lsf_limit_kib, &r->limit_kib) && r->limit_kib > 0) ||
           refuse(row, value, "an amount of memory is needed, as 4GB", ret_err);
}

/* -C, -S, -D, -F: soft limits of each process, in KB or in the unit of the site. */
LSF_SETTER(set_ulimit)
{
    static const struct {
        char letter;
        int resource;
    } limits[] = {{'C', RLIMIT_CORE}, {'S', RLIMIT_STACK}, {'D', RLIMIT_DATA}, {'F', RLIMIT_FSIZE}};
    int64_t kib;
    size_t i = 0, at = 0;
    while (limits[i].letter != row->name[0])
        i++;
    if (!lsf_size_read(span_of(value), r->site->lsf_limit_kib, &kib))
        return refuse(row, value, "an amount is needed, as 8192 or 8MB", ret_err);
    while (at < r->nulimit && r->ulimit[at].resource != limits[i].resource)
        at++;
    CHECK(at < ARRAY_LEN(r->ulimit));
    r->ulimit[at] = (struct lsf_ulimit){limits[i].resource, kib * 1024};
    r->nulimit = at == r->nulimit ? at + 1 : r->nulimit;
    return true;
}

/* "/a/b": letters of a path, so that a group is a prefix of those in it. */
LSF_SETTER(set_group)
{
    r->job_group = value[0] == '/' ? arena_strdup(a, value) : arena_printf(a, "/%s", value);
    return value[0] || refuse(row, value, "a job group is needed: /GROUP", ret_err);
}

LSF_SETTER(set_resources)
{
    return lsf_resources_read(r, value, a, ret_err);
}

LSF_SETTER(set_gpu)
{
    return lsf_gpu_read(r, value, a, ret_err);
}

/* ---- time ---- */

/* [H:]M[/HOST]: a host's speed is not known, so the time is that of any. */
LSF_SETTER(set_run_limit)
{
    char *text = arena_strdup(a, value), *slash = strchr(text, '/');
    int64_t us;
    if (slash)
        *slash = 0;
    if (!duration_parse_lsf(text, &us, ret_err))
        return err_prefix(ret_err, "-W %s", value);
    if (us == 0)
        return refuse(row, value, "a limit of a minute at least is needed", ret_err);
    if (slash)
        lsf_note(r, a, "-W /HOST", "all hosts count as equally fast");
    r->run_limit = arena_printf(a, "%lld", (long long)(us / USEC_PER_MIN));
    return true;
}

#define MOMENT "[[[year:]month:]day:]hour:minute is needed"

LSF_SETTER(set_begin)
{
    return lsf_moment_read(value, env, a, &r->begin_us) || refuse(row, value, MOMENT, ret_err);
}

LSF_SETTER(set_end)
{
    return lsf_moment_read(value, env, a, &r->end_by_us) || refuse(row, value, MOMENT, ret_err);
}

LSF_SETTER(set_warn_signal)
{
    int signo;
    if (!signal_parse(value, &signo) || signo <= 0)
        return dialect_refuse(ret_err, "-wa with a command or CHKPNT",
                              "name a signal, as URG, and trap it in the script");
    r->warn_signal = arena_strdup(a, value);
    return true;
}

LSF_SETTER(set_warn_time)
{
    int64_t us;
    if (!duration_parse_lsf(value, &us, ret_err))
        return err_prefix(ret_err, "-wt");
    r->warn_before_s = us / USEC_PER_SEC;
    return true;
}

/* ---- order ---- */

LSF_SETTER(set_depend)
{
    r->depend_text = arena_strdup(a, value);
    return lsf_depend_parse(r->depend_text, a, &r->depend, ret_err);
}

LSF_SETTER(set_rerun)
{
    r->rerun = text_is(row->name, "r") ? YES : NO;
    return true;
}

/* ---- what and where ---- */

/* NAME, "NAME[LIST]%K". */
LSF_SETTER(set_name)
{
    const char *open = strchr(value, '['), *close = open ? strrchr(value, ']') : NULL;
    r->array = NULL;
    r->name = arena_strndup(a, value, open ? (size_t)(open - value) : strlen(value));
    if (open == value)
        r->name = NULL;
    if (!open)
        return true;
    if (!close || close < open + 2 || (close[1] && close[1] != '%'))
        return refuse(row, value, "an array is NAME[1-10], NAME[1-10:2,20]%5", ret_err);
    r->array = arena_printf(a, "%.*s%s", (int)(close - open - 1), open + 1, close + 1);
    struct span rest = span_of(r->array), one;
    while (span_next(&rest, ',', &one))
        if (span_trim(one).len && span_trim(one).data[0] == '0')
            return refuse(row, value, "indexes of LSF's arrays begin at 1", ret_err);
    return true;
}

/* "q1 q2" */
LSF_SETTER(set_queues)
{
    struct span rest = span_of(value), one;
    r->queues = NULL;
    while (span_next(&rest, ' ', &one))
        if (one.len)
            r->queues = r->queues ? arena_printf(a, "%s,%.*s", r->queues, (int)one.len, one.data)
                                  : arena_strndup(a, one.data, one.len);
    return r->queues || refuse(row, value, "a queue is needed", ret_err);
}

/* "h1+2 h2! others": any of them. */
LSF_SETTER(set_candidates)
{
    struct span rest = span_of(value), one;
    r->candidates = NULL;
    while (span_next(&rest, ' ', &one)) {
        size_t len = 0;
        while (len < one.len && !strchr("+!", one.data[len]))
            len++;
        if (len < one.len)
            lsf_note(r, a, "-m HOST+N, HOST!", "no host is preferred to another");
        if (span_is((struct span){one.data, len}, "others")) {
            lsf_note(r, a, "-m … others", "no host is preferred to another");
            r->candidates = NULL;
            return true;
        }
        if (len)
            r->candidates = r->candidates
                                ? arena_printf(a, "%s,%.*s", r->candidates, (int)len, one.data)
                                : arena_strndup(a, one.data, len);
    }
    return r->candidates || refuse(row, value, "a host is needed", ret_err);
}

LSF_SETTER(set_out)
{
    r->out = arena_strdup(a, value);
    r->out_anew = text_is(row->name, "oo");
    return *value || refuse(row, value, "a file is needed", ret_err);
}

LSF_SETTER(set_err)
{
    r->err_file = arena_strdup(a, value);
    r->err_anew = text_is(row->name, "eo");
    return *value || refuse(row, value, "a file is needed", ret_err);
}

/* "none", "all", "all, ~A, B=1"; given several times the lists add up. */
LSF_SETTER(set_env)
{
    bool alone = text_is_nocase(value, "none") || text_is_nocase(value, "all") || !r->export_env ||
                 text_is_nocase(r->export_env, "none");
    const char *before = alone ? NULL : r->export_env;
    struct str list = STR_INIT;
    struct span rest = span_of(value), one;
    str_add(&list, before ? before : "");
    while (span_next(&rest, ',', &one)) {
        one = span_trim(one);
        if (one.len && one.data[0] == '~')
            r->env_without =
                arena_printf(a, "%s%s%.*s", r->env_without ? r->env_without : "",
                             r->env_without ? "," : "", (int)one.len - 1, one.data + 1);
        else
            str_addf(&list, "%s%.*s", list.len ? "," : "", (int)one.len, one.data);
    }
    r->export_env = arena_strdup(a, str_text(&list));
    str_done(&list);
    return true;
}

LSF_SETTER(set_mail_done)
{
    r->mail_fail = true;
    r->mail_end = text_is(row->name, "N");
    return true;
}

/* "start exit done": when mail is sent. */
LSF_SETTER(set_notify)
{
    struct span rest = span_of(value), one;
    while (span_next(&rest, ' ', &one)) {
        if (span_is_nocase(one, "start"))
            r->mail_begin = true;
        else if (span_is_nocase(one, "done"))
            r->mail_end = true;
        else if (span_is_nocase(one, "exit"))
            r->mail_fail = true;
        else if (span_is_nocase(one, "suspend"))
            lsf_note(r, a, "-notify suspend", "no mail is sent when a job is suspended");
        else if (one.len)
            return refuse(row, value, "start, exit, done and suspend are allowed", ret_err);
    }
    return true;
}

LSF_SETTER(set_interactive)
{
    bool terminal = strpbrk(row->name + 1, "ps") != NULL;
    r->interactive = terminal ? LSF_TERMINAL : LSF_INTERACTIVE;
    return true;
}

/* ---- rows ---- */

#define AT_(member) offsetof(struct lsf_request, member)
#define CSM         "it belongs to clusters with CSM"

static const struct option_row rows[] = {
    FLAG_("B", "mail when it begins", set_flag, .at = AT_(mail_begin), .becomes = "mail-type",
          .write = lsf_write_begin_mail),
    VALUE_("C", "size", "largest core file, in KB or with a unit", set_ulimit),
    VALUE_("D", "size", "largest data segment, in KB or with a unit", set_ulimit),
    REFUSED_("E", ARG_REQUIRED, "command before the job", "call it in the script"),
    REFUSED_("Ep", ARG_REQUIRED, "command after the job", "call it at the end of the script"),
    VALUE_("F", "size", "largest file, in KB or with a unit", set_ulimit),
    VALUE_("G", "group", "account to charge", set_text, .at = AT_(group), .becomes = "account",
           .write = lsf_write_account),
    FLAG_("H", "submit held; bresume lets it go", set_flag, .at = AT_(hold), .becomes = "hold",
          .write = lsf_write_hold),
    FLAG_("I", "run it here, its output on this terminal", set_interactive),
    FLAG_("IS", "the same", set_interactive, .hidden = true),
    FLAG_("ISp", "the same, with a terminal of its own", set_interactive, .hidden = true),
    FLAG_("ISs", "the same", set_interactive, .hidden = true),
    FLAG_("Ip", "the same, with a terminal of its own", set_interactive),
    FLAG_("Is", "the same, for shells", set_interactive),
    VALUE_("J", "name", "name; an array: \"name[1-10:2]%5\"", set_name, .becomes = "job-name array",
           .write = lsf_write_array),
    VALUE_("Jd", "text", "description", set_text, .at = AT_(description), .becomes = "comment",
           .write = lsf_write_comment),
    FLAG_("K", "wait for its end; exit with its exit code", set_flag, .at = AT_(wait),
          .write = lsf_write_wait, .becomes = "wait"),
    VALUE_("L", "shell", "environment of a login shell under the exported one", set_text,
           .at = AT_(login_shell), .becomes = "get-user-env", .write = lsf_write_login),
    IDLE_("Lp", ARG_REQUIRED, "licence project", "there are no licence projects"),
    VALUE_("M", "size[!]", "memory of each process", set_limit, .becomes = "mem mem-per-cpu"),
    FLAG_("N", "mail when it ends", set_mail_done, .becomes = "mail-type",
          .write = lsf_write_end_mail),
    FLAG_("Ne", "mail when it fails", set_mail_done, .becomes = "mail-type",
          .write = lsf_write_fail_mail),
    VALUE_("P", "project", "project; the account, without -G", set_text, .at = AT_(project),
           .write = lsf_write_project, .becomes = "account"),
    REFUSED_("Q", ARG_REQUIRED, "exit codes after which it is queued again",
             "test the code in the script: scontrol requeue $LSB_JOBID"),
    VALUE_("R", "text", "select[], rusage[], span[], affinity[], cu[]; several add up; 2*{…}+4*{…}",
           set_resources,
           .becomes =
               "constraint exclude nodelist mincpus tmp mem mem-per-cpu licenses gpus-per-node "
               "gpus-per-task nodes ntasks-per-node distribution switches cpus-per-task",
           .write = lsf_resources_write),
    VALUE_("S", "size", "largest stack, in KB or with a unit", set_ulimit),
    REFUSED_("T", ARG_REQUIRED, "threads, at most",
             "a limit of threads is of a user on a host, not of a job: ulimit -u in the script"),
    VALUE_("U", "name", "reservation to run in", set_text, .at = AT_(reservation),
           .write = lsf_write_reservation, .becomes = "reservation"),
    FLAG_("V", "show the version", set_flag, .at = AT_(version)),
    VALUE_("W", "[h:]m", "time limit: minutes, or hours:minutes", set_run_limit, .becomes = "time",
           .write = lsf_write_run_limit),
    IDLE_("We", ARG_REQUIRED, "time it will take", "only -W counts"),
    REFUSED_("XF", ARG_NONE, "forward X11",
             "X11 is not forwarded; ssh -X to the host works where the site allows it"),
    FLAG_("Zs", "keep a copy of the script (always so)", set_nothing),
    IDLE_("a", ARG_REQUIRED, "programs of the site that look at the submission", "there are none"),
    REFUSED_("alloc_flags", ARG_REQUIRED, "flags of the allocation", CSM),
    REFUSED_("app", ARG_REQUIRED, "application profile",
             "there are no application profiles; write its options out"),
    REFUSED_("ar", ARG_NONE, "the job may grow",
             "a job may give hosts back: bmod, scontrol update"),
    VALUE_("b", "time", "not before [[[year:]month:]day:]hour:minute", set_begin,
           .becomes = "begin", .write = lsf_write_begin),
    REFUSED_("c", ARG_REQUIRED, "CPU time, at most", "-W limits the run; ulimit -t in the script"),
    REFUSED_("clusters", ARG_REQUIRED, "clusters to run in", "there is one cluster"),
    REFUSED_("cn_cu", ARG_REQUIRED, "settings of compute nodes", CSM),
    REFUSED_("cn_mem", ARG_REQUIRED, "settings of compute nodes", CSM),
    REFUSED_("core_isolation", ARG_REQUIRED, "cores of the system", CSM),
    REFUSED_("csm", ARG_REQUIRED, "settings of CSM", CSM),
    VALUE_("cwd", "dir", "work directory; made if it is not there", set_text, .at = AT_(work_dir),
           .write = lsf_write_chdir, .becomes = "chdir"),
    REFUSED_("data", ARG_REQUIRED, "files to stage in", "copy them in the script"),
    REFUSED_("datachk", ARG_NONE, "check files to stage in", "copy them in the script"),
    REFUSED_("datagrp", ARG_REQUIRED, "group of files to stage in", "copy them in the script"),
    VALUE_("e", "file", "standard error, continued; default: with standard output", set_err,
           .becomes = "error open-mode", .write = lsf_write_error),
    VALUE_("env", "list", "none, all, or names and NAME=VALUE, with commas", set_env,
           .becomes = "export", .write = lsf_write_environment),
    VALUE_("eo", "file", "standard error, anew", set_err, .becomes = "error open-mode",
           .write = lsf_write_error_anew),
    REFUSED_("eptl", ARG_REQUIRED, "time it may wait once it could run", "bkill ends what waits"),
    REFUSED_("ext", ARG_REQUIRED, "options for a scheduler of the site",
             "there is one scheduler; its options are -R and -gpu"),
    REFUSED_("extsched", ARG_REQUIRED, "the same",
             "there is one scheduler; its options are -R and -gpu"),
    REFUSED_("f", ARG_REQUIRED, "file to copy", "copy it in the script"),
    REFUSED_("freq", ARG_REQUIRED, "CPU frequency", "srun --cpu-freq in the script sets it"),
    VALUE_("g", "group", "job group, for bjobs -g and bkill -g: /a/b", set_group,
           .write = lsf_write_group),
    VALUE_("gpu", "num=N:…", "GPUs: num, gmodel, gmem, gtile, mode, j_exclusive; - = one", set_gpu,
           .becomes = "gpus-per-node gpus-per-task gpus-per-socket sockets-per-node gpu-mem",
           .write = lsf_write_gpus),
    FLAG_("h", "show this help", set_flag, .alias = "help", .at = AT_(help)),
    FLAG_("hl", "limits of memory are of each host (always so)", set_nothing),
    REFUSED_("hostfile", ARG_REQUIRED, "file with hosts and slots", "name hosts with -m"),
    VALUE_("i", "file", "standard input", set_text, .at = AT_(in), .becomes = "input",
           .write = lsf_write_input),
    VALUE_("is", "file", "the same", set_text, .at = AT_(in), .becomes = "input"),
    REFUSED_("jobaff", ARG_REQUIRED, "beside which jobs it runs", "name hosts with -m"),
    REFUSED_("jsdl", ARG_REQUIRED, "job described in a file", "write a script"),
    REFUSED_("jsm", ARG_REQUIRED, "the job step manager", CSM),
    REFUSED_("json", ARG_REQUIRED, "job described in a file", "write a script"),
    REFUSED_("k", ARG_REQUIRED, "checkpoints", "the program writes its own; -wa tells it when"),
    FLAG_("lint", "say what it means and what looks wrong, submit nothing (Remuda's own)", set_flag,
          .at = AT_(lint)),
    REFUSED_("ln_mem", ARG_REQUIRED, "settings of launch nodes", CSM),
    REFUSED_("ln_slots", ARG_REQUIRED, "settings of launch nodes", CSM),
    VALUE_("m", "hosts", "hosts to choose from", set_candidates, .becomes = "nodelist exclude"),
    IDLE_("mig", ARG_REQUIRED, "minutes after which a stopped job moves",
          "a job stays on its hosts; brequeue 12 lets it go"),
    VALUE_("n", "min[,max]", "slots: tasks, of a core each", set_slots, .becomes = "ntasks",
           .write = lsf_write_slots),
    REFUSED_("network", ARG_REQUIRED, "networks", "there are no networks to choose"),
    VALUE_("nnodes", "n", "whole hosts", set_hosts_whole, .becomes = "nodes exclusive",
           .write = lsf_write_hosts),
    VALUE_("notify", "words", "mail at start, done, exit", set_notify, .becomes = "mail-type",
           .write = lsf_write_notify),
    VALUE_("o", "file", "standard output, continued; %J id, %I index", set_out,
           .becomes = "output open-mode", .write = lsf_write_output),
    VALUE_("oo", "file", "standard output, anew", set_out, .becomes = "output open-mode",
           .write = lsf_write_output_anew),
    VALUE_("outdir", "dir", "directory of output files", set_text, .at = AT_(out_dir),
           .becomes = "output error"),
    REFUSED_("p", ARG_REQUIRED, "processes, at most",
             "a limit of processes is of a user on a host, not of a job: ulimit -u in the script"),
    REFUSED_("pack", ARG_REQUIRED, "submissions in a file", "call bsub for each"),
    REFUSED_("ptl", ARG_REQUIRED, "time it may wait", "bkill ends what waits"),
    VALUE_("q", "queues", "queue, or several to choose from", set_queues, .becomes = "partition",
           .write = lsf_write_queues),
    FLAG_("r", "run it again when its host fails", set_rerun, .becomes = "requeue",
          .write = lsf_write_rerun),
    REFUSED_("rcacct", ARG_REQUIRED, "account of a cloud", "there is one cluster"),
    FLAG_("rn", "do not (the default)", set_rerun, .becomes = "no-requeue",
          .write = lsf_write_no_rerun),
    REFUSED_("rnc", ARG_REQUIRED, "command that hears of a new size",
             "jobs do not change their size by themselves"),
    REFUSED_("s", ARG_REQUIRED, "signal when its run window closes", "-wa and -wt send one"),
    IDLE_("sla", ARG_REQUIRED, "service class", "there are no service classes"),
    REFUSED_("smt", ARG_REQUIRED, "threads of a core", CSM),
    IDLE_("sp", ARG_REQUIRED, "priority among one's own jobs",
          "jobs of one user go in the order of their priority; btop moves one"),
    REFUSED_("stage", ARG_REQUIRED, "files to stage", CSM),
    REFUSED_("step_cgroup", ARG_REQUIRED, "control groups of steps", CSM),
    VALUE_("t", "time", "ended at [[[year:]month:]day:]hour:minute", set_end, .becomes = "deadline",
           .write = lsf_write_end),
    FLAG_("ti", "end it when -w can never hold", set_flag, .at = AT_(orphan_ends),
          .write = lsf_write_orphan, .becomes = "kill-on-invalid-dep"),
    FLAG_("tty", "with a terminal (-Ip)", set_interactive, .hidden = true),
    VALUE_("u", "address", "who gets the mail", set_text, .at = AT_(mail_to),
           .write = lsf_write_mail_user, .becomes = "mail-user"),
    FLAG_("ul", "take over the limits of the shell (always so)", set_nothing),
    IDLE_("v", ARG_REQUIRED, "virtual memory, at most", "memory is what -M and rusage[mem] say"),
    VALUE_("w", "conditions", "wait for jobs: 'done(12) && ended(\"name\")'", set_depend,
           .becomes = "dependency", .write = lsf_write_depend),
    VALUE_("wa", "signal", "signal to send before the time limit", set_warn_signal,
           .becomes = "signal", .write = lsf_write_warn_signal),
    VALUE_("wt", "[h:]m", "how long before", set_warn_time, .becomes = "signal",
           .write = lsf_write_warn_time),
    FLAG_("x", "hosts for itself", set_flag, .at = AT_(exclusive), .becomes = "exclusive",
          .write = lsf_write_exclusive),
    REFUSED_("yaml", ARG_REQUIRED, "job described in a file", "write a script"),
};
OPTION_TABLE(bsub_options, rows, .usage = "bsub [OPTIONS] [command [arguments]]",
             .about = "  Submits a job; its script stands on standard input: bsub < FILE\n",
             .words = WORDS_END, .one_dash = true);

/* ---- reading ---- */

struct bsub_taker {
    struct lsf_request *r;
    const struct option_env *env;
    struct arena *a;
};

static bool option_take(void *ctx, const struct option_row *row, const char *value,
                        struct err *ret_err)
{
    const struct bsub_taker *t = ctx;
    bool ok = row->support == SUPPORT_REFUSED
                  ? dialect_refuse(ret_err, arena_printf(t->a, "-%s", row->name), "%s", row->why)
                  : row->set(t->r, row, value, t->env, t->a, ret_err);
    if (row->support == SUPPORT_NO_EFFECT)
        lsf_note(t->r, t->a, arena_printf(t->a, "-%s", row->name), row->why);
    return option_watched(t->env, row, value, ok, ret_err);
}

bool lsf_read_words(struct lsf_request *r, int argc, char *const argv[],
                    const struct option_env *env, struct arena *a, int *ret_rest,
                    struct err *ret_err)
{
    struct bsub_taker t = {r, env, a};
    return options_walk(&bsub_options, argc, argv, option_take, NULL, &t, ret_rest, ret_err);
}
