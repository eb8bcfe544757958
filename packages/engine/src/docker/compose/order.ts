/** A container and those that it was started after. */
export interface Dependent {
  readonly name: string;
  readonly dependsOn: readonly string[];
}

/** As the compose tool writes it in a label: `db:service_healthy:false,cache:service_started:true`. */
export const dependenciesOf = (label: string | undefined): readonly string[] =>
  (label ?? "").split(",").flatMap((entry) => entry.split(":", 1).filter(Boolean));

/** In groups, each to be stopped after the one before: nothing that still runs needs what has stopped. */
export function stopOrder<T extends Dependent>(containers: readonly T[]): readonly (readonly T[])[] {
  const groups: T[][] = [];
  let rest = containers;
  while (rest.length > 0) {
    const needed = new Set(rest.flatMap(({ dependsOn }) => dependsOn));
    const free = rest.filter(({ name }) => !needed.has(name));
    // The tool refuses circles, so this is somebody else's label.
    const next = free.length > 0 ? free : rest;
    groups.push([...next]);
    rest = rest.filter((container) => !next.includes(container));
  }
  return groups;
}
