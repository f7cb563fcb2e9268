#!/usr/bin/env python3
"""The pure libraries do no I/O: what they leave to the linker (`nm -u`), minus what they and the libraries below define, minus an allow-list of
libc functions that only compute, must be empty.

Prints TAP. Usage: purity.py BUILD_ROOT
"""
import pathlib
import subprocess
import sys

# Each pure library with the libraries below it.
PURE = {
    "base": [],
    "model": ["base"],
    "sched": ["model", "base"],
    "core": ["sched", "model", "base"],
    "agent": ["model", "base"],
    "script": ["model", "base"],
    "wire": ["model", "base"],
    "reading": ["wire", "model", "base"],
}
ALLOWED = set(
    """
    malloc calloc realloc free abort pthread_self pthread_sigqueue qsort qsort_r bsearch
    memcpy memmove memset memcmp bcmp memchr memmem memrchr rawmemchr mempcpy
    strlen strnlen strcmp strncmp strcasecmp strncasecmp strchr strrchr strchrnul strstr strcasestr strpbrk strspn strcspn strcpy strncpy stpcpy strcat strtok_r strsep
    strtol strtoul strtoll strtoull __isoc23_strtol __isoc23_strtoul __isoc23_strtoll __isoc23_strtoull
    snprintf vsnprintf sscanf __isoc99_sscanf __isoc23_sscanf
    __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc tolower toupper isalnum isalpha isdigit isspace
    __divti3
    __memcpy_chk __memmove_chk __memset_chk __snprintf_chk __vsnprintf_chk __strcpy_chk __strcat_chk __stack_chk_fail
    _GLOBAL_OFFSET_TABLE_ __errno_location
    """.split()
)
# Numbers of JSON may be written as 1e3: strtod reads them. Large pages are wished for, as memory is asked for.
ALLOWED_PREFIX = {"wire": ("strtod",), "base": ("madvise",)}
# Sanitizers and coverage put their own calls in.
INSTRUMENTATION = ("__asan_", "__ubsan_", "__sanitizer_", "__gcov_", "__lsan_", "__tsan_")


def symbols(library, option):
    out = subprocess.run(["nm", "-g", option, library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines() if line and not line.endswith(":")}


def archive(build, name):
    return build / "src" / name / f"lib{name}.a"


def main():
    build = pathlib.Path(sys.argv[1])
    print(f"1..{len(PURE)}")
    for number, (name, below) in enumerate(PURE.items(), 1):
        path = archive(build, name)
        if not path.exists():
            print(f"not ok {number} - {name}: {path} is not there")
            continue
        defined = set().union(*(symbols(archive(build, n), "--defined-only") for n in [name, *below]))
        foreign = symbols(path, "-u") - defined - ALLOWED
        foreign = {s for s in foreign if not s.startswith(INSTRUMENTATION + ALLOWED_PREFIX.get(name, ()))}
        for symbol in sorted(foreign):
            print(f"# {name} calls {symbol}")
        print(f"{'not ok' if foreign else 'ok'} {number} - {name} is pure")


main()
