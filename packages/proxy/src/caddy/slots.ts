import { join } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import type { Host } from "@berth/host";
import pLimit from "p-limit";
import { WRITES_AT_ONCE } from "../server/writes.ts";

/** Files of upstream addresses by name, which Caddy reads for each request: replacing one needs no reload. */
export class SlotFiles {
  #replacedMs = 0;
  readonly #host: Host;
  readonly #folder: string;

  constructor(host: Host, folder: string) {
    this.#host = host;
    this.#folder = folder;
  }

  /** Must precede the load of any route that refers to them. */
  async write(slots: Iterable<readonly [name: string, content: string]>): Promise<void> {
    await pLimit(WRITES_AT_ONCE).map([...slots], ([name, content]) =>
      this.#host.files.write(join(this.#folder, name), content, { mode: 0o644 }),
    );
    this.#replacedMs = performance.now();
  }

  async remove(names: Iterable<string>): Promise<void> {
    await pLimit(WRITES_AT_ONCE).map([...names], (name) => this.#host.files.remove(join(this.#folder, name)));
  }

  async removeOthers(kept: ReadonlyMap<string, string>): Promise<void> {
    const present = await this.present();
    await this.remove([...present].filter((name) => !kept.has(name) && !name.startsWith(".")));
  }

  async present(): Promise<ReadonlySet<string>> {
    return new Set(await this.#host.files.list(this.#folder));
  }

  /** Resolves when Caddy counts every request that read a slot before the last replacement. */
  counted(): Promise<void> {
    return delay(Math.max(0, this.#replacedMs + COUNTED_AFTER_MS - performance.now()));
  }
}

const COUNTED_AFTER_MS = 50;
