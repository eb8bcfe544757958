import { createServer } from "node:net";
import { DomainError } from "@berth/core";

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Gives each release a port of its own. */
export interface PortPool {
  /**
   * @param preferred Returned if it is still free.
   * @throws DomainError `deploy.start_failed` when every port of the range is taken.
   */
  claim(owner: string, preferred: number | null): Promise<number>;
  /** Marks a port as used without checking it: its owner may already listen on it. */
  reserve(owner: string, port: number): void;
  release(owner: string): void;
}

/** Below Linux's range for outgoing connections, so that those cannot block a restart. */
export const PORT_RANGE: PortRange = { first: 20_000, last: 29_999 };

export function portPool(range: PortRange = PORT_RANGE): PortPool {
  const owners = new Map<number, string>();
  const count = range.last - range.first + 1;
  // Starts at a random port, so that two instances on one machine rarely collide.
  let next = Math.floor(Math.random() * count);

  async function take(owner: string, port: number): Promise<boolean> {
    const holder = owners.get(port);
    if (holder !== undefined && holder !== owner) return false;
    // Recorded before the first `await`, so that no other caller can claim it.
    owners.set(port, owner);
    if (await isFree(port)) return true;
    owners.delete(port);
    return false;
  }

  return {
    async claim(owner, preferred) {
      if (preferred !== null && (await take(owner, preferred))) return preferred;
      for (let tried = 0; tried < count; tried++) {
        const port = range.first + next;
        next = (next + 1) % count;
        if (!owners.has(port) && (await take(owner, port))) return port;
      }
      const message = `No port between ${range.first} and ${range.last} is free. Remove releases that are not needed.`;
      throw new DomainError("deploy.start_failed", message);
    },
    reserve: (owner, port) => void owners.set(port, owner),
    release: (owner) => {
      for (const [port, holder] of owners) if (holder === owner) owners.delete(port);
    },
  };
}

async function isFree(port: number): Promise<boolean> {
  // `::` covers both address families; without IPv6, `0.0.0.0` is used.
  const answer = await listen(port, "::");
  return (answer === "unsupported" ? await listen(port, "0.0.0.0") : answer) === "free";
}

function listen(port: number, host: string): Promise<"free" | "taken" | "unsupported"> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (cause) => {
      const code = "code" in cause ? cause.code : undefined;
      resolve(code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT" ? "unsupported" : "taken");
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve("free")));
  });
}
