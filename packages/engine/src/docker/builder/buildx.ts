import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuildRequest, DomainError, isDomainError, type WorkIO } from "@berth/core";
import { isProgram } from "../../builder/facts.ts";
import type { Argv } from "../../host/argv.ts";
import { endGroup } from "../../host/group.ts";
import type { Host } from "../../host/host.ts";
import { run } from "../../host/local.ts";
import { pidsWithEnv } from "../../host/procfs.ts";
import { type BakeTarget, bakeArgv, bakeOf } from "./bake.ts";
import { buildFailure, missingBuildx } from "./failure.ts";
import { buildTrace, type KnownSteps } from "./progress.ts";
import { dockerConfig, pluginFolders, type RegistryLogins } from "./registry-auth.ts";

/** Where and with what one build works. */
export interface BuildPlace {
  /** Whose engine builds. */
  readonly host: Host;
  readonly socketPath: string;
  /** A folder of Berth's own machine that nobody else reads, for this build alone. */
  readonly jobFolder: string;
  /** Logins for private base images. */
  readonly logins: RegistryLogins;
  readonly steps?: KnownSteps | undefined;
  /** PATH under which docker is found. */
  readonly path: string;
}

/**
 * Has an engine's BuildKit make an image, which then lies on that engine. The program runs on Berth's machine and sends
 * what is asked for of the context, through the connection that the server is reached by.
 * @throws DomainError `deploy.build_failed`, `deploy.cancelled`, `engine.unsupported` without buildx
 */
export async function buildImage(
  target: BakeTarget,
  request: Pick<BuildRequest, "deploymentUuid">,
  io: WorkIO,
  place: BuildPlace,
): Promise<void> {
  const marker = buildMarker(request);
  // Of a control plane that went away in the middle.
  await endGroup({ others: () => pidsWithEnv(marker) }, 0);
  const { definition, env } = bakeOf(target);
  const config = join(place.jobFolder, "config");
  const files = {
    definition: join(place.jobFolder, "bake.yaml"),
    metadata: join(place.jobFolder, "metadata.json"),
    isInServerNetwork: target.more?.network === "host",
  };
  await mkdir(config, { recursive: true, mode: 0o700 });
  await writeFile(join(config, "config.json"), dockerConfig(place.logins, pluginFolders()), { mode: 0o600 });
  await writeFile(files.definition, definition, { mode: 0o600 });

  const trace = buildTrace((line, stream) => io.onLine(line, stream), place.steps);
  const { exitCode } = await run(bakeArgv(files, await findBuildx(place.path)), {
    // Nothing of the source lies there that the program would read, e.g. a `.env`.
    cwd: place.jobFolder,
    env: {
      ...env,
      PATH: place.path,
      HOME: place.jobFolder,
      DOCKER_CONFIG: config,
      DOCKER_HOST: `unix://${await place.host.socketBridge(place.socketPath)}`,
      // Every path in the definition is one of ours.
      BUILDX_BAKE_ENTITLEMENTS_FS: "0",
      BUILDX_NO_DEFAULT_ATTESTATIONS: "1",
      // It would ask git about the source.
      BUILDX_GIT_INFO: "false",
      BERTH_BUILD: request.deploymentUuid,
    },
    signal: io.signal,
    marker,
    graceSeconds: CANCEL_GRACE_SECONDS,
    maxOutputBytes: 0,
    onLine: (line) => trace.write(line),
  }).catch((cause: unknown) => {
    if (isDomainError(cause, "engine.failed")) throw missingBuildx(cause);
    throw cause;
  });
  trace.end();
  if (exitCode === 0) return;
  if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The build was cancelled.");
  await requireConnection(place, trace.ownWords());
  throw buildFailure(trace.failedStep(), trace.ownWords());
}

/** A lost connection is a trouble of the server's, not of what is built. */
async function requireConnection({ host, socketPath }: BuildPlace, ownWords: readonly string[]): Promise<void> {
  const socket = await host.connectSocket(socketPath, AbortSignal.timeout(CONNECT_SECONDS_MAX * 1000));
  socket.destroy();
  if (!ownWords.some((line) => LOST_CONNECTION.test(line))) return;
  const message = `The connection to the engine of server ${host.name} broke off during the build. Deploy again.`;
  throw new DomainError("engine.unreachable", message);
}

/** In the words of docker's own client; what a registry or a build says of its connections reads otherwise. */
const LOST_CONNECTION = /error during connect:|error reading from server: EOF|no active session for|closing transport/;
const CONNECT_SECONDS_MAX = 10;

/** Every process of a build is found by it, wherever it went. */
const buildMarker = ({ deploymentUuid }: Pick<BuildRequest, "deploymentUuid">): string =>
  `BERTH_BUILD=${deploymentUuid}`;

/** By its own file where that lies at a usual place: `docker` itself takes a tenth of a second to find and call it. */
async function findBuildx(path: string): Promise<Argv> {
  const viaDocker: Argv = ["docker", "buildx"];
  if (!(await isProgram("docker", path))) return viaDocker;
  for (const folder of [...pluginFolders(), ...SYSTEM_PLUGIN_FOLDERS]) {
    if (await isProgram("docker-buildx", folder)) return [join(folder, "docker-buildx")];
  }
  return viaDocker;
}

/** In the order in which `docker` looks. */
const SYSTEM_PLUGIN_FOLDERS = [
  "/usr/local/lib/docker/cli-plugins",
  "/usr/local/libexec/docker/cli-plugins",
  "/usr/lib/docker/cli-plugins",
  "/usr/libexec/docker/cli-plugins",
];

const CANCEL_GRACE_SECONDS = 2; // The program tells the engine to stop; a cancelled build has to be gone within 5.
