#!/usr/bin/env python3
"""Listens to a network interface for SECONDS and says whether WORD went over it in the clear: "seen" or "not seen" (and "nothing" if no TCP payload came at all).

Usage: hosts_sniff.py INTERFACE SECONDS WORD READY_FILE
"""
import pathlib
import socket
import sys
import time

interface, seconds, word, ready = sys.argv[1], float(sys.argv[2]), sys.argv[3].encode(), pathlib.Path(sys.argv[4])
listening = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
listening.bind((interface, 0))
listening.settimeout(0.2)
ready.touch()
until, seen, came = time.monotonic() + seconds, False, 0
while time.monotonic() < until:
    try:
        packet = listening.recv(1 << 17)
    except socket.timeout:
        continue
    came += len(packet) > 200
    seen |= word in packet
print("seen" if seen else "not seen" if came else "nothing")
