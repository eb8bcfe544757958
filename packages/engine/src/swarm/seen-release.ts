import { containerTitle } from "@berth/core/compose";
import type { ReleaseContainer, ReleaseRef, ReleaseState } from "@berth/core/deploy";
import type { ContainerInspectInfo } from "dockerode";
import type { ReleasePart } from "../docker/state.ts";
import type { SwarmNode } from "./nodes.ts";
import type { FoundService } from "./services.ts";

/** A container of a release on one of the nodes. */
export interface TaskContainer {
  readonly id: string;
  readonly info: ContainerInspectInfo;
  readonly part: ReleasePart;
  readonly container: ReleaseContainer;
  readonly node: SwarmNode;
  /** The releases that it belongs to: only its own. */
  readonly owners: readonly string[];
}

export interface SeenRelease {
  readonly ref: ReleaseRef;
  /** One of an image, one for each container of a compose file. */
  readonly services: readonly FoundService[];
  readonly state: ReleaseState;
  /** On the nodes that can be reached, the oldest first; also those that have ended. */
  readonly containers: readonly TaskContainer[];
  /** All nodes can be reached. */
  readonly isComplete: boolean;
}

/** The newest container of each that the compose file names, with the state that the release shows for it. */
export function currentContainers(seen: SeenRelease | undefined): readonly TaskContainer[] {
  return (seen?.state.containers ?? []).flatMap((container) => {
    const title = containerTitle(container);
    const newest = seen?.containers.findLast((one) => containerTitle(one.container) === title);
    return newest === undefined ? [] : { ...newest, container };
  });
}
