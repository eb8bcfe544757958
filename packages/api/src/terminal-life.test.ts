import type { AddressInfo } from "node:net";
import { until } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type TerminalLife, type TerminalTimes, terminalLife } from "./terminal-life.ts";

let server: WebSocketServer;
let client: WebSocket;
let notices: string[];
let signs: string[];

beforeEach(async () => {
  server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise((resolve) => server.once("listening", resolve));
  notices = [];
  signs = [];
});
afterEach(() => {
  client.terminate();
  server.close();
});

async function connected(times: TerminalTimes, options: { readonly autoPong?: boolean } = {}) {
  const accepted = new Promise<WebSocket>((resolve) => server.once("connection", resolve));
  const { port } = server.address() as AddressInfo; // It listens on a port, not on a pipe.
  client = new WebSocket(`ws://127.0.0.1:${port}`, options);
  client.on("error", () => undefined);
  client.on("message", (data) => signs.push(String(data)));
  const socket = await accepted;
  let isIdle = false;
  const life: TerminalLife = terminalLife(socket, times, (notice) => void notices.push(notice));
  void life.idle.then(() => {
    isIdle = true;
  });
  socket.once("close", () => life.stop());
  return { life, socket, isIdle: () => isIdle };
}

describe("an open terminal", () => {
  test("ends the connection of a client that does not answer", async () => {
    const { socket } = await connected({ idleSeconds: 0, pingSeconds: 0.05 }, { autoPong: false });
    await until(() => socket.readyState === socket.CLOSED);
  });

  test("shows its client a sign of life with every ping, and keeps one that answers", async () => {
    const { socket, life } = await connected({ idleSeconds: 0, pingSeconds: 0.5 });
    await until(() => signs.length >= 3);
    expect(new Set(signs)).toEqual(new Set(['{"alive":true}']));
    expect(socket.readyState).toBe(socket.OPEN);
    life.stop();
  });

  test("keeps a client whose input a shell does not read", async () => {
    const { socket, life } = await connected({ idleSeconds: 0, pingSeconds: 0.05 }, { autoPong: false });
    socket.pause();
    await until(() => signs.length >= 5);
    expect(socket.readyState).toBe(socket.OPEN);
    life.stop();
  });

  test("says that it ends before it ends, when nothing is typed", async () => {
    const { life, isIdle } = await connected({ idleSeconds: 0.4, pingSeconds: 60 });
    await until(() => notices.length === 1);
    expect(notices).toEqual([expect.stringMatching(/^Nothing was typed .* ends in 1 s unless you type\.$/)]);
    expect(isIdle()).toBe(false);
    await until(isIdle);
    expect(notices[1]).toBe("This terminal was ended, because nothing was typed.");
    life.stop();
  });

  test("begins anew with what is typed", async () => {
    const { life, isIdle } = await connected({ idleSeconds: 0.4, pingSeconds: 60 });
    for (let times = 1; times <= 3; times++) {
      await until(() => notices.length === times);
      life.typed();
    }
    expect(isIdle()).toBe(false);
    life.stop();
  });
});
