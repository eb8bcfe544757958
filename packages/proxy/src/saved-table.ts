import { appendFile, constants, readFile, stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { DomainError } from "@berth/core";
import type { Site } from "@berth/core/ports";
import { replaceFile } from "@berth/host";
import { applyChange, lineOf, sitesOfFile, type TableChange } from "./table-file.ts";

/**
 * The sites that the proxy was told last, and the file that a starting proxy reads them from. A change of one site is
 * appended, since rewriting ten thousand sites for each deployment would hold up everything else.
 */
export class SavedTable {
  readonly #path: string;
  #sites: Map<string, Site>;
  /** The file as it was written; another stamp means that it was damaged or removed since. */
  #stamp: string | undefined;
  #wholeBytes = 0;
  #appendedBytes = 0;

  private constructor(path: string, sites: Map<string, Site>) {
    this.#path = path;
    this.#sites = sites;
  }

  /** A damaged file has no sites. Rejects when the folder cannot be read. */
  static async read(path: string): Promise<SavedTable> {
    return new SavedTable(path, await readSites(path));
  }

  get sites(): ReadonlyMap<string, Site> {
    return this.#sites;
  }

  /** Whether the change would change nothing, and the file is as it was written. */
  async has(change: TableChange): Promise<boolean> {
    return isMade(this.#sites, change) && (await this.#isIntact());
  }

  /** @throws DomainError `engine.failed` when the file cannot be written. Then the sites are those of before. */
  async save(change: TableChange): Promise<void> {
    try {
      if ("sites" in change || this.#isDueAnew() || !(await this.#isIntact())) await this.#replace(change);
      else await this.#append(change);
    } catch (cause) {
      this.#stamp = undefined;
      const message = `The routes cannot be saved in ${this.#path}. Is the disk full? Make room and try again.`;
      throw new DomainError("engine.failed", message, { cause });
    }
  }

  async #append(change: TableChange): Promise<void> {
    const line = lineOf(change);
    await appendFile(this.#path, line, { flag: constants.O_WRONLY | constants.O_APPEND });
    applyChange(this.#sites, change);
    this.#appendedBytes += Buffer.byteLength(line);
    this.#stamp = await stampOf(this.#path);
  }

  async #replace(change: TableChange): Promise<void> {
    const sites = new Map(this.#sites);
    applyChange(sites, change);
    const line = lineOf({ sites: [...sites.values()] });
    await replaceFile(this.#path, line);
    this.#sites = sites;
    this.#wholeBytes = Buffer.byteLength(line);
    this.#appendedBytes = 0;
    this.#stamp = await stampOf(this.#path);
  }

  /** The file has at most twice the size of its sites, so each change costs the same in the long run. */
  #isDueAnew(): boolean {
    return this.#appendedBytes > Math.max(this.#wholeBytes, APPENDED_BYTES_MIN);
  }

  async #isIntact(): Promise<boolean> {
    return this.#stamp !== undefined && (await stampOf(this.#path)) === this.#stamp;
  }
}

const APPENDED_BYTES_MIN = 64 * 1024;

function isMade(sites: ReadonlyMap<string, Site>, change: TableChange): boolean {
  if ("put" in change) return isDeepStrictEqual(sites.get(change.put.id), change.put);
  if ("delete" in change) return !sites.has(change.delete);
  return isDeepStrictEqual(new Map(change.sites.map((site) => [site.id, site])), sites);
}

async function readSites(path: string): Promise<Map<string, Site>> {
  try {
    return sitesOfFile(await readFile(path, "utf8"));
  } catch (cause) {
    if (cause instanceof SyntaxError || (cause instanceof Error && "code" in cause && cause.code === "ENOENT")) {
      return new Map();
    }
    throw cause;
  }
}

/** `undefined`: the file does not exist. */
async function stampOf(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats && `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
