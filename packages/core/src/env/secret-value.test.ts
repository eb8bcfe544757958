import { describe, expect, test } from "vitest";
import { isSecretValue, secretsInText } from "./secret-value.ts";

const NONE: ReadonlySet<string> = new Set();
const isSecret = (key: string, value: string | null, is_shown_once = false) =>
  isSecretValue({ key, value, is_shown_once }, NONE);

describe("a value that must not stand in a log", () => {
  test.each([
    ["DB_PASSWORD", "hello"],
    ["API_KEY", "hello"],
    ["apiToken", "hello world"],
    ["SERVICE_PASSWORD_WEB", "wordpress"],
    ["JWT_SECRET", "secret"],
    ["REDIS_PW", "web2"],
  ])("has a name that says so: %s=%s", (key, value) => expect(isSecret(key, value)).toBe(true));

  test.each([
    "4eC39HqLyjWDarjtT1zdp7dc",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
    "6f1ed002ab5595859014ebf0951522d9",
    "123456",
    "tr0ub4dor",
    "JBSWY3DPEHPK3PXP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----",
    "postgres://me:pass@db.internal/shop",
    "redis://:pass@cache:6379",
    "https://hooks.example.com/services/T024BE7LD/B0G9QF9C6/FVnLh2kXj4",
    "user=me password=Zk3vQ9",
    "aVeryLongSecretOfLetters",
    "averylongsecretoflettersonly",
  ])("looks like one: %s", (value) => expect(isSecret("SETTING", value)).toBe(true));

  test("is marked as one", () => expect(isSecret("GREETING", "hello", true)).toBe(true));
});

describe("a value that anybody might write", () => {
  test.each([
    "hello",
    "Hello, world!",
    "wordpress",
    "my-shop",
    "MY_SHOP",
    "postgres17",
    "nginx:1.27",
    "ghcr.io/acme/web:latest",
    "db.internal:5432",
    "https://api.example.com/v1",
    "ops@example.com",
    "/var/lib/data",
    "Europe/Berlin",
    "a,b,c",
    "--max-old-space-size=512",
    "10.0.0.1",
  ])("may stand in a log: %s", (value) => expect(isSecret("SETTING", value)).toBe(false));

  test.each(["true", "abc", "3000", "production", "", null, " info "])("says nothing, whatever its name: %j", (value) =>
    expect(isSecret("PASSWORD", value)).toBe(false),
  );

  test("is a name, image, host or path of the resource itself, whatever its own name", () => {
    expect(isSecretValue({ key: "DB_PASSWORD", value: "wordpress" }, new Set(["wordpress"]))).toBe(false);
  });
});

describe("a text with instructions", () => {
  test.each([
    ["ENV DB_PASSWORD=hello", ["hello"]],
    ['ARG API_TOKEN="two words"', ["two words"]],
    ["ENV SECRET_KEY   tr0ub4dor", ["tr0ub4dor"]],
    ["RUN npm config set //registry/:_authToken=abcd1234", ["abcd1234"]],
    ["RUN git clone https://me:hunter22@example.com/a.git", ["hunter22"]],
    ['RUN curl -H "Authorization: Bearer 4eC39HqLyjWDarjtT1zdp7dc"', ["4eC39HqLyjWDarjtT1zdp7dc"]],
    ["traefik.http.middlewares.a.basicauth.password=s3cr3t-9", ["s3cr3t-9"]],
  ])("has secrets: %s", (text, expected) => expect(secretsInText(text)).toEqual(expected));

  test.each([
    "FROM node:24-alpine@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 AS build",
    "RUN for h in one two; do wget -T 3 -q -O - http://example.com/$h || echo no $h; done",
    "ENV NODE_ENV=production GREETING=hello TOKEN_REQUIRED=true",
    'CMD ["node", "server.js", "--port=3000"]',
    "traefik.http.routers.web.rule=Host(`web.example.com`)",
  ])("has none: %s", (text) => expect(secretsInText(text)).toEqual([]));

  test("costs no more for being odd", () => {
    for (const part of ["a-", "A1a-", "ENV ", "x=", "://a:", "ENV A \t"]) {
      expect(secretsInText(part.repeat(100_000)).length).toBeLessThan(10);
    }
  });
});
