import { describeDocker } from "@berth/testing";
import { caddyOptions, containerWorld } from "../caddy/caddy.fixture.ts";
import { proxyConformance } from "../conformance.fixture.ts";
import { traefikProxy } from "./traefik.ts";

/** Nobody packages Traefik but as an image: where the engine has it, it is tried like the others. */
const IMAGE = "traefik:v3";

describeDocker("on this machine's engine", [IMAGE], (docker) => {
  proxyConformance("Traefik", async () =>
    containerWorld({ ...(await caddyOptions(docker)), image: IMAGE }, traefikProxy),
  );
});
