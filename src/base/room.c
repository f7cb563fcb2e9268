#include "base/room.h"

#define PLENTY_BYTES (UINT64_C(64) << 20) /* nobody who writes rows and notes runs out of these */

static void size_add(struct str *out, uint64_t bytes)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes / 1024;
    size_t i = 0;
    while (n >= 1024 && i < 3) {
        n /= 1024;
        i++;
    }
    str_addf(out, bytes % 1024 == 0 && n < 10 && (double)(uint64_t)n == n ? "%.0f %s" : "%.1f %s",
             n, unit[i]);
}

void room_add(struct str *out, uint64_t free_bytes, uint64_t all_bytes, uint64_t free_files,
              uint64_t all_files)
{
    size_add(out, free_bytes);
    str_add(out, " of ");
    size_add(out, all_bytes);
    str_add(out, " are free there");
    if (all_files > 0 && free_files == 0)
        str_add(out, ", but no more files can be made");
    else if (free_bytes >= PLENTY_BYTES)
        str_add(out, ", so a quota or a limit on the size of files is in the way");
}
