import type { ReleaseRef } from "@berth/core/deploy";
import { LABELS, type Labels, labelOf, refOf, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

// A container that nothing changes continues from one release to the next. Its labels are those it was made with, so its
// name says whose it is: `<name>-<resource>-<deployment>`, with the next deployment behind a dot as long as both have it.

/**
 * The releases that a container belongs to.
 * @param name As the engine knows it now; `undefined`: nobody asked.
 */
export function refsOf(labels: Labels | undefined, name: string | undefined, instance: string): readonly ReleaseRef[] {
  const made = refOf(labels, instance);
  if (made === undefined) return [];
  const { resourceUuid } = made;
  const [, owners] = splitName(name ?? "", resourceUuid) ?? [];
  if (owners === undefined || labelOf(labels, LABELS.container) === undefined) return [made];
  return owners.map((deploymentUuid) => ({ resourceUuid, deploymentUuid }));
}

/** Makes a container one of these releases'. Idempotent. */
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
    // It is gone, and so is the question whose it is.
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

/** No uuid has it. */
const OWNERS_MARK = ".";
