import { expect, test } from "vitest";
import { introduce } from "./introduction.ts";
import { progress } from "./progress.ts";

function introduced(isTTY: boolean): string {
  const parts: string[] = [];
  const output = { isTTY, write: (part: string) => parts.push(part) };
  introduce(progress(output), { url: "http://berth", token: "1|secret", cliFile: "/data/cli.json" });
  return parts.join("");
}

test("the first token is shown on a terminal", () => {
  expect(introduced(true)).toContain("Token      1|secret\n");
});

test("of the first token a file or another program gets only the place where it is kept", () => {
  expect(introduced(false)).not.toContain("secret");
  expect(introduced(false)).toContain("Token      in /data/cli.json");
});
