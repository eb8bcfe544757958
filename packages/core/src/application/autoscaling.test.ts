import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "./application.ts";
import { type AutoscalingInput, type AutoscalingSample, autoscaled, autoscalingProblems } from "./autoscaling.ts";

const NOW = new Date("2026-01-02T03:04:05Z");
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);
const settings = (change: Partial<ApplicationSettings> = {}) =>
  ApplicationSettings.parse({
    ...{ build_pack: "nixpacks", autoscaling_enabled: true, autoscaling_replicas_min: 2, autoscaling_replicas_max: 6 },
    ...change,
  });
/** One a minute, the last one a second ago. */
const samples = (...cpu: readonly (number | null)[]): readonly AutoscalingSample[] =>
  cpu.map((cpu_percent, at) => ({ ...IDLE, at: ago(1 + (cpu.length - 1 - at) * 60), cpu_percent }));
/** The same of requests a second, with an idle processor. */
const answering = (...rates: readonly (number | null)[]): readonly AutoscalingSample[] =>
  samples(...rates.map(() => 0)).map((sample, at) => ({ ...sample, requests_per_second: rates[at] ?? null }));
const IDLE = { cpu_percent: 0, memory_bytes: 0, requests_per_second: null };
interface Asked extends Omit<AutoscalingInput, "settings" | "now" | "sampleSeconds"> {
  readonly replicas: number;
  readonly more: Partial<ApplicationSettings>;
}
const asked = ({ replicas = 2, more = {}, ...change }: Partial<Asked>) =>
  autoscaled({
    settings: settings({ replicas, ...more }),
    samples: [],
    scaledAt: undefined,
    now: NOW,
    sampleSeconds: 60,
    ...change,
  });

