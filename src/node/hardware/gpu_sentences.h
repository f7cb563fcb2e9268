/* Every sentence that says why GPUs are not found, or not used, with what helps: each is written
 * here once, printed by the file that finds it out, and is a row of docs/gpus.md ("My GPUs do not
 * show up"; tests/unit/gpu_page_test.c compares, tests/cli/gpus_page.bats has the program print
 * them). */
#ifndef REMUDA_NODE_GPU_SENTENCES_H
#define REMUDA_NODE_GPU_SENTENCES_H

// clang-format off
/* Of NVIDIA's library. */
#define SAY_NVML_NO_LIBRARY   "NVIDIA's management library cannot be opened: %s"
#define SAY_NVML_ON_BUS       ", though there are devices of NVIDIA's: install the driver's packages"
#define SAY_NVML_LACKS        "NVIDIA's management library lacks %s, which is needed"
#define SAY_NVML_NOT_STARTED  "NVIDIA's management library could not be started: %s"
#define SAY_NVML_NOT_USED     "; its devices are not used"
#define SAY_NVML_COUNT        "NVIDIA's management library does not say how many devices there are; none are used"
#define SAY_NVML_SILENT       "an NVIDIA device does not answer and is not used; those after it keep their numbers"
#define SAY_NVML_NOTHING      "NVIDIA: no device of NVIDIA's is on the PCI bus, and there is no library (%s)"
#define SAY_NVML_NONE         "NVIDIA: %s lists no GPU that jobs can have (one in MIG mode without instances is none)"
/* Of AMD's driver. */
#define SAY_AMD_NO_DRIVER     "AMD: there is no %s: the driver amdgpu is not loaded, or a container was not given it"
#define SAY_AMD_CANNOT        "%s is there, but no AMD GPU can be used: %s"
#define SAY_AMD_NO_LIST       "the kernel's list of them, %s, cannot be read (%s)"
#define SAY_AMD_HIDDEN        "%u are in %s, but this process may not use them (a device control group?)"
#define SAY_AMD_NONE          "the kernel's list, %s, has none (is one bound to the driver amdgpu?)"
#define SAY_AMD_UNREADABLE    "%u of the devices in %s cannot be read and are not used; the others keep their numbers"
#define SAY_AMD_NO_LIBRARY    "ROCm SMI is not there (%s)"
#define SAY_AMD_LACKS         "ROCm SMI (%s) lacks %s"
#define SAY_AMD_NOT_STARTED   "ROCm SMI (%s) could not be started: rsmi_init answers %d (RSMI_STATUS_%s)"
#define SAY_AMD_HANGS         "AMD GPUs: %s does not answer, and they are not used"
/* Of both. */
#define SAY_HANGS             "looking for this machine's devices failed: a library of their maker does not answer; they are not used"
#define SAY_CRASHES           "looking for this machine's devices failed: a library ended the process that did it"
#define SAY_NO_FILES          "the device files of a GPU are not known: devices of other jobs are not hidden"
#define SAY_MISSED            "the GPU at %s (%s) was here before and is not there now"
#define SAY_NOT_ASKED         "gres.conf says AutoDetect=%s: %s was not asked for GPUs"
#define SAY_NUMBER_LOST       "gres.conf would give the number of GPU %d, which a step has, to another: all stay as they were until it has ended"
#define SAY_STARTING          "the library of its maker is still starting the GPUs, which takes seconds each without persistence mode"
#define SAY_NO_ANSWER         "the library of its maker does not answer"
#define SAY_HUNG              "its library hung twice when it was asked for it: look at dmesg"
#define SAY_CANNOT_BE_ASKED   "GPU %s: %s cannot be asked for: %s (%d): %s"

/* X(sentence, what to do), in the order of the page. */
#define NVIDIA_SENTENCES(X)                                                                                  \
    X(SAY_NVML_NOTHING, "nothing, if there is none; else `lspci -d 10de:`: it is not seen by the machine, or not passed to the virtual machine") \
    X(SAY_NVML_NO_LIBRARY SAY_NVML_ON_BUS SAY_NVML_NOT_USED, "`libnvidia-ml.so.1` is missing; in a container: give it the driver (`--gpus all`, NVIDIA Container Toolkit)") \
    X(SAY_NVML_LACKS SAY_NVML_NOT_USED, "a driver of before R450, or another library of that name")         \
    X(SAY_NVML_NOT_STARTED SAY_NVML_NOT_USED, "the table above, by its code: 9 no driver, 18 driver and library of different versions, 17 a container or control group, 4 permission") \
    X(SAY_NVML_COUNT, "the library is damaged")                                                              \
    X(SAY_NVML_NONE, "`nvidia-smi -L`; `nvidia-smi mig -lgi`, and then `remuda gpus release`, `resume`")     \
    X(SAY_NVML_SILENT, "`dmesg`; and the driver's list in `/proc` has it not either")                        \
    X(SAY_CANNOT_BE_ASKED, "the table above, by its code")

#define AMD_SENTENCES(X)                                                                                     \
    X(SAY_AMD_NO_DRIVER, "`modprobe amdgpu`; in a container `--device=/dev/kfd --device=/dev/dri`")          \
    X(SAY_AMD_CANNOT, "what stands after it:")                                                               \
    X(SAY_AMD_NO_LIST, "a container without `/sys`, or a driver built without KFD")                          \
    X(SAY_AMD_HIDDEN, "give the container the devices (`--device=/dev/kfd --device=/dev/dri`)")              \
    X(SAY_AMD_NONE, "`lspci -k -d 1002:`; blacklisted, passed through to a virtual machine, or its reset failed: `dmesg`") \
    X(SAY_AMD_UNREADABLE, "the driver fails for one of them: `dmesg`; then `remuda gpus release`, `resume`") \
    X(SAY_AMD_NO_LIBRARY, "only the second source: what stands before it is what is wrong")                  \
    X(SAY_AMD_LACKS, "likewise")                                                                             \
    X(SAY_AMD_NOT_STARTED, "likewise")                                                                       \
    X(SAY_AMD_HANGS, "the driver hangs (`dmesg`), or somebody holds a mutex of ROCm SMI (`/dev/shm/rocm_smi*`)")

#define ALL_SENTENCES(X)                                                                                     \
    X(SAY_NOT_ASKED, "take the line out of gres.conf, or write the devices there")                           \
    X(SAY_HANGS, "it took longer than two minutes: `nvidia-smi` hangs likewise; `dmesg`")                    \
    X(SAY_CRASHES, "the library is damaged, or of another version than the driver: the node's log says how it ended") \
    X(SAY_MISSED, "`dmesg`, `nvidia-smi -L`: it fell off its bus, or is in MIG mode without instances; if it was taken out: `scontrol update nodename=NAME state=resume`") \
    X(SAY_NUMBER_LOST, "wait, or end the job; name the devices in gres.conf by File=")                       \
    X(SAY_NO_FILES, "instances whose capabilities `/proc/driver/nvidia/capabilities` does not list, or a GPU without a render node") \
    X(SAY_STARTING, "wait; `nvidia-smi -pm 1` or nvidia-persistenced makes it short")                        \
    X(SAY_NO_ANSWER, "the driver hangs: `dmesg`")                                                            \
    X(SAY_HUNG, "reboot, or reset it")
// clang-format on

#endif
