import { type AddressInfo, connect } from "node:net";
import { until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Served, served } from "./berth.fixture.ts";
import { person } from "./browser.fixture.ts";

let api: Served;
let port: number;
const open: WebSocket[] = [];
beforeAll(async () => {
  api = await served();
  await api.app.listen({ host: "127.0.0.1", port: 0 });
  port = (api.app.server.address() as AddressInfo).port;
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.terminate();
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});

interface Message {
  readonly id: number;
  readonly result?: { readonly type: string; readonly data?: { readonly data: { readonly resource_uuid: string } } };
  readonly error?: { readonly data: { readonly problem: { readonly code: string } } };
}

/** A socket as opened by tRPC's client. @param key Sent as its first message. */
async function socketWith(headers: Readonly<Record<string, string>>, key?: string) {
  const query = key === undefined ? "" : "?connectionParams=1";
  const socket = new WebSocket(`ws://127.0.0.1:${port}/trpc${query}`, { headers });
  open.push(socket);
  const messages: Message[] = [];
  socket.on("message", (data) => {
    const text = String(data);
    if (text.startsWith("{")) messages.push(JSON.parse(text));
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  if (key !== undefined) socket.send(JSON.stringify({ method: "connectionParams", data: { session_key: key } }));
  const ask = (id: number, method: string, path: string, input: object = {}) =>
    socket.send(JSON.stringify({ id, method, params: { path, input } }));
  const answers = (id: number) => messages.filter((message) => message.id === id);
  return {
    socket,
    ask,
    answers,
    types: (id: number) => answers(id).map(({ result, error }) => result?.type ?? error?.data.problem.code),
  };
}

const bearer = () => ({ authorization: `Bearer ${api.token}` });
const project = async () => (await api.ask("POST", "/projects", { body: { name: "Live" } })).json.uuid as string;

describe("a WebSocket", () => {
  test("carries many subscriptions, each from where its reader was", async () => {
    const { ask, answers, types } = await socketWith(bearer());
    const missed = await project();
    const { events } = (await api.ask("GET", `/events?resource=${missed}`)).json;
    ask(1, "subscription", "events.follow", { lastEventId: String(events[0].id - 1), type: "project." });
    ask(2, "subscription", "events.follow", { type: "server." });
    await until(() => types(1).includes("data") && types(2).includes("started"));
    const live = await project();
    const seen = () => answers(1).flatMap(({ result }) => result?.data?.data.resource_uuid ?? []);
    await until(() => seen().length === 2);
    expect(seen()).toEqual([missed, live]);
    expect(types(2)).toEqual(["started"]);
  });

  test("carries nothing else", async () => {
    const { ask, types } = await socketWith(bearer());
    ask(1, "query", "projects.list");
    ask(2, "mutation", "projects.create", { name: "Mine" });
    ask(3, "query", "health");
    await until(() => [1, 2, 3].every((id) => types(id).length > 0));
    expect([1, 2, 3].map(types)).toEqual(Array(3).fill(["request.method_not_allowed"]));
  });

  test("is a session's with both halves of its secret, and nobody's with one", async () => {
    const { browser } = await person(api);
    const { cookie = "", "x-berth-session-key": key } = browser.headers;
    const host = `127.0.0.1:${port}`;
    const page = { origin: `http://${host}`, cookie };
    const own = await socketWith(page, key);
    const half = await socketWith(page, "wrong");
    for (const { ask } of [own, half]) ask(1, "subscription", "events.follow");
    await until(() => own.types(1).length > 0 && half.types(1).length > 0);
    expect([own.types(1), half.types(1)]).toEqual([["started"], ["auth.unauthenticated"]]);
  });

  test("is not opened by a page of another origin", async () => {
    for (const origin of ["https://evil.test", `http://127.0.0.1:${port + 1}`, "null"]) {
      await expect(socketWith({ origin })).rejects.toThrow("403");
    }
  });

  test("ends its streams when the session ends, and begins no others", async () => {
    const { browser } = await person(api);
    const { cookie = "", "x-berth-session-key": key } = browser.headers;
    const { ask, types } = await socketWith({ origin: `http://127.0.0.1:${port}`, cookie }, key);
    ask(1, "subscription", "events.follow");
    await until(() => types(1).includes("started"));
    await browser.ask("POST", "/auth/sign-out", {});
    ask(2, "subscription", "events.follow");
    await until(() => types(1).includes("stopped") && types(2).length > 0);
    expect(types(2)).toEqual(["auth.unauthenticated"]);
  });

  test("gives back the places of subscriptions that ended, were refused, or went with it", async () => {
    const rounds = 3;
    for (let round = 0; round < rounds; round++) {
      const { socket, ask, types } = await socketWith(bearer());
      const ids = Array.from({ length: 90 }, (_, n) => n + 1);
      for (const id of ids) ask(id, "subscription", "events.follow");
      ask(91, "subscription", "events.follow", { type: "not a type" });
      await until(() => [...ids, 91].every((id) => types(id).length > 0));
      expect(new Set(ids.flatMap(types))).toEqual(new Set(["started"]));
      expect(types(91)).toEqual(["request.invalid"]);
      for (const id of ids.slice(0, 45)) socket.send(JSON.stringify({ id, method: "subscription.stop" }));
      await until(() => ids.slice(0, 45).every((id) => types(id).includes("stopped")));
      for (const id of ids.slice(0, 45)) ask(id + 200, "subscription", "events.follow");
      await until(() => ids.slice(0, 45).every((id) => types(id + 200).length > 0));
      expect(new Set(ids.slice(0, 45).flatMap((id) => types(id + 200)))).toEqual(new Set(["started"]));
      socket.terminate();
      await new Promise((resolve) => socket.once("close", resolve));
    }
  });

  test("that speaks nonsense hurts nobody", async () => {
    const { socket } = await socketWith(bearer());
    for (const text of [
      "",
      "{",
      "[]",
      '{"id":1}',
      '{"id":1,"method":"subscription","params":{"path":"nope"}}',
      "null",
    ]) {
      socket.send(text);
    }
    socket.send("x".repeat(70_000));
    await new Promise((resolve) => socket.once("close", resolve));
    const raw = connect(port, "127.0.0.1");
    raw.end("GET /trpc HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await new Promise((resolve) => raw.once("close", resolve).resume());
    expect((await api.ask("GET", "/health")).status).toBe(200);
  });
});