describe("the number of containers", () => {
  test.each<[string, Partial<Asked>, number | undefined]>([
    ["stays without a sample", {}, undefined],
    ["stays near the target", { samples: samples(140, 150, 130) }, undefined],
    ["grows to what the average needs", { samples: samples(280, 280) }, 4],
    ["grows to the upper bound", { samples: samples(9000) }, 6],
    ["stays at the upper bound", { replicas: 6, samples: samples(9000) }, undefined],
    ["stays at the lower bound", { samples: samples(1, 1, 1, 1, 1) }, undefined],
    ["is brought up to the lower bound", { replicas: 1 }, 2],
    ["is brought down to the upper bound", { replicas: 9 }, 6],
    ["does not grow again at once", { samples: samples(900), scaledAt: ago(60) }, undefined],
    ["grows again after a while", { samples: samples(900, 900), scaledAt: ago(200) }, 6],
    ["ignores samples of another number", { samples: samples(900, null), scaledAt: ago(30) }, undefined],
    ["does not shrink on few samples", { replicas: 5, samples: samples(10, 10) }, undefined],
    ["shrinks after a quiet time", { replicas: 5, samples: samples(200, 190, 180, 150, 150) }, 3],
    ["shrinks to the lower bound", { replicas: 5, samples: samples(1, 1, 1, 1, 1) }, 2],
    ["does not shrink while one sample needs it", { replicas: 5, samples: samples(10, 340, 10, 10, 10) }, undefined],
    [
      "does not shrink soon after a change",
      { replicas: 5, samples: samples(1, 1, 1, 1), scaledAt: ago(250) },
      undefined,
    ],
  ])("%s", (_title, change, expected) => {
    expect(asked(change)?.replicas).toBe(expected);
  });

  const byRequests = { autoscaling_requests_per_second: 100 };
  const byRequestsAlone = { ...byRequests, autoscaling_cpu_percent: null };
  test.each<[string, Partial<Asked>, number | undefined]>([
    ["grows to what the average needs", { samples: answering(300, 500) }, 4],
    ["grows where one of the last samples is unknown", { samples: answering(500, null) }, 5],
    ["grows to the upper bound", { samples: answering(90_000) }, 6],
    ["stays near the target", { samples: answering(200, 210) }, undefined],
    ["stays where all is unknown", { replicas: 5, samples: answering(null, null, null, null, null) }, undefined],
    ["shrinks after a quiet time", { replicas: 5, samples: answering(300, 200, 100, 100, 0) }, 3],
    ["does not shrink while a sample is unknown", { replicas: 5, samples: answering(1, 1, null, 1, 1) }, undefined],
    ["does not shrink when counting begins", { replicas: 5, samples: answering(null, null, null, null, 1) }, undefined],
    ["does not grow again at once", { samples: answering(900), scaledAt: ago(60) }, undefined],
  ])("by requests %s", (_title, change, expected) => {
    expect(asked({ more: byRequestsAlone, ...change })?.replicas).toBe(expected);
    // An idle processor keeps no requests from being answered by more containers.
    if (expected !== undefined) expect(asked({ more: byRequests, ...change })?.replicas).toBe(expected);
  });

  test("counts its cooldowns in samples", () => {
    const each = (sampleSeconds: number) =>
      answering(900, 900).map((sample, at) => ({ ...sample, at: ago((2 - at) * sampleSeconds - 0.5) }));
    const grown = (sampleSeconds: number, scaledAt: Date) =>
      autoscaled({
        ...{ settings: settings({ replicas: 2, ...byRequestsAlone }), now: NOW },
        ...{ samples: each(sampleSeconds), scaledAt, sampleSeconds },
      })?.replicas;
    expect([grown(1, ago(3)), grown(60, ago(3))]).toEqual([6, undefined]);
  });

  test("follows the measure that asks for most, and says which", () => {
    const both = { autoscaling_memory_mb: 100 };
    const used = [{ ...IDLE, at: ago(1), cpu_percent: 210, memory_bytes: 500e6 }];
    expect(asked({ more: both, samples: used })).toEqual({
      replicas: 5,
      reason: "Memory 250 MB per container, target 100 MB.",
    });
    const cpuOnly = [{ ...IDLE, at: ago(1), cpu_percent: 210, memory_bytes: 100e6 }];
    expect(asked({ more: both, samples: cpuOnly })).toEqual({
      replicas: 3,
      reason: "CPU 105 % per container, target 70 %.",
    });
    const requests = [{ ...IDLE, at: ago(1), cpu_percent: 210, requests_per_second: 480.4 }];
    expect(asked({ more: byRequests, samples: requests })).toEqual({
      replicas: 5,
      reason: "Requests 240 a second per container, target 100.",
    });
  });

  const measured = fc.option(fc.integer({ min: 0, max: 5000 }));
  test("always lies between its bounds, and never changes twice for the same samples", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.tuple(measured, measured), { maxLength: 8 }),
        (replicas, measures) => {
          const seen = samples(...measures.map(([cpu]) => cpu)).map((sample, at) => ({
            ...sample,
            requests_per_second: measures[at]?.[1] ?? null,
          }));
          const first = asked({ replicas, more: byRequests, samples: seen });
          if (first === undefined) return;
          expect(first.replicas).toBeGreaterThanOrEqual(2);
          expect(first.replicas).toBeLessThanOrEqual(6);
          expect(first.replicas).not.toBe(replicas);
          expect(asked({ replicas: first.replicas, more: byRequests, samples: seen, scaledAt: NOW })).toBeUndefined();
        },
      ),
    );
  });
});

test.each([
  [{}, []],
  [{ autoscaling_replicas_min: 9 }, ["autoscaling_replicas_min"]],
  [{ autoscaling_replicas_min: 9, autoscaling_enabled: false }, []],
  [{ autoscaling_cpu_percent: null }, ["autoscaling_enabled"]],
  [{ autoscaling_cpu_percent: null, autoscaling_memory_mb: 100 }, []],
  [{ autoscaling_cpu_percent: null, autoscaling_requests_per_second: 100 }, []],
])("problems of %j: %j", (change, fields) => {
  expect(Object.keys(autoscalingProblems(settings(change)))).toEqual(fields);
});
