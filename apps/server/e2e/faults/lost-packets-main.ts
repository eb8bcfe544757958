// Run in a network of its own: `unshare --net node lost-packets-main.ts`. Prints what happened.
import { execFileSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { benchDatabase } from "../../../../bench/database.ts";
import { testServer } from "../server.fixture.ts";
import { expect, isHealthy } from "./checks.ts";
import { lostWrites, writers } from "./load.ts";
import { CANNOT_LOSE } from "./lost-packets.ts";

const SECONDS = 20;

try {
  execFileSync("ip", ["link", "set", "lo", "up"], { stdio: "ignore" });
  execFileSync("tc", ["qdisc", "add", "dev", "lo", "root", "netem", "loss", "5%"], { stdio: "ignore" });
} catch {
  process.exit(CANNOT_LOSE);
}
const database = await benchDatabase();
const server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
try {
  const pid = server.pid();
  const writing = writers(server, 4);
  await delay(SECONDS * 1000);
  const { acknowledged, refused } = await writing.end();
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  expect(server.pid() === pid && (await isHealthy(server)), "the server's process ended");
  console.log(`${acknowledged.length} writes acknowledged, none lost, ${refused} refused`);
} finally {
  await server.dispose();
  await database.stop();
}
