#!/usr/bin/env python3
"""A real SMTP server on loopback that keeps what it gets: controller_smtp.py PORT_FILE MAILS_FILE. Each mail is appended as it came, after a line with its envelope."""
import asyncio
import os
import sys


async def session(reader, writer):
    async def say(text):
        writer.write(text.encode() + b"\r\n")
        await writer.drain()

    sender, to = "", []
    await say("220 sink ready")
    while line := (await reader.readline()).decode("utf-8", "replace").strip():
        word = line.upper()
        if word.startswith("MAIL FROM:"):
            sender = line[10:]
        elif word.startswith("RCPT TO:"):
            to.append(line[8:])
        if word == "DATA":
            await say("354 go on")
            data = await reader.readuntil(b"\r\n.\r\n")
            with open(sys.argv[2], "ab") as f:
                f.write(f"ENVELOPE {sender} {' '.join(to)}\n".encode() + data[:-3].replace(b"\r\n", b"\n") + b"\n")
            await say("250 taken")
        elif word == "QUIT":
            await say("221 bye")
            break
        else:
            await say("250 fine")
    writer.close()


async def main():
    server = await asyncio.start_server(session, "127.0.0.1", 0)
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(server.sockets[0].getsockname()[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    async with server:
        await server.serve_forever()


asyncio.run(main())
