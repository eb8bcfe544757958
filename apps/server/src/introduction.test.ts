import { expect, test } from "vitest";
import { introduce, listApplications } from "./introduction.ts";
import { progress } from "./progress.ts";

const signInUrl = "http://berth/sign-in#code=once";

function introduced(isTTY: boolean): string {
  const parts: string[] = [];
  const output = { isTTY, write: (part: string) => parts.push(part) };
  introduce(progress(output), { url: "http://berth", token: "1|secret", cliFile: "/data/cli.json", signInUrl });
  return parts.join("");
}

test("the first token is shown on a terminal", () => {
  expect(introduced(true)).toContain("Token      1|secret\n");
});

test("the first sign-in link is shown on a terminal, and nowhere else", () => {
  expect(introduced(true)).toContain(`Sign in    ${signInUrl}\n`);
  expect(introduced(false)).not.toContain("code=once");
});

test("a file or another program gets the command that makes a sign-in link", () => {
  expect(introduced(false)).toContain("Sign in    berth login --web makes a link");
  expect(introduced(true)).not.toContain("makes a link");
});

test("an application that does not run is listed without its URL", () => {
  const parts: string[] = [];
  const applications = [
    { name: "shop", status: "running:healthy", urls: ["http://shop.test"] },
    { name: "old", status: "exited:unhealthy", urls: ["http://old.test"] },
  ];
  listApplications(progress({ write: (part) => parts.push(part) }), applications, 3);
  const text = parts.join("");
  expect(text).toContain(
    "\n  Applications\n  shop       http://shop.test\n  old        exited:unhealthy\n  and 1 more",
  );
  expect(text).toContain("Containers keep running.");
});

test("of the first token a file or another program gets only the place where it is kept", () => {
  expect(introduced(false)).not.toContain("secret");
  expect(introduced(false)).toContain("Token      in /data/cli.json");
});
