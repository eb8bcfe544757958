import type { Upstream } from "@berth/core/deploy";
import type { ManagedProxy } from "@berth/core/ports";
import { until } from "@berth/testing";
import type Docker from "dockerode";
import { LOAD_HOST, LOAD_SERVER, startClients } from "./load-clients.fixture.ts";

export const RELEASE_IMAGE = "node:24-alpine";

export interface SwitchLoad {
  readonly proxy: ManagedProxy;
  /** Port of the proxy. */
  readonly port: number;
  readonly docker: Docker;
  /** Labels of the releases' containers. */
  readonly labels: Readonly<Record<string, string>>;
  /** The network that they are in. */
  readonly network: string;
  readonly switches: number;
  readonly requestsMin: number;
  readonly requestsPerSecond: number;
}

export interface SwitchResult {
  readonly requests: number;
  readonly messages: number;
  /** Failures as texts. Clients never repeat a message. */
  readonly failures: readonly string[];
  /** Releases that answered. */
  readonly releases: number;
  /** Median time from a candidate's first answer to the first answer that the proxy gets from it. */
  readonly switchMs: number;
}

/**
 * Puts load on a proxy while releases replace each other: clients with persistent connections, with bodies and with
 * WebSockets. Each release is stopped abruptly once no requests are in flight to it.
 */
export async function switchUnderLoad(load: SwitchLoad): Promise<SwitchResult> {
  const { proxy, switches, requestsMin } = load;
  const clients = startClients(load);
  const started: Docker.Container[] = [];
  const switchTimes: number[] = [];
  try {
    let live = await startRelease(load, 0, started);
    await proxy.put(siteFor(live));
    clients.begin();
    for (let number = 1; number <= switches; number++) {
      const next = await startRelease(load, number, started);
      const startedMs = performance.now();
      await proxy.put(siteFor(next));
      switchTimes.push(performance.now() - startedMs);
      const before = live;
      await until(async () => (await proxy.inFlight(before)) === 0, {
        what: "the old release is drained",
        seconds: 60,
      });
      // Removed without grace: open connections are cut.
      await before.container.remove({ force: true });
      live = next;
    }
    await until(() => clients.requests() >= requestsMin, { what: "there were enough requests", seconds: 600 });
    const { failures, messages, releases } = await clients.end();
    const [switchMs = 0] = switchTimes.sort((a, b) => a - b).slice(switchTimes.length >> 1);
    return { requests: clients.requests(), messages, failures, releases, switchMs };
  } finally {
    await clients.end();
    for (const container of started) await container.remove({ force: true }).catch(() => {});
  }
}

const siteFor = ({ host, port }: Upstream) => ({
  id: "load",
  name: "load",
  routes: [{ host: LOAD_HOST, path: "/" }],
  upstreams: [{ host, port }],
});

interface Release extends Upstream {
  readonly container: Docker.Container;
}

async function startRelease(load: SwitchLoad, number: number, started: Docker.Container[]): Promise<Release> {
  const { docker, labels, network } = load;
  const container = await docker.createContainer({
    Image: RELEASE_IMAGE,
    Cmd: ["node", "-e", LOAD_SERVER],
    Env: [`RELEASE=${number}`],
    Labels: { ...labels },
    HostConfig: { NetworkMode: network },
  });
  started.push(container);
  await container.start();
  const { NetworkSettings } = await container.inspect();
  const release = { host: NetworkSettings.Networks[network]?.IPAddress ?? "", port: 3000, container };
  const answers = () =>
    fetch(`http://${release.host}:3000/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(answers, { what: `release ${number} answers`, seconds: 60 });
  return release;
}
