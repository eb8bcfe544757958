import { createHash } from "node:crypto";
import { endTestBackup, testBackup, testBackupFiles, testBucket, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

const CONTENT = "a dump with every password";
const sha256 = createHash("sha256").update(CONTENT).digest("hex");

let api: Served;
let opened = 0;
let closed = 0;
const bucket = testBucket();
beforeAll(async () => {
  const files = {
    async *"/b/20260101T000000-shop-1.sql.gz"() {
      opened += 1;
      try {
        for (const chunk of CONTENT.match(/.{1,4}/g) ?? []) yield Buffer.from(chunk);
      } finally {
        closed += 1;
      }
    },
  };
  api = await served({ backupFiles: testBackupFiles(files), objectStorage: () => bucket });
  const content = (async function* () {
    yield Buffer.from(`${CONTENT} in S3`);
  })();
  await bucket.put("x/all.dump", content, { sizeBytes: 1, signal: new AbortController().signal });
});
afterAll(() => api.close());

type End = NonNullable<Parameters<typeof endTestBackup>[3]>;

async function madeBackup(end: End) {
  const { database, schedule, execution } = await testBackup(api.db, api.stores, api.place);
  await endTestBackup(api.db.system, api.place.server.id, execution.uuid, end);
  const path = `/databases/${database.uuid}/backups/${schedule.uuid}/executions/${execution.uuid}/download`;
  return { path, database, execution };
}

const NEAR = {
  ...{ filename: "/b/20260101T000000-shop-1.sql.gz", folder: "folder" },
  ...{ size_bytes: CONTENT.length, sha256 },
};

describe("a backup", () => {
  test("is downloaded from the control plane's disk, with its name, size and checksum, and that is recorded", async () => {
    const { path, database, execution } = await madeBackup(NEAR);
    const { status, text, headers } = await api.ask("GET", path);
    expect([status, text]).toEqual([200, CONTENT]);
    expect(headers).toMatchObject({
      "content-type": "application/gzip",
      "content-length": String(CONTENT.length),
      "content-disposition": `attachment; filename="${database.name}-20260101T000000-shop-1.sql.gz"`,
      "repr-digest": `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`,
      "cache-control": "no-store",
    });
    const { json } = await api.ask("GET", `/events?take=1&type=resource.backup_downloaded`);
    expect(json.events).toEqual([
      expect.objectContaining({
        resource_uuid: database.uuid,
        payload: expect.objectContaining({ backup: execution.uuid }),
      }),
    ]);
    const { headers: head } = await api.app.inject({
      method: "HEAD",
      url: `/api/v1${path}`,
      headers: { authorization: `Bearer ${api.token}` },
    });
    expect(head["content-length"]).toBe(String(CONTENT.length));
    await expect.poll(() => [opened, closed]).toEqual([2, 2]);
  });

  test("is downloaded from its bucket where the disk lacks it, or belongs to another control plane", async () => {
    for (const place of [{ filename: "/b/lost.dump" }, { folder: "of another" }]) {
      const { path } = await madeBackup({ ...NEAR, ...place, size_bytes: CONTENT.length + 6, s3_key: "x/all.dump" });
      const { status, text } = await api.ask("GET", path);
      expect([status, text]).toEqual([200, `${CONTENT} in S3`]);
    }
  });

  test.each<[string, End, string]>([
    ["on another control plane only", { folder: "of another" }, "No copy of the backup can be reached from here"],
    ["that failed", { status: "failed", sha256: null, keepsFile: false }, "The backup failed: nothing of it was kept."],
  ])("%s is refused, with the reason", async (_title, end, message) => {
    const { path } = await madeBackup({ ...NEAR, ...end });
    const { status, json } = await api.ask("GET", path);
    expect([status, json.code, json.message]).toEqual([400, "resource.state", expect.stringContaining(message)]);
  });

  test("whose file is gone is not found, before a byte of the answer", async () => {
    const { path } = await madeBackup({ ...NEAR, filename: "/b/lost.dump" });
    const { status, json } = await api.ask("GET", path);
    expect([status, json.message]).toEqual([404, "Backup file not found."]);
  });

  test("is for tokens that may read secrets alone", async () => {
    const { path } = await madeBackup(NEAR);
    const token = await api.tokenWith("read", "write", "deploy");
    const { status, json } = await api.ask("GET", path, { token });
    expect([status, json.code]).toEqual([403, "auth.missing_ability"]);
    const missing = path.replace(/[^/]+\/download$/, `${testUuid()}/download`);
    expect((await api.ask("GET", missing)).status).toBe(404);
  });
});
