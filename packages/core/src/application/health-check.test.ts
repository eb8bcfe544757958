import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ReleaseState } from "../deploy/release.ts";
import { ApplicationSettings } from "./application.ts";
import {
  BUILT_IN_CHECK,
  crashOf,
  type HealthCheck,
  healthCheckOf,
  judge,
  NO_PROGRESS,
  type ProbeOutcome,
  portAdvice,
  portProblem,
  problemOf,
  takenPortAdvice,
  watchOf,
} from "./health-check.ts";

const settings = (change: Partial<ApplicationSettings>) => ({
  ...ApplicationSettings.parse({ build_pack: "nixpacks" }),
  ...change,
});

const state = (change: Partial<ReleaseState>): ReleaseState => ({
  resourceUuid: "r",
  deploymentUuid: "d",
  state: "running",
  upstream: null,
  restartCount: 0,
  exitCode: null,
  startedAt: null,
  ...change,
});

/** Probes until there is a verdict. The first `failures` probes fail; probes take no time. */
function follow(check: HealthCheck, failures: number) {
  let elapsedSeconds = 0;
  let progress = NO_PROGRESS;
  for (let probes = 1; ; probes++) {
    const verdict = judge(check, progress, { problem: probes <= failures ? "no" : undefined, elapsedSeconds });
    if (verdict.verdict !== "wait") return { verdict: verdict.verdict, probes, elapsedSeconds };
    expect(verdict.seconds).toBeGreaterThan(0);
    elapsedSeconds += verdict.seconds;
    progress = verdict.progress;
  }
}

describe("the schedule", () => {
  test("is healthy with the first success", () => {
    expect(follow(BUILT_IN_CHECK, 0)).toEqual({ verdict: "healthy", probes: 1, elapsedSeconds: 0 });
  });

  test("asks so often at first that a deployment waits hardly longer than its release", () => {
    for (let failures = 1; failures < 60; failures++) {
      const before = follow(BUILT_IN_CHECK, failures - 1).elapsedSeconds;
      const { verdict, elapsedSeconds } = follow(BUILT_IN_CHECK, failures);
      expect(verdict).toBe("healthy");
      expect(elapsedSeconds - before).toBeLessThanOrEqual(Math.max(0.02, before * 0.1) + 1e-9);
    }
  });

  test("gives up after a minute when nothing was asked for", () => {
    const { verdict, elapsedSeconds } = follow(BUILT_IN_CHECK, Number.POSITIVE_INFINITY);
    expect(verdict).toBe("unhealthy");
    expect(elapsedSeconds).toBeGreaterThanOrEqual(60);
    expect(elapsedSeconds).toBeLessThan(62);
  });

  test("counts failures after the start period only", () => {
    const check = { ...BUILT_IN_CHECK, intervalSeconds: 5, failuresMax: 10, startPeriodSeconds: 5 };
    const { verdict, elapsedSeconds } = follow(check, Number.POSITIVE_INFINITY);
    expect(verdict).toBe("unhealthy");
    expect(elapsedSeconds).toBeGreaterThanOrEqual(5 + 9 * 5);
    expect(elapsedSeconds).toBeLessThan(5 + 9 * 5 + 1);
  });

  test("ends for every setting, never before the retries are used up", () => {
    const arbitrary = fc.record({
      intervalSeconds: fc.integer({ min: 1, max: 3600 }),
      failuresMax: fc.integer({ min: 1, max: 50 }),
      startPeriodSeconds: fc.integer({ min: 0, max: 600 }),
    });
    fc.assert(
      fc.property(arbitrary, (change) => {
        const check = { ...BUILT_IN_CHECK, ...change };
        const { verdict, probes, elapsedSeconds } = follow(check, Number.POSITIVE_INFINITY);
        expect(verdict).toBe("unhealthy");
        expect(probes).toBeGreaterThanOrEqual(check.failuresMax);
        const least = check.startPeriodSeconds + (check.failuresMax - 1) * check.intervalSeconds;
        expect(elapsedSeconds).toBeGreaterThanOrEqual(least - 1e-6);
        expect(elapsedSeconds).toBeLessThan(least + check.intervalSeconds + 1);
      }),
    );
  });
});

