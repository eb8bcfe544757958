import { rm } from "node:fs/promises";
import { describeDocker } from "@berth/testing";
import { caddyOptions } from "../caddy/caddy.fixture.ts";
import { type ProxyWorld, proxyConformance } from "../conformance.fixture.ts";
import { traefikProxy } from "./traefik.ts";

/** Nobody packages Traefik but as an image: where the engine has it, it is tried like the others. */
const IMAGE = "traefik:v3";

describeDocker("on this machine's engine", [IMAGE], (docker) => {
  proxyConformance("Traefik", async (): Promise<ProxyWorld> => {
    const options = { ...(await caddyOptions(docker)), image: IMAGE };
    const proxy = traefikProxy(options);
    await proxy.ensure();
    return {
      proxy,
      httpPort: options.httpPort,
      reincarnate: async () => traefikProxy(options),
      async close() {
        await proxy.stop();
        await rm(options.folder, { recursive: true, force: true });
      },
    };
  });
});
