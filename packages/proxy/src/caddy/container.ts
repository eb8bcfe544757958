import { basename, join } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { ManagedProxyStatus } from "@berth/core/ports";
import { proxyContainer, type Rehearsal, type StartedContainer, untilServing } from "../server/container.ts";
import { type ProxyContainerSpec, SEATS, type Seat } from "../server/container-options.ts";
import { proxyPaths } from "../server/paths.ts";
import { rehearsalSettings, rehearsalSites, untilRehearsed } from "../server/rehearsal.ts";
import type { ProxySettings } from "../server/routed-site.ts";
import type { ServerProxyOptions } from "../server/settings.ts";
import { type CaddyAdmin, caddyAdmin } from "./admin.ts";
import { caddyConfig } from "./config.ts";
import { type CaddyConfiguration, inOrder } from "./configuration.ts";
import { CADDY_PATHS } from "./paths.ts";

/** The container of a server's Caddy. Its admin socket is in the folder of the seat that the container has. */
export class CaddyContainer {
  /** Talks to the container that serves, whichever control plane started it. */
  readonly admin: CaddyAdmin;
  readonly #options: ServerProxyOptions;
  readonly #settings: ProxySettings;
  readonly #paths: ReturnType<typeof proxyPaths>;
  readonly #container: ReturnType<typeof proxyContainer>;
  #seat: Seat | undefined;

