#include "node/shepherd/say.h"

#include "base/alloc.h"
#include "node/shepherd/processes.h"
#include "node/shepherd/watch/usage.h"

#include <fcntl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool shepherd_tell(struct shepherd *s, enum note_kind kind, int wait_ms)
{
    ASSERT(s->herd && s->note.job_id);
    s->note.kind = kind;
    s->note.at_us = shepherd_clock_us(CLOCK_REALTIME);
    return herd_tell(s->herd, &s->note, wait_ms);
}

bool shepherd_setup_word(struct shepherd *s, enum setup_word word, char detail[NOTE_DETAIL_BYTES])
{
    char piece[4096];
    ssize_t n;
    while ((n = read(s->failure_fd[0], piece, sizeof piece)) > 0)
        str_addn(&s->setup_words, piece, (size_t)n);
    struct span rest = {str_text(&s->setup_words), s->setup_words.len}, line;
    while (span_next(&rest, '\n', &line))
        if (line.len > 0 && line.data[0] == (char)word) {
            snprintf(detail, NOTE_DETAIL_BYTES, "%.*s", (int)(line.len - 1), line.data + 1);
            return true;
        }
    return false;
}

bool shepherd_may_write(struct shepherd *s)
{
    char none[NOTE_DETAIL_BYTES];
    return s->tasks || s->main_ended || shepherd_setup_word(s, SETUP_OPENED, none);
}

void shepherd_early_say(struct shepherd *s)
{
    if (s->early.len && shepherd_may_write(s)) {
        step_error_line(s->plan, str_text(&s->early));
        str_clear(&s->early);
    }
}

/* A line for the people who wait for the step's output. */
static void line_say(struct shepherd *s, struct str *line)
{
    if (!s->tasks) {
        str_addn(&s->early, line->data, line->len);
        shepherd_early_say(s);
        return;
    }
    if (line->len && line->data[line->len - 1] == '\n')
        str_cut(line, line->len - 1);
    task_set_notice(s->tasks, str_text(line));
}

static void step_name(const struct shepherd *s, struct str *out)
{
    str_addf(out, "%lld.", (long long)s->plan->job_id);
    if (s->tasks && s->plan->step_id == STEP_INTERACTIVE)
        str_add(out, "interactive");
    else if (s->tasks)
        str_add_i64(out, s->plan->step_id);
    else
        str_add(out, "batch");
}

/* A sentence for the job's records; the first counts. */
static void detail_keep(struct shepherd *s, const char *sentence)
{
    if (!s->note.detail[0])
        snprintf(s->note.detail, sizeof s->note.detail, "%s", sentence);
}

/* Who used how much of what, for the people and for the job's records. */
static void sentence_say(struct shepherd *s, const struct str *sentence)
{
    struct str line = STR_INIT;
    str_add(&line, "slurmstepd: error: StepId=");
    step_name(s, &line);
    str_addf(&line, " %s\n", str_text(sentence));
    line_say(s, &line);
    detail_keep(s, str_text(sentence));
    str_done(&line);
}

static void why_text(struct shepherd *s, enum command_why why, struct str *out)
{
    static const char *const texts[] = {
#define X(code, text) text,
        COMMAND_WHYS(X)
#undef X
    };
    char path[320];
    if ((size_t)why < ARRAY_LEN(texts)) {
        str_add(out, texts[why]);
        return;
    }
    snprintf(path, sizeof path, "%s/why", s->plan->dir_name);
    small_file_read(s->herd->steps_fd, path, 1000, out);
}

/* The line that people and tools look for in the job's error file. Of a step on many nodes the node
 * of task 0 says it, as in Slurm: once. */
