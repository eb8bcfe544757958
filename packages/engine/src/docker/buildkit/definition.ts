import { createHash } from "node:crypto";
import { type Definition, PlannedExec, PlannedStep, type SourceOp } from "./messages.ts";

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

export interface PlanChanges {
  /** New sources by the digest of their step. */
  readonly sources: ReadonlyMap<string, SourceOp>;
  /** The control group of every step that runs a program. Default: as planned. */
  readonly group?: string | undefined;
}

/**
 * Changes steps of a plan. A step's name is a hash that includes its inputs' names, so all steps that depend on a
 * changed one get new names.
 * @returns The same object where nothing is to be changed.
 */
export function changedPlan(definition: Definition, { sources, group }: PlanChanges): Definition {
  const names = new Map<string, string>();
  const metadata: Definition["metadata"] = {};
  const def = definition.def.map((bytes) => {
    const before = digestOf(bytes);
    const step = PlannedStep.decode(bytes);
    const inputs = step.inputs.map(({ digest, index }) => ({ digest: names.get(digest) ?? digest, index }));
    const own = { ...inNewPlace(step.source, sources.get(before)), ...inGroup(step.exec, group) };
    const isSame =
      Object.keys(own).length === 0 && inputs.every(({ digest }, index) => digest === step.inputs[index]?.digest);
    const changed = isSame ? bytes : new Uint8Array(PlannedStep.encode({ ...step, inputs, ...own }));
    const after = digestOf(changed);
    names.set(before, after);
    const known = definition.metadata[before];
    if (known !== undefined) metadata[after] = known;
    return changed;
  });
  return def.every((bytes, index) => bytes === definition.def[index]) ? definition : { ...definition, def, metadata };
}

const inNewPlace = (before: SourceOp | undefined, source: SourceOp | undefined) =>
  before === undefined || source === undefined ? {} : { source };

/** The frontend sets the group as well, but an older one that the Dockerfile names does not know it. */
function inGroup(exec: Uint8Array | undefined, group: string | undefined) {
  if (exec === undefined || group === undefined || PlannedExec.decode(exec).meta?.cgroupParent === group) return {};
  // A message in two parts is read as one, in which the later part counts.
  return { exec: new Uint8Array(Buffer.concat([exec, PlannedExec.encode({ meta: { cgroupParent: group } })])) };
}

const digestOf = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