  constructor(options: ServerProxyOptions, settings: ProxySettings) {
    this.#options = options;
    this.#settings = settings;
    this.#paths = proxyPaths(options.folder);
    this.#container = proxyContainer({ server: options.host.name, ...options });
    this.admin = caddyAdmin(options.host, async (isAnew) => {
      if (isAnew || this.#seat === undefined) this.#seat = await this.#container.seat();
      return this.#socketOf(this.#seat ?? "a");
    });
  }

  /** Folders on the server that hold the sockets and the logs of answers. */
  get folders(): readonly string[] {
    return SEATS.flatMap((seat) => [join(this.#paths.run, seat), this.#answersOf(seat)]);
  }

  status(): Promise<ManagedProxyStatus> {
    return this.#container.status("CADDY");
  }

  /** Names the run of its program; `undefined` while it does not run. */
  run(): Promise<string | undefined> {
    return this.#container.run();
  }

  /** The folder with the running program's logs of answers, and its run; `undefined` while no Caddy runs. */
  async answers(): Promise<{ readonly run: string; readonly folder: string } | undefined> {
    const [{ type }, run, seat] = await Promise.all([this.status(), this.run(), this.#container.seat()]);
    return type === "CADDY" && run !== undefined ? { run, folder: this.#answersOf(seat ?? "a") } : undefined;
  }

  /** Its folder of obtained certificates as tar; `undefined` if it has none. */
  obtained(): Promise<NodeJS.ReadableStream | undefined> {
    return this.#container.archive(CADDY_PATHS.obtained);
  }

  remove(): Promise<void> {
    return this.#container.remove();
  }

  /** Whether an error of the admin socket means that no container runs. */
  async isStopped(error: unknown): Promise<boolean> {
    if (!isDomainError(error, "engine.unreachable")) return false;
    const { state } = await this.status();
    return state === "absent" || state === "exited";
  }

  /**
   * Starts it with the saved configuration, or replaces one with other settings.
   * @returns The container if it was started or replaced now.
   * @throws DomainError `setup.failed` when it does not serve, or is too old.
   */
  async ensure(configuration: CaddyConfiguration, isAnew: boolean): Promise<StartedContainer | undefined> {
    if (Buffer.byteLength(this.#socketOf("a")) > SOCKET_PATH_BYTES_MAX) {
      const message = `The folder ${this.#options.folder} is too long a path for a socket. Choose another.`;
      throw new DomainError("setup.failed", message);
    }
    let serving: StartedContainer | undefined;
    const isStarted = await this.#container.ensure(
      {
        specFor: (seat) => this.#specFor(seat),
        rehearsal: () => this.#rehearsal(configuration),
        prepare: async () => {
          await this.#emptyAnswers();
          await configuration.save(configuration.of(await configuration.sites()));
        },
        untilServing: async (one) => {
          await this.#untilStarted(one);
          serving = one;
        },
      },
      { isAnew },
    );
    this.#seat = serving?.seat;
    if (!isStarted || serving === undefined) return serving;
    const started = serving;
    await requireVersion(this.#options.host.name, started).catch(async (error: unknown) => {
      const reason = await this.#reasonOfEnd(started);
      await this.#container.remove();
      throw reason ?? error;
    });
    return started;
  }

  /** Waits until its admin socket answers. @throws DomainError `setup.failed` with the reason if it ends instead. */
  async untilAnswering(one: StartedContainer): Promise<void> {
    const { isUp } = caddyAdmin(this.#options.host, async () => this.#socketOf(one.seat));
    await untilServing(this.#options.host.name, one, isUp);
  }

  /** Why it has ended, by its log; `undefined` while it runs. */
  async #reasonOfEnd(one: StartedContainer): Promise<unknown> {
    if ((await one.state()) === "running") return undefined;
    return await untilServing(this.#options.host.name, one, async () => false).catch((reason: unknown) => reason);
  }

  async #untilStarted(one: StartedContainer): Promise<void> {
    const { isUp } = caddyAdmin(this.#options.host, async () => this.#socketOf(one.seat));
    // It answers before it listens, and ends when it cannot.
    const hasStarted = async () => (await isUp()) && (await delay(CONFIRMED_AFTER_MS, true)) && (await isUp());
    await untilServing(this.#options.host.name, one, hasStarted);
  }

  /** Of each seat, since requests of a container that is being replaced end later. */
  #answersOf(seat: Seat): string {
    return join(this.#paths.run, seat, basename(CADDY_PATHS.answered));
  }

  /** A Caddy keeps logs open for as long as replaced routes serve, so they are removed only between two runs. */
  async #emptyAnswers(): Promise<void> {
    const { state } = await this.status();
    const used = state === "running" ? ((await this.#container.seat()) ?? "a") : undefined;
    for (const folder of SEATS.filter((seat) => seat !== used).map((seat) => this.#answersOf(seat))) {
      await this.#options.host.files.remove(folder);
      await this.#options.host.files.makeFolder(folder);
    }
  }

  #socketOf(seat: Seat): string {
    return join(this.#paths.run, seat, "admin.sock");
  }

  #specFor(seat: Seat): ProxyContainerSpec {
    const { run, data, config, certificates } = this.#paths;
    return {
      type: "CADDY",
      image: this.#options.image ?? "caddy:2",
      command: ["caddy", "run", "--config", CADDY_PATHS.config],
      env: { XDG_CONFIG_HOME: CADDY_PATHS.data, XDG_DATA_HOME: CADDY_PATHS.data, HOME: CADDY_PATHS.data },
      mounts: [
        { source: run, target: CADDY_PATHS.run, isReadOnly: false },
        { source: join(run, seat), target: CADDY_PATHS.admin, isReadOnly: false },
        { source: data, target: CADDY_PATHS.data, isReadOnly: false },
        { source: config, target: CADDY_PATHS.configFolder, isReadOnly: true },
        { source: certificates, target: CADDY_PATHS.certificates, isReadOnly: true },
      ],
    };
  }

  async #rehearsal(configuration: CaddyConfiguration): Promise<Rehearsal> {
    const { host } = this.#options;
    const { rehearsal: folder } = this.#paths;
    const spec = this.#specFor("a");
    const sites = rehearsalSites(inOrder(await configuration.sites()));
    const settings = rehearsalSettings(this.#settings);
    const config = caddyConfig({ sites, settings, certificates: configuration.certificates });
    await host.files.makeFolder(folder);
    await host.files.write(join(folder, "caddy.json"), JSON.stringify(config));
    const mounts = spec.mounts.map((mount) =>
      mount.target === CADDY_PATHS.configFolder ? { ...mount, source: folder } : mount,
    );
    return {
      spec: { ...spec, mounts },
      check: async (container, address) => {
        await untilRehearsed(host, container, { host: address, port: this.#settings.httpPort }, sites);
        await requireVersion(host.name, container);
      },
    };
  }
}

/** Older ones do not read slots, or do not count by address: releases would end under their requests. */
async function requireVersion(server: string, container: StartedContainer): Promise<void> {
  const output = await container.output(["caddy", "version"]);
  const [, major = "0", minor = "0"] = /v?(\d+)\.(\d+)\.\d+/.exec(output) ?? [];
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 11)) return;
  const found = output.trim().slice(0, 40);
  const message = `The proxy of server ${server} needs Caddy 2.11 or newer, its image has ${found}. Pull a newer image there.`;
  throw new DomainError("setup.failed", message);
}

const CONFIRMED_AFTER_MS = 100;
const SOCKET_PATH_BYTES_MAX = 107; // Of Linux.
