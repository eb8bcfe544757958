// Cost of many idle servers: simulated engines that answer the real API over sockets.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { sshKeyPair } from "../packages/testing/src/git-ssh-server.ts";
import { until } from "../packages/testing/src/until.ts";
import { cpuMs, rssMb } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const MAIN = fileURLToPath(new URL("./fleet-main.ts", import.meta.url));
const ENGINES = fileURLToPath(new URL("./simulated-engines.ts", import.meta.url));
const SERVERS = 100;
const SETTLE_SECONDS = 20;
const IDLE_SECONDS = 60;

export async function benchFleet(): Promise<readonly Figure[]> {
  const sockets = mkdtempSync(join(tmpdir(), "berth-engines-"));
  const engines = spawn(process.execPath, [ENGINES, sockets, String(SERVERS)], { stdio: "inherit" });
  let server: TestServer | undefined;
  try {
    await until(async () => (readdirSync(sockets).length >= SERVERS ? true : undefined));
    server = await testServer({ main: MAIN, env: { BERTH_ENGINES: sockets } });
    await register(server);
    await pause(SETTLE_SECONDS);
    const pid = server.pid();
    const before = cpuMs(pid);
    await pause(IDLE_SECONDS);
    const share = ((cpuMs(pid) - before) / (IDLE_SECONDS * 1000)) * 100;
    return [
      atMost(`Server process with ${SERVERS} idle servers, RSS`, rssMb(pid), 250, " MB"),
      atMost(`Server process with ${SERVERS} idle servers, share of a core`, share, 5, " %"),
    ];
  } finally {
    await server?.dispose();
    engines.kill();
    rmSync(sockets, { recursive: true, force: true });
  }
}

/** Servers are validated like those of users, since only validated ones are probed. */
async function register(server: TestServer): Promise<void> {
  const key = await server.rest("POST", "/security/keys", { name: "fleet", private_key: sshKeyPair().privateKey });
  const private_key_uuid = (key.body as { uuid: string }).uuid;
  const uuids: string[] = [];
  for (let n = 1; n <= SERVERS; n += 1) {
    const name = `server-${n}`;
    const created = await server.rest("POST", "/servers", {
      name,
      ip: `10.77.0.${n}`,
      private_key_uuid,
      instant_validate: true,
    });
    if (created.status !== 201) throw new Error(`Not created: ${JSON.stringify(created.body)}`);
    uuids.push((created.body as { uuid: string }).uuid);
  }
  for (const uuid of uuids) {
    const isUsable = async () => {
      const { body } = await server.rest("GET", `/servers/${uuid}`);
      return (body as { is_usable: boolean }).is_usable;
    };
    await until(isUsable, { seconds: 120 });
  }
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
