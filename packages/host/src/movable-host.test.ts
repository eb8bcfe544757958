import { describe, expect, test } from "vitest";
import type { Host } from "./host.ts";
import { localHost } from "./local-host.ts";
import { movableHost } from "./movable-host.ts";

/** A host that returns its number when it reads a file, and records when it is closed. */
function numbered(at: number, closed: number[]): Host {
  const local = localHost(`host-${at}`);
  return {
    ...local,
    socketBridge: async () => String(at),
    close: async () => void closed.push(at),
  };
}

describe("a movable host", () => {
  test("is made once, at its first use", async () => {
    let count = 0;
    const host = movableHost("web", async () => numbered(++count, []));
    expect(count).toBe(0);
    expect(await Promise.all([host.socketBridge("/a"), host.socketBridge("/b")])).toEqual(["1", "1"]);
    expect(count).toBe(1);
  });

  test("is made anew after a move, and the one before is closed", async () => {
    const closed: number[] = [];
    let count = 0;
    const host = movableHost("web", async () => numbered(++count, closed));
    await host.socketBridge("/a");
    await host.move();
    expect(closed).toEqual([1]);
    expect(await host.socketBridge("/a")).toBe("2");
    await host.close();
    expect(closed).toEqual([1, 2]);
    await expect(host.socketBridge("/a")).rejects.toMatchObject({ code: "server.unreachable" });
  });

  test("is tried again after it could not be made", async () => {
    let count = 0;
    const host = movableHost("web", async () => {
      if (++count === 1) throw new Error("no route");
      return numbered(count, []);
    });
    await expect(host.socketBridge("/a")).rejects.toThrow("no route");
    expect(await host.socketBridge("/a")).toBe("2");
  });
});
