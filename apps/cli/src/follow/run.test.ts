import { expect, test } from "vitest";
import { output } from "../output.ts";
import { screen } from "../screen.fixture.ts";
import { type FollowedRun, followRun, pauseMs } from "./run.ts";

interface Run {
  readonly step: string;
  readonly isOver: boolean;
}

type Handlers = Parameters<FollowedRun<Run>["subscribe"]>[0];

/** A run whose streams the test writes. */
function followed() {
  const { stream, text } = screen({ isTTY: false });
  const streams: Handlers[] = [];
  const shown: string[] = [];
  let interrupt = () => {};
  const session = {
    system: {
      stdout: stream,
      onInterrupt(stop: () => void) {
        interrupt = stop;
        return () => undefined;
      },
    },
    output: output({ stdout: stream, stderr: stream, env: {} }, { json: false, verbose: false, color: false }),
  } as unknown as Parameters<typeof followRun>[0];
  const done = followRun<Run>(session, {
    subscribe(handlers) {
      streams.push(handlers);
      return { unsubscribe: () => undefined };
    },
    isOver: ({ isOver }) => isOver,
    show: ({ step }) => void shown.push(step),
  });
  const streamAt = (number: number) => {
    const handlers = streams[number];
    if (handlers === undefined) throw new Error("It did not subscribe.");
    return handlers;
  };
  return { stream: streamAt, streams, shown, done, text, interrupt: () => interrupt() };
}

test("a run is shown at each change, and its last state is the result", async () => {
  const { stream, shown, done } = followed();
  stream(0).onData({ step: "dumping", isOver: false });
  stream(0).onData({ step: "ended", isOver: true });
  stream(0).onComplete();
  expect(await done).toEqual({ step: "ended", isOver: true });
  expect(shown).toEqual(["dumping", "ended"]);
});

test("a run whose stream ended before it is followed again, until the server says why", async () => {
  const { stream, streams, done } = followed();
  stream(0).onData({ step: "dumping", isOver: false });
  const ended = performance.now();
  stream(0).onComplete();
  await expect.poll(() => streams.length, { timeout: 10_000 }).toBe(2);
  // Timers may be a millisecond early.
  expect(performance.now() - ended).toBeGreaterThanOrEqual(pauseMs(1) - 1);
  stream(1).onError(new Error("Backup execution not found."));
  await expect(done).rejects.toThrow("Backup execution not found.");
});

test("a lost connection is reported, and Ctrl-C stops following only", async () => {
  const { stream, done, text, interrupt } = followed();
  const error = new Error("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
  stream(0).onConnectionStateChange({ state: "connecting", error });
  interrupt();
  expect(await done).toBeUndefined();
  expect(text()).toContain("Connection lost (it refuses connections), trying again");
});

test("each pause before following again is longer, up to 5 seconds", () => {
  expect([1, 2, 3, 10, 11, 1000].map(pauseMs)).toEqual([500, 1000, 1500, 5000, 5000, 5000]);
});

test("Ctrl-C ends the pause before following again", async () => {
  const { stream, streams, done, interrupt } = followed();
  stream(0).onComplete();
  await new Promise((resolve) => setImmediate(resolve));
  interrupt();
  expect(await done).toBeUndefined();
  expect(streams.length).toBe(1);
});
