import { describe, expect, test } from "vitest";
import { isSecretValue } from "./secret-value.ts";

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
