import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "@berth/testing";
import { type TestServer, testServer } from "../server.fixture.ts";
import { canRead, expect, isHealthy, ms } from "./checks.ts";
import { lostWrites, writers } from "./load.ts";
import { NotSupported, writeGroup } from "./machine.ts";
import { postmasterOf, treeOf } from "./processes.ts";
import { atRowEnd } from "./row-end.ts";

export async function fullDisk(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "berth-faults-"));
  atRowEnd(() => rmSync(folder, { recursive: true, force: true }));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=0711", "berth-faults", folder], { stdio: "ignore" });
  } catch {
    throw new NotSupported("only root may mount a disk of its own size");
  }
  atRowEnd(() => execFileSync("umount", ["--lazy", folder]));
  return await fillDisk(await serverOn(folder), join(folder, "ballast"));
}

/** A server whose data lies on this file system. */
async function serverOn(folder: string): Promise<TestServer> {
  const starting = testServer({ dataFolder: join(folder, "data") });
  atRowEnd(() => starting.then((server) => server.dispose()));
  return await starting;
}

async function fillDisk(server: TestServer, ballast: string): Promise<string> {
  const pid = server.pid();
  const writing = writers(server, 4);
  atRowEnd(() => rmSync(ballast, { force: true }));
  await delay(500);
  try {
    writeFileSync(ballast, Buffer.alloc(400 << 20));
  } catch {
    // It is as large as the disk allows.
  }
  let written = 0;
  const refusal = await until(
    async () => {
      // What PostgreSQL has reserved of the disk is used up first: some 16 MB.
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => {
          written += 1;
          return server.rest("POST", "/teams/current/shared-variables", { key: `FULL_${written}`, value: LARGE });
        }),
      );
      return answers.map(({ body }) => body as DiskRefusal).find(({ code }) => code === "storage.full")?.message;
    },
    { what: "a write is refused", seconds: 60 },
  );
  expect(await isHealthy(server), "health is not answered on a full disk");
  rmSync(ballast);
  const beganAt = performance.now();
  await until(async () => (await server.rest("POST", "/projects", { name: "written again" })).status === 201, {
    what: "a write is accepted again",
    seconds: 60,
  });
  const tookMs = performance.now() - beganAt;
  const { acknowledged } = await writing.end();
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  expect(server.pid() === pid, "the server's process ended");
  const sentence = refusal.replace(/of \/\S+/, "of the data folder");
  return `"${sentence}"; none of ${acknowledged.length} acknowledged writes lost, writing again after ${ms(tookMs)}`;
}

interface DiskRefusal {
  readonly code?: string;
  readonly message?: string;
}
const LARGE = "x".repeat(131_000);

/** On a file system of its own, since the disk of the machine is everybody's. */
export async function slowDisk(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "berth-faults-"));
  const image = `${folder}.image`;
  atRowEnd(() => {
    rmSync(image, { force: true });
    rmSync(folder, { recursive: true, force: true });
  });
  writeFileSync(image, "");
  truncateSync(image, 1 << 30);
  const device = mountImage(image, folder);
  atRowEnd(() => {
    execFileSync("umount", ["--lazy", folder]);
    execFileSync("losetup", ["--detach", device]);
  });
  const group = writeGroup(device, WRITES_PER_SECOND);
  const server = await serverOn(folder);
  const slowed = () => [...treeOf(server.pid()), ...treeOf(postmasterOf(server))];
  atRowEnd(() => group.remove(slowed()));
  for (const pid of slowed()) group.move(pid);
  return await writeSlowly(server);
}

/** @throws NotSupported where this may not be done here */
function mountImage(image: string, folder: string): string {
  try {
    execFileSync("mkfs.ext4", ["-q", image], { stdio: "ignore" });
    const device = execFileSync("losetup", ["--find", "--show", image], { encoding: "utf8" }).trim();
    execFileSync("mount", [device, folder], { stdio: "ignore" });
    execFileSync("chmod", ["0711", folder]);
    return device;
  } catch {
    throw new NotSupported("only root may mount a file system of an image here, or mkfs.ext4 is not installed");
  }
}

async function writeSlowly(server: TestServer): Promise<string> {
  const pid = server.pid();
  const writing = writers(server, 4);
  let slowestMs = 0;
  const endsAt = performance.now() + SLOW_SECONDS * 1000;
  while (performance.now() < endsAt) {
    const beganAt = performance.now();
    expect(await isHealthy(server), "health is not answered on a slow disk");
    slowestMs = Math.max(slowestMs, performance.now() - beganAt);
    await delay(100);
  }
  const { acknowledged, refused } = await writing.end();
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  expect(await canRead(server), "reads are not answered on a slow disk");
  expect(server.pid() === pid, "the server's process ended");
  return `${acknowledged.length} writes acknowledged, none lost, ${refused} refused; health after ${ms(slowestMs)} at most`;
}

const WRITES_PER_SECOND = 50;
const SLOW_SECONDS = 20;
