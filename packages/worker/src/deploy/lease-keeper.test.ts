import type { SystemDeploymentStore } from "@berth/core/ports";
import { until } from "@berth/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { wakeSignal } from "../wake-signal.ts";
import { keepLease, type LeaseKeeper } from "./lease-keeper.ts";

type Renew = SystemDeploymentStore["renew"];

const serverLeases: LeaseKeeper[] = [];
afterEach(() => {
  for (const leaseKeeper of serverLeases.splice(0)) leaseKeeper.close();
  vi.useRealTimers();
});

function holdWith(renew: Renew, settings = { leaseSeconds: 0.4, renewSeconds: 0.05 }) {
  const beat = wakeSignal();
  const silent = () => undefined;
  const leaseKeeper = keepLease({
    deployments: { renew } as SystemDeploymentStore, // Nothing else is called.
    lease: { deployment_id: 1, owner: "w", attempt: 1 },
    settings,
    wakeSignal: beat,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  serverLeases.push(leaseKeeper);
  return { leaseKeeper, beat };
}

describe("a hold of a deployment", () => {
  test("is kept as long as it is renewed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { leaseKeeper } = holdWith(async () => "held");
    // Longer than the lease.
    await vi.advanceTimersByTimeAsync(1000);
    expect(leaseKeeper.ending).toBeUndefined();
    expect(leaseKeeper.signal.aborted).toBe(false);
  });

  test("is lost before the lease runs out when the database is away", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { leaseKeeper } = holdWith(() => Promise.reject(new Error("away")));
    await vi.advanceTimersByTimeAsync(350);
    expect(leaseKeeper.isLost).toBe(false);
    await vi.advanceTimersByTimeAsync(40);
    expect(leaseKeeper.isLost).toBe(true);
    expect(leaseKeeper.signal.aborted).toBe(true);
    expect(leaseKeeper.leaving.aborted).toBe(true);
  });

  test("is lost when a renewal never answers", async () => {
    const { leaseKeeper } = holdWith(() => new Promise(() => undefined));
    await until(() => leaseKeeper.isLost, { what: "it is lost" });
  });

  test("is lost when another worker has it", async () => {
    const { leaseKeeper } = holdWith(async () => "lost");
    await until(() => leaseKeeper.ending === "lost", { what: "it is lost" });
  });

  test("hears of a cancel with the next beat", async () => {
    let isAsked = false;
    const renew: Renew = async () => (isAsked ? "cancel_requested" : "held");
    const { leaseKeeper, beat } = holdWith(renew, { leaseSeconds: 60, renewSeconds: 60 });
    isAsked = true;
    beat.beat();
    await until(() => leaseKeeper.ending === "cancelled", { what: "it is cancelled" });
    expect(leaseKeeper.signal.aborted).toBe(true);
    expect(leaseKeeper.leaving.aborted).toBe(false);
  });

  test("heeds neither a cancel nor the time limit once traffic flows, but a loss", async () => {
    let answer: Awaited<ReturnType<Renew>> = "cancel_requested";
    const { leaseKeeper } = holdWith(async () => answer);
    leaseKeeper.commit();
    leaseKeeper.limit(0);
    await leaseKeeper.refresh();
    await until(async () => new Promise<boolean>((resolve) => setTimeout(resolve, 5, true)), {
      what: "the limit has passed",
    });
    expect(leaseKeeper.ending).toBeUndefined();
    expect(leaseKeeper.signal.aborted).toBe(false);
    answer = "lost";
    await until(() => leaseKeeper.ending === "lost", { what: "it is lost" });
    expect(leaseKeeper.leaving.aborted).toBe(true);
  });

  test("ends with its time limit", async () => {
    const { leaseKeeper } = holdWith(async () => "held");
    leaseKeeper.limit(0.05);
    await until(() => leaseKeeper.ending === "timeout", { what: "its time is over" });
  });

  test("that is given up ends after the grace time, and a cancel goes before it", async () => {
    let answer: Awaited<ReturnType<Renew>> = "held";
    const { leaseKeeper } = holdWith(async () => answer);
    leaseKeeper.giveUp(0.05);
    expect(leaseKeeper.isGivingUp).toBe(true);
    expect(leaseKeeper.ending).toBeUndefined();
    await until(() => leaseKeeper.ending === "given_up", { what: "the grace time is over" });
    answer = "cancel_requested";
    await until(() => leaseKeeper.ending === "cancelled", { what: "the cancel is heard" });
  });
});
