import { expect, test } from "vitest";
import { cpuCost } from "../cpu-cost.fixture.ts";
import { inlineSecrets } from "./inline-secrets.ts";

const found = (service: object, values: Readonly<Record<string, string>> = {}) =>
  inlineSecrets(JSON.stringify({ services: { web: { image: "a", ...service } } }), values);

test.each([
  [{ environment: { DB_PASSWORD: "hunter2", POSTGRES_DB: "shop" } }, ["hunter2"]],
  [{ environment: ["API_KEY=sk-1", "KEYCLOAK_ADMIN=admin", "PUBLIC_KEY=abc"] }, ["sk-1"]],
  [
    { environment: { clientSecret: "s e c", DB_PASSWORD_FILE: "/run/secrets/db", PIN_TOKEN: 123_456 } },
    ["s e c", "123456"],
  ],
  [{ environment: ["DATABASE_URL=postgres://me:open-sesame@db:5432/shop"] }, ["open-sesame"]],
  [{ build: { context: "https://a.example/b.git", args: { NPM_TOKEN: "npm_1" } } }, ["npm_1"]],
  [{ command: ["redis-server", "--requirepass", "hunter2", "--port", "1"] }, ["hunter2"]],
  [{ command: "redis-server --requirepass 'hunter2' --admin-token=tok1 --port 1" }, ["hunter2", "tok1"]],
  [{ entrypoint: ["serve", "--api-key=key-1"] }, ["key-1"]],
  [{ labels: { "app.token": "tok1", "app.name": "shop" } }, ["tok1"]],
  [{ ports: ["80:80"], volumes: ["data:/data"], healthcheck: { test: ["CMD", "curl", "http://127.0.0.1/"] } }, []],
])("of %j are %j", (service, secrets) => {
  expect(found(service)).toEqual(secrets);
});

test("are read with what variables say in them", () => {
  const environment = { A_SECRET: "pre-${MID}-post", B_TOKEN: "${NONE:-fallback}" };
  expect(found({ environment }, { MID: "x" })).toEqual(["pre-x-post", "fallback"]);
});

test("are not the names of containers", () => {
  expect(found({ environment: { DB_PASSWORD: "web" } })).toEqual([]);
});

test.each([
  ["a long word", "a".repeat(500_000)],
  ["the beginnings of URLs", "a://a:".repeat(90_000)],
  ["many schemes", "a+".repeat(250_000)],
])("are found in a moment: in %s", (_, A) => {
  expect(cpuCost(() => expect(found({ environment: { A } })).toEqual([]))).toBeLessThan(150);
});

test("are refused before they fill the memory", () => {
  const environment = Array.from({ length: 900 }, (_, at) => `A${at}_TOKEN=${"${B}".repeat(5)}${at}`);
  expect(() => found({ environment }, { B: "x".repeat(100_000) })).toThrow(/exceeds/);
});

test("are none of a text that cannot be read", () => {
  expect(inlineSecrets("][", {})).toEqual([]);
});
