import { once } from "node:events";
import { DomainError } from "@berth/core";
import type { Terminal } from "@berth/core/ports";
import type { TerminalSize } from "@berth/core/resource";
import type { ClientChannel } from "ssh2";
import type { SshConnection } from "./ssh-connection.ts";
import { connectionLost, sessionRefused } from "./ssh-failure.ts";
import { terminalOutput, writeTo } from "./terminal-stream.ts";
import type { Turns } from "./turns.ts";

/**
 * Opens the login shell of a machine, which counts as one of the connection's sessions while it is open. Terminals
 * stay open for hours, so they may use half of the sessions only: deployments and checks need the others.
 */
export function sshTerminals(
  connection: SshConnection,
  sessions: Turns,
  terminalsMax: number,
): (size: TerminalSize) => Promise<Terminal> {
  let openCount = 0;
  return async (size) => {
    if (openCount >= terminalsMax) throw tooMany(connection.target.name, terminalsMax);
    openCount++;
    return await sshTerminal(connection, sessions, size, () => openCount--);
  };
}

const tooMany = (name: string, max: number): DomainError =>
  new DomainError(
    "rate.limited",
    `Limit reached: at most ${max} terminals on server ${name}, so that deployments can reach it too. Close one of them.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

const RETRY_AFTER_SECONDS = 10;

/** @param left Called once, when its session has ended or could not be opened. */
async function sshTerminal(
  connection: SshConnection,
  sessions: Turns,
  size: TerminalSize,
  left: () => void,
): Promise<Terminal> {
  const { name } = connection.target;
  const opened = Promise.withResolvers<ClientChannel>();
  const work = sessions.take(async () => {
    const { columns: cols, rows } = size;
    const channel = await connection.open<ClientChannel>(
      (client, done) => client.shell({ term: "xterm-256color", cols, rows }, done),
      (cause) => sessionRefused(name, cause),
    );
    opened.resolve(channel);
    if (!channel.destroyed) await once(channel, "close");
  });
  work.then(left, left);
  work.catch(opened.reject);
  const channel = await opened.promise;
  // sshd ends the session's shell with SIGHUP when its channel closes. What the user sent to the background stays, as
  // after any login by SSH: over SSH nothing can be ended but what still belongs to the channel.
  let hasEnded = false;
  let exitCode: number | null = null;
  channel.once("exit", (code: number | null | undefined) => {
    hasEnded = true;
    exitCode = code ?? null;
  });
  channel.on("error", () => undefined);
  return {
    output: terminalOutput(channel, async () => {
      // The shell's exit code may arrive after the end of its output, but not after the channel's close.
      await work.catch(() => undefined);
      if (!hasEnded) throw connectionLost(name);
    }),
    write: (input) => writeTo(channel, input),
    async resize({ columns, rows }) {
      if (!channel.destroyed) channel.setWindow(rows, columns, 0, 0);
    },
    exitCode: async () => exitCode,
    async close() {
      hasEnded = true;
      channel.destroy();
    },
  };
}
