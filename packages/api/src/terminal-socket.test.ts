import type { AddressInfo } from "node:net";
import { liveKeyOf } from "@berth/core/deploy";
import type { Terminal, TerminalOptions } from "@berth/core/ports";
import type { TerminalSize } from "@berth/core/resource";
import { type PrintingEngine, printingEngine, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { gitApplication, type Served, served } from "./berth.fixture.ts";
import { person } from "./browser.fixture.ts";

/** A shell that prints what it reads, and its size. */
class Echo implements Terminal {
  readonly #printed: Uint8Array[] = [];
  #wake = () => {};
  isClosed = false;
  readonly output = this.#read();

  constructor(size: TerminalSize) {
    this.#print(`${size.columns}x${size.rows};`);
  }
  async write(input: Uint8Array) {
    if (String(input) === "exit") this.isClosed = true;
    this.#print(String(input));
  }
  async resize({ columns, rows }: TerminalSize) {
    this.#print(`${columns}x${rows};`);
  }
  async exitCode() {
    return 7;
  }
  async close() {
    this.isClosed = true;
    this.#wake();
  }
  #print(text: string) {
    this.#printed.push(Buffer.from(text));
    this.#wake();
  }
  async *#read() {
    for (;;) {
      yield* this.#printed.splice(0);
      if (this.isClosed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

let api: Served;
let port: number;
let application: string;
let engine: PrintingEngine;
const terminals: Echo[] = [];
const sockets: WebSocket[] = [];
const asked: (TerminalOptions | undefined)[] = [];

const opened = (size: TerminalSize) => {
  const terminal = new Echo(size);
  terminals.push(terminal);
  return Promise.resolve(terminal);
};

beforeAll(async () => {
  const containers = {
    command: () => Promise.reject(new Error("No commands.")),
    terminal: (_ref: unknown, size: TerminalSize, options?: TerminalOptions) => {
      asked.push(options);
      return opened(size);
    },
  };
  const made = { ...printingEngine(), containers };
  engine = made;
  api = await served({ engineFor: () => made, machineFor: () => ({ terminal: opened }) });
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  port = (api.app.server.address() as AddressInfo).port;
  application = await runningApplication();
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});

async function runningApplication(): Promise<string> {
  const { json } = await api.ask("POST", "/applications/public", {
    body: { ...gitApplication(api), instant_deploy: true },
  });
  const { deployments, releases } = api.db.system;
  const claim = await deployments.claimNext({ owner: "test", leaseSeconds: 60 });
  if (claim === undefined) throw new Error("Nothing waits.");
  const artifact = { type: "image", image: "test" } as const;
  await releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by: claim.deployment.uuid });
  await releases.promote(claim.lease);
  await deployments.finish(claim.lease, "finished", null);
  return json.uuid;
}

interface Said {
  readonly opened?: true;
  readonly ended?: true;
  readonly error?: { readonly code: string; readonly status: number; readonly message: string };
}

async function dial(headers: Readonly<Record<string, string>>, opening: object) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/terminal`, { headers });
  sockets.push(socket);
  const said: Said[] = [];
  let shown = "";
  let isClosed = false;
  socket.on("close", () => {
    isClosed = true;
  });
  socket.on("message", (data, isBinary) => {
    if (isBinary) shown += String(data);
    else said.push(JSON.parse(String(data)));
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  socket.send(JSON.stringify({ columns: 80, rows: 24, ...opening }));
  return { socket, said, text: () => shown, isClosed: () => isClosed };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const inApplication = () => ({ kind: "application", uuid: application });

async function refusalOf(token: string, opening: object): Promise<readonly unknown[]> {
  const { said, isClosed } = await dial(bearer(token), opening);
  await until(isClosed);
  return said.map(({ error }) => `${error?.status} ${error?.code}`);
}

describe("a terminal", () => {
  test("carries what is typed and printed, and sizes, and is recorded with its length", async () => {
    const { socket, said, text, isClosed } = await dial(bearer(await api.tokenWith("terminal")), inApplication());
    socket.send(Buffer.from("ls\n"));
    socket.send(JSON.stringify({ columns: 100, rows: 50 }));
    await until(() => text() === "80x24;ls\n100x50;");
    socket.send(Buffer.from("exit"));
    await until(isClosed);
    expect(said).toEqual([{ opened: true }, { ended: true, exit_code: 7 }]);
    const recorded = async () =>
      (await api.ask("GET", `/events?type=terminal.&resource=${application}`)).json.events.slice(0, 2);
    await until(async () => (await recorded())[0]?.type === "terminal.closed");
    expect(await recorded()).toMatchObject([
      { type: "terminal.closed", payload: { seconds: expect.any(Number) }, actor: { type: "token", name: "test" } },
      { type: "terminal.opened", payload: { resource_kind: "application" }, actor: { type: "token", name: "test" } },
    ]);
  });

  test("runs the program that is asked for, and only in a container", async () => {
    const token = await api.tokenWith("terminal");
    const command = ["printf", "%s", "two words; $x"];
    const { said } = await dial(bearer(token), { ...inApplication(), command });
    await until(() => said.length === 1);
    expect(asked.at(-1)).toEqual({ container: undefined, command: { argv: command, variables: {} } });
    for (const refused of [[], [""], ["a\0b"], "ls"]) {
      expect(await refusalOf(token, { ...inApplication(), command: refused })).toEqual(["422 request.invalid"]);
    }
    expect(await refusalOf(token, { ...inApplication(), client: true })).toEqual(["422 request.invalid"]);
    const chosen = { kind: "database", uuid: "x", client: true, command };
    expect(await refusalOf(token, chosen)).toEqual(["422 request.invalid"]);
    const server = { kind: "server", uuid: api.place.server.uuid, command };
    expect(await refusalOf(api.rootToken, server)).toEqual(["422 request.invalid"]);
  });

  test("needs its own ability, root for a server, and the team that owns the place", async () => {
    const own = await api.tokenWith("read", "read:sensitive", "write", "write:sensitive", "deploy");
    expect(await refusalOf(own, inApplication())).toEqual(["403 auth.missing_ability"]);
    const terminal = await api.tokenWith("terminal");
    const server = { kind: "server", uuid: api.place.server.uuid };
    expect(await refusalOf(terminal, server)).toEqual(["403 auth.missing_ability"]);
    const { powerfulToken } = api.otherTeam;
    expect(await refusalOf(powerfulToken, inApplication())).toEqual(["404 resource.not_found"]);
    expect(await refusalOf(powerfulToken, server)).toEqual(["404 resource.not_found"]);
    expect(await refusalOf("1|unknown", inApplication())).toEqual(["401 auth.unauthenticated"]);
    expect(await refusalOf(terminal, { ...inApplication(), columns: 0 })).toEqual(["422 request.invalid"]);
  });

  test("in a container that it lacks is refused with those that it has", async () => {
    const { id = 0, server_id = 0 } = (await api.stores.applications.find(application)) ?? {};
    const live = await api.stores.releases.live(liveKeyOf({ id, server_id }));
    const one = { state: "running", restartCount: 0, exitCode: null, startedAt: null } as const;
    const replica = { ...one, name: "replica", isReplica: true, address: null, port: null, isExcluded: false } as const;
    const containers = [1, 2].map((number) => ({ ...replica, number }));
    const ref = { resourceUuid: application, deploymentUuid: live?.deployment_uuid ?? "" };
    engine.show({ ...one, ...ref, upstream: null, containers });
    const token = bearer(await api.tokenWith("terminal"));
    const { said, isClosed } = await dial(token, { ...inApplication(), container: "nope" });
    await until(isClosed);
    expect(said.map(({ error }) => [error?.code, error?.message])).toEqual([
      ["resource.not_found", expect.stringMatching(/ has no container nope\. It has replica-1, replica-2\.$/)],
    ]);
    const other = await dial(token, { ...inApplication(), container: "replica-2" });
    await until(() => other.said.some((one) => one.opened));
  });

  test("on the machine of Berth itself is the root team's alone", async () => {
    const server = { kind: "server", uuid: api.place.server.uuid };
    expect(await refusalOf(await api.tokenWith("root"), server)).toEqual(["403 auth.root_team_only"]);
  });

  test("closes with its shell when the token is revoked", async () => {
    const token = await api.tokenWith("terminal");
    const { said, isClosed } = await dial(bearer(token), inApplication());
    await until(() => said.length === 1);
    const shell = terminals.at(-1);
    await api.stores.tokens.delete(Number(token.split("|")[0]));
    await until(isClosed);
    // Not the end of the shell, which the revocation causes.
    expect(said.map(({ opened, error }) => opened ?? error?.code)).toEqual([true, "auth.unauthenticated"]);
    await until(() => shell?.isClosed === true);
  });

  test("closes when its user may do less", async () => {
    const { browser, id, teamId } = await person(api);
    const { cookie = "", "x-berth-session-key": session_key } = browser.headers;
    const page = { origin: `http://127.0.0.1:${port}`, cookie };
    const { said, isClosed } = await dial(page, { ...inApplication(), session_key });
    await until(() => said.length === 1);
    expect(said).toEqual([{ opened: true }]);
    await api.ask("PATCH", `/teams/${teamId}/members/${id}`, { body: { role: "member" }, token: api.rootToken });
    await until(isClosed);
    expect(said.at(-1)?.error?.code).toMatch(/^auth\./);
  });

  test("cannot be opened by a foreign page, nor with half of a session", async () => {
    const { browser } = await person(api);
    const { cookie = "", "x-berth-session-key": session_key } = browser.headers;
    for (const origin of ["http://evil.test", `http://127.0.0.1:${port + 1}`, "null"]) {
      await expect(dial({ origin, cookie }, { ...inApplication(), session_key })).rejects.toThrow("403");
    }
    const { said, isClosed } = await dial({ origin: `http://127.0.0.1:${port}`, cookie }, inApplication());
    await until(isClosed);
    expect(said.map(({ error }) => error?.code)).toEqual(["auth.unauthenticated"]);
  });

  test("ends its shell when the client is gone", async () => {
    const { socket, said } = await dial(bearer(await api.tokenWith("terminal")), inApplication());
    await until(() => said.length === 1);
    const shell = terminals.at(-1);
    socket.terminate();
    await until(() => shell?.isClosed === true);
  });
});
