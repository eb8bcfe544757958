import { isDomainError } from "@berth/core";
import type { Artifact, ImageArtifact, StackImage } from "@berth/core/deploy";
import type { EngineImages, RegistryImage } from "@berth/core/ports";
import { imagesOf, lostImages } from "../lost-image.ts";
import type { ServerAdapters } from "../server-adapters.ts";
import type { BuildPlace } from "./build-place.ts";
import type { StepContext } from "./context.ts";
import { moveImage } from "./image-move.ts";

export type DeliveryContext = Pick<
  StepContext,
  "subject" | "kind" | "deployment" | "ref" | "settings" | "io" | "say"
> & {
  readonly adapters: Pick<ServerAdapters, "server" | "engine">;
};

/**
 * Transfers the built images: to the registry that the application names, and from a build server to the target
 * server.
 * @throws DomainError `deploy.build_failed`, `deploy.cancelled`
 */
export async function deliver(
  ctx: DeliveryContext,
  place: BuildPlace,
  artifact: Artifact,
  commit: string,
): Promise<Artifact> {
  const names = ctx.kind.pushedImages(ctx.subject, { ...ctx.deployment, commit });
  const images = place.engine.containers?.images;
  if (artifact.type === "folder" || images === undefined) {
    if (names.length > 0) ctx.say(`${place.server.name} does not build images, so none is pushed.`, "stderr");
    return artifact;
  }
  const built = artifact.type === "image" ? await pushed(ctx, images, artifact, names) : artifact;
  return place.server.id === ctx.adapters.server.id ? built : await bringOver(ctx, place, images, built);
}

async function pushed(
  { io }: DeliveryContext,
  images: EngineImages,
  artifact: ImageArtifact,
  names: readonly RegistryImage[],
): Promise<ImageArtifact> {
  let digest = artifact.digest ?? null;
  for (const name of names) digest = await images.push(artifact.image, name, io);
  return { ...artifact, digest };
}

type WithImages = Exclude<Artifact, { readonly type: "folder" }>;

async function bringOver(
  ctx: DeliveryContext,
  place: BuildPlace,
  from: EngineImages,
  built: WithImages,
): Promise<WithImages> {
  const to = ctx.adapters.engine.containers?.images;
  if (to === undefined) return built;
  const ids = new Map<string, string>();
  let isMoved = false;
  for (const image of imagesOf(built)) {
    const [there, here] = await Promise.all([to.find(image.image), from.find(image.image)]);
    const isThere = there !== undefined && there.id === here?.id;
    if (isThere) ctx.say(`The image ${image.image} is on ${ctx.adapters.server.name} already.`);
    const { id } = isThere ? there : await bring(ctx, { place, from, to }, image);
    ids.set(image.image, id);
    isMoved ||= !isThere;
  }
  if (isMoved) await discardBuild(ctx, place);
  return withIds(built, ids);
}

async function bring(
  ctx: DeliveryContext,
  { place, from, to }: { readonly place: BuildPlace; readonly from: EngineImages; readonly to: EngineImages },
  image: StackImage,
) {
  const move = {
    from: { name: place.server.name, images: from },
    to: { name: ctx.adapters.server.name, images: to },
    image: image.image,
    retrySeconds: ctx.settings.moveRetrySeconds,
  };
  return (await pulled(ctx, to, image)) ?? (await moveImage(move, ctx.io));
}

/** Another engine may store the same image under another id. */
function withIds(artifact: WithImages, ids: ReadonlyMap<string, string>): WithImages {
  const withId = <Image extends StackImage>(image: Image): Image => {
    const id = ids.get(image.image);
    return id === undefined ? image : { ...image, id };
  };
  if (artifact.type === "image") return withId(artifact);
  const images = Object.entries(artifact.images).map(([name, image]) => [name, withId(image)] as const);
  return { ...artifact, images: Object.fromEntries(images) };
}

/** Layers stay in the build cache. If removal fails, the next cleanup of the build server does it. */
export async function discardBuild({ ref }: Pick<DeliveryContext, "ref">, { engine }: BuildPlace): Promise<void> {
  await engine.remove(ref).catch((error: unknown) => {
    if (!isDomainError(error)) throw error;
  });
}

/** Pulls the image from its registry, unless the server cannot reach it. */
async function pulled(ctx: DeliveryContext, to: EngineImages, { image, digest }: StackImage) {
  if (!digest) return undefined;
  try {
    return await to.pull(digest, image, ctx.io);
  } catch (cause) {
    if (ctx.io.signal.aborted || !isDomainError(cause, "deploy.build_failed")) throw cause;
    ctx.say(`${cause.message} The image is moved without the registry.`, "stderr");
    return undefined;
  }
}

/** Pulls images that are missing on the server again, if a registry has them. */
export async function pullLostImages(ctx: DeliveryContext, artifact: Artifact): Promise<void> {
  const { engine } = ctx.adapters;
  for (const { image, digest } of await lostImages(engine, artifact)) {
    if (!digest) continue;
    ctx.say("The image is no longer on the server, so it is pulled again.");
    await engine.containers?.images?.pull(digest, image, ctx.io);
  }
}
