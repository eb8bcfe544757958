import { DomainError, isDomainError } from "@berth/core";
import type { Artifact, StackImage } from "@berth/core/deploy";
import type { Engine, WorkIO } from "@berth/core/ports";

/** Images of an artifact; empty when it has none. */
export function imagesOf(artifact: Artifact): readonly StackImage[] {
  if (artifact.type === "folder") return [];
  return artifact.type === "image" ? [artifact] : Object.values(artifact.images);
}

/** Images of an artifact that are missing on its server. */
export async function lostImages(
  { containers }: Pick<Engine, "containers">,
  artifact: Artifact,
): Promise<readonly StackImage[]> {
  const images = containers?.images;
  const found = await Promise.all(
    imagesOf(artifact).map(async (one) => ((await images?.find(one.image)) ? [] : [one])),
  );
  return images === undefined ? [] : found.flat();
}

/**
 * Pulls missing images again from their registries.
 * @throws DomainError `deploy.start_failed` for images that only a new deployment can build
 */
export async function pullMissingImages(
  { containers }: Pick<Engine, "containers">,
  lost: readonly StackImage[],
  io: WorkIO,
): Promise<void> {
  for (const { image, digest } of lost) {
    if (!digest) throw onlyDeployed(image, "no registry has it");
    try {
      await containers?.images?.pull(digest, image, io);
    } catch (cause) {
      if (!isDomainError(cause, "deploy.build_failed")) throw cause;
      throw onlyDeployed(image, `it cannot be pulled again: ${cause.message.replace(/\.$/, "")}`, cause);
    }
  }
}

function onlyDeployed(image: string, because: string, cause?: unknown): DomainError {
  const message = `The image ${image} is no longer on the server, and ${because}. Deploy again.`;
  return new DomainError("deploy.start_failed", message, { cause });
}
