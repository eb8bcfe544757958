import { interpolateCompose } from "./reference.ts";

/** Reads a flag like the compose tool, which also accepts text. */
export const isOn = (value: unknown): boolean =>
  value === true || (typeof value === "string" && /^(true|y|yes|on)$/i.test(value));

/** A network, volume, secret or config of a compose file. */
type Defined = Readonly<Record<string, unknown>> | null | undefined;

/**
 * Whether a network or volume exists outside of the compose file.
 * @param values Those of variables in the flag; a variable without a value has its default.
 */
export function isExternal(defined: Defined, values: Readonly<Record<string, string>> = {}): boolean {
  const external = defined?.external;
  // A map with the object's name is the form of older compose files.
  if (typeof external !== "string") return external === true || (typeof external === "object" && external !== null);
  return isOn(interpolateCompose(external, (key) => values[key]));
}

/** Whether it is external for some values of the variables in its flag. */
export const mayBeExternal = (defined: Defined): boolean =>
  isExternal(defined) || (typeof defined?.external === "string" && defined.external.includes("$"));
