import { describe, expect, it } from "vitest";
import { publicUrl } from "./public-url.ts";

describe("publicUrl", () => {
  it.each([
    ["http://hello.localhost", 8000, "http://hello.localhost:8000"],
    ["http://hello.localhost", 80, "http://hello.localhost"],
    ["http://hello.localhost/api?x=1#y", 8000, "http://hello.localhost:8000/api?x=1#y"],
    ["https://hello.test", 8000, "https://hello.test"],
    ["https://hello.test:3000/x", 80, "https://hello.test/x"],
    ["http://hello.test:3000/x", 8000, "http://hello.test:8000/x"],
    ["http://hello.test:3000", 80, "http://hello.test"],
    ["http://[::1]", 8000, "http://[::1]:8000"],
    ["http://[::1]:3000/", 8000, "http://[::1]:8000/"],
    ["HTTP://Hello.test", 8000, "http://Hello.test:8000"],
    ["hello.test", 8000, "hello.test"],
    ["ftp://hello.test", 8000, "ftp://hello.test"],
    ["", 8000, ""],
  ])("writes %s behind port %i as %s", (url, port, expected) => {
    expect(publicUrl(url, port)).toBe(expected);
  });
});