void shepherd_cancel_say(struct shepherd *s, enum command_why why)
{
    if (s->tasks && s->tasks->n && s->tasks->task[0].id != 0)
        return;
    struct str line = STR_INIT, text = STR_INIT;
    char when[32];
    time_t t = time(NULL);
    struct tm tm;
    localtime_r(&t, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    why_text(s, why, &text);
    str_addf(&line, "slurmstepd: error: *** %s ", s->tasks ? "STEP" : "JOB");
    if (s->tasks)
        step_name(s, &line);
    else
        str_add_i64(&line, s->plan->job_id);
    str_addf(&line, " ON %s CANCELLED AT %s%s%s ***\n", s->plan->node, when, text.len ? " " : "",
             str_text(&text));
    line_say(s, &line);
    str_done(&text);
    str_done(&line);
}

void shepherd_over_memory_say(struct shepherd *s, int64_t used_bytes, int64_t limit_bytes,
                              bool of_job)
{
    struct str line = STR_INIT, sentence = STR_INIT;
    oom_sentence(used_bytes, limit_bytes, of_job, false, &s->largest, &sentence);
    str_addf(&line,
             "slurmstepd: error: Job %lld exceeded memory limit (%lld > %lld KiB), being killed\n",
             (long long)s->plan->job_id, (long long)(used_bytes >> 10),
             (long long)(limit_bytes >> 10));
    line_say(s, &line);
    sentence_say(s, &sentence);
    str_done(&line);
    str_done(&sentence);
}

void shepherd_message_say(struct shepherd *s)
{
    char path[320];
    struct str text = STR_INIT, line = STR_INIT;
    snprintf(path, sizeof path, "%s/tell", s->plan->dir_name);
    bool any = small_file_read(s->herd->steps_fd, path, 1000, &text) && text.len > 0;
    unlinkat(s->herd->steps_fd, path, 0); /* the next may come */
    unsigned first = any ? (unsigned char)text.data[0] : 0;
    bool marked = (first & ~3u) == (unsigned)TELL_MARK;
    const char *words = str_text(&text) + marked;
    if (any && marked && !s->tasks) {
        str_addf(&line, "%s\n", words);
        step_output_text(s->plan, str_text(&line));
        str_clear(&line);
    }
    if (any && (!marked || s->tasks || (first & 1))) {
        str_addf(&line, "slurmstepd: error: %s\n", words);
        line_say(s, &line);
    }
    str_done(&text);
    str_done(&line);
}

/* The group below the node's own: "/remuda.n1.1234/42.1/42.1.0". */
static const char *group_of(const struct shepherd *s)
{
    const char *at = s->groups.memory ? strstr(s->groups.memory, "/remuda.") : NULL;
    return at ? at : s->groups.memory;
}

/* Who was ended, and whose memory ran out: from the kernel's log, else the largest process of the
 * samples and what the groups counted. */
static enum oom_limit victim_find(const struct shepherd *s, struct oom_victim *ret)
{
    enum oom_limit limit;
    bool step, job;
    if (oom_log_look(group_of(s), ret, &limit))
        return limit;
    *ret = s->largest;
    if (!step_cgroup_limits_hit(&s->groups, &step, &job) || step)
        return OOM_OF_STEP;
    return job ? OOM_OF_JOB : OOM_OF_MACHINE;
}

/* The kernel killed some: two lines, Slurm's and one that says who, at what, and what to do. The
 * second is also what the job's records say. */
void shepherd_oom_say(struct shepherd *s, int64_t kills)
{
    struct str line = STR_INIT, sentence = STR_INIT;
    struct oom_victim victim;
    enum oom_limit whose = victim_find(s, &victim);
    int64_t step = s->plan->mem_limit_bytes, job = s->plan->job_mem_bytes;
    bool of_job = whose == OOM_OF_JOB;
    int64_t limit = of_job && job > 0 ? job : step;
    int64_t peak = of_job ? limit : step_cgroup_peak(&s->groups, limit);
    if (peak <= 0) /* what processes share with others does not count */
        peak = victim.rss_bytes < limit ? victim.rss_bytes : limit;
    if (whose == OOM_OF_MACHINE)
        oom_machine_sentence(victim.rss_bytes, limit, &victim, &sentence);
    else
        oom_sentence(peak, limit, of_job && job != step, true, &victim, &sentence);
    str_addf(&line,
             "slurmstepd: error: Detected %lld oom_kill event%s in StepId=", (long long)kills,
             kills == 1 ? "" : "s");
    step_name(s, &line);
    str_add(&line, ". Some of the step tasks have been OOM Killed.\n");
    line_say(s, &line);
    sentence_say(s, &sentence);
    str_done(&line);
    str_done(&sentence);
}

/* ---- what cannot be killed ---- */

/* One line of a file of /proc; "" if it cannot be read. */
static void proc_line(pid_t pid, const char *name, char *ret, size_t size)
{
    char path[64];
    struct str text = STR_INIT;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    small_file_read(AT_FDCWD, path, 4096, &text);
    snprintf(ret, size, "%.*s", (int)strcspn(str_text(&text), "\n"), str_text(&text));
    str_done(&text);
}

/* "D" of "4711 (python) D 1 …"; '?' if it is gone. */
static void survivor_say(pid_t pid, struct str *out)
{
    char name[64], where[64], state = proc_state(pid);
    proc_line(pid, "comm", name, sizeof name);
    proc_line(proc_thread(pid), "wchan", where, sizeof where);
    bool known = where[0] && !text_is(where, "0");
    str_addf(out, "process %d (%s) outlives SIGKILL, in state %c%s%s", (int)pid, name, state,
             known ? ", waiting in " : "", known ? where : "");
}

void shepherd_stuck_tell(struct shepherd *s)
{
    struct note stuck = s->note;
    struct str text = STR_INIT;
    size_t n = shepherd_tree(s), alive = 0;
    stuck.kind = NOTE_STUCK;
    stuck.at_us = shepherd_clock_us(CLOCK_REALTIME);
    stuck.status = 0;
    for (size_t i = 0; i < n; i++) {
        char state = proc_state(s->pids[i]);
        if (state == 'Z' || state == 'X' || state == '?')
            continue;
        if (alive++ == 0) {
            survivor_say(s->pids[i], &text);
            stuck.status = s->pids[i];
        }
    }
    if (alive > 1)
        str_addf(&text, ", and %zu more", alive - 1);
    snprintf(stuck.detail, sizeof stuck.detail, "%s", str_text(&text));
    if (alive > 0) {
        if (s->stuck_pid != stuck.status)
            step_dir_note(s->state_fd, &stuck);
        s->stuck_pid = (pid_t)stuck.status;
        herd_tell(s->herd, &stuck, 0);
    }
    str_done(&text);
}
