import { Duplex } from "node:stream";
import type { Client, ClientChannel } from "ssh2";

/**
 * Wraps a channel as a stream that behaves like a socket. ssh2's channel does not report its destruction, nor its end
 * when the connection dies while it is idle: an HTTP pool would wait for it for ever.
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
      // Without a reader, the stream would never reach its end.
      channel.resume();
      done(error);
    },
  });
  // Idle sockets in a pool have no other error listener.
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

/** HTTP clients call these methods on every connection. Callers set time limits by signals. */
function withSocketCalls(socket: Duplex): Duplex {
  const itself = () => socket;
  const calls = { setKeepAlive: itself, setNoDelay: itself, setTimeout: itself, ref: itself, unref: itself };
  return Object.assign(socket, { ...calls, destroySoon: () => socket.end() });
}
