import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { EmbeddedProxy } from "./embedded.ts";
import { site, startProxy, startUpstream, type TestProxy, type TestUpstream } from "./proxy.fixture.ts";

/** A proxy shared by all tests of a file; each test begins without sites. */
export interface UsedProxy {
  readonly proxy: EmbeddedProxy;
  readonly port: number;
  /** Runs after the current test. */
  cleanUp(work: () => unknown): void;
  /** Serves a site `a.test` with this handler during the current test. */
  serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<TestUpstream>;
}

export function useProxy(): UsedProxy {
  let front: TestProxy | undefined;
  let cleanups: (() => unknown)[] = [];

  beforeAll(async () => {
    front = await startProxy();
  });
  afterEach(async () => {
    await front?.proxy.sync([]);
    await Promise.all(cleanups.map((cleanup) => cleanup()));
    cleanups = [];
  });
  afterAll(() => front?.stop());

  function started(): TestProxy {
    if (front === undefined) throw new Error("The proxy is started before the first test.");
    return front;
  }

  return {
    get proxy() {
      return started().proxy;
    },
    get port() {
      return started().port;
    },
    cleanUp: (work) => cleanups.push(work),
    async serve(handler) {
      const upstream = await startUpstream(handler);
      cleanups.push(upstream.stop);
      await started().proxy.put(site("a", [upstream]));
      return upstream;
    },
  };
}
