#include "cli/submit/site.h"

#include "cli/program/cluster_dir.h"
#include "cli/program/room.h"

#include <unistd.h>

static const char *user_name(struct arena *a)
{
    const struct passwd *p = user_by_uid(geteuid());
    return p ? arena_strdup(a, p->pw_name) : NULL;
}

struct dialect_site submit_site(const char *state_dir, struct arena *a)
{
    struct config conf;
    struct err e = {0};
    bool known = cluster_settings_read(state_dir, NULL, &conf, &e);
    struct dialect_site site = known ? dialect_site_of(&conf.settings) : dialect_site_standard();
    site.user = user_name(a);
    if (!known)
        return site;
    site.cluster = arena_strdup(a, conf.settings.cluster_name);
    const char *server = conf.settings.pbs_server;
    site.pbs_server = text_empty(server) ? site.cluster : arena_strdup(a, server);
    config_done(&conf);
    return site;
}
