import { expect, test } from "vitest";
import { parseCompose } from "../compose/parse.ts";
import { stackReplacement } from "./stack-replacement.ts";

test.each([
  ["web: { image: a }", "candidate_first", "beside the old one"],
  [
    "web: { image: a, expose: [80], volumes: [{ type: bind, source: ./a, target: /a, content: x }] }",
    "candidate_first",
    "",
  ],
  ["web: { image: a }, db: { image: b }", "stop_first", "several containers"],
  ["web: { image: a, volumes: [data:/data] }", "stop_first", "volumes"],
  ['web: { image: a, ports: ["80:80"] }', "stop_first", "ports of the server"],
  ["web: { image: a, network_mode: host }", "stop_first", "own network"],
  ["web: { image: a, container_name: mine }", "stop_first", "fixed name"],
])("%s is replaced %s", (services, mode, why) => {
  const compose = parseCompose(`services: { ${services} }`);
  if ("problems" in compose) throw new Error(compose.problems.join());
  const replacement = stackReplacement(compose);
  expect(replacement.mode).toBe(mode);
  expect(replacement.reason).toContain(why);
});
