import { withDefaults } from "./reference.ts";
import type { ComposeService } from "./schema.ts";

type Scaled = Pick<ComposeService, "scale" | "deploy">;

/** How many containers a service of a compose text asks for; `undefined`: what it says is no such number. */
export function replicasOf({ scale, deploy }: Scaled): number | undefined {
  const numbers = [scale, deploy?.replicas].flatMap((value) => {
    const text = value === undefined || value === null ? "" : withDefaults(String(value)).trim();
    return text === "" ? [] : [Number(text)];
  });
  // The compose tool, too, takes both only where they say the same.
  const [first = 1, second = first] = numbers;
  return first === second && Number.isInteger(first) && first >= 0 ? first : undefined;
}

/** The problem as a sentence; `undefined` when valid. A value from a variable is checked at the start. */
export function replicasProblem(service: Scaled): string | undefined {
  if (replicasOf(service) !== undefined || hasVariable(service)) return undefined;
  return "scale and deploy.replicas must be one whole number, 0 or more.";
}

const hasVariable = ({ scale, deploy }: Scaled): boolean =>
  [scale, deploy?.replicas].some((value) => typeof value === "string" && value.includes("$"));

/** How people name one of several containers that were made from one service of the text. */
export const containerTitle = ({ name, number }: { readonly name: string; readonly number?: number }): string =>
  number === undefined ? name : `${name}-${number}`;

/** All containers of that name, or the one whose number follows it. */
export function containersNamed<T extends { readonly name: string; readonly number?: number }>(
  containers: readonly T[],
  title: string,
): readonly T[] {
  const ofName = containers.filter(({ name }) => name === title);
  return ofName.length > 0 ? ofName : containers.filter((one) => containerTitle(one) === title);
}

/** Whether a person means one of the services of these names by it, or one of its containers by its number. */
export const isContainerOf = (names: readonly string[], title: string): boolean =>
  names.includes(title) || names.includes(title.replace(/-\d+$/, ""));
