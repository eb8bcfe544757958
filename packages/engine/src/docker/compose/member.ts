import type { ReleaseRef } from "@berth/core/deploy";
import { LABELS, type Labels, labelOf, refOf, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

// An unchanged container continues from one release to the next. Its labels cannot change, so its name records its
// releases: `<name>-<resource>-<deployment>`, followed by a dot and the next deployment while it belongs to both.

/**
 * The releases that a container belongs to.
 * @param name Its current name; `undefined`: not looked up.
 */
export function refsOf(labels: Labels | undefined, name: string | undefined, instance: string): readonly ReleaseRef[] {
  const made = refOf(labels, instance);
  if (made === undefined) return [];
  const { resourceUuid } = made;
  const [, owners] = splitName(name ?? "", resourceUuid) ?? [];
  if (owners === undefined || labelOf(labels, LABELS.container) === undefined) return [made];
  return owners.map((deploymentUuid) => ({ resourceUuid, deploymentUuid }));
}

/** Renames a container so that it belongs to these releases. Idempotent. */
export async function rename(
  container: Docker.Container,
  current: string,
  { resourceUuid }: Pick<ReleaseRef, "resourceUuid">,
  owners: readonly string[],
): Promise<void> {
  const [base] = splitName(current, resourceUuid) ?? [plainName(current)];
  const name = `${base}-${resourceUuid}-${owners.join(OWNERS_MARK)}`;
  if (name === plainName(current)) return;
  try {
    await container.rename({ name });
  } catch (cause) {
    // 404: the container was removed, so it needs no owner.
    if (statusCodeOf(cause) !== 404) throw cause;
  }
}

function splitName(name: string, resourceUuid: string): readonly [string, readonly string[]] | undefined {
  const plain = plainName(name);
  const mark = `-${resourceUuid}-`;
  const at = plain.lastIndexOf(mark);
  if (at === -1) return undefined;
  return [plain.slice(0, at), plain.slice(at + mark.length).split(OWNERS_MARK)];
}

const plainName = (name: string): string => name.replace(/^\//, "");

/** Never part of a uuid. */
const OWNERS_MARK = ".";
