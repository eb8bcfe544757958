import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import type { SFTPWrapper } from "ssh2";
import type { Argv } from "./argv.ts";
import type { HostFiles } from "./host.ts";
import type { RunResult } from "./local.ts";
import type { SshConnection } from "./ssh-connection.ts";
import { connectionLost, detailsOf, filesGarbled, filesRefused } from "./ssh-failure.ts";

type Answer<T> = (error: Error | null | undefined, value: T) => void;

/** Files of a machine over SFTP, in one session that lasts as long as its connection. */
export function sshFiles(connection: SshConnection, run: (argv: Argv) => Promise<RunResult>): HostFiles {
  const { name } = connection.target;
  let session: Promise<SFTPWrapper> | undefined;

  const openSession = async () => {
    const opening = connection.open<SFTPWrapper>(
      (client, done) =>
        client.sftp((error, sftp) => {
          // Only the SFTP session failed, not the connection.
          const isGarbled = detailsOf(error).level === "sftp-protocol";
          done(isGarbled ? filesGarbled(name, error) : (error ?? undefined), sftp);
        }),
      (cause) => filesRefused(name, cause),
    );
    const forget = () => {
      if (session === opening) session = undefined;
    };
    session = opening;
    try {
      const sftp = await opening;
      // Every pending answer adds a listener.
      sftp.setMaxListeners(0);
      sftp.on("error", forget).on("close", forget).on("end", forget);
      return sftp;
    } catch (error) {
      forget();
      throw error;
    }
  };

  /** @throws The machine's error with its code; DomainError when the machine is unreachable. */
  const ask = async <T>(start: (sftp: SFTPWrapper, done: Answer<T>) => void): Promise<T> => {
    const sftp = await (session ?? openSession());
    let onClose = () => {};
    const answered = new Promise<T>((resolve, reject) => {
      // A closing session drops requests without an answer.
      onClose = () => reject(new Error("The session ended."));
      sftp.once("close", onClose);
      try {
        start(sftp, (error, value) => (error ? reject(error) : resolve(value)));
      } catch (cause) {
        reject(cause);
      }
    });
    return await answered.finally(() => sftp.off("close", onClose));
  };

  const act = (start: (sftp: SFTPWrapper, done: Answer<unknown>) => void) =>
    ask<unknown>((sftp, done) => start(sftp, (error) => done(error, undefined)));

  const failed = (verb: string, path: string, cause: unknown): DomainError => {
    if (isDomainError(cause)) return cause;
    if (codeOf(cause) === undefined) return connectionLost(name, cause);
    const why = codeOf(cause) === PERMISSION_DENIED ? "its login may not" : messageOf(cause);
    return new DomainError("engine.failed", `Berth cannot ${verb} ${path} on server ${name}: ${why}.`, { cause });
  };

  const isFolder = (path: string) =>
    ask<boolean>((sftp, done) => sftp.stat(path, (error, stats) => done(error, error ? false : stats.isDirectory())));

  const makeFolder = async (path: string, mode: number): Promise<void> => {
    try {
      await act((sftp, done) => sftp.mkdir(path, { mode }, done as Answer<void>));
    } catch (cause) {
      if (codeOf(cause) === MISSING && posix.dirname(path) !== path) {
        await makeFolder(posix.dirname(path), mode);
        return await makeFolder(path, mode);
      }
      // The protocol has no code for "already exists".
      if (codeOf(cause) !== undefined && (await isFolder(path).catch(() => false))) return;
      throw cause;
    }
  };

  return {
    async read(path) {
      try {
        return await ask<Buffer>((sftp, done) => sftp.readFile(path, done));
      } catch (cause) {
        if (codeOf(cause) === MISSING) return undefined;
        throw failed("read", path, cause);
      }
    },
    async write(path, content, { mode = 0o600 } = {}) {
      const draft = posix.join(posix.dirname(path), `.${randomBytes(8).toString("hex")}.new`);
      try {
        const bytes = typeof content === "string" ? Buffer.from(content) : Buffer.from(content);
        await act((sftp, done) => sftp.writeFile(draft, bytes, { mode, flag: "wx" }, done as Answer<void>));
        // The login's umask applies to the mode of a new file.
        await act((sftp, done) => sftp.chmod(draft, mode, done as Answer<void>));
        await act((sftp, done) => sftp.ext_openssh_rename(draft, path, done as Answer<void>));
      } catch (cause) {
        await act((sftp, done) => sftp.unlink(draft, done as Answer<void>)).catch(() => {});
        throw failed("write", path, cause);
      }
    },
    async makeFolder(path, { mode = 0o700 } = {}) {
      await makeFolder(path, mode).catch((cause: unknown) => {
        throw failed("make", path, cause);
      });
    },
    async list(path) {
      try {
        const entries = await ask<readonly { filename: string }[]>((sftp, done) => sftp.readdir(path, done));
        return entries.map(({ filename }) => filename).filter((entry) => entry !== "." && entry !== "..");
      } catch (cause) {
        if (codeOf(cause) === MISSING) return [];
        throw failed("list", path, cause);
      }
    },
    async remove(path) {
      // `rm` works relative to open folders, so it does not follow links that are put in its way.
      const { exitCode, output } = await run(["rm", "-rf", "--", path]);
      if (exitCode === 0) return;
      throw new DomainError("engine.failed", `Berth cannot remove ${path} on server ${name}.`, { cause: output });
    },
  };
}

const MISSING = 2;
const PERMISSION_DENIED = 3;

/** The code in the machine's answer; `undefined` without an answer. */
const codeOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "number" ? cause.code : undefined;

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : "no reason was given");
