import { expect, test } from "vitest";
import { parseCompose } from "../compose/parse.ts";
import type { DomainClaim } from "../ports/records.ts";
import { generatedClaims, generatedValues, outdatedUrls, urlValues } from "./compose-values.ts";

const source = {
  secret: (length: number) => "s".repeat(length),
  bytes: (length: number) => new Uint8Array(length),
  hmacSha256: () => new Uint8Array(32),
};
const read = (text: string) => {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join(" "));
  return compose;
};
const COMPOSE = read(`
services:
  web:
    image: shop:1
    environment:
      SERVICE_URL_WEB_3000: /app
      SERVICE_FQDN_WEB:
      SERVICE_URL_PARTNER: https://partner.example
      SERVICE_PASSWORD_FIXED: as it is
      TOKEN: $SERVICE_BASE64_64_TOKEN
      DATABASE_URL: postgres://\${SERVICE_USER_DB}:\${SERVICE_PASSWORD_DB}@db/shop
  db:
    image: postgres:17
    environment: { POSTGRES_PASSWORD: $SERVICE_PASSWORD_DB, LEVEL: "\${LEVEL:-info}" }
`);
const claim = (url: string, public_url: string): DomainClaim => ({
  host: new URL(url).hostname,
  path: "/",
  url,
  public_url,
  container: "web",
});

test("generates what the compose file of an application names, and nothing that exists or has a text of its own", () => {
  const existing = new Map([["SERVICE_USER_DB", "chosen"]]);
  const values = generatedValues(COMPOSE, { source, now: new Date(0), existing });
  expect([...values.keys()].sort()).toEqual(["SERVICE_BASE64_64_TOKEN", "SERVICE_PASSWORD_DB"]);
  expect(values.get("SERVICE_PASSWORD_DB")).toHaveLength(32);
});

test("names the URLs of its containers as a browser opens them, and leaves foreign ones", () => {
  const domains = [
    claim("http://other.localhost:4000", "http://other.localhost:8080"),
    claim("http://shop.localhost:3000/app", "http://shop.localhost:8080/app"),
  ];
  expect(urlValues(COMPOSE, domains)).toEqual({
    SERVICE_URL_WEB: "http://shop.localhost:8080/app",
    SERVICE_URL_WEB_3000: "http://shop.localhost:8080/app",
    SERVICE_FQDN_WEB: "shop.localhost:8080",
    SERVICE_FQDN_WEB_3000: "shop.localhost:8080",
  });
});

test.each([
  ["SERVICE_URL_WEB", "http://shop.localhost:8081/app", "http://shop.localhost:8080/app"],
  ["SERVICE_URL_WEB_3000", "http://shop.localhost/app", "http://shop.localhost:8080/app"],
  ["SERVICE_FQDN_WEB", "shop.localhost:8081", "shop.localhost:8080"],
  ["SERVICE_URL_WEB", "http://shop.localhost:8080/app", undefined],
  ["SERVICE_URL_WEB", "https://shop.localhost/app", undefined],
  ["SERVICE_URL_WEB", "http://elsewhere.example:8081/app", undefined],
  ["OWN_URL", "http://shop.localhost:8081/app", undefined],
  ["SERVICE_URL_WEB", null, undefined],
])("finds that %s=%s has the port of an earlier proxy", (key, value, current) => {
  const domains = [claim("http://shop.localhost:3000/app", "http://shop.localhost:8080/app")];
  expect(outdatedUrls([{ key, value }], domains)).toEqual(current === undefined ? [] : [{ key, current }]);
});

test("gives the variables of URLs no value where the container has none", () => {
  expect(urlValues(COMPOSE, [])).toMatchObject({ SERVICE_URL_WEB_3000: "", SERVICE_FQDN_WEB: "" });
});

const SERVER = { ip: "localhost", settings: { wildcard_domain: null } };
const claimsOf = (environment: string) =>
  generatedClaims(read(`services: { web: { image: "shop:1", environment: ${environment} } }`), {
    uuid: "u1",
    server: SERVER as Parameters<typeof generatedClaims>[1]["server"],
  }).map(({ url, container }) => [container, url]);

test.each([
  [`{ SERVICE_URL_WEB: "" }`, "http://web-u1.localhost"],
  ["{ SERVICE_URL_WEB: }", "http://web-u1.localhost"],
  ["[SERVICE_URL_WEB]", "http://web-u1.localhost"],
  [`["SERVICE_URL_WEB_3000="]`, "http://web-u1.localhost:3000"],
  ["{ SERVICE_FQDN_SHOP_3000: /app }", "http://shop-u1.localhost:3000/app"],
  ["{ APP_URL: $SERVICE_URL_WEB }", "http://web-u1.localhost"],
])("%s asks for a URL, as in a service", (environment, url) => {
  expect(claimsOf(environment)).toEqual([["web", url]]);
});

test.each(["{ SERVICE_URL_PARTNER: https://partner.example }", "{ SERVICE_PASSWORD_WEB: }", "{}"])(
  "%s asks for none",
  (environment) => {
    expect(claimsOf(environment)).toEqual([]);
  },
);
