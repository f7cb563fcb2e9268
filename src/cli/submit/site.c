#include "cli/submit/site.h"

#include "cli/program/cluster_dir.h"

struct dialect_site submit_site(const char *state_dir, struct arena *a)
{
    struct config conf;
    struct err e = {0};
    if (!cluster_settings_read(state_dir, NULL, &conf, &e))
        return dialect_site_standard();
    struct dialect_site site = dialect_site_of(&conf.settings);
    site.cluster = arena_strdup(a, conf.settings.cluster_name);
    const char *server = conf.settings.pbs_server;
    site.pbs_server = text_empty(server) ? site.cluster : arena_strdup(a, server);
    config_done(&conf);
    return site;
}
