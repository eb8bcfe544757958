import type { Argv } from "@berth/core";
import { isDomainError } from "@berth/core";
import type { OwnCheck } from "@berth/core/ports";
import type Docker from "dockerode";
import { commandIn } from "./command.ts";

/** Runs a container's HEALTHCHECK once, since engines before 25 wait a whole interval before the first check. */
export async function ownCheckIn(
  docker: Docker,
  { Id, Config: { Healthcheck } }: Pick<Docker.ContainerInspectInfo, "Id" | "Config">,
  signal: AbortSignal,
): Promise<OwnCheck | undefined> {
  const argv = argvOf(Healthcheck?.Test);
  if (argv === undefined) return undefined;
  const command = argv.join(" ");
  const timeoutMs = Math.min((Healthcheck?.Timeout ?? 0) / NANOSECONDS_PER_MS || TIMEOUT_MS_MAX, TIMEOUT_MS_MAX);
  const chunks: Uint8Array[] = [];
  try {
    const result = await commandIn(
      docker,
      Id,
      { argv, variables: {} },
      {
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        output: async (output) => {
          for await (const chunk of output) chunks.push(chunk);
        },
      },
    );
    const words = [...Buffer.concat(chunks).toString("utf8").split("\n"), ...result.errors];
    return { command, exitCode: result.exitCode, lastWords: words.findLast((line) => line.trim() !== "") ?? "" };
  } catch (cause) {
    if (signal.aborted || !isDomainError(cause, "deploy.cancelled", "resource.not_running")) throw cause;
    return { command, exitCode: null, lastWords: "" };
  }
}

/** Command of the engine's `Test` field; `undefined` when the check is missing or disabled. */
function argvOf(check: readonly string[] | undefined): Argv | undefined {
  const [type, first, ...rest] = check ?? [];
  if (first === undefined) return undefined;
  if (type === "CMD") return [first, ...rest];
  return type === "CMD-SHELL" ? ["/bin/sh", "-c", first] : undefined;
}

const NANOSECONDS_PER_MS = 1e6;
/** Longer checks are left to the engine. */
const TIMEOUT_MS_MAX = 5000;
