import { request } from "node:http";
import { isDomainError } from "@berth/core";
import type { Upstream } from "@berth/core/deploy";
import type { ManagedProxyStatus } from "@berth/core/ports";
import type { Host } from "@berth/host";
import type { ProxySettings } from "./routed-site.ts";

/** Request that shows whether a proxy serves. */
export interface ProbeQuestion {
  readonly host: string;
  readonly path: string;
}

/** Status code of its answer to a request from the server itself; `undefined` without an answer. */
export async function statusAt(
  host: Host,
  address: Upstream,
  { host: name, path }: ProbeQuestion = ANYTHING,
): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ANSWER_SECONDS_MAX * 1000);
  try {
    const stream = await host.connectTcp(address, signal);
    try {
      return await new Promise<number | undefined>((resolve, reject) => {
        const headers = { Host: name, Connection: "close" };
        const sent = request({ createConnection: () => stream, path, headers, signal }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        });
        sent.once("error", reject).end();
      });
    } finally {
      stream.destroy();
    }
  } catch (error) {
    // The state of the proxy is unknown while its server is unreachable.
    if (isDomainError(error, "server.unreachable") && !signal.aborted) throw error;
    return undefined;
  }
}

/** `starting` is a running container whose proxy does not answer, yet or any longer. */
export async function seenStatus(
  host: Host,
  { httpPort }: Pick<ProxySettings, "httpPort">,
  of: Promise<ManagedProxyStatus>,
): Promise<ManagedProxyStatus> {
  const status = await of;
  if (status.state !== "running") return status;
  const isServing = (await statusAt(host, { host: "127.0.0.1", port: httpPort })) !== undefined;
  return isServing ? status : { ...status, state: "starting" };
}

const ANYTHING: ProbeQuestion = { host: "berth.invalid", path: "/" };
const ANSWER_SECONDS_MAX = 3;
