#!/usr/bin/env bats
# Packages, each installed in a bare root of its own: commands, a cluster, a job, pages.
bats_require_minimum_version 1.5.0

setup_file() {
    export WHY_NOT= SOURCE="$BATS_TEST_DIRNAME/../.." TOP
    [ "$(id -u)" = 0 ] || { WHY_NOT="needs root to change the root"; return 0; }
    unshare -m true 2>/dev/null || { WHY_NOT="mounts cannot be made here"; return 0; }
    export BUILD="${REMUDA_BUILD:-$SOURCE/build}"
    [ -f "$BUILD/build.ninja" ] || { WHY_NOT="there is no build (make)"; return 0; }
    TOP=$(mktemp -d /tmp/remuda-packages-XXXXXX)
    chmod 755 "$TOP"
}

teardown_file() {
    [ -z "$TOP" ] || rm -rf "$TOP"
}

setup() {
    [ -z "$WHY_NOT" ] || skip "$WHY_NOT"
    ROOT_DIR="$TOP/root$BATS_TEST_NUMBER"
}

# bare PROGRAM…: a root with these programs, what they are linked with, and nothing else.
bare() {
    mkdir -p "$ROOT_DIR"/{bin,lib,lib64,etc,tmp,proc,sys,dev,root,usr/bin,var/lib,var/log}
    printf 'root:x:0:0:root:/root:/bin/sh\n' > "$ROOT_DIR/etc/passwd"
    printf 'root:x:0:\n' > "$ROOT_DIR/etc/group"
    for program; do
        cp -L "$(command -v "$program")" "$ROOT_DIR/bin/"
        libraries "$(command -v "$program")"
    done
    [ -e "$ROOT_DIR/bin/sh" ] || ln -s dash "$ROOT_DIR/bin/sh"
}

# libraries FILE: puts what the file is linked with where it looks for it.
libraries() {
    local library
    for library in $(ldd "$1" | grep -o '/[^ ]*'); do
        mkdir -p "$ROOT_DIR$(dirname "$library")"
        cp -nL "$library" "$ROOT_DIR$library" || true
    done
}

inside() {
    unshare -m sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && exec chroot "$0" /bin/sh -c "$1"' "$ROOT_DIR" "$1" 3>&-
}

# Debian's rpm has its database at home.
rpm() { HOME="$TOP" command rpm "$@"; }

# A cluster of the package's programs runs a job.
works() {
    run -0 inside "export PATH=$1:/bin HOME=/root; remuda version && remuda up --nodes 1 --cpus 1 --mem 500 && id=\$(sbatch --parsable -W -D /tmp --wrap 'echo it works'); cat /tmp/slurm-\$id.out; sacct -n -X -P -o State; remuda down"
    [[ "$output" == *"it works"* && "$output" == *"COMPLETED"* ]] || { echo "$output"; false; }
}

# What a package of the system puts besides the programs.
all_there() {
    [ -e "$ROOT_DIR/usr/lib/systemd/system/remuda-controller.service" ]
    [ -e "$ROOT_DIR/usr/share/man/man1/sbatch.1.gz" ]
    [ -e "$ROOT_DIR/usr/share/bash-completion/completions/squeue" ]
    for name in $("$ROOT_DIR/usr/bin/remuda" commands); do [ -L "$ROOT_DIR/usr/bin/$name" ] || { echo "no $name"; false; }; done
}

@test "the .deb in a bare root: programs, links, units, pages, completion, a job" {
    command -v dpkg-deb >/dev/null || skip "needs dpkg-deb"
    package=$("$SOURCE/tools/package" deb "$BUILD" "$TOP")
    bare dash cat sleep
    mkdir -p "$ROOT_DIR"/var/lib/dpkg/{info,updates,triggers}
    touch "$ROOT_DIR"/var/lib/dpkg/{status,available}
    dpkg --root="$ROOT_DIR" --force-depends -i "$package"
    libraries "$ROOT_DIR/usr/bin/remudad" # what its Depends bring
    dpkg-deb -f "$package" Depends | grep -q libhwloc
    all_there
    works /usr/bin
    dpkg --root="$ROOT_DIR" -r remuda
    [ ! -e "$ROOT_DIR/usr/bin/remuda" ]
}

@test "the .rpm in a bare root: the same" {
    command -v rpmbuild >/dev/null && command -v rpm >/dev/null || skip "needs rpmbuild and rpm (Debian: rpm)"
    package=$("$SOURCE/tools/package" rpm "$BUILD" "$TOP")
    bare dash cat sleep
    rpm --root "$ROOT_DIR" --nodeps -i "$package" # Debian's libraries are in no database of rpm's
    libraries "$ROOT_DIR/usr/bin/remudad" # what its Requires bring
    needs=$(rpm -qp --requires "$package")
    [[ "$needs" == *"libhwloc.so"* && "$needs" != *"libcurl.so"* && "$needs" != *"libpmix.so"* ]]
    [ ! -e "$ROOT_DIR/usr/bin/remuda-smtp" ] || [[ "$(rpm -qp --recommends "$package")" == *"libcurl.so"* ]]
    all_there
    works /usr/bin
    rpm --root "$ROOT_DIR" -e remuda
    [ ! -e "$ROOT_DIR/usr/bin/remuda" ]
}

@test "the tarball, wherever it is unpacked: commands need libc alone, the daemons what is beside them" {
    package=$("$SOURCE/tools/package" tarball "$BUILD" "$TOP")
    bare dash cat sleep
    mkdir -p "$ROOT_DIR/anywhere"
    tar -C "$ROOT_DIR/anywhere" -xzf "$package"
    at=$(basename "$ROOT_DIR"/anywhere/*)
    # Of the system nothing but libc: what dash has is there, and its kin.
    for library in $(ldd "$ROOT_DIR/anywhere/$at/bin/remudad" | grep -o '/[^ ]*' | grep -E '/(libc|libm|libdl|libpthread|librt|libresolv)\.so|ld-linux'); do
        mkdir -p "$ROOT_DIR$(dirname "$library")"
        cp -nL "$library" "$ROOT_DIR$library" || true
    done
    [ -z "$(ldd "$ROOT_DIR/anywhere/$at/bin/remuda" | grep -o '/[^ ]*' | grep -vE '/(libc|libm)\.so|ld-linux')" ]
    works "/anywhere/$at/bin"
}
