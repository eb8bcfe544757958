import type { DeploymentEvent } from "@berth/core/deploy";
import pico from "picocolors";
import { describe, expect, test } from "vitest";
import { inFlags } from "../explain.ts";
import { Failure } from "../failure.ts";
import { output } from "../output.ts";
import { screen } from "../screen.fixture.ts";
import { DEPLOY_FLAGS } from "./deployment.ts";
import { BEGAN, lineEvent, stateEvent } from "./events.fixture.ts";
import { cut, frame } from "./frame.ts";
import { apply, failedStep, INITIAL_STATE, LINES_KEPT } from "./state.ts";
import { followStream, type Handlers } from "./subscription.ts";
import { followView } from "./view.ts";

const after = (events: readonly DeploymentEvent[]) => events.reduce(apply, INITIAL_STATE);
const at = (seconds: number) => new Date(BEGAN.getTime() + seconds * 1000);

function drawn(events: readonly DeploymentEvent[], seconds = 0, columns = 60): string {
  const options = { now: at(seconds), tick: 0, columns, colors: pico.createColors(false), trouble: undefined };
  return frame(after(events), options);
}

describe("the frame of a deployment under way", () => {
  test("shows that it waits", () => {
    expect(drawn([])).toBe("⠋ Connecting");
    expect(drawn([stateEvent("queued")])).toBe("⠋ Waiting in the queue");
  });

  test("shows each step with a sign and what it took, and the last line of the one that runs", () => {
    const events = [
      stateEvent("in_progress", [
        ["checkout", "done", 0, 0.25],
        ["build", "running", 0.25],
        ["start", "pending"],
        ["health", "pending"],
        ["switch", "pending"],
        ["retire", "pending"],
      ]),
      lineEvent(1, "build", "> build"),
      lineEvent(2, "build", "\u001b[33madded 12 packages\u001b[0m\r"),
      lineEvent(3, "build", ""),
    ];
    expect(drawn(events, 12.5)).toMatchInlineSnapshot(`
      "✓ Fetch the source       250 ms
      ⠋ Build                  12.3 s
          added 12 packages
      · Start
      · Check its health
      · Switch the traffic"
    `);
  });

  test("shows that what ran is taken back after a failure", () => {
    const events = [
      stateEvent("in_progress", [
        ["checkout", "undone", 0, 0.25],
        ["build", "failed", 0.25, 2, "It exited with code 1."],
        ["start", "skipped"],
      ]),
    ];
    expect(drawn(events)).toMatchInlineSnapshot(`
      "↶ Fetch the source       250 ms
      ✗ Build                  1.8 s
      · Start
      ⠋ Tidying up"
    `);
  });

  test("keeps a line to the terminal's width", () => {
    const events = [stateEvent("in_progress", [["build", "running", 0]]), lineEvent(1, "build", "x".repeat(500))];
    for (const line of drawn(events, 1, 40).split("\n")) expect([...line].length).toBeLessThanOrEqual(40);
    expect(cut("日本語", 2)).toBe("日…");
  });
});

describe("what is kept of a deployment", () => {
  test("is the last lines of each step, whatever it printed", () => {
    const lines = Array.from({ length: 500 }, (_, i) => lineEvent(i, "build", `line ${i}`));
    const kept = after([...lines, lineEvent(501, "health", "waits")]).lines;
    expect(kept.build).toHaveLength(LINES_KEPT);
    expect(kept.build?.at(-1)).toBe("line 499");
    expect(kept.health).toEqual(["waits"]);
  });

  test("names the step that failed", () => {
    const state = after([
      stateEvent("failed", [
        ["checkout", "undone", 0, 1],
        ["build", "failed", 1, 2],
      ]),
    ]);
    expect(failedStep(state)?.name).toBe("build");
    expect(failedStep(after([stateEvent("finished", [["build", "done", 0, 1]])]))).toBeUndefined();
  });
});

function viewed(events: readonly DeploymentEvent[], options: { json?: boolean; isTTY?: boolean; verbose?: boolean }) {
  const { stream: stdout, text } = screen({ isTTY: options.isTTY ?? false });
  const { json = false, verbose = false } = options;
  const made = output({ stdout, stderr: stdout, env: {} }, { json, verbose, color: true });
  const view = followView({ output: made, stdout, now: () => at(5) });
  for (const event of events) view.event(event);
  const state = view.end();
  return { text: text(), state };
}

