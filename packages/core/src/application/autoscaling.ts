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
    .describe("Change `replicas` by what its containers use. Only on servers with Docker."),
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
};

type Settings = { readonly [Key in keyof typeof SCALING_SETTINGS]: z.infer<(typeof SCALING_SETTINGS)[Key]> };

/** Problems of the settings together, by field; empty when there is none. */
export function autoscalingProblems(settings: Settings): Readonly<Record<string, readonly string[]>> {
  if (!settings.autoscaling_enabled) return {};
  const { autoscaling_replicas_min: min, autoscaling_replicas_max: max } = settings;
  if (min > max) return { autoscaling_replicas_min: [`Must be at most autoscaling_replicas_max, which is ${max}.`] };
  if (settings.autoscaling_cpu_percent === null && settings.autoscaling_memory_mb === null) {
    return { autoscaling_enabled: ["Set autoscaling_cpu_percent or autoscaling_memory_mb, which decide the number."] };
  }
  return {};
}

/** What all containers of a release used at one moment. */
export interface AutoscalingSample {
  readonly at: Date;
  /** Percent of one processor; `null` if unknown. */
  readonly cpu_percent: number | null;
  readonly memory_bytes: number;
}

export interface AutoscalingInput {
  readonly settings: Settings;
  /** Oldest first. */
  readonly samples: readonly AutoscalingSample[];
  /** When the number of containers changed last; `undefined`: never. */
  readonly scaledAt: Date | undefined;
  readonly now: Date;
}

export interface Autoscaled {
  readonly replicas: number;
  /** A sentence for people. */
  readonly reason: string;
}

/**
 * The number of containers that an application should have now; `undefined`: as many as it has. It grows by the average
 * of the last minutes, and shrinks only to what would have been enough for the highest sample of a longer time.
 */
export function autoscaled(input: AutoscalingInput): Autoscaled | undefined {
  const { settings, scaledAt, now } = input;
  const { replicas, autoscaling_replicas_min: min, autoscaling_replicas_max: max } = settings;
  if (replicas < min) return { replicas: min, reason: `At least ${min} are asked for.` };
  if (replicas > max) return { replicas: max, reason: `At most ${max} are asked for.` };
  const sinceMs = (date: Date) => now.getTime() - date.getTime();
  const quietMs = scaledAt === undefined ? Infinity : sinceMs(scaledAt);
  // Samples of another number of containers say nothing about this one.
  const samples = input.samples.filter(({ at }) => sinceMs(at) < quietMs);
  const recent = samples.filter(({ at }) => sinceMs(at) <= GROW_SECONDS * 1000);
  if (recent.length > 0 && quietMs >= GROW_SECONDS * 1000) {
    const grown = wanted(input, recent, average);
    if (grown !== undefined && grown.replicas > replicas) return grown;
  }
  const spansWindow = samples.some(({ at }) => sinceMs(at) >= SHRINK_SECONDS * 0.8 * 1000);
  if (!spansWindow || quietMs < SHRINK_SECONDS * 1000) return undefined;
  const shrunk = wanted(input, samples, highest);
  return shrunk !== undefined && shrunk.replicas < replicas ? shrunk : undefined;
}

/** How long samples are looked at, in seconds. */
export const AUTOSCALING_WINDOW_SECONDS = 300;

/** The measure that asks for most containers decides, within the bounds. */
function wanted(
  { settings }: AutoscalingInput,
  samples: readonly AutoscalingSample[],
  combine: (values: readonly number[]) => number,
): Autoscaled | undefined {
  const { replicas, autoscaling_replicas_min: min, autoscaling_replicas_max: max } = settings;
  const measures = [
    {
      target: settings.autoscaling_cpu_percent,
      values: samples.flatMap(({ cpu_percent }) => cpu_percent ?? []),
      phrase: (used: number, target: number) => `CPU ${used} % per container, target ${target} %.`,
    },
    {
      target: settings.autoscaling_memory_mb,
      values: samples.map(({ memory_bytes }) => memory_bytes / 1e6),
      phrase: (used: number, target: number) => `Memory ${used} MB per container, target ${target} MB.`,
    },
  ];
  const answers = measures.flatMap(({ target, values, phrase }) => {
    if (target === null || values.length === 0) return [];
    const used = combine(values) / replicas;
    const isNear = Math.abs(used / target - 1) <= TOLERANCE;
    const needed = isNear ? replicas : Math.ceil((used * replicas) / target);
    return [{ replicas: Math.min(max, Math.max(min, needed)), reason: phrase(Math.round(used), target) }];
  });
  return answers.toSorted((one, other) => other.replicas - one.replicas)[0];
}

const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const highest = (values: readonly number[]): number => Math.max(...values);

/** Samples are taken once a minute: two or three of them. */
const GROW_SECONDS = 150;
const SHRINK_SECONDS = AUTOSCALING_WINDOW_SECONDS;
/** So small a difference changes nothing, or the number would go up and down. */
const TOLERANCE = 0.1;
