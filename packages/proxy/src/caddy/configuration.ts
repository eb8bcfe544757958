import { createHash } from "node:crypto";
import { join } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import type { Host } from "@berth/host";
import { ownCertificates } from "../server/own-certificates.ts";
import type { proxyPaths } from "../server/paths.ts";
import type { OwnCertificate, ProxySettings, RoutedSite } from "../server/routed-site.ts";
import type { SiteFiles } from "../server/site-files.ts";
import type { CaddyAdmin } from "./admin.ts";
import { caddyConfig } from "./config.ts";

interface Dependencies {
  readonly host: Host;
  readonly paths: ReturnType<typeof proxyPaths>;
  readonly settings: ProxySettings;
  readonly files: SiteFiles;
  readonly admin: CaddyAdmin;
  /** Folders that must exist before anything is written. */
  readonly folders: readonly string[];
  isStopped(error: unknown): Promise<boolean>;
}

/** The sites that a server's Caddy is to route, and the configuration made of them that it has loaded. */
export class CaddyConfiguration {
  readonly #dependencies: Dependencies;
  readonly #configPath: string;
  readonly #versionPath: string;
  #sites: ReadonlyMap<string, RoutedSite> | undefined;
  #certificates: readonly OwnCertificate[] = [];
  /** Undefined when it is not certain what Caddy has loaded. */
  #loaded: string | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    this.#configPath = join(dependencies.paths.config, "caddy.json");
    this.#versionPath = join(dependencies.paths.config, "version");
  }

  get certificates(): readonly OwnCertificate[] {
    return this.#certificates;
  }

  /** The configuration of these sites, in an order of its own, so that every control plane writes the same. */
  of(sites: ReadonlyMap<string, RoutedSite>): string {
    const { settings } = this.#dependencies;
    return JSON.stringify(caddyConfig({ sites: inOrder(sites), settings, certificates: this.#certificates }));
  }

  isLoaded(config: string): boolean {
    return config === this.#loaded;
  }

  /** Makes the next `load` send its configuration whatever Caddy had. */
  forgetLoaded(): void {
    this.#loaded = undefined;
  }

  /** The sites that this control plane knows; none before it has read them. */
  get known(): Iterable<RoutedSite> {
    return this.#sites?.values() ?? [];
  }

  /** The sites that this control plane knows; the first time those of the files. */
  async sites(): Promise<ReadonlyMap<string, RoutedSite>> {
    if (this.#sites === undefined) {
      const { host, paths, settings, files, folders } = this.#dependencies;
      for (const path of [paths.config, paths.data, paths.certificates, ...folders]) await host.files.makeFolder(path);
      await this.readCertificates();
      if (settings.tls.acmeRoot) await host.files.write(join(paths.config, "acme-root.pem"), settings.tls.acmeRoot);
      this.#sites = await files.readAll();
    }
    return this.#sites;
  }

  /** The sites of the files, whether written by this control plane or another. */
  async recordedSites(): Promise<ReadonlyMap<string, RoutedSite>> {
    this.#sites = undefined;
    return this.sites();
  }

  /** The known sites, unless another control plane has loaded a configuration since: then those of the files. */
  async currentSites(): Promise<ReadonlyMap<string, RoutedSite>> {
    const version = await this.#dependencies.host.files.read(this.#versionPath);
    if (this.#loaded !== undefined && version?.toString() === versionOf(this.#loaded)) return this.sites();
    this.#loaded = undefined;
    return this.recordedSites();
  }

  /** Records sites whose files have been written. */
  accept(sites: ReadonlyMap<string, RoutedSite>): void {
    this.#sites = sites;
  }

  async readCertificates(): Promise<void> {
    const { host, paths } = this.#dependencies;
    this.#certificates = await ownCertificates(host, paths.certificates);
  }

  /** Loads the configuration of the recorded sites. */
  async loadRecorded(): Promise<void> {
    const { files } = this.#dependencies;
    for (let attempt = 1; attempt <= LOAD_ATTEMPTS_MAX; attempt++) {
      const sites = await files.readAll();
      const config = this.of(sites);
      await this.load(config);
      this.#sites = sites;
      // Another control plane may change a site between this read and the load, so the last writer reads again.
      if (this.of(await files.readAll()) === config) return;
    }
  }

  /** A stopped proxy loads nothing: it reads its configuration from the files at its start. */
  async load(config: string): Promise<void> {
    if (config === this.#loaded) return;
    const { host, admin, isStopped } = this.#dependencies;
    this.#loaded = undefined;
    try {
      await admin.load(config);
    } catch (error) {
      if (await isStopped(error)) return;
      throw error;
    }
    await this.save(config);
    await host.files.write(this.#versionPath, versionOf(config));
    this.#loaded = config;
    await delay(SETTLED_AFTER_MS);
  }

  /** Writes the file that Caddy reads at its start. */
  async save(config: string): Promise<void> {
    await this.#dependencies.host.files.write(this.#configPath, config);
  }

  async isSaved(config: string): Promise<boolean> {
    return (await this.#dependencies.host.files.read(this.#configPath))?.toString() === config;
  }
}

export const inOrder = (sites: ReadonlyMap<string, RoutedSite>): readonly RoutedSite[] =>
  [...sites.values()].sort((a, b) => (a.id < b.id ? -1 : 1));

/** Whether Caddy rejected what it was sent, and continues with what it had. */
export const isRefusal = (error: unknown): boolean => isDomainError(error, "engine.failed");

const versionOf = (config: string) => createHash("sha256").update(config).digest("hex");

/** The listener of the old routes stays open briefly, and closing it interrupts new connections. */
const SETTLED_AFTER_MS = 100;
const LOAD_ATTEMPTS_MAX = 5;
