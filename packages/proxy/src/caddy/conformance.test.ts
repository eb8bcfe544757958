import { describeDocker } from "@berth/testing";
import { proxyConformance } from "../conformance.fixture.ts";
import { caddyOptions, containerWorld, IMAGE } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";

describeDocker("on this machine's engine", [IMAGE], (docker) => {
  proxyConformance("Caddy", async () => containerWorld(await caddyOptions(docker), caddyProxy));
});