const STORY = [
  stateEvent("queued"),
  stateEvent("in_progress", [["build", "running", 0]]),
  lineEvent(1, "build", "\u001b[32mcompiled\u001b[0m \u001b[2J"),
  stateEvent("finished", [["build", "done", 0, 2]]),
];

describe("a deployment that is followed", () => {
  test("is its log, line by line and without colours, when nobody watches", () => {
    expect(viewed(STORY, {}).text).toBe("Waiting in the queue\ncompiled \n");
  });

  test("does not say in the middle why a step failed, which its end says", () => {
    const failing = [lineEvent(1, "build", "build ended after 2.0 s: It is not clear: x"), lineEvent(2, null, "a: b")];
    expect(viewed(failing, {}).text).toBe("build ended after 2.0 s\na: b\n");
  });

  test("is one event a line with --json, exactly as the API sent it", () => {
    const { text, state } = viewed(STORY, { json: true, isTTY: true });
    expect(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(STORY);
    expect(state.status).toBe("finished");
  });

  test("moves on a terminal, and leaves its last state there", () => {
    const { text } = viewed(STORY, { isTTY: true });
    expect(text).toContain("\u001b[2K");
    expect(text.slice(text.lastIndexOf("\u001b[?2026h"))).toContain("\u001b[32m✓\u001b[39m Build");
  });

  test("is its whole log on a terminal with --verbose", () => {
    const { text } = viewed(STORY, { isTTY: true, verbose: true });
    expect(text).toContain("compiled");
    expect(text).not.toContain("\u001b[2K");
  });
});

describe("following a stream", () => {
  function follow(options: { patienceSeconds?: number } = {}) {
    const seen: string[] = [];
    const stop = new AbortController();
    let handlers: Handlers<string> | undefined;
    let unsubscribed = 0;
    const done = followStream<string>({
      subscribe: (given) => {
        handlers = given;
        return { unsubscribe: () => void unsubscribed++ };
      },
      onEvent: (event) => void seen.push(event),
      onTrouble: (sentence) => void seen.push(sentence ?? "back"),
      signal: stop.signal,
      ...options,
    });
    done.catch(() => {});
    if (!handlers) throw new Error("It did not subscribe.");
    return { handlers, seen, done, stop: () => stop.abort(), unsubscribed: () => unsubscribed };
  }
  const refused = new Error("fetch failed", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });

  test("says once that the connection is away, and that it is back", async () => {
    const { handlers, seen, done } = follow();
    handlers.onConnectionStateChange({ state: "connecting" });
    handlers.onData({ data: "one" });
    for (let i = 0; i < 3; i++) handlers.onConnectionStateChange({ state: "connecting", error: refused });
    handlers.onData({ data: "two" });
    handlers.onComplete();
    await done;
    expect(seen).toEqual(["one", "Connection lost (it refuses connections), trying again", "back", "two"]);
  });

  test("gives up when the connection stays away, also when it comes back for a moment only", async () => {
    const { handlers, done, unsubscribed } = follow({ patienceSeconds: 0.05 });
    handlers.onConnectionStateChange({ state: "connecting", error: refused });
    handlers.onConnectionStateChange({ state: "pending" });
    handlers.onConnectionStateChange({ state: "connecting", error: refused });
    await expect(done).rejects.toThrow(Failure);
    expect(unsubscribed()).toBe(1);
  });

  test("ends on a signal, and tells nothing of what comes later", async () => {
    const { handlers, seen, done, stop, unsubscribed } = follow();
    handlers.onData({ data: "one" });
    stop();
    await done;
    handlers.onData({ data: "late" });
    expect(seen).toEqual(["one"]);
    expect(unsubscribed()).toBe(1);
  });

  test("passes on what the server refuses", async () => {
    const { handlers, done } = follow();
    handlers.onError(new Error("Deployment not found."));
    await expect(done).rejects.toThrow("Deployment not found.");
  });
});

test("the reason of a failed deployment names the flags of berth deploy", () => {
  const reason = "The Dockerfile is not in the source. Correct dockerfile_location or base_directory.";
  expect(inFlags(reason, DEPLOY_FLAGS)).toContain("Correct --dockerfile-location or --base-directory.");
});
