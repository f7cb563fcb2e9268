#include "io/build.h"

#include <stddef.h>

const char *build_name(void)
{
    const char *stamp = build_stamp;
    return stamp != NULL ? stamp : REMUDA_VERSION;
}
