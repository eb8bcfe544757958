import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect as connectTo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { eventually } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type SshHost, type SshHostOptions, sshHost } from "./ssh-host.ts";
import { freePort, hasSshd, makeSshd, type Sshd } from "./sshd.fixture.ts";

if (!hasSshd) console.log("Skipped the tests of a host over SSH: no sshd is installed (openssh-server)");

const PATH = "/usr/local/bin:/usr/bin:/bin";
const SFTP_SERVER = "/usr/lib/openssh/sftp-server";
const env = { PATH };

describe.runIf(hasSshd)("a host over SSH", () => {
  let sshd: Sshd;
  let folder: string;
  const hosts: SshHost[] = [];

  beforeAll(async () => {
    sshd = await makeSshd();
    await sshd.start();
    folder = mkdtempSync(join(tmpdir(), "berth-ssh-host-"));
  });
  afterEach(async () => {
    await Promise.all(hosts.splice(0).map((host) => host.close()));
  });
  afterAll(async () => {
    await sshd.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const hostWith = (options: Partial<SshHostOptions> = {}): SshHost => {
    const host = sshHost({
      name: "web-1",
      ip: "127.0.0.1",
      port: sshd.port,
      user: sshd.user,
      connectTimeoutSeconds: 10,
      privateKey: async () => sshd.privateKey,
      hostKey: null,
      onHostKey: async () => {},
      bridgeFolder: join(folder, "bridges"),
      ...options,
    });
    hosts.push(host);
    return host;
  };

  describe("connecting", () => {
    test("records the host key before anything else, once, and holds to it", async () => {
      const onHostKey = vi.fn(async () => {});
      const host = hostWith({ onHostKey });
      await Promise.all([1, 2, 3].map(() => host.run(["true"], { env })));
      expect(onHostKey.mock.calls).toEqual([[sshd.fingerprintOf("host")]]);
      await sshd.start({ hostKey: "host2" });
      await expect(refusal(() => host.run(["true"], { env }), "shows the host key")).resolves.toContain(
        `shows the host key ${sshd.fingerprintOf("host2")}, but ${sshd.fingerprintOf("host")} was recorded`,
      );
      await sshd.start();
    });

    test("does not log in when the host key cannot be recorded", async () => {
      const host = hostWith({ onHostKey: () => Promise.reject(new Error("The database is away.")) });
      await expect(host.run(["true"], { env })).rejects.toMatchObject({ code: "server.unreachable" });
    });

    test("refuses a host key that is not the recorded one, naming both and what to do", async () => {
      const other = sshd.fingerprintOf("host2");
      const refusal = await hostWith({ hostKey: other })
        .run(["true"], { env })
        .catch((error: Error) => error.message);
      expect(refusal).toContain(sshd.fingerprintOf("host"));
      expect(refusal).toContain(other);
      expect(refusal).toContain("host_key to null");
    });

    test("tells a login that is refused", async () => {
      const host = hostWith({ privateKey: async () => sshd.keyOf("stranger") });
      await expect(host.run(["true"], { env })).rejects.toThrow(
        `Server web-1 refused the login ${sshd.user} with its key. Add the public key`,
      );
    });

    test("never quotes a key that cannot be read", async () => {
      const host = hostWith({ privateKey: async () => "-----BEGIN SECRET-----" });
      const error: unknown = await host.run(["true"], { env }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "server.unreachable" });
      expect(JSON.stringify([String(error), error])).not.toContain("SECRET");
    });

    test("tells a port on which nothing listens", async () => {
      const host = hostWith({ port: await freePort() });
      await expect(host.run(["true"], { env })).rejects.toThrow("refused the connection on 127.0.0.1");
    });

    test.each(["127.0.0.1", "localhost", "::1", "2130706433", "10.255.255.1"])(
      "to the private address %s needs it to be allowed, and says the same whatever listens there",
      async (ip) => {
        const messages = [];
        for (const port of [sshd.port, await freePort()]) {
          const refusal = await hostWith({ ip, port, privateHosts: [] })
            .run(["true"], { env })
            .catch((error) => error);
          messages.push([refusal.code, refusal.message]);
        }
        const expected = `The address ${ip} of server web-1 is private.`;
        expect(messages[0]).toEqual(["server.unreachable", expect.stringContaining(expected)]);
        expect(messages[1]).toEqual(messages[0]);
      },
    );

    test("to Berth's own machine is seen by the connection itself, also where the address is allowed", async () => {
      const host = hostWith({ privateHosts: ["127.0.0.0/8"] });
      await expect(host.run(["true"], { env })).rejects.toThrow("is Berth's own machine");
    });

    test("tells a name that nobody knows", async () => {
      await expect(hostWith({ ip: "no-such-machine.invalid" }).run(["true"], { env })).rejects.toThrow(
        "The host name no-such-machine.invalid of server web-1 cannot be resolved.",
      );
    });

    test("tells a machine that does not answer in time", async () => {
      const silent = createServer(() => {}).listen(0, "127.0.0.1");
      await once(silent, "listening");
      const address = silent.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const host = hostWith({ port, connectTimeoutSeconds: 0.2 });
      await expect(host.run(["true"], { env })).rejects.toThrow("did not answer within 0.2 s");
      silent.close();
    });

    test("tells what is no SSH server", async () => {
      const web = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1");
      await once(web, "listening");
      const address = web.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      await expect(hostWith({ port }).run(["true"], { env })).rejects.toMatchObject({ code: "server.unreachable" });
      web.close();
    });

    test("does not hammer a machine that refuses: callers within the wait get the last failure at once", async () => {
      let knocks = 0;
      const door = createServer((socket) => {
        knocks++;
        socket.destroy();
      }).listen(0, "127.0.0.1");
      await once(door, "listening");
      const address = door.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const host = hostWith({ port, retrySeconds: 30 });
      for (let call = 0; call < 5; call++) {
        await expect(host.run(["true"], { env })).rejects.toMatchObject({ code: "server.unreachable" });
      }
      expect(knocks).toBe(1);
      host.retryNow();
      await expect(host.run(["true"], { env })).rejects.toMatchObject({ code: "server.unreachable" });
      expect(knocks).toBe(2);
      door.close();
    });

    test("connects again after sshd was away", async () => {
      const host = hostWith({ retrySeconds: 0.01, retrySecondsMax: 0.05 });
      await host.run(["true"], { env });
      await sshd.stop();
      await expect(host.run(["true"], { env })).rejects.toMatchObject({ code: "server.unreachable" });
      await sshd.start();
      const isBack = async () => expect((await host.run(["true"], { env })).exitCode).toBe(0);
      await eventually(isBack);
    });
  });

  describe("running programs", () => {
    test("hands every argument over as it is, whatever is in it", async () => {
      const marker = join(folder, "marker");
      const hostile = [
        "",
        " ",
        "-n",
        "--",
        "a b",
        "$(touch MARKER)",
        "`touch MARKER`",
        "; touch MARKER",
        "' ; touch MARKER ; '",
        '"',
        "\\",
        "\\n",
        "a\nb",
        "\n.\n",
        "\r",
        "\t",
        "*",
        "~",
        "$HOME",
        "!!",
        "é漢\u202e😀",
        "%s",
        "EOF",
        "\u0001",
      ].map((word) => word.replaceAll("MARKER", marker));
      const { output, exitCode } = await hostWith().run(["printf", "%s\\0", ...hostile], { env });
      expect(exitCode).toBe(0);
      expect(output.split("\0").slice(0, -1)).toEqual(hostile);
      expect(existsSync(marker)).toBe(false);
    });

    test("gives exactly the environment that was asked for", async () => {
      const asked = { PATH, A: "1", B: "two words", C: "'\"$(id)`\\", D: "line\nline\n\nend\n", E: "" };
      const { output } = await hostWith().run(["env", "-0"], { env: asked });
      const got = output.split("\0").slice(0, -1);
      expect(got.toSorted()).toEqual(
        Object.entries(asked)
          .map(([name, value]) => `${name}=${value}`)
          .toSorted(),
      );
    });

    test("shows no variable in a list of the machine's processes", async () => {
      const host = hostWith();
      const secret = "s3cr3t-of-the-environment";
      const script = 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "';
      const { output } = await host.run(["sh", "-c", script], { env: { PATH, TOKEN: secret } });
      expect(output).toContain("sh");
      expect(output).not.toContain(secret);
    });

    test("runs in the folder asked for, and says when there is none", async () => {
      const host = hostWith();
      const odd = join(folder, "a folder; with 'odd' name");
      mkdirSync(odd);
      expect((await host.run(["pwd"], { env, cwd: odd })).output).toBe(`${odd}\n`);
      expect((await host.run(["pwd"], { env, cwd: join(folder, "none") })).exitCode).toBe(126);
    });

    test("gives the exit code, the lines of both outputs and a cut output", async () => {
      const lines: string[] = [];
      const script = "echo out; echo err >&2; exit 7";
      const result = await hostWith().run(["sh", "-c", script], {
        env,
        onLine: (line, stream) => lines.push(`${stream}: ${line}`),
        maxOutputBytes: 5,
      });
      expect(lines.sort()).toEqual(["stderr: err", "stdout: out"]);
      expect(result).toMatchObject({ exitCode: 7, isTruncated: true, isTimedOut: false });
      expect(result.output).toHaveLength(5);
    });

    test("gives 127 for a program that is not there and 128 + n for one that a signal ended", async () => {
      const host = hostWith();
      expect((await host.run(["no-such-program"], { env })).exitCode).toBe(127);
      expect((await host.run(["sh", "-c", "kill -KILL $$"], { env })).exitCode).toBe(137);
    });

    test("feeds standard input byte for byte, from a text or a stream, and nothing when there is none", async () => {
      const host = hostWith();
      const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 256));
      const sum = execFileSync("sha256sum", { input: bytes }).toString();
      expect((await host.run(["sha256sum"], { env, stdin: bytes })).output).toBe(sum);
      expect((await host.run(["sha256sum"], { env, stdin: Readable.from([bytes]) })).output).toBe(sum);
      expect((await host.run(["cat"], { env, stdin: "a\n" })).output).toBe("a\n");
      expect((await host.run(["cat"], { env, stdin: "" })).output).toBe("");
      expect((await host.run(["cat"], { env })).output).toBe("");
    });

    test("hands standard output over whole, however slowly it is taken", async () => {
      const stdout = new PassThrough({ highWaterMark: 1024 });
      const taken = text(stdout);
      const { exitCode, output } = await hostWith().run(["sh", "-c", "seq 1 200000; echo done >&2"], { env, stdout });
      expect(exitCode).toBe(0);
      expect(output).toBe("done\n");
      expect((await taken).trim().split("\n")).toHaveLength(200_000);
    });

    test("refuses half an input", async () => {
      const stdin = new Readable({ read() {} });
      const running = hostWith().run(["cat"], { env, stdin });
      stdin.push("half");
      stdin.destroy(new Error("The source is gone."));
      await expect(running).rejects.toMatchObject({ code: "engine.failed" });
    });

    test("ends the program and what it started on an abort", async () => {
      const abort = new AbortController();
      const script = "sleep 300 & echo $! $$; wait";
      let pids: number[] = [];
      const running = hostWith().run(["sh", "-c", script], {
        env,
        signal: abort.signal,
        onLine: (line) => {
          pids = line.split(" ").map(Number);
          abort.abort();
        },
      });
      await expect(running).rejects.toMatchObject({ code: "deploy.cancelled" });
      expect(pids).toHaveLength(2);
      await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
    });

    test("kills what does not heed, after a while", async () => {
      const script = 'trap "" TERM; echo $$; while :; do sleep 1; done';
      let pid = 0;
      const result = await hostWith().run(["sh", "-c", script], {
        env,
        timeoutSeconds: 0.5,
        onLine: (line) => {
          pid = Number(line) || pid;
        },
      });
      expect(result).toMatchObject({ exitCode: 124, isTimedOut: true });
      await eventually(() => expect(isAlive(pid)).toBe(false));
    });

    test("runs twenty at once on one connection, more than sshd has sessions for", async () => {
      const host = hostWith();
      const runs = Array.from({ length: 20 }, (_, index) =>
        host.run(["sh", "-c", `sleep 0.1; echo ${index}`], { env }),
      );
      expect((await Promise.all(runs)).map(({ output }) => output)).toEqual(runs.map((_, index) => `${index}\n`));
    });

    test("tells what a program writes from what the login's startup files do", async () => {
      const noise = 'echo "Welcome 1"; printf "half a line"; set -x; echo broken >&2';
      await sshd.start({ lines: [`ForceCommand /bin/sh -c '${noise}; eval "$SSH_ORIGINAL_COMMAND"'`] });
      const host = hostWith();
      const said = await host.run(["sh", "-c", "echo berth:begin; echo warned >&2; exit 3"], { env });
      expect(said).toMatchObject({ exitCode: 3, output: expect.stringMatching(/^(?:(?:berth:begin|warned)\n){2}$/) });
      const stdout = new PassThrough();
      const [taken] = await Promise.all([text(stdout), host.run(["printf", "%s", "\nwhole\n"], { env, stdout })]);
      expect(taken).toBe("\nwhole\n");
      const started = await host.run(["sh", "-c", "echo $$; sleep 300"], { env, timeoutSeconds: 0.5 });
      expect(started).toMatchObject({ isTimedOut: true });
      expect(isAlive(Number(started.output))).toBe(false);
      await sshd.start();
    });

    test.runIf(existsSync(SFTP_SERVER))("says why files cannot be sent past what a login writes", async () => {
      const files = `if [ "$SSH_ORIGINAL_COMMAND" = internal-sftp ]; then exec ${SFTP_SERVER}; fi`;
      await sshd.start({
        lines: [`ForceCommand /bin/sh -c 'echo Welcome; ${files}; eval "$SSH_ORIGINAL_COMMAND"'`],
      });
      const host = hostWith();
      await expect(host.files.read(join(folder, "x"))).rejects.toThrow("prints text at login");
      await expect(host.files.read(join(folder, "x"))).rejects.toThrow("prints text at login");
      expect((await host.run(["echo", "on"], { env })).output).toBe("on\n");
      await sshd.start();
    });

    test("shows what a login says that runs no programs", async () => {
      await sshd.start({ lines: ["ForceCommand echo This account is not available.; exit 1"] });
      const said = await hostWith().run(["true"], { env });
      expect(said).toMatchObject({ exitCode: 1, output: "This account is not available.\n" });
      await sshd.start();
    });

    test("does not wait for what a program left running, though that writes without end", async () => {
      const script = "(for n in $(seq 200); do echo more; sleep 0.1; done) & echo done";
      const result = await hostWith().run(["sh", "-c", script], { env });
      expect(result).toMatchObject({ exitCode: 0, output: expect.stringContaining("done") });
    });

    test("says that the connection broke off while a program ran", async () => {
      const host = hostWith();
      const running = host.run(["sh", "-c", "echo up; sleep 300"], { env, onLine: () => sshd.cut() });
      await expect(running).rejects.toMatchObject({ code: "server.unreachable" });
      expect((await host.run(["true"], { env })).exitCode).toBe(0);
    });
  });

  describe("sockets", () => {
    test("leads to a Unix socket there, and back", async () => {
      const { path, close } = await echo(join(folder, "echo.sock"));
      const channel = await hostWith().connectSocket(path);
      channel.end("hello");
      expect(await text(channel)).toBe("hello");
      close();
    });

    test("tells why a socket does not open", async () => {
      const host = hostWith();
      await expect(host.connectSocket(join(folder, "none.sock"))).rejects.toMatchObject({
        code: "engine.unreachable",
        message: expect.stringMatching(/^Socket .* does not exist/),
      });
      const dead = join(folder, "dead.sock");
      const script =
        "require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))";
      spawnSync(process.execPath, ["-e", script, dead]);
      await expect(host.connectSocket(dead)).rejects.toThrow("does not answer. Check that Docker runs there");
    });

    test("leads to TCP there, and tells what nobody listens on", async () => {
      const host = hostWith();
      const channel = await host.connectTcp({ host: "127.0.0.1", port: sshd.port });
      const [greeting] = await once(channel, "data");
      expect(String(greeting)).toMatch(/^SSH-2.0/);
      channel.destroy();
      const port = await freePort();
      await expect(host.connectTcp({ host: "127.0.0.1", port })).rejects.toMatchObject({
        code: "engine.unreachable",
        message: `Nothing answers on 127.0.0.1:${port} of server web-1.`,
      });
    });

    test("tells that forwarding is forbidden, and what to set", async () => {
      await sshd.start({ lines: ["AllowTcpForwarding no", "AllowStreamLocalForwarding no"] });
      const { path, close } = await echo(join(folder, "closed.sock"));
      const host = hostWith();
      await expect(host.connectTcp({ host: "127.0.0.1", port: sshd.port })).rejects.toThrow("AllowTcpForwarding yes");
      await expect(host.connectSocket(path)).rejects.toThrow("AllowStreamLocalForwarding yes");
      close();
      await sshd.start();
    });

    test("opens nothing after an abort", async () => {
      await expect(hostWith().connectSocket("/x", AbortSignal.abort())).rejects.toMatchObject({
        code: "deploy.cancelled",
      });
    });

    test("bridges a socket to one of this machine that nobody else may enter, gone with the host", async () => {
      const { path, close } = await echo(join(folder, "far.sock"));
      const host = hostWith();
      const near = await host.socketBridge(path);
      expect(await host.socketBridge(path)).toBe(near);
      expect(statSync(join(folder, "bridges")).mode & 0o777).toBe(0o700);
      const client = connectTo({ path: near, allowHalfOpen: true });
      client.end("over the bridge");
      expect(await text(client)).toBe("over the bridge");
      await host.close();
      expect(existsSync(near)).toBe(false);
      expect(readdirSync(join(folder, "bridges"))).toEqual([]);
      close();
    });
  });

  describe("files", () => {
    const hostileNames = ["a b", "-rf", "$(id)", "`id`", "'", '"', "a\nb", "*", "é漢😀", "..x", ";", "\\"];

    test("writes, reads, lists and removes files with any name", async () => {
      const { files } = hostWith();
      const there = join(folder, "files");
      await files.makeFolder(join(there, "deep", "er"));
      for (const name of hostileNames) await files.write(join(there, "deep", name), name);
      expect((await files.list(join(there, "deep"))).toSorted()).toEqual(["er", ...hostileNames].toSorted());
      for (const name of hostileNames) {
        expect(String(await files.read(join(there, "deep", name)))).toBe(name);
        await files.remove(join(there, "deep", name));
      }
      expect(await files.list(join(there, "deep"))).toEqual(["er"]);
      await files.remove(there);
      await files.remove(there);
      expect(await files.list(there)).toEqual([]);
      expect(await files.read(join(there, "none"))).toBeUndefined();
    });

    test("gives a file its mode, and makes a folder that is there already no problem", async () => {
      const { files } = hostWith();
      const path = join(folder, "mode");
      await files.write(path, "x", { mode: 0o646 });
      expect(statSync(path).mode & 0o777).toBe(0o646);
      await files.makeFolder(folder);
      await expect(files.makeFolder(join(path, "below"))).rejects.toMatchObject({ code: "engine.failed" });
    });

    test("replaces a file at once: a reader sees the old or the new whole", async () => {
      const { files } = hostWith();
      const path = join(folder, "swap");
      const contents = ["a".repeat(100_000), "b".repeat(50_000)];
      writeFileSync(path, contents[0] ?? "");
      let isWriting = true;
      const writing = (async () => {
        for (let turn = 0; turn < 40; turn++) await files.write(path, contents[turn % 2] ?? "");
        isWriting = false;
      })();
      const seen = new Set<string>();
      while (isWriting) {
        seen.add(readFileSync(path, "utf8"));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await writing;
      expect([...seen].filter((content) => !contents.includes(content))).toEqual([]);
      expect(readdirSync(folder).filter((name) => name.endsWith(".new"))).toEqual([]);
    });

    test("follows no link in the last part of what it writes or removes", async () => {
      const { files } = hostWith();
      const kept = join(folder, "kept");
      mkdirSync(kept);
      writeFileSync(join(kept, "file"), "mine");
      symlinkSync(join(kept, "file"), join(folder, "link"));
      await files.write(join(folder, "link"), "theirs");
      expect(readFileSync(join(kept, "file"), "utf8")).toBe("mine");
      symlinkSync(kept, join(folder, "folder-link"));
      await files.remove(join(folder, "folder-link"));
      expect(readdirSync(kept)).toEqual(["file"]);
    });

    test("continues after the connection was cut", async () => {
      const { files } = hostWith();
      await files.write(join(folder, "cut"), "1");
      sshd.cut();
      await eventually(async () => expect(String(await files.read(join(folder, "cut")))).toBe("1"));
    });
  });

  test("does nothing any more once it is closed", async () => {
    const host = hostWith();
    await host.run(["true"], { env });
    await host.close();
    await host.close();
    await expect(host.run(["true"], { env })).rejects.toMatchObject({ code: "server.unreachable" });
  });
});

/** Repeats the work until it is refused with a message that contains `what`, and returns that message. */
async function refusal(work: () => Promise<unknown>, what: string): Promise<string> {
  return await eventually(async () => {
    const message = await work().then(
      () => "",
      (error: Error) => error.message,
    );
    expect(message).toContain(what);
    return message;
  });
}

async function echo(path: string) {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(path);
  await once(server, "listening");
  return { path, close: () => server.close() };
}

function isAlive(pid: number): boolean {
  try {
    // A zombie does not run; it only waits for its parent.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
