import { type Artifact, type EngineImages, type ImageArtifact, isDomainError, registryImages } from "@berth/core";
import type { BuildPlace } from "./build-place.ts";
import type { StepContext } from "./context.ts";
import { moveImage } from "./image-move.ts";

/**
 * Brings what was built to where it is wanted: into the registry that the application is set to, and from a build
 * server to the server that starts it.
 * @throws DomainError `deploy.build_failed`, `deploy.cancelled`
 */
export async function deliver(
  ctx: StepContext,
  place: BuildPlace,
  artifact: Artifact,
  commit: string,
): Promise<Artifact> {
  const { subject } = ctx;
  const deployed = { ...ctx.deployment, commit };
  const names = subject.kind === "application" ? registryImages(subject.record.settings, deployed) : [];
  const { images } = place.engine;
  if (artifact.type !== "image" || images === undefined) {
    if (names.length > 0) ctx.say(`${place.server.name} makes no images, so none is pushed.`, "stderr");
    return artifact;
  }
  let digest = artifact.digest ?? null;
  for (const name of names) digest = await images.push(artifact.image, name, ctx.io);
  const built: ImageArtifact = { ...artifact, digest };
  return place.server.id === ctx.hands.server.id ? built : await bringOver(ctx, place, images, built);
}

async function bringOver(
  ctx: StepContext,
  place: BuildPlace,
  from: EngineImages,
  built: ImageArtifact,
): Promise<ImageArtifact> {
  const { engine, server } = ctx.hands;
  const to = engine.images;
  if (to === undefined) return built;
  const { image } = built;
  const [there, here] = await Promise.all([to.find(image), from.find(image)]);
  if (there !== undefined && there.id === here?.id) {
    ctx.say(`The image is on ${server.name} already.`);
    return built;
  }
  const move = {
    from: { name: place.server.name, images: from },
    to: { name: server.name, images: to },
    image,
    retrySeconds: ctx.settings.moveRetrySeconds,
  };
  const { id } = (await pulled(ctx, to, built)) ?? (await moveImage(move, ctx.io));
  await discardBuild(ctx, place);
  return { ...built, id };
}

/** Its layers stay in the build cache. What cannot be removed now goes with the next cleanup of the build server. */
export async function discardBuild({ ref }: StepContext, { engine }: BuildPlace): Promise<void> {
  await engine.remove(ref).catch((error: unknown) => {
    if (!isDomainError(error)) throw error;
  });
}

/** What is in a registry comes from there, unless the server cannot reach it. */
async function pulled(ctx: StepContext, to: EngineImages, { image, digest }: ImageArtifact) {
  if (!digest) return undefined;
  try {
    return await to.pull(digest, image, ctx.io);
  } catch (cause) {
    if (ctx.io.signal.aborted || !isDomainError(cause, "deploy.build_failed")) throw cause;
    ctx.say(`${cause.message} The image is moved without the registry.`, "stderr");
    return undefined;
  }
}

/** An image that its server has lost is pulled again where a registry has it. */
export async function bringBack(ctx: StepContext, artifact: Artifact): Promise<void> {
  const { images } = ctx.hands.engine;
  if (images === undefined || artifact.type !== "image" || !artifact.digest) return;
  if ((await images.find(artifact.image)) !== undefined) return;
  ctx.say("The server does not have the image any more, so it is pulled again.");
  await images.pull(artifact.digest, artifact.image, ctx.io);
}
