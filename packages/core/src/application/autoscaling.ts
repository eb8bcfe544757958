import { z } from "zod";

const count = () => z.int().min(1).max(100);

/** Settings for the number of an application's containers. */
export const SCALING_SETTINGS = {
  replicas: count()
    .default(1)
    .describe("Containers that run at the same time and share its requests. Only on servers with Docker."),
  autoscaling_enabled: z
    .boolean()
    .default(false)
    .describe("Change `replicas` by what its containers use or answer. Only on servers with Docker."),
  autoscaling_replicas_min: count().default(1).describe("Fewest containers."),
  autoscaling_replicas_max: count().default(5).describe("Most containers."),
  autoscaling_cpu_percent: z
    .int()
    .min(1)
    .max(10_000)
    .nullable()
    .default(70)
    .describe("What a container should use, in percent of one processor; null: CPU decides nothing."),
  autoscaling_memory_mb: z
    .int()
    .min(1)
    .max(10_000_000)
    .nullable()
    .default(null)
    .describe("What a container should use, in megabytes; null: memory decides nothing."),
  autoscaling_requests_per_second: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .default(null)
    .describe(
      "Requests that a container should answer in a second; null: they decide nothing. Only where the proxy is Caddy.",
    ),
};

type Settings = { readonly [Key in keyof typeof SCALING_SETTINGS]: z.infer<(typeof SCALING_SETTINGS)[Key]> };

/** Problems of the settings together, by field; empty when there is none. */
export function autoscalingProblems(settings: Settings): Readonly<Record<string, readonly string[]>> {
  if (!settings.autoscaling_enabled) return {};
  const { autoscaling_replicas_min: min, autoscaling_replicas_max: max } = settings;
  if (min > max) return { autoscaling_replicas_min: [`Must be at most autoscaling_replicas_max, which is ${max}.`] };
  const targets = [
    settings.autoscaling_cpu_percent,
    settings.autoscaling_memory_mb,
    settings.autoscaling_requests_per_second,
  ];
  if (targets.some((target) => target !== null)) return {};
  const fields = "autoscaling_cpu_percent, autoscaling_memory_mb or autoscaling_requests_per_second";
  return { autoscaling_enabled: [`Set ${fields}, which decide the number.`] };
}

/** Whether the proxy has to count the requests of an application with these settings. */
export const scalesByRequests = ({
  autoscaling_enabled,
  autoscaling_requests_per_second,
}: Pick<Settings, "autoscaling_enabled" | "autoscaling_requests_per_second">): boolean =>
  autoscaling_enabled && autoscaling_requests_per_second !== null;

/** What all containers of a release used at one moment. */
export interface AutoscalingSample {
  readonly at: Date;
  /** Percent of one processor; `null` if unknown. */
  readonly cpu_percent: number | null;
  readonly memory_bytes: number;
  /** Answered since the sample before; `null` if unknown. */
  readonly requests_per_second: number | null;
}

export interface AutoscalingInput {
  readonly settings: Settings;
  /** Oldest first. */
  readonly samples: readonly AutoscalingSample[];
  /** When the number of containers changed last; `undefined`: never. */
  readonly scaledAt: Date | undefined;
  readonly now: Date;
  /** Interval between samples. */
  readonly sampleSeconds: number;
}

export interface Autoscaled {
  readonly replicas: number;
  /** A sentence for people. */
  readonly reason: string;
}

/**
 * The number of containers that an application should have now; `undefined`: as many as it has. It grows by the average
 * of the last samples, and shrinks only to what would have been enough for the highest sample of a longer time.
 */
export function autoscaled(input: AutoscalingInput): Autoscaled | undefined {
  const { settings, scaledAt, now, sampleSeconds } = input;
  const { replicas, autoscaling_replicas_min: min, autoscaling_replicas_max: max } = settings;
  if (replicas < min) return { replicas: min, reason: `At least ${min} are asked for.` };
  if (replicas > max) return { replicas: max, reason: `At most ${max} are asked for.` };
  const growMs = GROW_SAMPLES * sampleSeconds * 1000;
  const shrinkMs = SHRINK_SAMPLES * sampleSeconds * 1000;
  const sinceMs = (date: Date) => now.getTime() - date.getTime();
  const quietMs = scaledAt === undefined ? Infinity : sinceMs(scaledAt);
  // Samples of another number of containers say nothing about this one.
  const samples = input.samples.filter(({ at }) => sinceMs(at) < quietMs);
  const recent = samples.filter(({ at }) => sinceMs(at) <= growMs);
  if (recent.length > 0 && quietMs >= growMs) {
    const grown = wanted(input, recent, average);
    if (grown !== undefined && grown.replicas > replicas) return grown;
  }
  const spansWindow = samples.some(({ at }) => sinceMs(at) >= shrinkMs * 0.8);
  if (!spansWindow || quietMs < shrinkMs) return undefined;
  const shrunk = wanted(input, samples, highest);
  return shrunk !== undefined && shrunk.replicas < replicas ? shrunk : undefined;
}

/** How long samples are looked at, in intervals between samples: five minutes where there is one a minute. */
export const AUTOSCALING_WINDOW_SAMPLES = 5;

/** The measure that asks for most containers decides, within the bounds. */
function wanted(
  { settings }: AutoscalingInput,
  samples: readonly AutoscalingSample[],
  combine: (values: readonly (number | null)[]) => number | undefined,
): Autoscaled | undefined {
  const { replicas, autoscaling_replicas_min: min, autoscaling_replicas_max: max } = settings;
  const measures = [
    {
      target: settings.autoscaling_cpu_percent,
      values: samples.map(({ cpu_percent }) => cpu_percent),
      phrase: (used: number, target: number) => `CPU ${used} % per container, target ${target} %.`,
    },
    {
      target: settings.autoscaling_memory_mb,
      values: samples.map(({ memory_bytes }) => memory_bytes / 1e6),
      phrase: (used: number, target: number) => `Memory ${used} MB per container, target ${target} MB.`,
    },
    {
      target: settings.autoscaling_requests_per_second,
      values: samples.map(({ requests_per_second }) => requests_per_second),
      phrase: (used: number, target: number) => `Requests ${used} a second per container, target ${target}.`,
    },
  ];
  const answers = measures.flatMap(({ target, values, phrase }) => {
    const total = combine(values);
    if (target === null || total === undefined) return [];
    const used = total / replicas;
    const isNear = Math.abs(used / target - 1) <= TOLERANCE;
    const needed = isNear ? replicas : Math.ceil((used * replicas) / target);
    return [{ replicas: Math.min(max, Math.max(min, needed)), reason: phrase(Math.round(used), target) }];
  });
  return answers.toSorted((one, other) => other.replicas - one.replicas)[0];
}

function average(values: readonly (number | null)[]): number | undefined {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** An unknown value among known ones may have been as high as any. */
function highest(values: readonly (number | null)[]): number | undefined {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return undefined;
  return known.length < values.length ? Infinity : Math.max(...known);
}

/** Two or three samples. */
const GROW_SAMPLES = 2.5;
const SHRINK_SAMPLES = AUTOSCALING_WINDOW_SAMPLES;
/** So small a difference changes nothing, or the number would go up and down. */
const TOLERANCE = 0.1;
