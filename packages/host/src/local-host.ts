import { randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { connect, type NetConnectOpts } from "node:net";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { DomainError } from "@berth/core";
import type { Host, HostFiles } from "./host.ts";
import { run } from "./local.ts";

/** The machine that Berth itself runs on. */
export function localHost(name: string): Host {
  return {
    name,
    run,
    connectSocket: (path, signal) => connected(name, { path }, signal),
    connectTcp: ({ host, port }, signal) => connected(name, { host, port }, signal),
    socketBridge: async (path) => path,
    terminal: async () => {
      throw new DomainError(
        "engine.unsupported",
        `Server ${name} is the machine that Berth runs on, which offers no terminal here. Sign in to it by SSH.`,
      );
    },
    files: localFiles,
    close: async () => {},
  };
}

function connected(name: string, to: NetConnectOpts, signal: AbortSignal | undefined): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled());
    const socket = connect(to);
    const onAbort = () => {
      socket.destroy();
      reject(cancelled());
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.once("error", (cause) => {
      signal?.removeEventListener("abort", onAbort);
      const what = "path" in to ? to.path : `${to.host}:${to.port}`;
      reject(new DomainError("engine.unreachable", `Nothing answers on ${what} of server ${name}.`, { cause }));
    });
    socket.once("connect", () => {
      signal?.removeEventListener("abort", onAbort);
      resolve(socket.setNoDelay(true));
    });
  });
}

const localFiles: HostFiles = {
  async read(path) {
    try {
      return await readFile(path);
    } catch (cause) {
      if (isMissing(cause)) return undefined;
      throw fileError("read", path, cause);
    }
  },
  async write(path, content, { mode = 0o600 } = {}) {
    const draft = join(dirname(path), `.${randomBytes(8).toString("hex")}.new`);
    try {
      const file = await open(draft, "wx", mode);
      try {
        await file.writeFile(content);
        // `open` applies our umask to the mode.
        await file.chmod(mode);
      } finally {
        await file.close();
      }
      await rename(draft, path);
    } catch (cause) {
      await rm(draft, { force: true });
      throw fileError("write", path, cause);
    }
  },
  async makeFolder(path, { mode = 0o700 } = {}) {
    await mkdir(path, { recursive: true, mode }).catch((cause: unknown) => {
      throw fileError("make", path, cause);
    });
  },
  async list(path) {
    try {
      return await readdir(path);
    } catch (cause) {
      if (isMissing(cause)) return [];
      throw fileError("list", path, cause);
    }
  },
  async remove(path) {
    await rm(path, { recursive: true, force: true }).catch((cause: unknown) => {
      throw fileError("remove", path, cause);
    });
  },
};

const isMissing = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ENOENT";

const fileError = (verb: string, path: string, cause: unknown) =>
  new DomainError("engine.failed", `Berth cannot ${verb} ${path} on its own machine.`, { cause });

const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");
