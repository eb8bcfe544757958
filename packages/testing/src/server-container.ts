import { readFileSync } from "node:fs";
import { connect } from "node:net";
import type Docker from "dockerode";
import type { DockerFixture } from "./docker.ts";
import type { ExecResult, TestContainer } from "./docker-container.ts";
import { type SshKeyPair, sshKeyPair } from "./git-ssh-server.ts";
import { serverEngine } from "./server-engine.ts";
import { until } from "./until.ts";

/** Image for a server in a container. */
export const SERVER_IMAGE = "server:debian13";

/** A whole server: its own address, sshd and Docker engine, in a container. */
export interface ServerContainer {
  readonly name: string;
  readonly address: string;
  readonly port: 22;
  readonly user: "root";
  readonly keys: SshKeyPair;
  readonly container: TestContainer;
  /** Client of its engine, not over SSH. */
  readonly client: Docker;
  /** Runs a program on the server, not over SSH. */
  exec(argv: readonly string[]): Promise<ExecResult>;
  /** Copies images from this machine's engine. */
  loadImages(...images: readonly string[]): Promise<void>;
  /** Drops every packet in both directions, like an unplugged cable: connections hang. */
  cutNetwork(): Promise<void>;
  joinNetwork(): Promise<void>;
  /** Drops every packet to and from these addresses, in both directions. Others are not affected. */
  cutFrom(...addresses: readonly string[]): Promise<void>;
  joinTo(...addresses: readonly string[]): Promise<void>;
  /** Address of this machine, as the server sees it. */
  readonly outside: string;
  /** Ends sshd and all its connections: new ones are refused. */
  killSshd(): Promise<void>;
  startSshd(): Promise<void>;
  /** Kills every process of the server at once, like a power failure. Its disk stays. */
  down(): Promise<void>;
  /** Starts it again with the same address, host keys and disk. Resolves when it can be used. */
  up(): Promise<void>;
}

export interface ServerContainerOptions {
  /** Whether Docker runs on it. Without it, tests can install one. */
  readonly hasDocker?: boolean;
  readonly keys?: SshKeyPair;
}

/** Several may be started at once: each takes about 2 s and 100 MB. */
export async function startServerContainer(
  docker: DockerFixture,
  { hasDocker = true, keys = sshKeyPair() }: ServerContainerOptions = {},
): Promise<ServerContainer> {
  const name = docker.name("server");
  const started = await docker.container({
    image: SERVER_IMAGE,
    name,
    env: { AUTHORIZED_KEY: keys.publicKey, ...(hasDocker ? {} : { NO_DOCKER: "1" }) },
    raw: { Hostname: name, Volumes: { "/var/lib/docker": {} } },
    hostConfig: {
      Init: false,
      CapAdd: ["ALL"],
      CapDrop: lackedCapabilities(),
      SecurityOpt: ["seccomp=unconfined", "apparmor=unconfined"],
    },
  });
  // Keeps the address: a restart could otherwise get another one.
  const network = docker.client.getNetwork(await docker.network());
  await network.disconnect({ Container: started.id, Force: true });
  await network.connect({
    Container: started.id,
    EndpointConfig: { IPAMConfig: { IPv4Address: started.address } },
  });
  const { NetworkSettings } = await started.container.inspect();
  const outside = NetworkSettings.Networks[await docker.network()]?.Gateway ?? "";
  const server = serverOf(docker, started, { keys, hasDocker, outside });
  await server.up();
  return server;
}

function serverOf(
  docker: DockerFixture,
  container: TestContainer,
  { keys, hasDocker, outside }: Required<ServerContainerOptions> & Pick<ServerContainer, "outside">,
): ServerContainer {
  const { address, name } = container;
  const ok = async (argv: readonly string[]) => {
    const result = await container.exec(argv);
    if (result.exitCode !== 0) throw new Error(`${argv.join(" ")} on ${name} ended with ${result.output}`);
    return result;
  };
  const filter = async (change: "-I" | "-D", addresses: readonly string[]) => {
    for (const one of addresses) {
      await ok(["iptables", change, "INPUT", "-s", one, "-j", "DROP"]);
      await ok(["iptables", change, "OUTPUT", "-d", one, "-j", "DROP"]);
    }
  };
  // sshd is probed last and only until it listens: it counts connections without a login against their address, and
  // above 15 of them it refuses this address (PerSourcePenalties).
  const isReady = async () =>
    (!hasDocker || (await container.exec(["docker", "version"])).exitCode === 0) && (await isListening(address));
  return {
    name,
    address,
    port: 22,
    user: "root",
    keys,
    container,
    client: serverEngine(docker.client, container.container),
    exec: (argv) => container.exec(argv),
    async loadImages(...images) {
      const load = async () => {
        // Missing in the library's types.
        const client = docker.client as typeof docker.client & ImageExport;
        const tar = await client.getImages({ names: images });
        const { exitCode, output } = await container.exec(["docker", "load", "--quiet"], { stdin: tar });
        if (exitCode !== 0) throw new Error(`Images were not loaded on ${name}: ${output}`);
      };
      // A busy engine sometimes breaks off an archive; loading it again does no harm.
      await load().catch(load);
    },
    async cutNetwork() {
      for (const chain of ["INPUT", "OUTPUT", "FORWARD"]) await ok(["iptables", "-I", chain, "-j", "DROP"]);
    },
    async joinNetwork() {
      for (const chain of ["INPUT", "OUTPUT", "FORWARD"]) await ok(["iptables", "-D", chain, "-j", "DROP"]);
    },
    cutFrom: (...addresses) => filter("-I", addresses),
    joinTo: (...addresses) => filter("-D", addresses),
    outside,
    async killSshd() {
      await ok(["pkill", "-KILL", "sshd"]);
      const isClosed = async () => !(await isListening(address).catch(() => false));
      await until(isClosed, { what: `the end of sshd of ${name}` });
    },
    async startSshd() {
      await ok(["/usr/sbin/sshd", "-E", "/var/log/sshd.log"]);
      await until(() => isListening(address).catch(() => false), { what: `sshd of ${name}`, seconds: 10 });
    },
    async down() {
      if ((await container.container.inspect()).State.Running) await container.container.kill();
      await until(async () => !(await container.container.inspect()).State.Running, { what: `${name} is down` });
    },
    async up() {
      if (!(await container.container.inspect()).State.Running) await container.container.start();
      const ready = { what: `${name} is ready`, seconds: READY_SECONDS_MAX };
      await until(() => isReady().catch(() => false), ready).catch(async (cause: Error) => {
        const { output } = await container
          .exec(["tail", "-n", "20", "/var/log/dockerd.log"])
          .catch(() => ({ output: "" }));
        throw new Error(`${cause.message}\n${output}\n${await container.logs()}`);
      });
    },
  };
}

interface ImageExport {
  /** One archive of all images, as from `docker save`. */
  getImages(options: { readonly names: readonly string[] }): Promise<NodeJS.ReadableStream>;
}

const READY_SECONDS_MAX = 60; // On an idle machine 2 s.

function isListening(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 22, timeout: 1000 });
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket
      .once("connect", () => end(true))
      .once("error", () => end(false))
      .once("timeout", () => end(false));
  });
}

/** Capabilities that the machine itself lacks: requesting them would make the container's creation fail. */
function lackedCapabilities(): string[] {
  const bounding = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const SYS_RESOURCE = 24n;
  return (BigInt(`0x${bounding}`) >> SYS_RESOURCE) % 2n === 1n ? [] : ["SYS_RESOURCE"];
}
