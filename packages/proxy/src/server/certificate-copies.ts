import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import type { ClusterCertificate, Site } from "@berth/core/ports";
import type { IngressNode } from "./ingress-node.ts";
import { certificateOf } from "./own-certificates.ts";
import { coversHost } from "./routed-site.ts";

interface CopiesOptions {
  /** Certificates of the proxy that obtains them; `undefined` while it cannot be asked. */
  readonly read: () => Promise<readonly ClusterCertificate[] | undefined>;
  readonly nodes: () => Promise<readonly IngressNode[]>;
  readonly warn: (message: string, cause: unknown) => void;
}

/** Copies the certificates of a cluster to the nodes that take its requests. */
export class CertificateCopies {
  readonly #options: CopiesOptions;
  readonly #closing = new AbortController();
  #hosts: ReadonlySet<string> = new Set();
  /** Hosts whose certificate was copied, or waited for in vain: a name that does not lead there never gets one. */
  #handled: ReadonlySet<string> = new Set();
  /** Names of the nodes that have what was read last. */
  #given: ReadonlySet<string> = new Set();
  #readMs = Number.NEGATIVE_INFINITY;
  #work: Promise<void> | undefined;

  constructor(options: CopiesOptions) {
    this.#options = options;
  }

  /** Copies those of these sites as soon as there are new ones, and later those that were renewed. Does not wait. */
  request(sites: readonly Site[]): void {
    const secure = sites.flatMap(({ routes }) => routes.filter(({ isHttps }) => isHttps === true));
    this.#hosts = new Set(secure.map(({ host }) => host));
    if (this.#hosts.size === 0 || this.#closing.signal.aborted) return;
    this.#work ??= this.#copyWhileDue()
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#options.warn("The certificates of a cluster were not copied to its nodes.", error);
      })
      .finally(() => {
        this.#work = undefined;
      });
  }

  /** Resolves when nothing is being copied. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#work;
  }

  async #copyWhileDue(): Promise<void> {
    for (;;) {
      const nodes = await this.#options.nodes();
      if (nodes.length === 0 || !this.#isDue(nodes)) return;
      const hosts = this.#hosts;
      await this.#copyUntilComplete(hosts);
      this.#handled = hosts;
    }
  }

  #isDue(nodes: readonly IngressNode[]): boolean {
    return (
      performance.now() - this.#readMs > RENEWED_AFTER_SECONDS * 1000 ||
      nodes.some(({ name }) => !this.#given.has(name)) ||
      [...this.#hosts].some((host) => !this.#handled.has(host))
    );
  }

  /** The proxy needs some seconds for a certificate. */
  async #copyUntilComplete(hosts: ReadonlySet<string>): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const certificates = (await this.#options.read()) ?? [];
      this.#readMs = performance.now();
      await this.#give(certificates);
      const known = certificates.flatMap((one) => certificateOf(one.name, one.certificate, one.key) ?? []);
      if ([...hosts].every((host) => known.some((certificate) => coversHost(certificate, host)))) return;
      await delay(RETRY_SECONDS * 1000, undefined, { signal: this.#closing.signal, ref: false });
    }
  }

  async #give(certificates: readonly ClusterCertificate[]): Promise<void> {
    const given = new Set<string>();
    for (const { name, proxy } of await this.#options.nodes()) {
      try {
        await proxy.useCertificates(certificates);
      } catch (error) {
        // One that cannot be reached gets them an hour later, or with the next new name.
        if (!isDomainError(error)) throw error;
        this.#options.warn(`Node ${name} did not get the certificates of its cluster.`, error);
      }
      given.add(name);
    }
    this.#given = given;
  }
}

const RETRY_SECONDS = 2;
const ATTEMPTS_MAX = 45;
/** Far more often than certificates are renewed: those of a proxy's own authority are valid for half a day. */
const RENEWED_AFTER_SECONDS = 3600;
