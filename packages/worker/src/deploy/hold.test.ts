import type { SystemDeploymentStore } from "@berth/core/ports";
import { afterEach, describe, expect, test, vi } from "vitest";
import { pulse } from "../pulse.ts";
import { until } from "../world.fixture.ts";
import { type Hold, holdLease } from "./hold.ts";

type Renew = SystemDeploymentStore["renew"];

const holds: Hold[] = [];
afterEach(() => {
  for (const hold of holds.splice(0)) hold.close();
  vi.useRealTimers();
});

function holdWith(renew: Renew, settings = { leaseSeconds: 0.4, renewSeconds: 0.05 }) {
  const beat = pulse();
  const silent = () => undefined;
  const hold = holdLease({
    deployments: { renew } as SystemDeploymentStore, // Nothing else is called.
    lease: { deployment_id: 1, owner: "w", attempt: 1 },
    settings,
    pulse: beat,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  holds.push(hold);
  return { hold, beat };
}

describe("a hold of a deployment", () => {
  test("is kept as long as it is renewed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { hold } = holdWith(async () => "held");
    // Longer than the lease.
    await vi.advanceTimersByTimeAsync(1000);
    expect(hold.ending).toBeUndefined();
    expect(hold.signal.aborted).toBe(false);
  });

  test("is lost before the lease runs out when the database is away", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { hold } = holdWith(() => Promise.reject(new Error("away")));
    await vi.advanceTimersByTimeAsync(350);
    expect(hold.isLost).toBe(false);
    await vi.advanceTimersByTimeAsync(40);
    expect(hold.isLost).toBe(true);
    expect(hold.signal.aborted).toBe(true);
    expect(hold.leaving.aborted).toBe(true);
  });

  test("is lost when a renewal never answers", async () => {
    const { hold } = holdWith(() => new Promise(() => undefined));
    await until("it is lost", () => hold.isLost);
  });

  test("is lost when another worker has it", async () => {
    const { hold } = holdWith(async () => "lost");
    await until("it is lost", () => hold.ending === "lost");
  });

  test("hears of a cancel with the next beat", async () => {
    let isAsked = false;
    const renew: Renew = async () => (isAsked ? "cancel_requested" : "held");
    const { hold, beat } = holdWith(renew, { leaseSeconds: 60, renewSeconds: 60 });
    isAsked = true;
    beat.beat();
    await until("it is cancelled", () => hold.ending === "cancelled");
    expect(hold.signal.aborted).toBe(true);
    expect(hold.leaving.aborted).toBe(false);
  });

  test("heeds neither a cancel nor the time limit once traffic flows, but a loss", async () => {
    let answer: Awaited<ReturnType<Renew>> = "cancel_requested";
    const { hold } = holdWith(async () => answer);
    hold.commit();
    hold.limit(0);
    await hold.refresh();
    await until("the limit has passed", async () => new Promise<boolean>((resolve) => setTimeout(resolve, 5, true)));
    expect(hold.ending).toBeUndefined();
    expect(hold.signal.aborted).toBe(false);
    answer = "lost";
    await until("it is lost", () => hold.ending === "lost");
    expect(hold.leaving.aborted).toBe(true);
  });

  test("ends with its time limit", async () => {
    const { hold } = holdWith(async () => "held");
    hold.limit(0.05);
    await until("its time is over", () => hold.ending === "timeout");
  });

  test("that is given up ends after the grace time, and a cancel goes before it", async () => {
    let answer: Awaited<ReturnType<Renew>> = "held";
    const { hold } = holdWith(async () => answer);
    hold.giveUp(0.05);
    expect(hold.isGivingUp).toBe(true);
    expect(hold.ending).toBeUndefined();
    await until("the grace time is over", () => hold.ending === "given_up");
    answer = "cancel_requested";
    await until("the cancel is heard", () => hold.ending === "cancelled");
  });
});
