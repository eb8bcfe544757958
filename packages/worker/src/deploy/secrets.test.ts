import { describe, expect, test } from "vitest";
import { isSafeToRedact, secretsOf } from "./secrets.ts";

const NONE = { shared: [], own: [], inline: [], domains: [] };
const of = (...values: (string | null)[]) =>
  secretsOf({
    ...NONE,
    envs: values.map((value) => ({ key: "SETTING", value })),
    domains: [{ host: "shop.example.com", path: "/", url: "https://shop.example.com" }],
  });

describe("what a log must not show", () => {
  test.each(["tr0ub4dor", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "-----BEGIN KEY-----\nabc\n-----END KEY-----", "123456"])(
    "hides %j",
    (value) => {
      expect(of(value)).toEqual([value]);
    },
  );

  test.each([
    null,
    "",
    "abc",
    "{{ team.NONE }}",
    "true",
    "FALSE",
    "production",
    " info ",
    "3000",
    "65535",
    "127.0.0.1",
  ])("shows %j, which says nothing", (value) => {
    expect(of(value)).toEqual([]);
  });

  test("shows the application's own address", () => {
    expect(of("https://x7f3k9.example.com", "shop.example.com", "https://shop.example.com")).toEqual([
      "https://x7f3k9.example.com",
    ]);
  });

  test("shows the address of a container, with its port and without", () => {
    const url = "http://x7f3k9.example.com:3000/app";
    const shown = ["http://x7f3k9.example.com/app", "x7f3k9.example.com:3000/app", "x7f3k9.example.com:3000", url];
    const hidden = [
      "http://x7f3k9.example.com/other",
      "http://me:pw@x7f3k9.example.com/app",
      "http://x7f3k9.example.com/app?key=1",
    ];
    const envs = [...shown, ...hidden].map((value) => ({ key: "SETTING", value }));
    const domains = [{ host: "x7f3k9.example.com", path: "/app", url }];
    expect(secretsOf({ ...NONE, envs, domains })).toEqual(hidden);
  });

  test("hides the application's other secrets, each once", () => {
    const envs = [{ key: "DOOR_PASSWORD", value: "open sesame" }];
    const shared = [
      { key: "TOKEN", value: "sesame" },
      { key: "TOKEN", value: "true" },
      { key: "GREETING", value: "hello" },
    ];
    const own = ["open sesame", null, "hook-123"];
    expect(secretsOf({ ...NONE, envs, shared, own })).toEqual(["open sesame", "sesame", "hook-123"]);
  });

  test("does not hide plain words in our own sentences", () => {
    expect(isSafeToRedact("crash")).toBe(false);
    expect(isSafeToRedact("hunter2")).toBe(true);
    expect(isSafeToRedact("averylongsecretofletters")).toBe(true);
  });
});
