/* Types of GPUs from real names: of NVML, of boards' own memory, and lines of pci.ids. */
#include "unit.h"

#include "node/hardware/discover_gpus.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name, *type;
} names[] = {
    /* pci.ids, 1002 */
    {"Vega 10 [Instinct MI25/MI25x2/V340/V320]", "mi25"},
    {"Vega 10 [Instinct MI25 MxGPU/MI25x2 MxGPU/V340 MxGPU/V340L MxGPU]", "mi25"},
    {"Vega 10 [Radeon Pro V340/Instinct MI25x2]", "mi25x2"},
    {"Vega 20 [Radeon Instinct]", "vega20"},
    {"Vega 20 [Radeon Pro VII/Radeon Instinct MI50 32GB]", "mi50"},
    {"Vega 20 [Radeon VII]", "vega20"},
    {"Arcturus GL-XL [Instinct MI100]", "mi100"},
    {"Aldebaran/MI200 [Instinct MI250X]", "mi250x"},
    {"Aldebaran/MI200 [Instinct MI250X/MI250]", "mi250x"},
    {"Aldebaran/MI200 [Instinct MI210]", "mi210"},
    {"Aldebaran/MI200", "mi200"},
    {"Aqua Vanjaram [Instinct MI300A]", "mi300a"},
    {"Aqua Vanjaram [Instinct MI300X]", "mi300x"},
    {"Aqua Vanjaram [Instinct MI300X VF]", "mi300x"},
    {"Aqua Vanjaram [Instinct MI308X]", "mi308x"},
    {"Aqua Vanjaram [Instinct MI325X]", "mi325x"},
    {"Navi 12 [Radeon Pro V520/V540]", "v520"},
    {"Navi 21 [Radeon Pro V620]", "v620"},
    {"Navi 21 GL-XL [Radeon PRO W6800]", "w6800"},
    {"Navi 21 [Radeon RX 6900 XT]", "rx6900"},
    {"Navi 31 [Radeon RX 7900 XT/7900 XTX]", "rx7900"},
    {"Tahiti PRO GL [FirePro Series]", "gpu"},
    {"Tonga XT GL [FirePro S7150]", "s7150"},
    {"Arcturus GL-XL", "gpu"},
    {"0x74a1", "gpu"},
    {"", "gpu"},
    {"]", "gpu"},
    {"[", "gpu"},
    /* what boards, amdgpu.ids and ROCm SMI say */
    {"AMD Instinct MI300X OAM", "mi300x"},
    {"AMD INSTINCT MI250 (MCM) OAM AC MBA", "mi250"},
    {"AMD Instinct MI250X / MI250", "mi250x"},
    {"AMD Instinct MI60 / MI50", "mi60"},
    {"AMD Radeon Instinct MI25x2 MxGPU", "mi25x2"},
    {"AMD Instinct MI210", "mi210"},
    {"MI300X-O", "mi300x"},
    {"AMD Radeon Pro W6500M", "w6500m"},
    {"Radeon 780M", "radeon780m"},
    /* NVML */
    {"NVIDIA A100-SXM4-40GB", "a100"},
    {"A100-SXM4-80GB", "a100"},
    {"NVIDIA A100 80GB PCIe", "a100"},
    {"NVIDIA A800-SXM4-80GB", "a800"},
    {"NVIDIA A30", "a30"},
    {"NVIDIA A10G", "a10g"},
    {"NVIDIA A40-48Q", "a40"},
    {"NVIDIA H100 80GB HBM3", "h100"},
    {"NVIDIA H100 PCIe", "h100"},
    {"NVIDIA H200", "h200"},
    {"NVIDIA H200 NVL", "h200"},
    {"NVIDIA GH200 480GB", "gh200"},
    {"NVIDIA GB200", "gb200"},
    {"NVIDIA B200", "b200"},
    {"NVIDIA L4", "l4"},
    {"NVIDIA L40S", "l40s"},
    {"Tesla V100-SXM2-16GB", "v100"},
    {"Tesla V100S-PCIE-32GB", "v100s"},
    {"Tesla P100-PCIE-16GB", "p100"},
    {"Tesla K80", "k80"},
    {"Tesla T4", "t4"},
    {"Quadro RTX 8000", "rtx8000"},
    {"NVIDIA RTX A6000", "a6000"},
    {"NVIDIA RTX 6000 Ada Generation", "rtx6000"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "pro6000"},
    {"NVIDIA GeForce RTX 3090", "rtx3090"},
    {"NVIDIA GeForce RTX 4090 Laptop GPU", "rtx4090"},
    {"NVIDIA TITAN V", "gpu"},
    {"NVIDIA Graphics Device", "gpu"},
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "a100_1g.5gb"},
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb+me", "a100_1g.5gb+me"},
    {"NVIDIA A100-SXM4-80GB MIG 1c.3g.40gb", "a100_1c.3g.40gb"},
    {"NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "h100_1g.10gb+me"},
    {"NVIDIA B200 MIG 1g.23gb+me.all", "b200_1g.23gb+me.all"},
    {"NVIDIA H200 MIG 2g.35gb-me", "h200_2g.35gb-me"},
    {"Graphics Device MIG 1g.5gb", "gpu_1g.5gb"},
    /* pci.ids, 10de */
    {"GK110BGL [Tesla K40m]", "k40m"},
    {"GK210GL [Tesla K80]", "k80"},
    {"GM200GL [Tesla M40]", "m40"},
    {"GP100GL [Tesla P100 SXM2 16GB]", "p100"},
    {"GV100GL [Tesla V100 SXM2 32GB]", "v100"},
    {"GV100GL [Tesla V100S PCIe 32GB]", "v100s"},
    {"TU104GL [Tesla T4]", "t4"},
    {"TU102GL [Tesla T10 16GB / GRID RTX T10-2/T10-4/T10-8]", "t10"},
    {"GA100 [A100 SXM4 40GB]", "a100"},
    {"GA100 [A100-SXM-64GB]", "a100"},
    {"GA100GL [A30 PCIe]", "a30"},
    {"GA100 [A100X]", "a100x"},
    {"GA102GL [RTX A6000]", "a6000"},
    {"GA102GL [A40]", "a40"},
    {"GA107GL [A2 / A16]", "a2"},
    {"GH100[H100 SXM5 80GB]", "h100"},
    {"GH100 [H100 PCIe]", "h100"},
    {"AD102GL [L40]", "l40"},
    {"AD102 [GeForce RTX 4090]", "rtx4090"},
    {"AD102GL [L6000 / RTX 6000 Ada Generation]", "l6000"},
};

