import { DomainError } from "@berth/core";
import type { Host } from "./host.ts";

/** A host that connects at its first use, and again after its server's address or login has changed. */
export interface MovableHost extends Host {
  /** Closes the connection; the next call opens another one. Running calls fail. */
  move(): Promise<void>;
}

/** @param make Reads the record and connects. When it rejects, the call rejects too, and the next one tries again. */
export function movableHost(name: string, make: () => Promise<Host>): MovableHost {
  let current: Promise<Host> | undefined;
  let isClosed = false;

  const host = async (): Promise<Host> => {
    if (isClosed) throw new DomainError("server.unreachable", `Server ${name} is no longer managed here.`);
    const making = current ?? make();
    current = making;
    try {
      return await making;
    } catch (error) {
      if (current === making) current = undefined;
      throw error;
    }
  };

  const move = async (): Promise<void> => {
    const before = current;
    current = undefined;
    const made = await before?.catch(() => undefined);
    await made?.close();
  };

  return {
    name,
    run: async (argv, options) => (await host()).run(argv, options),
    connectSocket: async (path, signal) => (await host()).connectSocket(path, signal),
    connectTcp: async (address, signal) => (await host()).connectTcp(address, signal),
    socketBridge: async (path) => (await host()).socketBridge(path),
    terminal: async (size) => (await host()).terminal(size),
    files: {
      read: async (path) => (await host()).files.read(path),
      write: async (path, content, options) => (await host()).files.write(path, content, options),
      makeFolder: async (path, options) => (await host()).files.makeFolder(path, options),
      list: async (path) => (await host()).files.list(path),
      remove: async (path) => (await host()).files.remove(path),
    },
    move,
    async close() {
      isClosed = true;
      await move();
    },
  };
}
