import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProxyCapabilities, Proxy as SiteProxy } from "@berth/core/ports";
import type { TestContext } from "vitest";
import { type Answer, ask, startUpstream, type TestUpstream } from "../proxy.fixture.ts";

/** A proxy on this machine, with the access that the conformance suite needs. */
export interface ProxyWorld {
  readonly proxy: SiteProxy;
  readonly httpPort: number;
  /** Drops the control plane without a shutdown; returns the next one's proxy. */
  reincarnate(): Promise<SiteProxy>;
  close(): Promise<void>;
}

/** A request that the upstream received. */
interface Received {
  readonly url: string;
  readonly headers: Record<string, string>;
}
export const received = ({ text }: Answer) => JSON.parse(text) as Received; // Written by `echoHead`.

/** The proxy under test, with upstreams that end with their test. */
export class ConformanceBed {
  #started: { readonly world: ProxyWorld; proxy: SiteProxy } | undefined;
  #cleanups: (() => unknown)[] = [];

  async start(makeWorld: () => Promise<ProxyWorld>): Promise<void> {
    const world = await makeWorld();
    this.#started = { world, proxy: world.proxy };
  }

  async close(): Promise<void> {
    await this.#started?.world.close();
  }

  get proxy(): SiteProxy {
    return this.#running.proxy;
  }

  get httpPort(): number {
    return this.#running.world.httpPort;
  }

  async reincarnate(): Promise<void> {
    const running = this.#running;
    running.proxy = await running.world.reincarnate();
  }

  get #running() {
    if (this.#started === undefined) throw new Error("The proxy is started before all tests.");
    return this.#started;
  }

  cleanUp(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  readonly upstream = async (
    handler: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<TestUpstream> => {
    const started = await startUpstream(handler);
    this.cleanUp(started.stop);
    return started;
  };

  readonly named = (text: string) => this.upstream((request, response) => response.end(`${text} ${request.url}`));

  readonly echoHead = () =>
    this.upstream((request, response) => response.end(JSON.stringify({ url: request.url, headers: request.headers })));

  /** An upstream that begins its answer at once and ends it on request. */
  readonly slowUpstream = async () => {
    const [arrival, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = await this.upstream((_request, response) => {
      response.write("begun,");
      arrival.resolve();
      end.promise.then(() => response.end("done"));
    });
    return { slow, finish: end.resolve, reached: arrival.promise };
  };

  readonly get = (host: string, path = "/", headers = {}) => ask(this.httpPort, { host, path, headers });

  readonly lacks = (context: TestContext, capability: keyof ProxyCapabilities): boolean => {
    if (this.proxy.capabilities[capability]) return false;
    console.log(`NOT_SUPPORTED ${capability}: ${context.task.name}`);
    context.skip(`NOT_SUPPORTED ${capability}`);
    return true;
  };

  async endTest(): Promise<void> {
    await this.proxy.sync([]);
    await Promise.all(this.#cleanups.map((cleanup) => cleanup()));
    this.#cleanups = [];
  }
}
