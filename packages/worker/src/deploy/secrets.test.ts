import { describe, expect, test } from "vitest";
import { isUnmistakable, secretsOf } from "./secrets.ts";

const of = (...values: (string | null)[]) =>
  secretsOf(
    { envs: values.map((value) => ({ value })), sharedValues: [] },
    [],
    [{ host: "shop.example.com", path: "/", url: "https://shop.example.com" }],
  );

describe("what a log must not show", () => {
  test.each([
    "hunter2",
    "correct horse battery staple",
    "sk_live_1",
    "-----BEGIN KEY-----\nabc\n-----END KEY-----",
    "123456",
  ])("hides %j", (value) => {
    expect(of(value)).toEqual([value]);
  });

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
    expect(of("https://shop.example.com", "shop.example.com", "https://other.example.com")).toEqual([
      "https://other.example.com",
    ]);
  });

  test("shows the address of a container, with its port and without", () => {
    const url = "http://web.example.com:3000/app";
    const shown = ["http://web.example.com/app", "web.example.com:3000/app", "web.example.com:3000", url];
    const hidden = [
      "http://web.example.com/other",
      "http://me:pw@web.example.com/app",
      "http://web.example.com/app?key=1",
    ];
    const envs = [...shown, ...hidden].map((value) => ({ value }));
    expect(secretsOf({ envs, sharedValues: [] }, [], [{ host: "web.example.com", path: "/app", url }])).toEqual(hidden);
  });

  test("hides the application's other secrets, each once", () => {
    const variables = { envs: [{ value: "open sesame" }], sharedValues: ["sesame", "true"] };
    expect(secretsOf(variables, ["open sesame", null, "hook-123"], [])).toEqual(["open sesame", "sesame", "hook-123"]);
  });

  test("does not hide plain words in our own sentences", () => {
    expect(isUnmistakable("crash")).toBe(false);
    expect(isUnmistakable("hunter2")).toBe(true);
    expect(isUnmistakable("averylongsecretofletters")).toBe(true);
  });
});
