/* `remuda import slurm`: a slurm.conf of anybody's, and the same bytes as slurmdbd.conf. Any bytes
 * are read, or refused with a sentence; what is left to be written is read by the parser without a
 * complaint, and says nothing that the file did not say. */
#include "fuzz.h"

#include "io/files.h"

#include <unistd.h>

static const char *fuzz_text;
static size_t fuzz_len;
static int fuzz_access(const char *path, int mode);
#define access fuzz_access
#include "cli/accounts/import/conf.c"
#include "cli/accounts/import/lines.c"
#undef access

const char *const fuzz_words[] = {
    "ClusterName=c\n",
    "NodeName=n[1-4] CPUs=4\n",
    "NodeName=DEFAULT RealMemory=1000\n",
    "PartitionName=p Nodes=n[1-4] Default=YES\n",
    "PartitionName=p Nodes=nosuch\n",
    "NodeSet=s Feature=f\n",
    "SlurmctldHost=h(1.2.3.4)\n",
    "AccountingStoragePass=x",
    "StateSaveLocation=/x \\\n",
    "Include slurm.conf\n",
    "include\tother.conf\n",
    "KillWait=soon\n",
    "SchedulerParameters=bf_continue,",
    "StoragePass=x",
    "PurgeJobAfter=12months ",
    "ArchiveDir = \"a b\" ",
    "SlurmctldParameters=rl_enable\n",
    "Nonsense=1\n",
    " new_key=1",
    "ProctrackType=proctrack/cgroup\n",
    "\\\n",
    "#",
    "\"",
    "\r\n",
    " = ",
    NULL,
};

bool import_conf_open(struct import *m, struct err *ret_err)
{
    return m->conf || err_set(ret_err, ERR_NOT_FOUND, "no directory");
}

bool import_file_read(struct import *m, const char *path, struct str *out, struct err *ret_err)
{
    const size_t max = LIMIT_CONFIG_BYTES;
    (void)m;
    if (!strstr(path, MAIN_FILE) && !strstr(path, DBD_FILE))
        return err_set(ret_err, ERR_NOT_FOUND, "%s is not there", path);
    if (fuzz_len > max)
        return err_set(ret_err, ERR_LIMIT, "%s is too large", path);
    str_addn(out, fuzz_text, fuzz_len);
    return true;
}

static int fuzz_access(const char *path, int mode)
{
    (void)mode;
    return strstr(path, MAIN_FILE) || strstr(path, DBD_FILE) ? 0 : -1;
}

void program_error(const char *name, const char *format, ...)
{
    CHECK(name && *format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct import m = {.a = arena_new(), .conf = "/nonexistent-by-name"};
    fuzz_text = (const char *)data;
    fuzz_len = size;
    if (import_conf_read(&m)) {
        struct config c;
        struct err err = {0};
        CHECK(config_parse(str_text(&m.file.v[0]->text), MAIN_FILE, taken_read, &m, &c, &err));
        config_done(&c);
        const struct taken *t = m.file.v[0];
        for (size_t i = 0; i < t->origin.n; i++) /* beside others it stays, without its value */
            CHECK(!line_key_is(t, i + 1, "AccountingStoragePass") ||
                  strstr(str_text(&t->text) + t->origin.v[i].at, "withheld"));
    }
    import_conf_done(&m);
    arena_free(m.a);
    return 0;
}
