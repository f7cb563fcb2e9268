#include "controller/site/private_files.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void file_mend(struct controller *c, const char *name, const char *holds)
{
    struct stat st;
    const char *path = controller_path(c, name);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077)) {
        unsigned mode = (unsigned)st.st_mode & 0777;
        if (fchmod(fd, 0600) == 0)
            log_warning(
                c->log,
                "%s, which has %s in it, could be read by others (mode %04o): it is 0600 now", path,
                holds, mode);
        else
            log_error(c->log, "%s, which has %s in it, can be read by others (mode %04o): %s", path,
                      holds, mode, strerror(errno));
    }
    close(fd);
}

void private_files_mend(struct controller *c)
{
    DIR *dir = opendir(c->state_dir);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (text_starts(e->d_name, "remuda.db"))
            file_mend(c, e->d_name, "everybody's scripts and environments");
    if (dir)
        closedir(dir);
    file_mend(c, "tls/authority.key", "the key to the cluster");
}
