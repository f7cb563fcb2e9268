/* scontrol show ENTITY [NAME]: which entity a word means, however short it was cut. */
#include "base/alloc.h"
#include "cli/accounts/assoc_mgr.h"
#include "cli/program/cluster_dir.h"
#include "cli/scontrol/reservation.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/listing.h"

#include <stdio.h>
#include <string.h>

enum show_entity {
    SHOW_JOBS,
    SHOW_STEPS,
    SHOW_NODES,
    SHOW_PARTITIONS,
    SHOW_CONFIG,
    SHOW_HOSTNAMES,
    SHOW_HOSTLIST,
    SHOW_HOSTLISTSORTED,
    SHOW_DAEMONS,
    SHOW_RESERVATIONS,
    SHOW_LICENSES,
    SHOW_TOPOLOGY,
    SHOW_BURSTBUFFER,
    SHOW_ALIASES,
    SHOW_ASSOC,
    SHOW_FEDERATION,
    SHOW_SLURMD,
};

struct entity_word {
    const char *word;
    size_t least; /* letters that must be given */
    enum show_entity entity;
};

static const struct entity_word entities[] = {
    {"jobs", 3, SHOW_JOBS},
    {"jobid", 3, SHOW_JOBS},
    {"steps", 3, SHOW_STEPS},
    {"nodes", 3, SHOW_NODES},
    {"partitions", 3, SHOW_PARTITIONS},
    {"partitionname", 10, SHOW_PARTITIONS},
    {"config", 3, SHOW_CONFIG},
    {"hostnames", 5, SHOW_HOSTNAMES},
    {"hostlistsorted", 9, SHOW_HOSTLISTSORTED},
    {"hostlist", 5, SHOW_HOSTLIST},
    {"daemons", 3, SHOW_DAEMONS},
    {"reservations", 3, SHOW_RESERVATIONS},
    {"reservationname", 12, SHOW_RESERVATIONS},
    {"licenses", 3, SHOW_LICENSES},
    {"topology", 3, SHOW_TOPOLOGY},
    {"burstbuffer", 3, SHOW_BURSTBUFFER},
    {"bbstat", 3, SHOW_BURSTBUFFER},
    {"dwstat", 3, SHOW_BURSTBUFFER},
    {"aliases", 3, SHOW_ALIASES},
    {"assoc_mgr", 3, SHOW_ASSOC},
    {"cache", 3, SHOW_ASSOC},
    {"federation", 3, SHOW_FEDERATION},
    {"slurmd", 6, SHOW_SLURMD},
};

static const struct entity_word *entity_find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (strlen(word) >= entities[i].least && text_starts_nocase(entities[i].word, word))
            return &entities[i];
    return NULL;
}

