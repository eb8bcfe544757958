import { recordOf } from "@berth/core/compose";
import { coupledTo } from "@berth/core/deploy";

/** A container and its dependencies. */
export interface Dependent {
  readonly name: string;
  readonly dependsOn: readonly string[];
}

/** The compose tool's label of what a container depends on. */
export const DEPENDS_ON = "com.docker.compose.depends_on";

/** Parses that label: `db:service_healthy:false,cache:service_started:true`. */
export const dependenciesOf = (label: string | undefined): readonly string[] =>
  (label ?? "").split(",").flatMap((entry) => entry.split(":", 1).filter(Boolean));

/** Groups in stop order: a container stops before those that it depends on. */
export function stopOrder<T extends Dependent>(containers: readonly T[]): readonly (readonly T[])[] {
  const groups: T[][] = [];
  let rest = containers;
  while (rest.length > 0) {
    const needed = new Set(rest.flatMap(({ dependsOn }) => dependsOn));
    const free = rest.filter(({ name }) => !needed.has(name));
    // A circular label is not from the compose tool, which refuses circles; stop the rest together.
    const next = free.length > 0 ? free : rest;
    groups.push([...next]);
    rest = rest.filter((container) => !next.includes(container));
  }
  return groups;
}

type Services = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What a container waits for before it starts. */
export interface StartNeed {
  readonly name: string;
  readonly condition: "service_healthy" | "service_completed_successfully";
  /** Otherwise the container starts without it. */
  readonly isRequired: boolean;
}

export interface StartGroup {
  readonly names: readonly string[];
  /** What must be reached before the group starts; the compose tool awaits what its members need of each other. */
  readonly needs: readonly StartNeed[];
}

/**
 * Groups in start order: a container that needs a healthy one is in a later group than that. So Berth can wait for it
 * by its own check instead of the engine's, which runs after a whole interval, 30 seconds by default.
 * @param existing Containers that continue from the previous release.
 * @param isLater Whether a container with this condition is in a later group. Default: for a healthy one alone.
 */
export function startGroups(
  services: Services,
  existing: ReadonlySet<string>,
  isLater: (condition: string) => boolean = (condition) => condition === "service_healthy",
): readonly StartGroup[] {
  const isStarting = (name: string) =>
    Object.hasOwn(services, name) && !existing.has(name) && !isInactive(services[name]);
  const levels = new Map<string, number>();

  function levelOf(name: string): number {
    const known = levels.get(name);
    if (known !== undefined) return known;
    // The compose tool refuses circles.
    levels.set(name, 0);
    const service = services[name] ?? {};
    const after = conditionsOf(service.depends_on).filter((one) => isStarting(one.name));
    const coupled = coupledTo(service).filter((other) => other !== undefined && isStarting(other));
    const level = Math.max(
      0,
      ...coupled.map((other) => levelOf(String(other))),
      ...after.map(({ name: other, condition }) => levelOf(other) + (isLater(condition) ? 1 : 0)),
    );
    levels.set(name, level);
    return level;
  }

  const starting = Object.keys(services).filter(isStarting);
  const last = Math.max(-1, ...starting.map(levelOf));
  return Array.from({ length: last + 1 }, (_, level) => {
    const names = starting.filter((name) => levelOf(name) === level);
    const needs = new Map<string, StartNeed>();
    for (const { name, condition, isRequired } of names.flatMap((one) => conditionsOf(services[one]?.depends_on))) {
      const isEarlier = existing.has(name) || (isStarting(name) && levelOf(name) < level);
      if (!isEarlier || condition === "service_started") continue;
      const key = `${name} ${condition}`;
      needs.set(key, { name, condition, isRequired: isRequired || needs.get(key)?.isRequired === true });
    }
    return { names, needs: [...needs.values()] };
  });
}

const isInactive = (service: Services[string] | undefined): boolean => Array.isArray(service?.profiles);

interface Condition extends Omit<StartNeed, "condition"> {
  readonly condition: StartNeed["condition"] | "service_started";
}

function conditionsOf(dependsOn: unknown): readonly Condition[] {
  if (Array.isArray(dependsOn)) {
    return dependsOn.map((name) => ({ name: String(name), condition: "service_started", isRequired: true }));
  }
  return Object.entries(recordOf(dependsOn)).map(([name, options]) => {
    const { condition, required } = recordOf(options);
    const isAwaited = condition === "service_healthy" || condition === "service_completed_successfully";
    return { name, condition: isAwaited ? condition : "service_started", isRequired: required !== false };
  });
}
