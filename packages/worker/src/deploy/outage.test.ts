import { DomainError } from "@berth/core";
import { noLeader } from "@berth/core/server";
import { describe, expect, test } from "vitest";
import { fakeMachine } from "../fake-machine.fixture.ts";
import { isBackFromOutage } from "./run.ts";

const LOST = new DomainError("server.unreachable", "Server web-1 broke off the connection.");
const STEP = { name: "build", resumable: true } as const;

/** @param refusals Number of failed pings before the machine answers. */
function interrupted({ refusals = 0, hasMachine = true, outageSecondsMax = 30 } = {}) {
  const cancel = new AbortController();
  const said: string[] = [];
  let pings = 0;
  const ping = async () => {
    pings += 1;
    if (pings <= refusals) throw LOST;
  };
  const run = {
    ctx: {
      leaseKeeper: { signal: cancel.signal, leaving: new AbortController().signal },
      adapters: { machine: hasMachine ? fakeMachine({ ping }) : undefined },
    },
    log: { say: (_step: unknown, text: string) => void said.push(text) },
    settings: { outageSecondsMax },
  };
  return { run, cancel, said, pings: () => pings };
}

describe("a step that lost its server", () => {
  test("is run once more as soon as the server answers, and the log says why it waits", async () => {
    const { run, said, pings } = interrupted({ refusals: 1 });
    expect(await isBackFromOutage(run, STEP, LOST, 1)).toBe(true);
    expect(pings()).toBe(2);
    expect(said).toEqual(["Server web-1 broke off the connection. Waits until it is back."]);
  });

  test("is run once more when its cluster has chosen another leader", async () => {
    const { run } = interrupted({ refusals: 1 });
    expect(await isBackFromOutage(run, STEP, noLeader("web-1"), 1)).toBe(true);
  });

  test.each([
    ["another reason", {}, STEP, new DomainError("deploy.build_failed", "It broke."), 1],
    ["a fault of Berth's own", {}, STEP, new TypeError("undefined is not a function"), 1],
    ["a step that cannot be repeated", {}, { ...STEP, resumable: false }, LOST, 1],
    ["the twentieth time", {}, STEP, LOST, 20],
    ["no connection to lose", { hasMachine: false }, STEP, LOST, 1],
    ["a server that stays away", { refusals: Number.POSITIVE_INFINITY, outageSecondsMax: 0.1 }, STEP, LOST, 1],
  ])("ends for %s", async (_why, options, step, cause, attempt) => {
    expect(await isBackFromOutage(interrupted(options).run, step, cause, attempt)).toBe(false);
  });

  test("waits no longer when it is cancelled", async () => {
    const { run, cancel } = interrupted({ refusals: Number.POSITIVE_INFINITY });
    const waiting = isBackFromOutage(run, STEP, LOST, 1);
    cancel.abort();
    expect(await waiting).toBe(false);
  });
});
