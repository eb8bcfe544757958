// Run in a network of its own: `unshare --net node lost-packets-main.ts`. Prints what happened.
import { execFileSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { benchDatabase } from "../../../../bench/database.ts";
import { testServer } from "../server.fixture.ts";
import { canRead, expect, isHealthy } from "./checks.ts";
import { lostWrites, writers } from "./load.ts";
import { CANNOT_LOSE } from "./lost-packets.ts";

const SECONDS = 20;
const LOST_SHARE = 0.05;
const UNUSED_PORT = "1";

// Tried before anything is started that would have to be stopped.
tried("`ip` of iproute2 is not installed, or may not be used", () => command("ip", "link", "set", "lo", "up"));
tried("the kernel or iptables has no `statistic` match", () => losePacketsOf(UNUSED_PORT));

const database = await benchDatabase();
const server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
try {
  const pid = server.pid();
  losePacketsOf(new URL(database.url).port);
  const writing = writers(server, 4);
  await delay(SECONDS * 1000);
  const { acknowledged, refused } = await writing.end();
  const dropped = droppedPackets();
  expect(dropped > 0 && acknowledged.length > 0, `${dropped} packets lost, ${acknowledged.length} writes acknowledged`);
  expect(await canRead(server), "reads are not answered");
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  expect(server.pid() === pid && (await isHealthy(server)), "the server's process ended");
  console.log(`${dropped} packets lost; ${acknowledged.length} writes acknowledged, none lost, ${refused} refused`);
} finally {
  await server.dispose();
  await database.stop();
}

function tried(why: string, work: () => unknown): void {
  try {
    work();
  } catch {
    console.log(why);
    process.exit(CANNOT_LOSE);
  }
}

/** Of the packets between Berth and its database, in both directions, and of no others. */
function losePacketsOf(port: string): void {
  const random = ["-m", "statistic", "--mode", "random", "--probability", String(LOST_SHARE), "-j", "DROP"];
  for (const side of ["--dport", "--sport"]) command("iptables", "-A", "INPUT", "-p", "tcp", side, port, ...random);
}

/** The first column of the list counts packets. */
function droppedPackets(): number {
  const list = command("iptables", "-L", "INPUT", "-v", "-x", "-n");
  return [...list.matchAll(/^\s*(\d+)\s+\d+\s+DROP/gm)].reduce((sum, [, packets]) => sum + Number(packets), 0);
}

function command(program: string, ...argv: string[]): string {
  return execFileSync(program, argv, { encoding: "utf8", stdio: "pipe" });
}
