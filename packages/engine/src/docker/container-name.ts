import { DomainError } from "@berth/core";
import { containerName, type ReleaseRef } from "@berth/core/deploy";
import { LABELS, labelOf, refOf, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import { nameOf } from "./state.ts";
import type { Seen } from "./watch.ts";

interface NamingEngine {
  readonly docker: Docker;
  /** Name of the server, for messages. */
  readonly server: string;
  readonly instance: string;
}

// Names are unique, and a candidate runs beside the release that it replaces. So it starts with a temporary name and
// gets the permanent one after the switch. Renaming does not disturb running processes, and the engine's DNS follows.

/** @throws DomainError `deploy.start_failed` when a container of another resource has the name. */
export async function requireName(place: NamingEngine, name: string, resourceUuid: string): Promise<void> {
  const holder = await holderOf(place, name);
  if (holder !== undefined) ownRef(place, holder, resourceUuid);
}

/** Idempotent. @throws DomainError as above. */
export async function takeName(
  place: NamingEngine,
  { id, info, state }: Pick<Seen, "id" | "info" | "state">,
): Promise<void> {
  const name = labelOf(info.Config.Labels, LABELS.lastingName);
  if (name === undefined) return;
  for (let attempt = 1; ; attempt++) {
    const holder = await holderOf(place, name);
    if (holder?.Id === id) return;
    const freed = holder && giveBack(place, holder, ownRef(place, holder, state.resourceUuid));
    try {
      await Promise.all([freed, renameOnceFree(place, id, name, freed)]);
      return;
    } catch (cause) {
      // Another caller may have taken the name in the meantime, for this or another container.
      if (statusCodeOf(cause) === undefined || attempt === ATTEMPTS_MAX) throw cause;
    }
  }
}

/** Retries at once while the other container gives up the name, since in between it resolves to no container. */
async function renameOnceFree(
  { docker }: NamingEngine,
  id: string,
  name: string,
  freed: Promise<void> | undefined,
): Promise<void> {
  let isFreed = freed === undefined;
  const note = () => {
    isFreed = true;
  };
  freed?.then(note, note);
  for (;;) {
    const isLast = isFreed;
    try {
      return await docker.getContainer(id).rename({ name });
    } catch (cause) {
      if (isLast || statusCodeOf(cause) !== 409) throw cause;
    }
  }
}

async function giveBack({ docker }: NamingEngine, { Id }: ContainerInspectInfo, own: ReleaseRef): Promise<void> {
  try {
    await docker.getContainer(Id).rename({ name: containerName(own.resourceUuid, own.deploymentUuid) });
  } catch (cause) {
    // 404: it was removed in the meantime.
    if (statusCodeOf(cause) !== 404) throw cause;
  }
}

/** The container with exactly this name: the engine also matches prefixes of ids. */
async function holderOf({ docker }: NamingEngine, name: string): Promise<ContainerInspectInfo | undefined> {
  try {
    const info = await docker.getContainer(name).inspect();
    return nameOf(info) === name ? info : undefined;
  } catch (cause) {
    if (statusCodeOf(cause) === 404) return undefined;
    throw cause;
  }
}

function ownRef({ server, instance }: NamingEngine, holder: ContainerInspectInfo, resourceUuid: string): ReleaseRef {
  const ref = refOf(holder.Config.Labels, instance);
  if (ref?.resourceUuid === resourceUuid) return ref;
  const name = nameOf(holder);
  const whose =
    ref === undefined
      ? "a container that Berth did not create. Rename or remove it"
      : `the container of ${labelOf(holder.Config.Labels, LABELS.name) ?? ref.resourceUuid}, which was deployed with it. Deploy that one again under its new name`;
  const message = `The name ${name} is taken on server ${server} by ${whose}, or choose another custom_internal_name; then deploy again.`;
  throw new DomainError("deploy.start_failed", message);
}

const ATTEMPTS_MAX = 3;
