import { setTimeout as delay } from "node:timers/promises";
import { jsonLines } from "@berth/docker-client";
import type Docker from "dockerode";
import { isOfDocker } from "./listed.ts";

/** An event of a container, or of another object that was asked for. */
export interface ContainerEvent {
  /** `start`, `die`, `destroy`, `rename`, `health_status`, … */
  readonly action: string;
  readonly containerId: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface EventFeedOptions {
  readonly docker: Docker;
  /** Default: events of containers. */
  readonly filters: { readonly label?: string[]; readonly type?: ("container" | "node" | "service")[] };
  onEvent(event: ContainerEvent): void;
  /** Called after each connect: no event is missed from now on, but earlier ones must be looked up. */
  onConnected(engine: { readonly isDocker: boolean }): void;
  onLost(cause: unknown): void;
  /** Asked at the beginning of each pause: ends it early, as the engine was seen to answer. */
  hurried(): AbortSignal;
  readonly signal: AbortSignal;
}

/** Follows an engine's events until `signal`, reconnecting after failures. Never rejects. */
export async function followEvents(options: EventFeedOptions): Promise<void> {
  const { signal, onLost, hurried } = options;
  for (let attempt = 0; !signal.aborted; attempt++) {
    const startedMs = performance.now();
    const cause: unknown = await readEvents(options).catch((error: unknown) => error);
    if (signal.aborted) return;
    onLost(cause);
    if (performance.now() - startedMs > STEADY_MS) attempt = 0;
    const delayMs = Math.min(RETRY_MS_MIN * 2 ** attempt, RETRY_MS_MAX);
    const over = AbortSignal.any([signal, hurried()]);
    await delay(delayMs, undefined, { signal: over, ref: false }).catch(() => undefined);
  }
}

async function readEvents({ docker, filters, onEvent, onConnected, signal }: EventFeedOptions): Promise<void> {
  const stream = await docker.getEvents({ filters: { type: ["container"], ...filters }, abortSignal: signal });
  signal.throwIfAborted();
  stream.setEncoding("utf8");
  onConnected({ isDocker: "headers" in stream && isOfDocker(stream.headers) });
  // Throws when the connection breaks; ends when the engine stops.
  for await (const line of jsonLines(stream)) {
    const event = readEvent(line);
    if (event !== undefined) onEvent(event);
  }
}

function readEvent(parsed: unknown): ContainerEvent | undefined {
  if (typeof parsed !== "object" || parsed === null) return undefined;
  if (!("Action" in parsed) || typeof parsed.Action !== "string" || !("Actor" in parsed)) return undefined;
  const actor = parsed.Actor;
  if (typeof actor !== "object" || actor === null || !("ID" in actor) || typeof actor.ID !== "string") return undefined;
  const attributes = "Attributes" in actor && typeof actor.Attributes === "object" ? { ...actor.Attributes } : {};
  // `health_status: healthy` contains the result in the action.
  return { action: parsed.Action.split(":")[0] ?? "", containerId: actor.ID, attributes };
}

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 120_000;
const STEADY_MS = 30_000;
