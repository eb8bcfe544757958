import { rm } from "node:fs/promises";
import { describeDocker } from "@berth/testing";
import { type ProxyWorld, proxyConformance } from "../conformance.fixture.ts";
import { caddyOptions, IMAGE } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";

describeDocker("on this machine's engine", [IMAGE], (docker) => {
  proxyConformance("Caddy", async (): Promise<ProxyWorld> => {
    const options = await caddyOptions(docker);
    const proxy = caddyProxy(options);
    await proxy.ensure();
    return {
      proxy,
      httpPort: options.httpPort,
      reincarnate: async () => caddyProxy(options),
      async close() {
        await proxy.stop();
        await rm(options.folder, { recursive: true, force: true });
      },
    };
  });
});
