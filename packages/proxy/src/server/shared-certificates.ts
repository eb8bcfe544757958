import { join } from "node:path/posix";
import type { ClusterCertificate } from "@berth/core/ports";
import type { Host } from "@berth/host";
import pLimit from "p-limit";
import { WRITES_AT_ONCE } from "./writes.ts";

/** Certificates in the folder of a server: those that its operator put there, and copies of other machines. */
export class SharedCertificates {
  readonly #host: Host;
  readonly #folder: string;

  constructor(host: Host, folder: string) {
    this.#host = host;
    this.#folder = folder;
  }

  /** Those of the operator. */
  async placed(): Promise<readonly ClusterCertificate[]> {
    const files = await this.#host.files.list(this.#folder);
    const names = files.filter((file) => file.endsWith(".crt") && !isCopy(file)).map((file) => file.slice(0, -4));
    const read = names.map(async (name) => {
      const [certificate, key] = await Promise.all([this.#text(`${name}.crt`), this.#text(`${name}.key`)]);
      return certificate === undefined || key === undefined ? [] : [{ name, certificate, key }];
    });
    return (await Promise.all(read)).flat();
  }

  /** Makes these the only copies. @returns Whether any was another one. */
  async replace(certificates: readonly ClusterCertificate[]): Promise<boolean> {
    const wanted = new Map(
      certificates.flatMap(({ name, certificate, key }): readonly (readonly [string, string])[] => [
        [`${COPY}${name}.key`, key],
        [`${COPY}${name}.crt`, certificate],
      ]),
    );
    const present = (await this.#host.files.list(this.#folder)).filter(isCopy);
    const gone = present.filter((file) => !wanted.has(file));
    const atOnce = pLimit(WRITES_AT_ONCE);
    const changed = await atOnce.map([...wanted], async ([file, text]) =>
      present.includes(file) && (await this.#text(file)) === text ? [] : [[file, text] as const],
    );
    const writes = changed.flat();
    if (writes.length > 0) await this.#host.files.makeFolder(this.#folder);
    await atOnce.map(writes, ([file, text]) => this.#host.files.write(join(this.#folder, file), text, { mode: 0o600 }));
    await atOnce.map(gone, (file) => this.#host.files.remove(join(this.#folder, file)));
    return writes.length + gone.length > 0;
  }

  async #text(file: string): Promise<string | undefined> {
    return (await this.#host.files.read(join(this.#folder, file)))?.toString();
  }
}

const COPY = "copied.";
const isCopy = (file: string): boolean => file.startsWith(COPY);
