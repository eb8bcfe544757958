import { describe, expect, test } from "vitest";
import { RegistryCreate, registryAddress, registryOf } from "./registry.ts";

const login = { username: "me", password: "secret" };
const addressOf = (address: string) => RegistryCreate.safeParse({ address, ...login }).data?.address;

describe("the address of a registry", () => {
  test.each([
    ["ghcr.io", "ghcr.io"],
    ["https://index.docker.io/v1/", "docker.io"],
    [" Registry.Example.com:5000/v2/ ", "registry.example.com:5000"],
    ["localhost", "localhost"],
    ["localhost:5000", "localhost:5000"],
    ["[::1]:5000", "[::1]:5000"],
  ])("%s is taken as %s", (text, address) => expect(addressOf(text)).toBe(address));

  test.each(["", "team", "-a.io", "a b.io", "user@a.io", "ftp://a.io", "a.io:port", "$(a).io", "a..io"])(
    "%j is none",
    (text) => expect(addressOf(text)).toBeUndefined(),
  );

  test.each([
    ["nginx", "docker.io"],
    ["team/app:1", "docker.io"],
    ["docker.io/team/app", "docker.io"],
    ["ghcr.io/team/app@sha256:abc", "ghcr.io"],
    ["localhost/app", "localhost"],
    ["127.0.0.1:5000/app", "127.0.0.1:5000"],
  ])("of the image %s is %s", (image, address) => {
    expect(registryOf(image)).toBe(address);
    expect(registryAddress(address)).toBe(address);
  });
});

test("a login is of one line each", () => {
  const parse = (fields: object) => RegistryCreate.safeParse({ address: "ghcr.io", ...login, ...fields }).success;
  expect(parse({})).toBe(true);
  expect(parse({ username: "a:b" })).toBe(false);
  expect(parse({ username: "" })).toBe(false);
  expect(parse({ password: "a\nb" })).toBe(false);
  expect(parse({ url: "x" })).toBe(false);
});
