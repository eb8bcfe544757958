import { randomUUID } from "node:crypto";
import { type ClientHttp2Session, connect } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import { BrokenOff, call, type Method } from "./grpc.ts";
import {
  ListWorkersRequest,
  ListWorkersResponse,
  SolveRequest,
  SolveResponse,
  type Status,
  StatusRequest,
  StatusResponse,
} from "./messages.ts";
import { type SourceGuard, submitPlan } from "./plan.ts";
import { openSession, type SessionOffer } from "./session.ts";
import { type EnginePlace, upgradeToHttp2 } from "./upgrade.ts";

/** Input of a BuildKit solve. */
export interface Solve {
  readonly frontend: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly entitlements: readonly string[];
  readonly isCacheInlined: boolean;
  /** Name of the resulting image on the engine. */
  readonly image: string;
  readonly offer: SessionOffer;
  /** Checks the sources of the build. Default: the engine fetches all of them. */
  readonly guard?: SourceGuard | undefined;
  /** The control group of the build's steps. Default: the engine's own for builds, which has no limits. */
  readonly group?: string | undefined;
}

/**
 * Builds an image like the engine's own clients. Aborting ends the build and waits until the engine has ended it. A
 * build never outlives its connection.
 * @throws GrpcError with BuildKit's message, `BrokenOff`, or as `upgradeToHttp2`
 */
export async function solve(
  place: EnginePlace,
  { frontend, entitlements, isCacheInlined, image, offer, guard, group, ...wanted }: Solve,
  onStatus: (status: Status) => void,
  signal: AbortSignal,
): Promise<void> {
  const folders = { ...offer.folders };
  const attributes = { ...wanted.attributes, ...(group === undefined ? {} : { "cgroup-parent": group }) };
  const [control, session] = await both(
    openControl(place, signal),
    openSession(place, randomUUID(), { ...offer, folders }, signal),
  );
  const ending = new AbortController();
  // If the plan is refused, the build that waits for it ends; if the build fails, the plan is given up.
  const failing = new AbortController();
  const working = AbortSignal.any([signal, failing.signal]);
  try {
    const Ref = randomUUID();
    const watching = watch(control, Ref, onStatus, ending.signal);
    const request = {
      Ref,
      Exporter: "moby",
      ExporterAttrs: { name: image },
      Session: session.id,
      ...(guard === undefined
        ? { Frontend: frontend, FrontendAttrs: attributes }
        : { Frontend: "", FrontendAttrs: {} }),
      Cache: { Exports: isCacheInlined ? [{ Type: "inline", Attrs: {} }] : [] },
      Entitlements: [...entitlements],
    };
    const planned = { ref: Ref, session: session.id, frontend, attributes, folders, group };
    try {
      await Promise.all([
        drained(call(control, SOLVE, request, working)),
        guard === undefined ? undefined : submitPlan(control, { ...planned, guard }, working),
      ]);
    } catch (cause) {
      // A refusal by the guard is the reason, even when the connection broke afterwards.
      throw session.isLost() && !isDomainError(cause)
        ? new BrokenOff("The engine lost its connection to the files of the build.", { cause })
        : cause;
    } finally {
      failing.abort();
      // The status stream ends with the build: the last output arrives before it, and a cancelled build has ended
      // then.
      await Promise.race([watching, delay(ENDING_SECONDS_MAX * 1000, undefined, { signal: ending.signal })]).catch(
        () => undefined,
      );
    }
  } finally {
    ending.abort();
    session.close();
    control.destroy();
  }
}

/** Address at which containers of the engine reach their host; `undefined` when unknown. */
export async function hostGateway(place: EnginePlace, signal: AbortSignal): Promise<string | undefined> {
  const control = await openControl(place, signal);
  try {
    for await (const { record } of call(control, LIST_WORKERS, {}, signal)) {
      const found = record.map(({ Labels }) => Labels[HOST_GATEWAY]).find((address) => address !== undefined);
      if (found !== undefined) return found;
    }
    return undefined;
  } finally {
    control.destroy();
  }
}

async function drained(answers: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of answers);
}

async function openControl(place: EnginePlace, signal: AbortSignal): Promise<ClientHttp2Session> {
  const socket = await upgradeToHttp2(place, "/grpc", {}, signal);
  const session = connect("http://engine", { createConnection: () => socket });
  // Ignored here: each call reports the error itself.
  session.on("error", () => undefined);
  return session;
}

/** When one fails, the other is closed. */
async function both<A extends { destroy(): void }, B extends { close(): void }>(
  first: Promise<A>,
  second: Promise<B>,
): Promise<[A, B]> {
  try {
    return await Promise.all([first, second]);
  } catch (cause) {
    first.then((one) => one.destroy()).catch(() => undefined);
    second.then((one) => one.close()).catch(() => undefined);
    throw cause;
  }
}

async function watch(
  control: ClientHttp2Session,
  Ref: string,
  onStatus: (status: Status) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const status of call(control, STATUS, { Ref }, signal)) onStatus(status);
  } catch {
    // Ignored: the call of the build reports the outcome.
  }
}

const SERVICE = "/moby.buildkit.v1.Control";
const SOLVE: Method<Parameters<typeof SolveRequest.encode>[0], object> = {
  path: `${SERVICE}/Solve`,
  request: SolveRequest,
  response: SolveResponse,
};
const STATUS: Method<{ Ref: string }, Status> = {
  path: `${SERVICE}/Status`,
  request: StatusRequest,
  response: StatusResponse,
};
const LIST_WORKERS = {
  path: `${SERVICE}/ListWorkers`,
  request: ListWorkersRequest,
  response: ListWorkersResponse,
};
const HOST_GATEWAY = "org.mobyproject.buildkit.worker.moby.host-gateway-ip";
const ENDING_SECONDS_MAX = 3; // Less than the 5 seconds within which a cancelled build must end.
