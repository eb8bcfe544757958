import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { DomainError } from "@berth/core";
import { identify, isLiving, type ProcessIdentity } from "@berth/host";

/**
 * Holds a folder for one engine: two would start everything twice. Another that died without a word is no hindrance.
 * @returns Lets it go.
 * @throws DomainError `setup.failed` when a living process holds it, be it ourselves.
 */
export function lockFolder(path: string): () => void {
  for (let tries = 0; tries < 10; tries++) {
    if (write(path)) return () => rmSync(path, { force: true });
    const holder = read(path);
    if (holder !== undefined && isLiving(holder)) {
      const message = `Process ${holder.pid} looks after the applications in this folder already. Stop it first.`;
      throw new DomainError("setup.failed", message);
    }
    rmSync(path, { force: true });
  }
  throw new DomainError("setup.failed", `The file ${path} cannot be written. See who else writes it.`);
}

function write(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(identify(process.pid)), { flag: "wx", mode: 0o600 });
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return false;
    throw cause;
  }
}

/** `undefined` when the machine went down while it was written. */
function read(path: string): ProcessIdentity | undefined {
  try {
    // Only `write` writes it.
    return JSON.parse(readFileSync(path, "utf8")) as ProcessIdentity;
  } catch (cause) {
    if (cause instanceof SyntaxError || (cause instanceof Error && "code" in cause && cause.code === "ENOENT")) {
      return undefined;
    }
    throw cause;
  }
}
