import { type Compose, type ComposeDocument, containerTitle, recordOf } from "@berth/core/compose";
import { exclusiveContainerReason, type StackPredecessor, withCoupled } from "@berth/core/deploy";
import type { LABELS } from "@berth/docker-client";
import type { SeenContainer } from "../watch.ts";
import type { StackDocument } from "./document.ts";
import type { StackSpec } from "./spec.ts";

/** Which containers of the previous release continue, and which must stop first. */
export interface KeepPlan {
  /** These continue unchanged in the new release. */
  readonly kept: readonly SeenContainer[];
  /** They stop before the new ones start. */
  readonly stopping: readonly SeenContainer[];
  /** Lines for the log. */
  readonly lines: readonly string[];
}

interface Stack {
  readonly spec: Pick<StackSpec, "stack">;
  readonly compose: Compose;
  /** The compose file with references filled in. */
  readonly source: ComposeDocument;
  readonly document: StackDocument;
}

/** Compares with what runs now, not with the previous spec: somebody may have changed containers since. */
export function planKeeping(
  { spec, compose, source, document }: Stack,
  { keeps, isRestart }: Pick<StackPredecessor, "keeps" | "isRestart">,
  old: readonly SeenContainer[],
  fingerprintLabel: (typeof LABELS)["spec"],
): KeepPlan {
  const names = Object.keys(document.services);
  const labelOf = (name: string) => recordOf(recordOf(document.services[name]).labels)[fingerprintLabel];
  const ofName = (name: string) => old.filter(({ container }) => container.name === name);
  const changed = names.filter((name) => {
    const same = ofName(name).filter(
      (one) => isWell(one) && one.info.Config.Labels[fingerprintLabel] === labelOf(name),
    );
    const { scale = 1, profiles } = recordOf(document.services[name]);
    return same.length !== ofName(name).length || same.length !== (Array.isArray(profiles) ? 0 : Number(scale));
  });
  const gone = old.filter(({ container }) => !names.includes(container.name));
  const isSame = changed.length === 0 && gone.length === 0;
  const moved = keeps === "none" || (isSame && isRestart) ? new Set(names) : withCoupled(source, new Set(changed));
  const kept = old.filter(({ container }) => names.includes(container.name) && !moved.has(container.name));
  const replaced = old
    .filter((one) => !kept.includes(one) && one.container.state !== "exited")
    .map((one) => ({ one, because: becauseOf(one) }));
  return {
    kept,
    stopping: replaced.flatMap(({ one, because }) => (because === undefined ? [] : one)),
    lines: [
      ...titles(kept).map((title) => `Keeps ${title}, which is unchanged`),
      ...replaced.map(({ one: { container }, because }) =>
        because === undefined
          ? `Leaves ${containerTitle(container)} running until the new one receives the traffic`
          : `Stops ${containerTitle(container)} of the previous release, since ${because}`,
      ),
    ],
  };

  function becauseOf(one: SeenContainer): string | undefined {
    const { name } = one.container;
    const container = compose.containers.find((other) => other.name === name);
    const added = spec.stack.containers[name]?.storages ?? [];
    const writes = added.some(({ type, isReadOnly }) => type !== "file" && isReadOnly !== true);
    if (writes || hasOwnData(one)) return "it has volumes, which only one may write to";
    return container === undefined ? undefined : exclusiveContainerReason(container, source);
  }
}

const titles = (containers: readonly SeenContainer[]) => containers.map(({ container }) => containerTitle(container));

/** One whose check has not passed yet may be as good as any: engines before 25 run it after a whole interval. */
const isWell = ({ container: { state, health } }: SeenContainer): boolean =>
  state === "running" && health !== "unhealthy";

/** Whether the container has anonymous volumes, or files that only it reads. */
const hasOwnData = ({ info }: SeenContainer): boolean =>
  info.Mounts.some(({ Type, Name = "", RW }) => RW && (Type === "bind" || !/^[0-9a-f]{64}$/.test(Name)));