describe("the check of an application", () => {
  test("is the built-in one unless it is enabled", () => {
    expect(healthCheckOf(settings({ health_check_path: "/up" }))).toBe(BUILT_IN_CHECK);
  });

  test("takes every setting when it is enabled", () => {
    const check = healthCheckOf(
      settings({
        health_check_enabled: true,
        health_check_path: "/up",
        health_check_method: "HEAD",
        health_check_return_code: 204,
        health_check_response_text: "ok",
        health_check_interval: 7,
        health_check_timeout: 3,
        health_check_retries: 2,
        health_check_start_period: 9,
      }),
    );
    expect(check).toEqual({
      probe: {
        type: "http",
        method: "HEAD",
        scheme: "http",
        host: "localhost",
        path: "/up",
        port: null,
        statusCode: 204,
        text: "ok",
      },
      intervalSeconds: 7,
      timeoutSeconds: 3,
      failuresMax: 2,
      startPeriodSeconds: 9,
    });
  });

  test.each([
    [null, "3000", null],
    [3000, "3000,9090", null],
    [9090, "3000,9090", 9090],
    [9090, null, 9090],
  ])("asked of port %s of what exposes %s goes to port %s", (health_check_port, ports_exposes, port) => {
    const probed = healthCheckOf(settings({ health_check_enabled: true, health_check_port, ports_exposes }));
    expect(probed.probe).toMatchObject({ port });
  });

  test("runs a command when asked to", () => {
    const cmd = {
      health_check_enabled: true,
      health_check_type: "cmd",
      health_check_command: "test -f ready",
    } as const;
    expect(healthCheckOf(settings(cmd)).probe).toEqual({ type: "command", script: "test -f ready" });
  });

  test("is rare while a release has traffic", () => {
    expect(watchOf(BUILT_IN_CHECK).intervalSeconds).toBe(15);
    expect(
      watchOf({ ...BUILT_IN_CHECK, intervalSeconds: 1, probe: { type: "command", script: "x" } }).intervalSeconds,
    ).toBe(5);
  });
});

