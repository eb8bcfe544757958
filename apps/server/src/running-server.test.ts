import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { announceServer } from "./running-server.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "berth-running-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const namesIn = (folder: string) =>
  readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")).data_folder);

it("names a running server in a file that only its user reads, and takes it away at the stop", () => {
  const folder = join(root, "servers");
  const withdraw = announceServer(folder, "/data/one");
  announceServer(folder, "/data/one");
  expect(namesIn(folder)).toEqual(["/data/one"]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  withdraw();
  expect(readdirSync(folder)).toEqual([]);
});

it("takes away what killed servers left, and nothing of those that run", () => {
  const folder = join(root, "servers");
  const dataOf = (name: string, pid: string) => {
    const data = join(root, name);
    mkdirSync(data);
    writeFileSync(join(data, "server.pid"), pid);
    return data;
  };
  const [running, killed] = [dataOf("running", `${process.pid}\n`), dataOf("killed", "999999999\n")];
  for (const data of [running, killed]) announceServer(folder, data);
  announceServer(folder, "/data/new");
  expect(namesIn(folder).sort()).toEqual(["/data/new", running].sort());
});

it("does not keep a server from starting where its user has no folder", () => {
  writeFileSync(join(root, "file"), "");
  expect(() => announceServer(join(root, "file/servers"), "/data/one")()).not.toThrow();
});