/* Begins and ends with a letter or digit, and can be asked for. */
static void assert_fair(const char *type)
{
    assert_true(isalnum((unsigned char)type[0]));
    assert_true(isalnum((unsigned char)type[strlen(type) - 1]));
    assert_null(strpbrk(type, ":,; /|[]()"));
}

static void test_types_of_real_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char type[64];
        gpu_type_of(names[i].name, type, sizeof type);
        assert_string_equal(type, names[i].type);
        assert_fair(type);
    }
}

static void test_types_by_number(void **state)
{
    (void)state;
    assert_string_equal(amd_type_of_device(0x74a1), "mi300x");
    assert_string_equal(amd_type_of_device(0x738c), "mi100");
    assert_string_equal(amd_type_of_device(0x7408), "mi250x");
    assert_string_equal(amd_type_of_device(0x740f), "mi210");
    assert_null(amd_type_of_device(0x73af));
    assert_null(amd_type_of_device(0));
}

static void test_long_names_fit(void **state)
{
    (void)state;
    char name[1000], type[16];
    memset(name, 'A', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    name[500] = '1';
    gpu_type_of(name, type, sizeof type);
    assert_true(strlen(type) < sizeof type);
    memcpy(name, "MI300X MIG ", 11);
    gpu_type_of(name, type, sizeof type);
    assert_true(strlen(type) < sizeof type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_of_real_names),
        cmocka_unit_test(test_types_by_number),
        cmocka_unit_test(test_long_names_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
