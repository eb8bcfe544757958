/** A container and its dependencies. */
export interface Dependent {
  readonly name: string;
  readonly dependsOn: readonly string[];
}

/** Parses the compose tool's label: `db:service_healthy:false,cache:service_started:true`. */
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
