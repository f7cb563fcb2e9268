/* remudad: both daemons in one binary. */
#include "base/str.h"
#include "controller/controller.h"
#include "controller/disk/backup.h"
#include "controller/disk/repair.h"
#include "io/build.h"
#include "io/fd.h"
#include "io/process/keyring.h"
#include "io/process/last_words.h"
#include "node/node.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: remudad controller --state DIR [--foreground] [--verbose]\n"
    "       remudad node --state DIR --name NAME [--foreground] [--verbose]\n"
    "       remudad relay --state DIR [--foreground]\n"
    "       remudad backup|restore --state DIR FILE\n"
    "       remudad repair --state DIR\n"
    "`remuda up` starts both; see remuda help.\n";

/* As descriptor 3, by srun or by the node daemon, whose others close by themselves. */
static bool handed_a_socket(int argc, char **argv)
{
    return argc > 1 && (text_is(argv[1], "seal") || (argc > 2 && text_is(argv[2], "--watch-gpus")));
}

static bool is_daemon(const char *role)
{
    return text_is(role, "controller") || text_is(role, "node") || text_is(role, "relay");
}

static int role_run(const char *role, int argc, char **argv)
{
    if (text_is(role, "controller"))
        return controller_main(argc - 1, argv + 1);
    if (text_is(role, "node"))
        return node_main(argc - 1, argv + 1);
    if (text_is(role, "relay"))
        return relay_main(argc - 1, argv + 1);
    if (text_is(role, "join"))
        return join_main(argc - 1, argv + 1);
    if (text_is(role, "backup"))
        return backup_main(argc - 1, argv + 1);
    if (text_is(role, "restore"))
        return restore_main(argc - 1, argv + 1);
    if (text_is(role, "repair"))
        return repair_main(argc - 1, argv + 1);
    if (text_is(role, "seal"))
        return seal_main(argc - 1, argv + 1);
    if (text_is(role, "leave"))
        return leave_main(argc - 1, argv + 1);
    if (text_is(role, "end-steps"))
        return end_steps_main(argc - 1, argv + 1);
    if (text_is(role, "--version") || text_is(role, "-V")) {
        printf("remudad %s\n", build_name());
        return 0;
    }
    if (text_is(role, "--help") || text_is(role, "-h")) {
        fputs(usage, stdout);
        return 0;
    }
    fputs(usage, stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const char *role = argc > 1 ? argv[1] : NULL;
    int why;
    if (!standard_descriptors_open())
        return 1; /* and nowhere to say so */
    file_limits_fail();
    last_words_prepare_command("remudad"); /* a daemon says it otherwise as soon as it has a log */
    if (!handed_a_socket(argc, argv))
        descriptors_close(STDERR_FILENO + 1);
    if (is_daemon(role))
        keyring_leave();
    int status = role_run(role, argc, argv);
    if (standard_output_written(&why))
        return status;
    fprintf(stderr, "remudad: error: %s: cannot write all of the output: %s\n", role,
            strerror(why));
    return status ? status : 1;
}
