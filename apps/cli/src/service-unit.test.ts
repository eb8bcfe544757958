import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { serviceUnit } from "./service-unit.ts";

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
if (!hasSystemd) console.log("Skipped the check of the unit by systemd: systemd-analyze is not installed");

const options = {
  folder: "/srv/berth",
  node: "/usr/bin/node",
  path: "/usr/local/bin:/usr/bin",
  user: "berth",
  settings: { BERTH_PORT: "8000" },
};

test("a unit ends Berth alone, and starts it again", () => {
  const lines = serviceUnit(options).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      "User=berth",
      "WorkingDirectory=/srv/berth",
      "Environment=PATH=/usr/local/bin:/usr/bin",
      "Environment=BERTH_PORT=8000",
      "ExecStart=/usr/bin/node /srv/berth/tooling/run.mjs start",
      "KillMode=process",
      "Restart=on-failure",
    ]),
  );
});

const [SPACE, REPLACED, QUOTE] = ["/srv/my berth", "/srv/50%$x", '/srv/a"b'];
test.each([
  ["a space", SPACE, "/srv/my berth", '"BERTH_DATA=/srv/my berth"', '"/srv/my berth/tooling/run.mjs"'],
  ["what systemd would replace", REPLACED, "/srv/50%%$x", "BERTH_DATA=/srv/50%%$x", "/srv/50%%$$x/tooling/run.mjs"],
  ["a quote", QUOTE, '/srv/a"b', '"BERTH_DATA=/srv/a\\"b"', '"/srv/a\\"b/tooling/run.mjs"'],
])("keeps %s as it is", (_what, folder, place, variable, program) => {
  const lines = serviceUnit({ ...options, folder, settings: { BERTH_DATA: folder } }).split("\n");
  expect(lines).toContain(`WorkingDirectory=${place}`);
  expect(lines).toContain(`Environment=${variable}`);
  expect(lines).toContain(`ExecStart=/usr/bin/node ${program} start`);
});

describe.runIf(hasSystemd)("to systemd itself", () => {
  test.each(["/srv/berth", SPACE, REPLACED, QUOTE])("the unit for %s has no fault", (folder) => {
    const place = mkdtempSync(join(tmpdir(), "berth-unit-"));
    try {
      const file = join(place, "berth.service");
      const unit = { ...options, folder, node: "/usr/bin/env", user: "root", settings: { BERTH_DATA: folder } };
      writeFileSync(file, serviceUnit(unit));
      const { stderr, status } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
      expect({ status, faults: stderr.split("\n").filter((line) => line.includes("berth.service")) }).toEqual({
        status: 0,
        faults: [],
      });
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
});

test("no text adds a line of its own", () => {
  const settings = { BERTH_HOST: "x\nExecStartPre=/bin/false" };
  expect(() => serviceUnit({ ...options, settings })).toThrow("cannot contain a line end");
});
