import { Duplex } from "node:stream";
import type { Client, ClientChannel } from "ssh2";

/**
 * A channel as the stream that a socket is. ssh2's own says neither that it was destroyed nor, when its connection dies
 * while it is idle, that it ended: a pool that keeps it for later would wait for ever.
 */
export function channelSocket(client: Client, channel: ClientChannel): Duplex {
  let hasEnded = false;
  const end = () => {
    if (!hasEnded) socket.push(null);
    hasEnded = true;
  };
  const onGone = () =>
    socket.destroy(Object.assign(new Error("The SSH connection below it broke off."), { code: "ECONNRESET" }));
  const socket = new Duplex({
    read: () => void channel.resume(),
    write(chunk: Buffer, _encoding, done) {
      if (channel.write(chunk)) done();
      else channel.once("drain", done);
    },
    final(done) {
      channel.end();
      done();
    },
    destroy(error, done) {
      client.removeListener("close", onGone);
      channel.destroy();
      // Nobody reads it any more, and only what is read comes to its end.
      channel.resume();
      done(error);
    },
  });
  // One that is kept for later has nobody who listens.
  socket.on("error", () => {});
  client.once("close", onGone);
  channel.on("error", (error: Error) => socket.destroy(error));
  channel.on("data", (chunk: Buffer) => {
    if (!hasEnded && !socket.push(chunk)) channel.pause();
  });
  channel.once("end", end);
  channel.once("close", () => {
    end();
    socket.end();
  });
  return withSocketCalls(socket);
}

/** HTTP clients call these on every connection. Callers set time limits by signals. */
function withSocketCalls(socket: Duplex): Duplex {
  const itself = () => socket;
  const calls = { setKeepAlive: itself, setNoDelay: itself, setTimeout: itself, ref: itself, unref: itself };
  return Object.assign(socket, { ...calls, destroySoon: () => socket.end() });
}
