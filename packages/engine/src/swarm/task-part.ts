import type { ReleaseContainer } from "@berth/core/deploy";
import { LABELS, labelOf, refOf } from "@berth/docker-client";
import { identityOf, type ReleasePart } from "../docker/state.ts";
import type { Task } from "./services.ts";

/**
 * A container as the managers know it, while its own node cannot be reached by Berth. `undefined`: it is not one of
 * this instance's, or it is not wanted any more.
 */
export function partOfTask(task: Task, instance: string): ReleasePart | undefined {
  const { Slot: number = 0, Status, Spec, DesiredState } = task;
  const labels = Spec.ContainerSpec?.Labels ?? {};
  const ref = refOf(labels, instance);
  if (ref === undefined || DesiredState !== "running") return undefined;
  const isRunning = Status.State === "running";
  const port = Number(labelOf(labels, LABELS.port) ?? Number.NaN);
  const [address] = (task.NetworksAttachments ?? []).flatMap(({ Addresses }) => Addresses ?? []);
  const container: ReleaseContainer = {
    ...identityOf(labels, number),
    ...{ restartCount: 0, exitCode: null, isExcluded: labels[LABELS.excluded] === "true" },
    state: isRunning ? "running" : "starting",
    startedAt: isRunning ? new Date(Status.Timestamp ?? 0) : null,
    address: isRunning ? (address?.split("/")[0] ?? null) : null,
    port: Number.isInteger(port) ? port : null,
  };
  const { state, startedAt } = container;
  return {
    id: "",
    container,
    state: { ...ref, state, startedAt, upstream: null, restartCount: 0, exitCode: null },
    order: container.isReplica === true ? number : Number(labels[LABELS.order]) || 0,
    isMember: true,
    run: Number(labels[LABELS.run]) || 0,
  };
}
