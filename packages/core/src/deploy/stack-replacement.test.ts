// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of compose files.
import { expect, test } from "vitest";
import { parseCompose } from "../compose/parse.ts";
import { stackReplacement } from "./stack-replacement.ts";

function parsed(services: string) {
  const compose = parseCompose(`services: { ${services} }`);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return compose;
}

test.each([
  ["web: { image: a }", "candidate_first", "beside the old one"],
  [
    "web: { image: a, expose: [80], volumes: [{ type: bind, source: ./a, target: /a, content: x }] }",
    "candidate_first",
    "",
  ],
  ['web: { image: a, volumes: ["./a:/a:ro"] }, other: { image: b }', "candidate_first", ""],
  [
    'web: { image: a }, db: { image: b, environment: { AT: "http://web:80" } }',
    "stop_first",
    "db finds it by its name",
  ],
  ['web: { image: a, container_name: "a+*(" }, db: { image: b, command: "a+*(" }', "stop_first", "db finds it"],
  ['web: { image: a }, db: { image: "web/db", environment: { AT: webs } }', "candidate_first", ""],
  ["web: { image: a, volumes: [data:/data] }", "stop_first", "volumes"],
  ["web: { image: postgres }", "stop_first", "a database"],
  ['web: { image: a, ports: ["80:80"] }', "stop_first", "ports of the server"],
  ['web: { image: a, ports: ["127.0.0.1:8080:80/tcp"] }', "stop_first", "ports of the server"],
  ['web: { image: a, ports: ["${PORT:-8080}:80"] }', "stop_first", "ports of the server"],
  ['web: { image: a, ports: ["${PORT}"] }', "stop_first", "ports of the server"],
  ['web: { image: a, ports: ["3000", "8080:80"] }', "stop_first", "ports of the server"],
  ["web: { image: a, ports: [{ target: 80, published: 8080 }] }", "stop_first", "ports of the server"],
  [
    'web: { image: a, ports: ["3000", "${PORT:-80}/tcp", "127.0.0.1::80", "[::1]::80", "9000-9010"] }',
    "candidate_first",
    "",
  ],
  ["web: { image: a, ports: [3000, { target: 80 }] }", "candidate_first", ""],
  ["web: { image: a, network_mode: host }", "stop_first", "own network"],
  ["web: { image: a, networks: { n: { ipv4_address: 10.0.0.2 } } }", "stop_first", "a fixed address"],
])("of %s, web is replaced %s", (services, mode, why) => {
  const compose = parsed(services);
  const replacement = stackReplacement(compose, compose, new Set(["web"]));
  expect(replacement.mode).toBe(mode);
  expect(replacement.reason).toContain(why);
});

test("leaves alone what nothing changes, and says of each container what becomes of it", () => {
  const before = parsed("web: { image: a }, db: { image: postgres }, old: { image: x }");
  const after = parsed("web: { image: b }, db: { image: postgres }, more: { image: y }");
  const { mode, containers } = stackReplacement(before, after, new Set(["web", "more"]));
  expect(mode).toBe("candidate_first");
  expect(containers.map(({ name, action }) => [name, action])).toEqual([
    ["web", "candidate_first"],
    ["db", "kept"],
    ["more", "added"],
    ["old", "removed"],
  ]);
});

test.each([
  ['network_mode: "service:web"', "web", ["web", "vpn"]],
  ['network_mode: "service:web"', "vpn", ["web", "vpn"]],
  ["depends_on: { web: { condition: service_started, restart: true } }", "web", ["web", "vpn"]],
  ["depends_on: { web: { condition: service_started, restart: true } }", "vpn", ["vpn"]],
  ["depends_on: [web]", "web", ["web"]],
])("what shares a part of a container goes with it: %s when %s changes", (line, changed, moved) => {
  const compose = parsed(`web: { image: a }, vpn: { image: b, ${line} }`);
  const { containers } = stackReplacement(compose, compose, new Set([changed]));
  expect(containers.flatMap(({ name, action }) => (action === "kept" ? [] : name))).toEqual(moved);
});
