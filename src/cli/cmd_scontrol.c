/* scontrol: options may stand anywhere, commands and entities may be cut short. Without a command it asks for them, one a line. */
#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/cluster_dir.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/program.h"
#include "cli/scontrol.h"
#include "model/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct client *scontrol_connect(struct scontrol *s)
{
    if (!s->client)
        s->client = program_connect("scontrol", state_dir_find(NULL, s->a));
    if (!s->client)
        s->rc = 1;
    return s->client;
}

void scontrol_fail(struct scontrol *s, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    s->rc = 1;
    /* Tools match Slurm's "slurm_load_jobs error: …" at the start of the line. */
    if (!s->quiet)
        fprintf(stderr, "%s%s\n", text_starts(str_text(&text), "slurm_") ? "" : "scontrol: error: ", str_text(&text));
    str_done(&text);
}

void scontrol_change(struct scontrol *s, enum message_kind kind, const void *body, const char *what)
{
    struct client *c = scontrol_connect(s);
    struct message answer;
    struct err err = {0};
    if (!c)
        return;
    if (!client_call(c, kind, body, 0, s->a, &answer, &err)) {
        scontrol_fail(s, "%s error: %s", what, err.text);
        return;
    }
    const struct msg_done *done = answer.body;
    const struct result *result = done->results.v;
    for (size_t i = 0; i < done->results.n; i++) {
        const char *reason = refusal_text((enum refusal) result[i].refusal);
        if (done->results.n > 1)
            scontrol_fail(s, "%s error for job %s: %s", what, result[i].ref, reason);
        else
            scontrol_fail(s, "%s error: %s", what, reason);
        if (result[i].detail)
            scontrol_fail(s, "%s", result[i].detail);
    }
    if (done->refusal != REFUSE_NONE && !done->results.n) {
        scontrol_fail(s, "%s error: %s", what, refusal_text((enum refusal) done->refusal));
        if (done->detail)
            scontrol_fail(s, "%s", done->detail);
    }
    if (done->warning)
        fprintf(stderr, "scontrol: %s\n", done->warning);
}

/* ---- actions on jobs ------------------------------------------------------------------------------------------------------------ */

struct action_word {
    const char *word;
    enum job_action action;
    const char *what;
};

static const struct action_word actions[] = {
    {"hold", ACTION_HOLD, "slurm_suspend"},         {"holdu", ACTION_UHOLD, "slurm_suspend"},     {"uhold", ACTION_UHOLD, "slurm_suspend"},
    {"release", ACTION_RELEASE, "slurm_suspend"},   {"requeue", ACTION_REQUEUE, "slurm_requeue"}, {"requeuehold", ACTION_REQUEUE_HOLD, "slurm_requeue"},
    {"suspend", ACTION_SUSPEND, "slurm_suspend"},   {"resume", ACTION_RESUME, "slurm_suspend"},   {"top", ACTION_TOP, "slurm_top"},
};

static void action_run(struct scontrol *s, const struct action_word *w, int n, char **word)
{
    struct msg_job_control m = {.action = w->action};
    for (int i = 0; i < n; i++) {
        if (text_starts_nocase(word[i], "State=")) {
            if (!text_is_nocase(word[i] + 6, "SpecialExit")) {
                scontrol_fail(s, "State=SpecialExit is the only state of requeuehold, not \"%s\"", word[i] + 6);
                return;
            }
            m.special_exit = true;
            continue;
        }
        const char *id = word[i];
        const char *const prefixes[] = {"jobid=", "job="};
        for (size_t k = 0; k < ARRAY_LEN(prefixes); k++)
            if (text_starts_nocase(id, prefixes[k]))
                id += strlen(prefixes[k]);
        m.ids = listing_join(m.ids, id, s->a);
    }
    if (!m.ids) {
        scontrol_fail(s, "too few arguments for keyword:%s", w->word);
        return;
    }
    scontrol_change(s, MSG_JOB_CONTROL, &m, w->what);
}

/* ---- the smaller commands --------------------------------------------------------------------------------------------------------- */

