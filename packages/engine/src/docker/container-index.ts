import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import { refsOf } from "./compose/member.ts";
import { type DescribedContainer, hasEnded, partOf, type ReleasePart, releaseOf } from "./state.ts";

export interface IndexedContainer {
  /** One part for each release that the container belongs to. */
  readonly parts: readonly ReleasePart[];
  readonly exitCode: number | undefined;
}

/** The last known containers of an engine, and the containers of each release. */
export class ContainerIndex {
  readonly #instance: string;
  readonly #containers = new Map<string, IndexedContainer>();
  readonly #idsByDeployment = new Map<string, ReadonlySet<string>>();

  /** @param instance Only releases of this Berth instance are indexed. */
  constructor(instance: string) {
    this.#instance = instance;
  }

  get(id: string): IndexedContainer | undefined {
    return this.#containers.get(id);
  }

  ids(): readonly string[] {
    return [...this.#containers.keys()];
  }

  parts(): readonly ReleasePart[] {
    return [...this.#containers.values()].flatMap(({ parts }) => parts);
  }

  idsOf({ deploymentUuid }: Pick<ReleaseRef, "deploymentUuid">): readonly string[] {
    return [...(this.#idsByDeployment.get(deploymentUuid) ?? [])];
  }

  /** What is known of the containers of a release. */
  partsOf(ref: Pick<ReleaseRef, "deploymentUuid">): readonly ReleasePart[] {
    const own = ({ state }: ReleasePart) => state.deploymentUuid === ref.deploymentUuid;
    return this.idsOf(ref).flatMap((id) => this.get(id)?.parts.find(own) ?? []);
  }

  /** State of a release, computed from its known containers. */
  releaseOf(ref: Pick<ReleaseRef, "deploymentUuid">): ReleaseState | undefined {
    return releaseOf(this.partsOf(ref));
  }

  /** Records a container's current state. Returns its parts. */
  put(id: string, info: DescribedContainer): readonly ReleasePart[] {
    const before = this.get(id);
    const exitCode = hasEnded(info.State.Status) ? info.State.ExitCode : before?.exitCode;
    const refs = refsOf(info.Config.Labels, info.Name, this.#instance);
    const parts = refs.map((ref) => partOf(ref, info, exitCode));
    this.#containers.set(id, { parts, exitCode });
    for (const { state } of before?.parts ?? []) this.detach(state, id);
    for (const ref of refs) this.attach(ref, id);
    return parts;
  }

  /** Recorded from the event: an engine that restarts the container at once forgets the exit code. */
  setExitCode(id: string, exitCode: number): void {
    const before = this.get(id);
    if (before !== undefined) this.#containers.set(id, { ...before, exitCode });
  }

  attach({ deploymentUuid }: Pick<ReleaseRef, "deploymentUuid">, id: string): void {
    this.#idsByDeployment.set(deploymentUuid, new Set([...this.idsOf({ deploymentUuid }), id]));
  }

  detach({ deploymentUuid }: Pick<ReleaseRef, "deploymentUuid">, id: string): void {
    const rest = this.idsOf({ deploymentUuid }).filter((one) => one !== id);
    if (rest.length === 0) this.#idsByDeployment.delete(deploymentUuid);
    else this.#idsByDeployment.set(deploymentUuid, new Set(rest));
  }

  /** Deletes a container, after its releases were detached. */
  delete(id: string): void {
    this.#containers.delete(id);
  }
}
