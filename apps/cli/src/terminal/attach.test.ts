import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { until } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { EXIT } from "../failure.ts";
import { type AttachOptions, attach, requireTerminal } from "./attach.ts";

let server: WebSocketServer;
let url: string;
beforeEach(async () => {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  // A server that listens on a port has such an address.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

/** A terminal that records its modes. */
function fakeTerminal() {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 90, rows: 40 });
  let shown = "";
  stdout.on("data", (chunk: Buffer) => {
    shown += chunk.toString();
  });
  return { stdin, stdout, modes, shown: () => shown };
}

/** Attaches a terminal. `served` is the server's side of the connection. */
async function attached(options?: AttachOptions) {
  const terminal = fakeTerminal();
  const connected = once(server, "connection");
  const connection = { url, token: "1|secret", origin: "the test" };
  const ended = attach(connection, terminal, { kind: "application", uuid: "a", command: ["ls"] }, options);
  ended.catch(() => undefined);
  const [served, request] = (await connected) as [WebSocket, { headers: Record<string, string> }];
  const said: string[] = [];
  let typed = "";
  served.on("message", (data: Buffer, isBinary) => {
    if (isBinary) typed += data.toString();
    else said.push(data.toString());
  });
  const say = (message: object) => served.send(JSON.stringify(message));
  return { ...terminal, ended, served, request, said, say, typed: () => typed };
}

describe("an attached terminal", () => {
  test("carries keys, output and sizes unchanged, and returns the exit code with the terminal as before", async () => {
    const { ended, served, request, said, say, typed, stdin, stdout, modes, shown } = await attached();
    expect(request.headers.authorization).toBe("Bearer 1|secret");
    await until(() => said.length === 1);
    expect(JSON.parse(said[0] ?? "")).toEqual({
      ...{ kind: "application", uuid: "a", command: ["ls"], columns: 90, rows: 40 },
    });
    expect(modes).toEqual([]);
    say({ opened: true });
    await until(() => modes.length === 1);
    stdin.write("a\u0003\u0004\u001a");
    await until(() => typed() === "a\u0003\u0004\u001a");
    Object.assign(stdout, { columns: 100, rows: 50 }).emit("resize");
    await until(() => said.at(-1) === '{"columns":100,"rows":50}');
    served.send(Buffer.from("\u001b[1mgreen\u001b[0m"));
    say({ ended: true, exit_code: 7 });
    expect(await ended).toBe(7);
    expect(shown()).toBe("\u001b[1mgreen\u001b[0m");
    expect(modes).toEqual([true, false]);
    expect(stdin.isPaused()).toBe(true);
    expect(stdout.listenerCount("resize")).toBe(0);
  });

  test.each([
    ["is refused", false],
    ["loses its right", true],
  ])("that %s says why, as the API does", async (_case, isOpen) => {
    const { ended, say, modes } = await attached();
    if (isOpen) say({ opened: true });
    say({ error: { message: "The right was taken away.", code: "auth.missing_ability", status: 403 } });
    await expect(ended).rejects.toMatchObject({ problem: { code: "auth.missing_ability", status: 403 } });
    expect(modes).toEqual(isOpen ? [true, false] : []);
  });

  test("whose connection breaks or falls silent fails, and resets the screen", async () => {
    const broken = await attached();
    broken.say({ opened: true });
    await until(() => broken.modes.length === 1);
    broken.served.terminate();
    await expect(broken.ended).rejects.toMatchObject({ exitCode: EXIT.failed, message: expect.stringMatching(/lost/) });
    expect(broken.modes).toEqual([true, false]);
    // Out of the alternate screen, with a cursor.
    expect(broken.shown()).toContain("\u001b[?1047l\u001b[?25h");

    const silent = await attached({ silenceMsMax: 300 });
    silent.say({ opened: true });
    await expect(silent.ended).rejects.toThrow("The connection to the terminal was lost.");
    expect(silent.modes).toEqual([true, false]);
  });

  test("stays while nothing is printed, as long as the server answers", async () => {
    const { ended, served, say } = await attached({ silenceMsMax: 500 });
    say({ opened: true });
    for (let count = 0; count < 15; count++) {
      served.ping();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    say({ ended: true, exit_code: null });
    expect(await ended).toBe(null);
  });

  test("is refused without a terminal here, with what to type instead", () => {
    const { stdin, stdout } = fakeTerminal();
    requireTerminal({ stdin, stdout }, []);
    for (const system of [
      { stdin: new PassThrough(), stdout },
      { stdin, stdout: new PassThrough() },
    ]) {
      expect(() => requireTerminal(system, ["Type this."])).toThrow(
        expect.objectContaining({ exitCode: EXIT.usage, details: ["Type this."] }),
      );
    }
  });
});