static void ping(struct scontrol *s)
{
    struct client *c = client_open(state_dir_find(NULL, s->a), NULL);
    struct msg_daemon m = {.action = DAEMON_PING};
    struct message answer;
    char host[256] = "";
    bool up = c && client_call(c, MSG_DAEMON, &m, 5000, s->a, &answer, NULL);
    gethostname(host, sizeof host - 1);
    printf("Slurmctld(primary) at %s is %s\n", host, up ? "UP" : "DOWN");
    if (c)
        client_close(c);
    s->rc |= !up;
}

/* The configuration is read here first, so that a mistake is told to whoever made it and nothing is half done. */
static void reconfigure(struct scontrol *s)
{
    struct config config;
    struct err err = {0};
    struct msg_daemon m = {.action = DAEMON_RECONFIGURE};
    if (!cluster_conf_read(state_dir_find(NULL, s->a), &config, &err)) {
        scontrol_fail(s, "slurm_reconfigure error: %s", err.text);
        return;
    }
    for (size_t i = 0; i < config.nwarnings; i++)
        fprintf(stderr, "scontrol: warning: %s\n", config.warning[i]);
    config_done(&config);
    scontrol_change(s, MSG_DAEMON, &m, "slurm_reconfigure");
}

static void daemon_stop(struct scontrol *s)
{
    struct msg_daemon m = {.action = DAEMON_SHUTDOWN, .nodes_too = true};
    scontrol_change(s, MSG_DAEMON, &m, "slurm_shutdown");
}

static bool id_take(struct scontrol *s, const char *text, uint64_t *ret)
{
    struct job_ref ref;
    struct err err = {0};
    if (!job_ref_parse(text, &ref, &err)) {
        scontrol_fail(s, "Invalid job id %s", text);
        return false;
    }
    *ret = ref.job_id;
    job_ref_done(&ref);
    return true;
}

static void wait_job(struct scontrol *s, int n, char **word)
{
    struct msg_wait_job m = {0};
    struct message answer;
    struct err err = {0};
    if (n < 1 || !id_take(s, word[0], &m.job_id) || !scontrol_connect(s)) {
        if (n < 1)
            scontrol_fail(s, "too few arguments for keyword:wait_job");
        return;
    }
    if (!client_call(s->client, MSG_WAIT_JOB, &m, -1, s->a, &answer, &err))
        scontrol_fail(s, "slurm_wait_job error: %s", err.text);
    else if (answer.kind == MSG_DONE)
        scontrol_fail(s, "slurm_wait_job error: %s", refusal_text((enum refusal) ((const struct msg_done *) answer.body)->refusal));
    else
        printf("Job %llu ended: %s\n", (unsigned long long) m.job_id, enum_name(&job_state_names, ((const struct msg_job_ended *) answer.body)->state));
}

/* write batch_script ID [FILE|-] */
static void write_script(struct scontrol *s, int n, char **word)
{
    struct msg_get_script m = {0};
    struct message answer;
    struct err err = {0};
    if (n < 2 || !text_starts_nocase("batch_script", word[0])) {
        scontrol_fail(s, "write batch_script JOB [FILE|-] is what can be written");
        return;
    }
    if (!id_take(s, word[1], &m.job_id) || !scontrol_connect(s))
        return;
    if (!client_call(s->client, MSG_GET_SCRIPT, &m, 0, s->a, &answer, &err)) {
        scontrol_fail(s, "job script retrieval failed: %s", err.text);
        return;
    }
    if (answer.kind != MSG_SCRIPT) {
        scontrol_fail(s, "job script retrieval failed: %s", refusal_text((enum refusal) ((const struct msg_done *) answer.body)->refusal));
        return;
    }
    const struct msg_script *script = answer.body;
    const char *path = n > 2 ? word[2] : arena_printf(s->a, "slurm-%llu.sh", (unsigned long long) m.job_id);
    FILE *to = text_is(path, "-") ? stdout : fopen(path, "we");
    bool ok = to && fwrite(script->script.data, 1, script->script.len, to) == script->script.len;
    if (to && to != stdout && fclose(to) != 0)
        ok = false;
    if (!ok)
        scontrol_fail(s, "cannot write %s: %s", path, strerror(errno));
    else if (to != stdout)
        printf("batch script for job %llu written to %s\n", (unsigned long long) m.job_id, path);
}

