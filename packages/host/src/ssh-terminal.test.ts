import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SshHost, sshHost } from "./ssh-host.ts";
import { hasSshd, makeSshd, type Sshd } from "./sshd.fixture.ts";

describe.runIf(hasSshd)("a terminal over SSH", () => {
  let sshd: Sshd;
  let folder: string;
  let host: SshHost;
  beforeAll(async () => {
    sshd = await makeSshd();
    await sshd.start();
    folder = mkdtempSync(join(tmpdir(), "berth-ssh-terminal-"));
    host = sshHost({
      name: "web-1",
      ip: "127.0.0.1",
      port: sshd.port,
      user: sshd.user,
      connectTimeoutSeconds: 10,
      privateKey: async () => sshd.privateKey,
      hostKey: null,
      onHostKey: async () => {},
      bridgeFolder: join(folder, "bridges"),
    });
  });
  afterAll(async () => {
    await host?.close();
    await sshd.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function opened() {
    const terminal = await host.terminal({ columns: 100, rows: 40 });
    let shown = "";
    const ended = (async () => {
      for await (const bytes of terminal.output) shown += Buffer.from(bytes).toString("utf8");
    })();
    ended.catch(() => undefined);
    return { terminal, ended, text: () => shown };
  }

  test("is a tty of the login user that follows its reader's size", async () => {
    const { terminal, ended, text } = await opened();
    await terminal.write(Buffer.from("stty size; id -un\n"));
    await eventually(() => expect(text()).toMatch(new RegExp(`40 100\\s+${sshd.user}`)));
    await terminal.resize({ columns: 77, rows: 33 });
    await terminal.write(Buffer.from("stty size\n"));
    await eventually(() => expect(text()).toContain("33 77"));
    await terminal.write(Buffer.from("exit 7\n"));
    await ended;
    expect(await terminal.exitCode()).toBe(7);
  });

  test("is closed without ending the connection that it shares", async () => {
    const { terminal, ended } = await opened();
    await terminal.close();
    await ended;
    expect(await host.run(["true"], { env: { PATH: "/usr/bin:/bin" } })).toMatchObject({ exitCode: 0 });
  });

  test("leaves sessions to others: a server has few at once, and one more is refused", async () => {
    const terminals = [];
    for (let count = 1; count <= 4; count++) terminals.push(await opened());
    await expect(opened()).rejects.toMatchObject({
      code: "rate.limited",
      message: expect.stringContaining("at most 4 terminals on server web-1"),
    });
    expect(await host.run(["true"], { env: { PATH: "/usr/bin:/bin" } })).toMatchObject({ exitCode: 0 });
    const [first, ...rest] = terminals;
    await first?.terminal.close();
    await first?.ended;
    const again = await eventually(opened);
    for (const { terminal } of [again, ...rest]) await terminal.close();
  });

  test("reports a connection that broke", async () => {
    const { ended } = await eventually(opened);
    await sshd.start();
    expect(await ended.catch((error: Error) => error)).toMatchObject({ code: "server.unreachable" });
  });
});