/* "flags=assoc,qos users=alice accounts=a,b qos=q" */
static bool assoc_word(struct scontrol *s, const char *word, struct assoc_mgr_ask *ask)
{
    const char *equals = strchr(word, '=');
    const struct {
        const char *key;
        const char **to;
    } lists[] = {{"users", &ask->of_users}, {"accounts", &ask->of_accounts}, {"qos", &ask->of_qos}};
    size_t len = equals ? (size_t)(equals - word) : 0;
    struct span rest = span_of(equals ? equals + 1 : ""), one;
    if (!equals) {
        scontrol_refuse(s, "No value given for option %s", word);
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (len >= 1 && len <= strlen(lists[i].key) && strncasecmp(word, lists[i].key, len) == 0) {
            *lists[i].to = equals + 1;
            return true;
        }
    if (len < 1 || len > strlen("flags") || strncasecmp(word, "flags", len) != 0) {
        scontrol_refuse(s, "invalid entity: %s for keyword:show assoc_mgr", word);
        scontrol_fail(s, "it is one of users=, accounts=, qos=, flags=");
        return false;
    }
    ask->users = ask->assocs = ask->qos = false;
    while (span_next(&rest, ',', &one)) {
        bool *to = span_is_nocase(one, "users")   ? &ask->users
                   : span_is_nocase(one, "assoc") ? &ask->assocs
                   : span_is_nocase(one, "qos")   ? &ask->qos
                                                  : NULL;
        if (!to) {
            scontrol_refuse(s, "invalid flag '%.*s', valid options are 'Assoc, QOS, and/or Users'",
                            (int)one.len, one.data);
            return false;
        }
        *to = true;
    }
    return true;
}

static void assoc_show(struct scontrol *s, const char *list)
{
    struct assoc_mgr_ask ask = {
        .users = true, .assocs = true, .qos = true, .oneliner = s->oneliner};
    ask.cluster = cluster_name(state_dir_find(NULL, s->a), s->a);
    struct span rest = span_of(list ? list : ""), word;
    while (span_next(&rest, ' ', &word))
        if (word.len && !assoc_word(s, arena_strndup(s->a, word.data, word.len), &ask))
            return;
    struct client *client = scontrol_connect(s, "slurm_load_assoc_mgr_info error");
    if (client && !assoc_mgr_show(client, &ask, s->a))
        s->rc = 1;
}

static bool has_json(enum show_entity entity)
{
    return entity == SHOW_JOBS || entity == SHOW_STEPS || entity == SHOW_NODES ||
           entity == SHOW_PARTITIONS || entity == SHOW_RESERVATIONS || entity == SHOW_LICENSES;
}

static void entity_show(struct scontrol *s, const struct entity_word *e, const char *list)
{
    /* A program that asked for a document and read a table would not see what went wrong. */
    if (s->json && !has_json(e->entity)) {
        scontrol_fail(s,
                      "show %s: no --json and no --yaml of it; of job, step, node, partition, "
                      "reservation, licenses and ping there are",
                      e->word);
        return;
    }
    if (has_json(e->entity) || e->entity == SHOW_CONFIG) /* they have times */
        listing_time_format_check("scontrol");
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
    case SHOW_RESERVATIONS: scontrol_show_reservations(s, list); return;
    case SHOW_LICENSES: scontrol_show_licenses(s, list); return;
    case SHOW_TOPOLOGY: scontrol_show_topology(s, list); return;
    case SHOW_BURSTBUFFER: /* there are none; Slurm says nothing either */
        scontrol_connect(s, text_is(e->word, "burstbuffer") ? "slurm_load_burst_buffer_info error"
                                                            : "slurm_load_burst_buffer_stat error");
        return;
    case SHOW_ALIASES: scontrol_show_aliases(s, list); return;
    case SHOW_ASSOC: assoc_show(s, list); return;
    case SHOW_FEDERATION: return; /* there are none; Slurm says nothing either */
    case SHOW_SLURMD: scontrol_show_slurmd(s, list); return;
    }
}

void scontrol_show(struct scontrol *s, int n, char **word)
{
    if (n < 1) {
        scontrol_refuse(s, "too few arguments for keyword:show");
        return;
    }
    char *equals = strchr(word[0], '=');
    const char *list = NULL;
    const char *name = equals ? arena_strndup(s->a, word[0], (size_t)(equals - word[0])) : word[0];
    const struct entity_word *e = entity_find(name);
    if (n > 2 && !(e && e->entity == SHOW_ASSOC)) {
        scontrol_refuse(s, "too many arguments for keyword:show");
        scontrol_fail(s, "several are named with commas: scontrol show %s %s,%s", word[0], word[1],
                      word[2]);
        return;
    }
    if (equals)
        list = equals + 1;
    for (int i = 1; i < n; i++)
        list = e && e->entity == SHOW_ASSOC && list
                   ? arena_printf(s->a, "%s %s", list, word[i]) /* each has commas of its own */
                   : listing_join(list, word[i], s->a);
    if (!e)
        scontrol_refuse(s, "invalid entity:%s for keyword:show ", word[0]);
    else
        entity_show(s, e, list);
}