/* ---- show ----------------------------------------------------------------------------------------------------------------------- */

enum entity {
    SHOW_JOBS, SHOW_STEPS, SHOW_NODES, SHOW_PARTITIONS, SHOW_CONFIG, SHOW_HOSTNAMES, SHOW_HOSTLIST, SHOW_HOSTLISTSORTED, SHOW_DAEMONS, SHOW_RESERVATIONS,
    SHOW_LICENSES, SHOW_TOPOLOGY, SHOW_BURSTBUFFER, SHOW_ALIASES, SHOW_LATER,
};

struct entity_word {
    const char *word;
    size_t least; /* letters that must be given */
    enum entity entity;
};

static const struct entity_word entities[] = {
    {"jobs", 3, SHOW_JOBS},           {"jobid", 3, SHOW_JOBS},         {"steps", 3, SHOW_STEPS},          {"nodes", 3, SHOW_NODES},
    {"partitions", 3, SHOW_PARTITIONS}, {"config", 3, SHOW_CONFIG},    {"hostnames", 5, SHOW_HOSTNAMES},  {"hostlistsorted", 9, SHOW_HOSTLISTSORTED},
    {"hostlist", 5, SHOW_HOSTLIST},   {"daemons", 3, SHOW_DAEMONS},    {"reservations", 3, SHOW_RESERVATIONS}, {"licenses", 3, SHOW_LICENSES},
    {"topology", 3, SHOW_TOPOLOGY},   {"burstbuffer", 3, SHOW_BURSTBUFFER}, {"bbstat", 3, SHOW_BURSTBUFFER}, {"dwstat", 3, SHOW_BURSTBUFFER},
    {"aliases", 3, SHOW_ALIASES},     {"assoc_mgr", 3, SHOW_LATER},    {"federation", 3, SHOW_LATER},     {"slurmd", 6, SHOW_LATER},
    {"frontend", 4, SHOW_LATER},
};

static const struct entity_word *entity_find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (strlen(word) >= entities[i].least && text_starts_nocase(entities[i].word, word))
            return &entities[i];
    return NULL;
}

struct licenses {
    const char *text; /* Licenses= of the settings */
};

static void license_note(void *ctx, const void *record)
{
    struct licenses *l = ctx;
    const struct meta *m = record;
    if (text_is(m->key, "Licenses") && !text_is(m->value, "(null)"))
        l->text = m->value;
}

static void license_print(struct span one, bool json, bool first)
{
    const char *colon = one.len ? memchr(one.data, ':', one.len) : NULL;
    int name = (int) (colon ? colon - one.data : (ptrdiff_t) one.len), count = colon ? (int) (one.data + one.len - colon - 1) : 1;
    const char *total = colon ? colon + 1 : "1";
    if (json)
        printf("%s{\"LicenseName\": \"%.*s\", \"Total\": %.*s, \"Remote\": false}", first ? "" : ", ", name, one.data, count, total);
    else
        printf("LicenseName=%.*s\n    Total=%.*s Remote=no\n", name, one.data, count, total);
}

/* What the cluster has; how much is in use is in the jobs that hold it (squeue -O licenses). */
static void licenses_show(struct scontrol *s)
{
    struct licenses l = {0};
    struct msg_query q = {.what = QUERY_SETTINGS};
    struct msg_done done;
    struct err err = {0};
    struct client *c = scontrol_connect(s);
    if (!c)
        return;
    if (!client_query(c, &q, &meta_fields, s->a, license_note, &l, &done, &err)) {
        scontrol_fail(s, "slurm_load_licenses error: %s", err.text);
        return;
    }
    struct span rest = span_of(l.text), one;
    if (s->json)
        fputs("{\"licenses\": [", stdout);
    for (bool first = true; !text_empty(l.text) && span_next(&rest, ',', &one); first = false)
        license_print(span_trim(one), s->json, first);
    if (s->json)
        puts("], \"errors\": [], \"warnings\": []}");
    else if (text_empty(l.text))
        puts("No licenses configured in Slurm.");
}

