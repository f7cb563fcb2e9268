#!/usr/bin/env python3
"""A join made by hand: with a token that is good, and a description of the node that is what whoever joins likes. Prints the answer's type, refusal and sentence.

Usage: hosts_join.py CONTROLLER TOKEN NODE UID CONFIG-LINE [NODE CONFIG-LINE]   With a second node and line: another join in the same breath, with a token that
is none, of which the answer is not waited for.
"""
import json
import socket
import ssl
import struct
import subprocess
import sys

controller, token, node, uid, config, *second = sys.argv[1:]
key = subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"], check=True, capture_output=True).stdout
public = subprocess.run(["openssl", "ec", "-pubout"], input=key, check=True, capture_output=True).stdout.decode()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
s = context.wrap_socket(socket.create_connection((controller, 6817), timeout=20))


def frame(token, node, config):
    ask = {"type": "join", "call": 1, "text": token, "public_key": public, "host": [{"name": "forged", "nodes": node, "uid": int(uid)}], "config": config,
           "protocol": 1, "protocol_oldest": 1, "version": "forged"}
    text = json.dumps(ask).encode()
    return struct.pack(">II", len(text), 0) + text


s.sendall(frame(token, node, config) + (frame("remuda1.t0.0", *second) if second else b""))
data = b""
while len(data) < 8 or len(data) < 8 + struct.unpack(">I", data[:4])[0]:
    piece = s.recv(65536)
    if not piece:
        break
    data += piece
answer = json.loads(data[8:8 + struct.unpack(">I", data[:4])[0]]) if len(data) > 8 else {"type": "nothing"}
print(answer["type"], answer.get("refusal", ""), answer.get("detail", ""))