describe("what is wrong, in words", () => {
  const own = healthCheckOf(settings({ health_check_enabled: true, health_check_response_text: "ready" }));
  const command = healthCheckOf(
    settings({ health_check_enabled: true, health_check_type: "cmd", health_check_command: "x" }),
  );
  test.each<[HealthCheck, ProbeOutcome, string | undefined]>([
    [BUILT_IN_CHECK, { type: "answer", statusCode: 404, body: "" }, undefined],
    [BUILT_IN_CHECK, { type: "answer", statusCode: 502, body: "" }, "GET / answered 502"],
    [BUILT_IN_CHECK, { type: "refused" }, "it refuses connections"],
    [BUILT_IN_CHECK, { type: "timeout" }, "GET / did not end within 5 seconds"],
    [BUILT_IN_CHECK, { type: "not_http" }, "it accepts connections but does not speak HTTP"],
    [own, { type: "answer", statusCode: 404, body: "" }, "GET / answered 404 instead of 200"],
    [own, { type: "answer", statusCode: 200, body: "not yet" }, 'the answer to GET / does not contain "ready"'],
    [own, { type: "answer", statusCode: 200, body: "all ready" }, undefined],
    [command, { type: "exit", exitCode: 0, output: "" }, undefined],
    [command, { type: "exit", exitCode: 2, output: "" }, "its health check command exited with code 2"],
    [command, { type: "timeout" }, "its health check command did not end within 5 seconds"],
  ])("%#", (check, outcome, expected) => {
    expect(problemOf(check, outcome)).toBe(expected);
  });

  test.each<[ReleaseState | undefined, string | undefined]>([
    [state({}), undefined],
    [state({ state: "restarting", restartCount: 2, exitCode: 1 }), undefined],
    [state({ state: "restarting", restartCount: 3, exitCode: 1 }), "it exited with code 1, 3 times in a row"],
    [state({ state: "exited", exitCode: 3 }), "it exited with code 3"],
    [state({ state: "exited", exitCode: 137 }), "it was killed (exit code 137), most often for lack of memory"],
    [state({ state: "exited", exitCode: 139 }), "it was ended by signal 11 (exit code 139)"],
    [state({ state: "dead" }), "it exited"],
    [undefined, "it is gone"],
  ])("crash %#", (observed, expected) => {
    expect(crashOf(observed)).toBe(expected);
  });

  const at = (port: number, loopback?: "127.0.0.1" | "::1") => ({ port, ...(loopback && { loopback }) });
  const only = "only, which no request from outside its container reaches";
  test.each([
    [[at(41234)], undefined],
    [[at(9229, "127.0.0.1"), at(41234)], undefined],
    [[], "it listens on no port, but should on the one in PORT (41234)"],
    [[at(3000)], "it listens on port 3000 instead of the port in PORT (41234)"],
    [[at(9229), at(3000)], "it listens on port 3000, 9229 instead of the port in PORT (41234)"],
    [[at(3000, "127.0.0.1")], "it listens on port 3000 instead of the port in PORT (41234)"],
    [[at(41234, "127.0.0.1")], `it listens on 127.0.0.1 ${only}`],
    [[at(9229), at(41234, "::1")], `it listens on ::1 ${only}`],
  ])("port %#", (listening, expected) => {
    expect(portProblem(listening, 41234)).toBe(expected);
  });

  test.each([
    [
      [at(9229), at(80)],
      "Set ports_exposes to 80 (berth deploy --ports-exposes), or let it listen on the port in PORT.",
    ],
    [
      [at(80, "127.0.0.1"), at(9229)],
      "Set ports_exposes to 9229 (berth deploy --ports-exposes), or let it listen on the port in PORT.",
    ],
    [[at(80, "::1")], "Let it listen on the port in PORT, and on 0.0.0.0 (the address in HOST) instead of ::1."],
    [[at(9229), at(41234, "127.0.0.1")], "Let it listen on 0.0.0.0 (the address in HOST)."],
    [[], undefined],
  ])("is told with what mends it: %j", (listening, advice) => {
    expect(portAdvice(listening, 41234)).toBe(advice);
  });

  test.each([
    ["Error: listen EADDRINUSE: address already in use :::4000", " by the application itself"],
    ["listen tcp :4001: bind: address already in use", " by another application"],
    ["OSError: [Errno 98] Address already in use", ""],
    ["Port 4000 is already in use", " by the application itself"],
    ["Failed to listen on 0.0.0.0:4000 (reason: Address already in use)", " by the application itself"],
    ["failed to start listener: :eaddrinuse", ""],
    ["code: 'EADDRINUSE',\n  port: 4001", " by another application"],
  ])("is said to be taken, and by whom: %s", (line, holder) => {
    const others = [
      { resourceUuid: "r", upstream: { host: "127.0.0.1", port: 4000 } },
      { resourceUuid: "other", upstream: { host: "127.0.0.1", port: 4001 } },
      { resourceUuid: "other", upstream: null },
    ];
    const advice = takenPortAdvice(["Starts", ...line.split("\n"), "Ends"], state({}), others);
    expect(advice).toBe(
      `The port that it insists on is taken${holder}. Let it listen on the port in PORT, such as by $PORT in the start command, or use a server with Docker.`,
    );
    expect(takenPortAdvice(["Cannot find module 'express'", "in use"], state({}), others)).toBeUndefined();
  });
});
