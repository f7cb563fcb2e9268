#include "controller/disk/state_line.h"

#include "base/str.h"
#include "io/client/client.h"

#include <string.h>

bool state_line_read(int argc, char **argv, struct arena *a, const char **ret_dir,
                     const char **ret_file, struct err *ret_err)
{
    const char *dir = NULL, *file = NULL;
    for (int i = 1; i < argc; i++) {
        if (text_is(argv[i], "--state") && i + 1 < argc)
            dir = argv[++i];
        else if (text_starts(argv[i], "--state="))
            dir = argv[i] + strlen("--state=");
        else if (ret_file && argv[i][0] != '-' && !file)
            file = argv[i];
        else
            return err_set(ret_err, ERR_INVALID, "\"%s\" is not understood; --state DIR%s", argv[i],
                           ret_file ? " and one FILE are" : " is");
    }
    *ret_dir = state_dir_find(dir, a);
    if (ret_file)
        *ret_file = file;
    return !ret_file || file || err_set(ret_err, ERR_INVALID, "name the FILE");
}
