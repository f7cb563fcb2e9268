#!/usr/bin/env python3
"""A file system that stops answering. Usage: hung_files.py DIR STOP

Mounts itself on DIR by the kernel's own interface (no libfuse) until it is ended. Files can be made in it, opened and written to; what is written is counted and
dropped. While the file STOP is there, nothing is answered: whoever asks stays in the kernel, beyond SIGKILL, as with a server of NFS that is gone. A name that
begins with "never" is never answered for.
"""
import ctypes
import errno
import os
import struct
import sys
import time

where, stop = sys.argv[1:3]
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
if libc.mount(b"hang", where.encode(), b"fuse", 0, b"fd=%d,rootmode=40777,user_id=0,group_id=0,allow_other" % fd) != 0:
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
names, ids = {}, {1: 0}  # name -> number; number -> bytes


def out(unique, data=b"", error=0):
    try:
        os.write(fd, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
    except OSError:
        pass


def attr(node):
    mode = 0o40777 if node == 1 else 0o100666
    return struct.pack("<QQQQQQIIIIIIIIII", node, ids[node], 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def entry(node):
    return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + attr(node)


def answer(op, unique, node, body):
    if op == 26:    # INIT
        out(unique, struct.pack("<IIIIHHIIHH8I", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, *[0] * 8))
    elif op == 1:   # LOOKUP
        name = body.split(b"\0")[0]
        if name.startswith(b"never"):
            return
        out(unique, entry(names[name])) if name in names else out(unique, error=errno.ENOENT)
    elif op == 3:   # GETATTR
        out(unique, struct.pack("<QII", 0, 0, 0) + attr(node))
    elif op == 4:   # SETATTR
        ids[node] = 0
        out(unique, struct.pack("<QII", 0, 0, 0) + attr(node))
    elif op in (14, 27):  # OPEN, OPENDIR
        out(unique, struct.pack("<QII", 0, 0, 0))
    elif op == 35:  # CREATE
        name = body[16:].split(b"\0")[0]
        new = names.setdefault(name, len(ids) + 1)
        ids.setdefault(new, 0)
        out(unique, entry(new) + struct.pack("<QII", 0, 0, 0))
    elif op == 16:  # WRITE
        at, size = struct.unpack_from("<QI", body, 8)
        ids[node] = max(ids[node], at + size)
        out(unique, struct.pack("<II", size, 0))
    elif op in (18, 20, 25, 29):  # RELEASE, FSYNC, FLUSH, RELEASEDIR
        out(unique)
    elif op == 17:  # STATFS
        out(unique, struct.pack("<QQQQQIIII6I", 1, 1, 1, 1, 1, 4096, 255, 4096, 0, *[0] * 6))
    elif op in (2, 36, 42):  # FORGET, INTERRUPT, BATCH_FORGET: no answer
        return
    else:
        out(unique, error=errno.ENOSYS)


while True:
    try:
        request = os.read(fd, 1 << 18)
    except OSError as e:
        if e.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
            continue
        break
    size, op, unique, node = struct.unpack_from("<IIQQ", request)
    while os.path.exists(stop):
        time.sleep(0.05)
    answer(op, unique, node, request[40:])
