import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

// sshd must be started by an absolute path; the variable can name another copy.
const SSHD = process.env.BERTH_TEST_SSHD ?? "/usr/sbin/sshd";
export const hasSshd = existsSync(SSHD) && existsSync("/usr/bin/ssh-keygen");

/** A real sshd on loopback, with its own keys and configuration, run by the tests' user. */
export interface Sshd {
  readonly port: number;
  readonly user: string;
  /** Folder with its files, among them the private keys `user` and `stranger`, and the host keys `host` and `host2`. */
  readonly folder: string;
  readonly privateKey: string;
  keyOf(name: string): string;
  /** Fingerprint as `ssh-keygen -lf` prints it. */
  fingerprintOf(name: string): string;
  start(options?: { readonly hostKey?: string; readonly lines?: readonly string[] }): Promise<void>;
  /** Ends sshd with all of its connections. */
  stop(): Promise<void>;
  /** Ends only the connections, like a network failure. */
  cut(): void;
  remove(): Promise<void>;
}

export async function makeSshd(): Promise<Sshd> {
  const folder = mkdtempSync(join(tmpdir(), "berth-sshd-"));
  const port = await freePort();
  for (const name of ["host", "host2", "user", "stranger"]) {
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
  }
  let sshd: ChildProcess | undefined;
  const keyOf = (name: string) => readFileSync(join(folder, name), "utf8");
  const stop = async () => {
    const running = sshd;
    sshd = undefined;
    if (running?.pid === undefined || running.exitCode !== null) return;
    const children = descendants(running.pid);
    running.kill("SIGKILL");
    for (const pid of children) killIfThere(pid);
    if (running.exitCode === null && running.signalCode === null) await once(running, "exit");
  };
  return {
    port,
    user: userInfo().username,
    folder,
    privateKey: keyOf("user"),
    keyOf,
    fingerprintOf: (name) =>
      execFileSync("ssh-keygen", ["-lf", join(folder, `${name}.pub`)], { encoding: "utf8" }).split(" ")[1] ?? "",
    async start({ hostKey = "host", lines = [] } = {}) {
      await stop();
      const config = join(folder, "sshd_config");
      const own = [
        `Port ${port}`,
        "ListenAddress 127.0.0.1",
        `HostKey ${join(folder, hostKey)}`,
        `AuthorizedKeysFile ${join(folder, "user.pub")}`,
        "StrictModes no",
        // A shell that is killed while it runs the user's own .bashrc could leave a lock that stops all later logins.
        `SetEnv HOME=${folder}`,
        "UsePAM no",
        "PasswordAuthentication no",
        "PermitRootLogin prohibit-password",
        "Subsystem sftp internal-sftp",
        `PidFile ${join(folder, "sshd.pid")}`,
      ];
      // sshd uses the first value of each option.
      writeFileSync(config, [...lines, ...own, ""].join("\n"));
      if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
      sshd = spawn(SSHD, ["-D", "-e", "-f", config], { stdio: "ignore" });
      await answers(port);
    },
    stop,
    cut() {
      if (sshd?.pid !== undefined) for (const pid of descendants(sshd.pid)) killIfThere(pid);
    },
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Processes of connections, and the programs that run over them. */
function descendants(pid: number): number[] {
  const list = execFileSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" });
  const rows = list.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  const childrenOf = (parent: number): number[] =>
    rows.filter(([, ppid]) => ppid === parent).flatMap(([child = 0]) => [child, ...childrenOf(child)]);
  return childrenOf(pid);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
  server.close();
  return port;
}

async function answers(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("data", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (isThere) return;
    await delay(25);
  }
  throw new Error(`sshd does not answer on port ${port}.`);
}