static void entity_show(struct scontrol *s, const struct entity_word *e, const char *list)
{
    switch (e->entity) {
    case SHOW_JOBS: scontrol_show_jobs(s, list); return;
    case SHOW_STEPS: scontrol_show_steps(s, list); return;
    case SHOW_NODES: scontrol_show_nodes(s, list); return;
    case SHOW_PARTITIONS: scontrol_show_partitions(s, list); return;
    case SHOW_CONFIG: scontrol_show_config(s); return;
    case SHOW_HOSTNAMES: scontrol_show_hosts(s, "hostnames", list); return;
    case SHOW_HOSTLIST: scontrol_show_hosts(s, "hostlist", list); return;
    case SHOW_HOSTLISTSORTED: scontrol_show_hosts(s, "hostlistsorted", list); return;
    case SHOW_DAEMONS: puts("slurmctld slurmd"); return;
    case SHOW_RESERVATIONS:
        if (list)
            scontrol_fail(s, "Reservation %s not found", list);
        else
            puts("No reservations in the system");
        return;
    case SHOW_LICENSES: licenses_show(s); return;
    case SHOW_TOPOLOGY: puts("No topology information available"); return;
    case SHOW_BURSTBUFFER: puts("No burst buffers in the system"); return;
    case SHOW_ALIASES: scontrol_show_hosts(s, "hostnames", list); return;
    case SHOW_LATER: scontrol_fail(s, "show %s: not supported yet", e->word); return;
    }
}

void scontrol_show(struct scontrol *s, int n, char **word)
{
    if (n < 1) {
        scontrol_fail(s, "too few arguments for keyword:show");
        return;
    }
    char *equals = strchr(word[0], '=');
    const char *list = NULL;
    const char *name = equals ? arena_strndup(s->a, word[0], (size_t) (equals - word[0])) : word[0];
    const struct entity_word *e = entity_find(name);
    if (equals)
        list = equals + 1;
    for (int i = 1; i < n; i++)
        list = listing_join(list, word[i], s->a);
    if (!e)
        scontrol_fail(s, "invalid entity:%s for keyword:show", word[0]);
    else
        entity_show(s, e, list);
}

/* ---- the command line ------------------------------------------------------------------------------------------------------------- */

static const char help_text[] =
    "scontrol [OPTION…] [COMMAND]\n"
    "  show jobs|job ID, steps, nodes|node NAME, partitions, config, hostnames LIST, hostlist LIST, hostlistsorted LIST, daemons\n"
    "  hold|uhold|release|requeue|requeuehold|suspend|resume|top JOB…\n"
    "  update JobId=… | NodeName=… State=… Reason=… | PartitionName=… Key=Value…\n"
    "  create PartitionName=NAME Nodes=LIST   delete PartitionName=NAME\n"
    "  write batch_script JOB [FILE|-]   wait_job JOB   ping   reconfigure   shutdown   version   help   quit\n"
    "  -o one line a record   -d more detail   -a hidden ones too   --json   -Q quiet   -M CLUSTER\n";

static const struct action_word *action_find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++)
        if (text_is_nocase(actions[i].word, word) || (strlen(word) >= 3 && text_starts_nocase(actions[i].word, word)))
            return &actions[i];
    return NULL;
}

/* Is `word` the command `name`, cut short to at least `least` letters? */
static bool command_is(const char *word, const char *name, size_t least)
{
    return strlen(word) >= least && text_starts_nocase(name, word);
}

static void command_run(struct scontrol *s, int n, char **word)
{
    const char *w = word[0];
    if (command_is(w, "show", 2))
        scontrol_show(s, n - 1, word + 1);
    else if (command_is(w, "update", 2))
        scontrol_update(s, n - 1, word + 1);
    else if (command_is(w, "create", 2))
        scontrol_create(s, n - 1, word + 1);
    else if (command_is(w, "delete", 2))
        scontrol_delete(s, n - 1, word + 1);
    else if (command_is(w, "ping", 1))
        ping(s);
    else if (command_is(w, "reconfigure", 3))
        reconfigure(s);
    else if (command_is(w, "shutdown", 8))
        daemon_stop(s);
    else if (command_is(w, "wait_job", 2))
        wait_job(s, n - 1, word + 1);
    else if (command_is(w, "write", 3))
        write_script(s, n - 1, word + 1);
    else if (command_is(w, "version", 1))
        puts(SLURM_VERSION_TEXT);
    else if (command_is(w, "help", 1))
        fputs(help_text, stdout);
    else if (action_find(w))
        action_run(s, action_find(w), n - 1, word + 1);
    else
        scontrol_fail(s, "invalid keyword: %s; `scontrol help` lists the commands", w);
}

