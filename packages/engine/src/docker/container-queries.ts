import type { ReleaseRef } from "@berth/core/deploy";
import { type ReleaseRole, releaseFilter, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import { refsOf } from "./compose/member.ts";
import { describedInList } from "./listed.ts";
import type { DescribedContainer } from "./state.ts";

export interface ListedContainer {
  readonly id: string;
  /** The releases that it belongs to, its original one first. */
  readonly refs: readonly ReleaseRef[];
  /** `State` of the engine's list, which lacks the result of a health check. */
  readonly coarse: string;
  /** Equal while the list says the same of it, apart from its age. */
  readonly listing: string;
  /** What the list says of it, if it need not be inspected for now. */
  readonly described: DescribedContainer | undefined;
}

/** Asks an engine for the containers of one instance's releases. */
export interface ContainerQueries {
  list(ref?: Partial<ReleaseRef>): Promise<readonly ListedContainer[]>;
  idsOf(ref: ReleaseRef): Promise<readonly string[]>;
  /** `undefined`: it does not exist. */
  inspect(id: string): Promise<ContainerInspectInfo | undefined>;
}

export interface ContainerQueriesOptions {
  readonly docker: Docker;
  readonly instance: string;
  /** Role of the releases' containers. Default: those that Berth itself makes. */
  readonly role?: ReleaseRole | undefined;
}

export function containerQueries({ docker, instance, role }: ContainerQueriesOptions): ContainerQueries {
  async function list(ref: Partial<ReleaseRef> = {}): Promise<readonly ListedContainer[]> {
    const containers = await docker.listContainers({ all: true, filters: { ...releaseFilter(instance, ref, role) } });
    return containers.flatMap((container) => {
      const { Id, Labels, Names, State, Status, NetworkSettings } = container;
      // The other names, from links, contain a second slash.
      const name = Names.find((one) => one.lastIndexOf("/") === 0);
      const refs = refsOf(Labels, name, instance);
      if (refs.length === 0) return [];
      // "Up 3 hours (healthy)", "Exited (1) 2 minutes ago": the result of its health check, or its exit code.
      const [result] = /\([^)]*\)/.exec(Status) ?? [];
      const listing = JSON.stringify([State, result, Names, NetworkSettings]);
      const described = name === undefined ? undefined : describedInList(container, name);
      return [{ id: Id, refs, coarse: State, listing, described }];
    });
  }

  return {
    list,
    // All of the resource: a container taken over from the previous release keeps its old labels.
    async idsOf({ resourceUuid, deploymentUuid }) {
      const found = await list({ resourceUuid });
      return found.flatMap(({ id, refs }) => (refs.some((ref) => ref.deploymentUuid === deploymentUuid) ? id : []));
    },
    async inspect(id) {
      try {
        return await docker.getContainer(id).inspect();
      } catch (cause) {
        if (statusCodeOf(cause) === 404) return undefined;
        throw cause;
      }
    },
  };
}
