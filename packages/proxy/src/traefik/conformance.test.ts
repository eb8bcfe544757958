import { describeDocker } from "@berth/testing";
import { caddyOptions, containerWorld } from "../caddy/caddy.fixture.ts";
import { proxyConformance } from "../conformance.fixture.ts";
import { traefikProxy } from "./traefik.ts";

/** Traefik is only available as an image, so it is tested where the engine has that. */
const IMAGE = "traefik:v3";

describeDocker("on this machine's engine", [IMAGE], (docker) => {
  proxyConformance("Traefik", async () =>
    containerWorld({ ...(await caddyOptions(docker)), image: IMAGE }, traefikProxy),
  );
});
