/* A list of what is denied, not of what is allowed: it is for a process that has no capabilities,
 * so what is left in the kernel to attack is what any user may call, and a list of what a C library
 * needs would break with its next release. What is on the list fails with EPERM. */
#include "io/process/confine.h"

#include "base/alloc.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCH_HERE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCH_HERE AUDIT_ARCH_AARCH64
#elif defined __riscv
#define ARCH_HERE AUDIT_ARCH_RISCV64
#elif defined __powerpc64__ && defined __LITTLE_ENDIAN__
#define ARCH_HERE AUDIT_ARCH_PPC64LE
#endif

#define X32_BIT 0x40000000u /* of x86-64: numbers of a second table */

static const unsigned denied[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_process_vm_writev,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_open_by_handle_at,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_name_to_handle_at,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_personality,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_quotactl,
    SYS_syslog,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_open_tree
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
};

#ifdef ARCH_HERE
#define STEP(code, k)          ((struct sock_filter)BPF_STMT(code, k))
#define JUMP(code, k, yes, no) ((struct sock_filter)BPF_JUMP(code, k, yes, no))
#define LOAD(member)           STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define DENY                   STEP(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static bool filter_set(void)
{
    struct sock_filter code[2 * ARRAY_LEN(denied) + 8];
    unsigned short n = 0;
    code[n++] = LOAD(arch);
    code[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_HERE, 1, 0);
    code[n++] = DENY;
    code[n++] = LOAD(nr);
#ifdef __x86_64__
    code[n++] = JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    code[n++] = DENY;
#endif
    for (size_t i = 0; i < ARRAY_LEN(denied); i++) {
        code[n++] = JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i], 0, 1);
        code[n++] = DENY;
    }
    code[n++] = STEP(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = n, .filter = code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}
#else
static bool filter_set(void)
{
    errno = ENOSYS;
    return false;
}
#endif

/* The bounding set first: to change it takes a capability. Of what it has no process gets more by
 * executing. */
static void capabilities_drop(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    for (unsigned long cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
        prctl(PR_CAPBSET_DROP, cap);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    syscall(SYS_capset, &head, none);
}

bool confine_process(const char **ret_why)
{
    bool kept = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    capabilities_drop();
    bool ok = kept && filter_set();
    *ret_why = ok ? NULL : strerrordesc_np(errno);
    return ok;
}