/* Takes an option out of the words. False: it is none. */
static bool option_take(struct scontrol *s, int argc, char **argv, int *i, bool *ret_done)
{
    const char *w = argv[*i];
    if (w[0] != '-' || !w[1])
        return false;
    if (text_starts(w, "--cluster") || text_starts(w, "-M")) {
        if (!strchr(w, '=') && (text_starts(w, "--") || !w[2]) && *i + 1 < argc)
            ++*i;
        return true;
    }
    if (text_is(w, "--oneliner"))
        s->oneliner = true;
    else if (text_is(w, "--all"))
        s->all = true;
    else if (text_is(w, "--hide") || text_is(w, "--local") || text_is(w, "--federation") || text_is(w, "--future"))
        s->all &= !text_is(w, "--hide");
    else if (text_is(w, "--details"))
        s->details++;
    else if (text_starts(w, "--json"))
        s->json = true;
    else if (text_is(w, "--quiet"))
        s->quiet = true;
    else if (text_is(w, "--verbose"))
        s->quiet = false;
    else if (text_is(w, "--help") || text_is(w, "--usage") || text_is(w, "-h")) {
        fputs(help_text, stdout);
        *ret_done = true;
    } else if (text_is(w, "--version") || text_is(w, "-V")) {
        puts(SLURM_VERSION_TEXT);
        *ret_done = true;
    } else if (w[1] == '-' || strspn(w + 1, "oadQvF") != strlen(w + 1)) {
        return false;
    } else {
        for (const char *at = w + 1; *at; at++) {
            s->oneliner |= *at == 'o';
            s->all |= *at == 'a';
            s->details += *at == 'd';
            s->quiet |= *at == 'Q';
        }
    }
    return true;
}

/* One line of the prompt: blanks between words, quotes keep them together. */
static int line_split(char *line, char **word, int max)
{
    int n = 0;
    for (char *at = line; *at && n < max;) {
        at += strspn(at, " \t\n");
        if (!*at)
            break;
        char quote = *at == '"' || *at == '\'' ? *at++ : 0;
        word[n++] = at;
        at += quote ? strcspn(at, (char[]){quote, '\n', '\0'}) : strcspn(at, " \t\n");
        if (*at)
            *at++ = '\0';
    }
    return n;
}

static void prompt(struct scontrol *s)
{
    char line[8192];
    char *word[256];
    bool asks = isatty(STDIN_FILENO);
    while ((!asks || (fputs("scontrol: ", stdout) >= 0 && fflush(stdout) == 0)) && fgets(line, sizeof line, stdin)) {
        int n = line_split(line, word, 256);
        if (n && (command_is(word[0], "quit", 1) || command_is(word[0], "exit", 2)))
            break;
        if (n)
            command_run(s, n, word);
    }
}

int cmd_scontrol(int argc, char **argv)
{
    struct scontrol s = {.a = arena_new()};
    VEC(char *) words = {0};
    bool done = false;
    s.all |= getenv("SCONTROL_ALL") != NULL;
    for (int i = 1; i < argc && !done; i++) {
        if (option_take(&s, argc, argv, &i, &done))
            continue;
        /* Negative numbers and the like belong to a command; an unknown option before one is an error. */
        if (argv[i][0] == '-' && argv[i][1] && !words.n) {
            scontrol_fail(&s, "unrecognized option '%s'; scontrol --help lists them", argv[i]);
            done = true;
        } else {
            vec_push(&words, argv[i]);
        }
    }
    if (!done && words.n)
        command_run(&s, (int) words.n, words.v);
    else if (!done)
        prompt(&s);
    if (s.client)
        client_close(s.client);
    vec_done(&words);
    arena_free(s.a);
    return s.rc;
}
