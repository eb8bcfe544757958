import { expect, test } from "vitest";
import { serviceUnit } from "./service-unit.ts";

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

test.each([
  ["a space", "/srv/my berth", 'WorkingDirectory="/srv/my berth"'],
  ["what systemd would replace", "/srv/50%$x", 'WorkingDirectory="/srv/50%%$$x"'],
  ["a quote", '/srv/a"b', 'WorkingDirectory="/srv/a\\"b"'],
])("keeps %s as it is", (_what, folder, line) => {
  expect(serviceUnit({ ...options, folder }).split("\n")).toContain(line);
});

test("no text adds a line of its own", () => {
  const settings = { BERTH_HOST: "x\nExecStartPre=/bin/false" };
  expect(() => serviceUnit({ ...options, settings })).toThrow("cannot contain a line end");
});
