import { DomainError, isDomainError } from "@berth/core";
import type { EngineImage, EngineImages, WorkIO } from "@berth/core/ports";
import { pause } from "../wait.ts";

export interface ImagePlace {
  /** Name of its server. */
  readonly name: string;
  readonly images: EngineImages;
}

export interface ImageMove {
  readonly from: ImagePlace;
  readonly to: ImagePlace;
  readonly image: string;
  /** Pause before the second attempt. */
  readonly retrySeconds: number;
}

/**
 * Streams an image from one engine to another, at the speed of the slower one. Tries once more when the transfer is
 * interrupted.
 * @throws DomainError `deploy.cancelled`, `deploy.build_failed`
 */
export async function moveImage({ from, to, image, retrySeconds }: ImageMove, io: WorkIO): Promise<EngineImage> {
  const source = await from.images.find(image);
  if (source === undefined) throw new DomainError("deploy.build_failed", `The image is no longer on ${from.name}.`);
  io.onLine(`Moves the image, about ${megabytes(source.sizeBytes)}, from ${from.name} to ${to.name}`, "stdout");
  for (let attempt = 1; ; attempt++) {
    try {
      // The second attempt sends all layers: those that existed before may have been removed.
      const held = attempt === 1 ? await to.images.held(source.layers) : [];
      const { sizeBytes, layers } = source;
      return await sendImage({ from, to, image, sizeBytes, layerCount: layers.length, held }, io);
    } catch (cause) {
      if (io.signal.aborted)
        throw new DomainError("deploy.cancelled", "The move of the image was cancelled.", { cause });
      if (!isDomainError(cause)) throw cause;
      if (attempt === ATTEMPTS_MAX) {
        const message = `The image could not be moved from ${from.name} to ${to.name}: ${cause.message}`;
        throw new DomainError("deploy.build_failed", message, { cause });
      }
      io.onLine(`The move was interrupted and begins again: ${cause.message}`, "stderr");
      await pause(retrySeconds, io.signal);
    }
  }
}

interface Shipment extends Omit<ImageMove, "retrySeconds"> {
  readonly sizeBytes: number;
  readonly layerCount: number;
  readonly held: readonly string[];
}

async function sendImage({ from, to, image, sizeBytes, layerCount, held }: Shipment, io: WorkIO): Promise<EngineImage> {
  if (held.length > 0) io.onLine(`${to.name} has ${held.length} of its ${layerCount} layers already`, "stdout");
  const startedMs = performance.now();
  let bytes = 0;
  let toldMs = startedMs;
  const told = async function* () {
    for await (const chunk of from.images.save(image, held)) {
      yield chunk;
      bytes += chunk.length;
      if (performance.now() - toldMs < PROGRESS_MS) continue;
      toldMs = performance.now();
      io.onLine(`Moved ${megabytes(bytes)} of about ${megabytes(sizeBytes)}`, "stdout");
    }
  };
  const moved = await to.images.load(told(), image, io.signal);
  const seconds = (performance.now() - startedMs) / 1000;
  io.onLine(`The image is on ${to.name}: ${megabytes(bytes)} in ${seconds.toFixed(1)} s`, "stdout");
  return moved;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

const ATTEMPTS_MAX = 2;
const PROGRESS_MS = 5000;
