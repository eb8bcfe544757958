import { createHash } from "node:crypto";
import { type Definition, PlannedStep, type SourceOp } from "./messages.ts";

/** @throws Error for a plan with steps of a type unknown to Berth, which may fetch anything. */
export function sourcesOf({ def }: Definition): ReadonlyMap<string, SourceOp> {
  const sources = new Map<string, SourceOp>();
  for (const bytes of def) {
    const { source, exec, file, merge, diff, build } = PlannedStep.decode(bytes);
    if (source !== undefined) sources.set(digestOf(bytes), source);
    else if (build !== undefined) throw new Error("The plan contains another plan, which is only known while it runs.");
    else if (![exec, file, merge, diff].some(Boolean) && bytes !== def.at(-1)) {
      throw new Error("The plan contains a step of an unknown kind.");
    }
  }
  return sources;
}

/**
 * Replaces sources in a plan. A step's name is a hash that includes its inputs' names, so all steps that depend on a
 * replaced source get new names.
 * @param replaced New source by the digest of the step.
 */
export function withSources(definition: Definition, replaced: ReadonlyMap<string, SourceOp>): Definition {
  const names = new Map<string, string>();
  const metadata: Definition["metadata"] = {};
  const def = definition.def.map((bytes) => {
    const before = digestOf(bytes);
    const step = PlannedStep.decode(bytes);
    const source = replaced.get(before);
    const inputs = step.inputs.map(({ digest, index }) => ({ digest: names.get(digest) ?? digest, index }));
    const isSame = source === undefined && inputs.every(({ digest }, index) => digest === step.inputs[index]?.digest);
    const changed = isSame ? bytes : new Uint8Array(PlannedStep.encode({ ...step, inputs, ...(source && { source }) }));
    const after = digestOf(changed);
    names.set(before, after);
    const known = definition.metadata[before];
    if (known !== undefined) metadata[after] = known;
    return changed;
  });
  return { ...definition, def, metadata };
}

const digestOf = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
