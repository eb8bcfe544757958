import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { isDomainError } from "@berth/core";
import type { HealthCheck, HttpProbe, ProbeOutcome } from "@berth/core/application";
import type { ReleaseState, ReplicaState, Upstream } from "@berth/core/deploy";
import type { Connect } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";

/** Checks once whether a release works. A failing release does not make it reject. */
export async function probeRelease(
  { engine, connect }: Pick<ServerAdapters, "engine" | "connect">,
  { resourceUuid, deploymentUuid, upstream, container }: ReplicaState,
  { probe, timeoutSeconds }: HealthCheck,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  if (probe.type === "http") {
    return upstream === null
      ? { type: "refused" }
      : await probeHttp(upstream, probe, { timeoutSeconds, signal, connect });
  }
  // Running is the only condition.
  if (probe.type === "steady") return { type: "exit", exitCode: 0, output: "" };
  const ref = { resourceUuid, deploymentUuid };
  const startedMs = performance.now();
  try {
    const within = container === undefined ? {} : { container };
    const options = { timeoutSeconds, signal, maxOutputBytes: OUTPUT_BYTES_MAX, ...within };
    const { exitCode, output } = await engine.exec(ref, probe.script, options);
    const isOverdue = exitCode === TIMEOUT_EXIT_CODE && performance.now() - startedMs >= timeoutSeconds * 1000;
    return isOverdue ? { type: "timeout" } : { type: "exit", exitCode, output };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return { type: "not_running" };
  }
}

export interface OwnAnswer {
  readonly command: string;
  readonly problem: string | undefined;
}

/**
 * Runs a release's own health check, or that of one of its containers, which its engine has not run yet. A setup
 * server that some images start first also passes it but is reachable only inside of the container, so the port is
 * probed as well.
 *
 * @returns `undefined` when the check cannot be run: the engine then decides
 */
export async function probeOwnCheck(
  { engine, connect }: Pick<ServerAdapters, "engine" | "connect">,
  state: Pick<ReleaseState, "resourceUuid" | "deploymentUuid" | "upstream"> & { readonly container?: string },
  signal: AbortSignal,
): Promise<OwnAnswer | undefined> {
  try {
    const asked = await engine.containers?.ownCheck(state, signal, state.container);
    if (asked === undefined) return undefined;
    const { command, exitCode, lastWords } = asked;
    if (exitCode === null) return { command, problem: "its health check did not end in time" };
    const said = lastWords === "" ? "" : `: ${lastWords.slice(0, WORDS_LENGTH_MAX)}`;
    if (exitCode !== 0) return { command, problem: `its health check exited with code ${exitCode}${said}` };
    const isReached = state.upstream === null || (await takesConnections(state.upstream, signal, connect));
    return { command, problem: isReached ? undefined : `nothing listens at port ${state.upstream?.port} yet` };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return undefined;
  }
}

async function takesConnections(upstream: Upstream, signal: AbortSignal, connect?: Connect): Promise<boolean> {
  const whole = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS_MAX)]);
  try {
    const stream = await (connect ?? connectDirectly)(upstream, whole);
    stream.destroy();
    return true;
  } catch {
    return false;
  }
}

async function connectDirectly({ host, port }: Upstream, signal: AbortSignal): Promise<Duplex> {
  const socket = connectTcp({ host, port, signal });
  await once(socket, "connect", { signal });
  return socket;
}

const WORDS_LENGTH_MAX = 200;
const CONNECT_MS_MAX = 2000;

export interface ProbeOptions {
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
  /** Connects to an address that only the release's server reaches. */
  readonly connect?: Connect | undefined;
}

export async function probeHttp(
  upstream: Upstream,
  probe: HttpProbe,
  { timeoutSeconds, signal, connect }: ProbeOptions,
): Promise<ProbeOutcome> {
  const whole = AbortSignal.any([signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
  const options: RequestOptions & { readonly rejectUnauthorized: boolean } = {
    host: upstream.host,
    port: probe.port ?? upstream.port,
    method: probe.method,
    path: probe.path,
    headers: { host: probe.host, "user-agent": "Berth-Health", connection: "close" },
    agent: false,
    signal: whole,
    // The certificate between proxy and application is the application's own.
    rejectUnauthorized: false,
  };
  if (connect !== undefined) {
    try {
      const stream = await connect({ host: upstream.host, port: probe.port ?? upstream.port }, whole);
      // An agent would open its own connections instead.
      delete options.agent;
      options.createConnection = () => streamFor(probe, stream);
    } catch (error) {
      return whole.aborted ? { type: "timeout" } : outcomeOf(error);
    }
  }
  return new Promise((resolve) => {
    const request = (probe.scheme === "https" ? httpsRequest : httpRequest)(options);
    request.on("error", (error) => resolve(outcomeOf(error)));
    request.on("response", (response) => {
      readAnswer(response, probe.text === null ? 0 : BODY_BYTES_MAX).then(resolve, (error) =>
        resolve(outcomeOf(error)),
      );
    });
    request.end();
  });
}

const streamFor = (probe: HttpProbe, stream: Duplex): Duplex =>
  probe.scheme === "https" ? connectTls({ socket: stream, rejectUnauthorized: false }) : stream;

async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<ProbeOutcome> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  if (bytesMax > 0) {
    for await (const chunk of response) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= bytesMax) break;
    }
  }
  response.destroy();
  return { type: "answer", statusCode: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
}

function outcomeOf(error: unknown): ProbeOutcome {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError"))
    return { type: "timeout" };
  if (code.startsWith("HPE_") || code === "ECONNRESET" || code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return { type: "not_http" };
  }
  return { type: "refused" };
}

/** Enough for the text check; an endless page must not exhaust memory. */
const BODY_BYTES_MAX = 1024 * 1024;
const OUTPUT_BYTES_MAX = 4096;
/** Exit code of `timeout` and of engines when a script exceeded its time limit. */
const TIMEOUT_EXIT_CODE = 124;
