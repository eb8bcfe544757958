import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { answering } from "../answers.fixture.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";

const CONTENT = "a dump";
const sha256 = createHash("sha256").update(CONTENT).digest("hex");
const execution = (uuid: string, checksum: string) => ({
  ...{ id: 1, uuid, status: "success", filename: "/b/shop.dump", size: String(CONTENT.length), checksum },
  ...{ local_storage_deleted: false, s3_uploaded: null, s3_storage_deleted: false },
});
const answers = (checksum: string) => ({
  "databases.list": () => [{ uuid: "d1", name: "orders", database_type: "standalone-postgresql" }],
  "databases.backups.list": () => [{ uuid: "s1", dump_all: false, executions: [execution("e1", checksum)] }],
});

const whole = (reply: ServerResponse) => {
  reply.setHeader("content-disposition", 'attachment; filename="../orders-shop.dump"');
  reply.end(CONTENT);
};
const cut = (reply: ServerResponse) => {
  reply.setHeader("content-length", CONTENT.length);
  reply.write(CONTENT.slice(0, 3), () => reply.destroy());
};

async function downloaded(words: readonly string[], sendFile = whole, checksum = sha256, files = {}) {
  const folder = temporaryFolder({ "kept.dump": "older", ...files });
  await using server = await answering(answers(checksum), sendFile);
  const ran = await server.run(["backup", "download", "orders", ...words], { cwd: folder.path });
  return { ...ran, folder, files: readdirSync(folder.path).sort(), called: server.called };
}

test("the newest good backup is saved under the name that the server sends, for its owner alone", async () => {
  const { exitCode, stdout, stderr, folder, called } = await downloaded([]);
  using _ = folder;
  const path = join(folder.path, "orders-shop.dump");
  expect([exitCode, stderr, stdout]).toEqual([
    0,
    "",
    expect.stringContaining(`Downloaded the backup of orders to ${path}: 6 B.`),
  ]);
  expect(called).toContain("/api/v1/databases/d1/backups/s1/executions/e1/download");
  expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual([CONTENT, 0o600]);
  expect(existsSync(join(folder.path, "..", "orders-shop.dump"))).toBe(false);
});

test("a backup that is saved in the folder of an application says that it would be uploaded", async () => {
  const link = JSON.stringify({ applications: [{ url: "http://berth.example", uuid: "a1", name: "shop" }] });
  const { exitCode, stderr, folder } = await downloaded([], whole, sha256, { ".berth/app.json": link });
  using _ = folder;
  expect([exitCode, stderr]).toEqual([
    0,
    expect.stringContaining("add a line to .berthignore there: /orders-shop.dump"),
  ]);
});

test("a backup goes to standard output where that is asked for, and nothing else does", async () => {
  const { exitCode, stdout, folder } = await downloaded(["e1", "--output", "-"]);
  using _ = folder;
  expect([exitCode, stdout]).toEqual([0, CONTENT]);
});

test("a file that exists is not replaced", async () => {
  const { exitCode, stderr, folder } = await downloaded(["-o", "kept.dump"]);
  using _ = folder;
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("kept.dump exists already.")]);
  expect(readFileSync(join(folder.path, "kept.dump"), "utf8")).toBe("older");
});

test.each([
  ["that breaks off", cut, sha256, "The download broke off after"],
  ["with another checksum", whole, "00", "The backup is damaged"],
])("of a download %s nothing is kept", async (_title, sendFile, checksum, problem) => {
  const { exitCode, stderr, folder, files } = await downloaded([], sendFile, checksum);
  using _ = folder;
  expect([exitCode, stderr, files]).toEqual([1, expect.stringContaining(problem), ["kept.dump"]]);
});
