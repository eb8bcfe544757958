import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import type { SourceSpec } from "@berth/core/ports";
import { createRepository, startGitServer } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceFetcher } from "./fetcher.ts";

// sshd must be started by an absolute path; the variable can name another copy.
const SSHD = process.env.BERTH_TEST_SSHD ?? "/usr/sbin/sshd";
const hasSshd = existsSync(SSHD) && existsSync("/usr/bin/ssh-keygen");
if (!hasSshd) console.log(`Skipped the tests over ssh: ${SSHD} is not installed (openssh-server)`);

describe.runIf(hasSshd)("checkout over ssh", () => {
  let base: string;
  let port: number;
  let sshd: ChildProcess;
  let privateKey: string;
  let tip: string;

  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), "berth-ssh-"));
    tip = createRepository(join(base, "app")).commit({ a: "1" });
    for (const name of ["host", "host2", "user"]) {
      execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(base, name)]);
    }
    privateKey = readFileSync(join(base, "user"), "utf8");
    port = await freePort();
    sshd = await startSshd("host");
  });
  afterAll(() => {
    sshd.kill();
    rmSync(base, { recursive: true, force: true });
  });

  async function startSshd(hostKey: string): Promise<ChildProcess> {
    const config = join(base, "sshd_config");
    writeFileSync(
      config,
      [
        `Port ${port}`,
        "ListenAddress 127.0.0.1",
        `HostKey ${join(base, hostKey)}`,
        `AuthorizedKeysFile ${join(base, "user.pub")}`,
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "PermitRootLogin prohibit-password",
        `SetEnv PATH=${join(base, "bin")}:/usr/local/bin:/usr/bin:/bin`,
        `PidFile ${join(base, "sshd.pid")}`,
        "",
      ].join("\n"),
    );
    if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
    const child = spawn(SSHD, ["-D", "-e", "-f", config], { stdio: "ignore" });
    await answers(port);
    return child;
  }

  const spec = (fields: Partial<Extract<SourceSpec, { type: "git" }>> = {}): SourceSpec => ({
    type: "git",
    repository: `ssh://${userInfo().username}@127.0.0.1:${port}${base}/app`,
    branch: "main",
    commit: "HEAD",
    cacheOwner: "team 1",
    credentials: { type: "ssh", privateKey },
    ...fields,
  });
  const io = { signal: new AbortController().signal, onLine: () => {} };
  const fetcher = (folder = "sources", allowed = ["127.0.0.1", "localhost"]) =>
    sourceFetcher({ folder: join(base, folder), allowFileProtocol: false, allowedPrivateHosts: allowed });

  async function errorOf(work: Promise<unknown>) {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!isDomainError(error)) throw new Error("Expected a DomainError", { cause: error });
    return { code: error.code, message: error.message };
  }

  test("uses the given key, with any line ends, and remembers the host", async () => {
    const credentials = { type: "ssh", privateKey: privateKey.trim().replaceAll("\n", "\r\n") } as const;
    expect((await fetcher().checkout(spec({ credentials }), "d1", io)).commit).toBe(tip);
    const known = join(base, "sources", "known_hosts");
    expect(readFileSync(known, "utf8")).toContain(`[127.0.0.1]:${port}`);
    expect(statSync(known).mode & 0o077).toBe(0);
  });

  test("pins a host by its name, not by the address that it had", async () => {
    const { username } = userInfo();
    const repository = `ssh://${username}@localhost:${port}${base}/app`;
    expect((await fetcher("named").checkout(spec({ repository }), "d1", io)).commit).toBe(tip);
    expect(readFileSync(join(base, "named", "known_hosts"), "utf8")).toContain(`[localhost]:${port}`);
  });

  test("uses no key of the user who runs it", async () => {
    const error = await errorOf(fetcher().checkout(spec({ credentials: undefined }), "d1", io));
    expect(error.code).toBe("source.unauthorized");
    expect(error.message).toContain("Select a private key");
  });

  test("says that a key is not accepted or cannot be read", async () => {
    const other = readFileSync(join(base, "host2"), "utf8");
    const wrong = await errorOf(
      fetcher().checkout(spec({ credentials: { type: "ssh", privateKey: other } }), "d1", io),
    );
    expect(wrong.message).toContain("does not accept the private key");
    const broken = await errorOf(
      fetcher().checkout(spec({ credentials: { type: "ssh", privateKey: "junk" } }), "d1", io),
    );
    expect(broken.message).toContain("cannot be read");
    expect([wrong.code, broken.code]).toEqual(["source.unauthorized", "source.unauthorized"]);
  });

  test("says that there is no repository", async () => {
    const repository = `ssh://${userInfo().username}@127.0.0.1:${port}${base}/nope`;
    expect((await errorOf(fetcher().checkout(spec({ repository }), "d1", io))).code).toBe("source.not_found");
  });

  test("asks the host over ssh where its Git LFS files are", async () => {
    const large = "large ".repeat(100);
    const oid = createHash("sha256").update(large).digest("hex");
    const asked: (string | undefined)[] = [];
    const server = await startGitServer({
      root: base,
      intercept: (request, response) => {
        asked.push(request.headers.authorization);
        const href = `${server.url}/object`;
        const isBatch = request.url?.endsWith("/objects/batch");
        response.end(isBatch ? JSON.stringify({ objects: [{ oid, actions: { download: { href } } }] }) : large);
        return true;
      },
    });
    try {
      const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${large.length}\n`;
      createRepository(join(base, "it's large")).commit({ ".gitattributes": "* filter=lfs", "a.bin": pointer });
      const answer = JSON.stringify({ href: `${server.url}/lfs`, header: { Authorization: "RemoteAuth x" } });
      mkdirSync(join(base, "bin"));
      const script = `#!/bin/sh\n[ "$1 $2" = "${base}/it's large download" ] && echo '${answer}'\n`;
      writeFileSync(join(base, "bin/git-lfs-authenticate"), script, { mode: 0o755 });
      const repository = `ssh://${userInfo().username}@127.0.0.1:${port}${base}/it%27s%20large`;
      const { folder } = await fetcher().checkout(spec({ repository }), "d1", io);
      expect(readFileSync(join(folder, "a.bin"), "utf8")).toBe(large);
      expect(asked).toEqual(["RemoteAuth x", "RemoteAuth x"]);
    } finally {
      await server.close();
    }
  });

  test("refuses a host whose key has changed", async () => {
    await fetcher().checkout(spec(), "d1", io);
    sshd.kill();
    await new Promise((resolve) => sshd.once("exit", resolve));
    sshd = await startSshd("host2");
    const error = await errorOf(fetcher().checkout(spec(), "d2", io));
    expect(error.code).toBe("source.unreachable");
    expect(error.message).toContain("is not the one it had before");
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("No port");
  return address.port;
}

async function answers(port: number): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await delay(20)) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
    if (isOpen) return;
  }
  throw new Error(`Nothing listens on port ${port}`);
}
