import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import type { WorkIO } from "@berth/core/ports";
import { DOCKER_SOCKET, dockerConfig, pluginFolders } from "@berth/docker-client";
import type { Argv, Host } from "@berth/host";
import { endGroup, pidsWithEnv, run } from "@berth/host";
import { composeReason, isLostConnection, shownProgress } from "./reason.ts";
import { projectName } from "./spec.ts";
import { yamlText } from "./yaml-text.ts";

export interface ComposeToolOptions {
  /** The server whose engine runs the containers. */
  readonly host: Host;
  /** Path of the engine's socket on the server. Default: Docker's own. */
  readonly socketPath?: string | undefined;
  /** A folder on Berth's machine for temporary files of a start. Nobody else may read it. */
  readonly folder: string;
  /** PATH in which docker is looked up. Default: the system's folders. */
  readonly path?: string | undefined;
}

export interface ComposeUp {
  readonly isCreateOnly: boolean;
  readonly keepsExisting: boolean;
  readonly names?: readonly string[] | undefined;
}

/** `docker compose`, run on Berth's machine for the containers of one server. */
export interface ComposeTool {
  /**
   * Creates the containers of a document and starts them in dependency order. Running ones are not changed.
   * @param options.isCreateOnly Only creates them, so that files can be copied in before the start.
   * @param options.names Starts these alone, without what they depend on. Default: all.
   * @throws DomainError `deploy.start_failed`, `deploy.cancelled`, `engine.unsupported` without the program
   */
  up(
    deploymentUuid: string,
    document: Readonly<Record<string, unknown>>,
    options: ComposeUp,
    io: WorkIO,
  ): Promise<void>;
}

export function composeTool(options: ComposeToolOptions): ComposeTool {
  return {
    async up(deploymentUuid, document, { isCreateOnly, keepsExisting, names }, io) {
      const argv: Argv = [
        "up",
        ...(isCreateOnly ? ["--no-start"] : ["--detach"]),
        "--no-build",
        ...["--pull", "never"],
        ...(keepsExisting ? ["--no-recreate"] : []),
        ...(names === undefined ? [] : ["--no-deps", "--", ...names]),
      ];
      await inJobFolder(options, (folder) => call(options, { deploymentUuid, document, argv, folder }, io));
    },
  };
}

async function inJobFolder({ folder }: ComposeToolOptions, work: (folder: string) => Promise<void>): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const jobFolder = await mkdtemp(join(folder, "stack-"));
  try {
    await work(jobFolder);
  } finally {
    await rm(jobFolder, { recursive: true, force: true });
  }
}

interface Call {
  readonly deploymentUuid: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly argv: Argv;
  readonly folder: string;
}

async function call(options: ComposeToolOptions, one: Call, io: WorkIO): Promise<void> {
  const { host, socketPath = DOCKER_SOCKET, path = SYSTEM_PATH } = options;
  const marker = `BERTH_STACK=${one.deploymentUuid}`;
  // Ends a process of the tool that survived the control plane.
  await endGroup({ others: () => pidsWithEnv(marker) }, 0);
  const config = join(one.folder, "config");
  await mkdir(config, { mode: 0o700 });
  await writeFile(join(config, "config.json"), dockerConfig(new Map(), pluginFolders()), { mode: 0o600 });
  const file = join(one.folder, "compose.json");
  await writeFile(file, yamlText(one.document), { mode: 0o600 });
  const words: string[] = [];
  const said = new Set<string>();
  const { exitCode } = await run(composeArgv(one, file), {
    cwd: one.folder,
    // Only variables that the program needs: it would fill in others in the document.
    env: {
      PATH: path,
      HOME: one.folder,
      DOCKER_CONFIG: config,
      DOCKER_HOST: `unix://${await host.socketBridge(socketPath)}`,
      COMPOSE_DISABLE_ENV_FILE: "1",
      BERTH_STACK: one.deploymentUuid,
    },
    signal: io.signal,
    marker,
    graceSeconds: CANCEL_GRACE_SECONDS,
    maxOutputBytes: 0,
    onLine: (line) => {
      words.push(line);
      if (words.length > WORDS_MAX) words.shift();
      const shown = shownProgress(line);
      // The tool repeats a container's state, which is logged only once.
      if (shown !== undefined && !said.has(shown)) io.onLine(shown, "stdout");
      if (shown !== undefined && said.size < PROGRESS_MAX) said.add(shown);
    },
  }).catch((cause: unknown) => {
    if (isDomainError(cause, "engine.failed")) throw missingCompose(cause);
    throw cause;
  });
  if (exitCode === 0) return;
  if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The work was cancelled.");
  if (MISSING.test(words.join("\n"))) throw missingCompose();
  const reason = composeReason(words);
  if (isLostConnection(reason)) {
    throw new DomainError("engine.unreachable", `The connection to the engine of ${host.name} was lost: ${reason}`);
  }
  throw new DomainError("deploy.start_failed", `The containers could not be started: ${reason}`);
}

/** Contains no text of users but names of services, behind the end of the options: all else is in the document. */
export const composeArgv = ({ deploymentUuid, folder, argv }: Omit<Call, "document">, file: string): Argv => [
  "docker",
  "compose",
  "--ansi",
  "never",
  "--progress",
  "plain",
  "--project-name",
  projectName(deploymentUuid),
  "--project-directory",
  folder,
  "--file",
  file,
  ...argv,
];

const missingCompose = (cause?: unknown): DomainError =>
  new DomainError(
    "engine.unsupported",
    "Compose files are started by `docker compose`, which Berth's own machine does not have. Install it there " +
      "(Debian, Ubuntu: apt-get install docker-cli docker-compose, or Docker's own package docker-compose-plugin) and " +
      "deploy again.",
    { cause },
  );

const MISSING = /is not a docker command|unknown command: docker compose|unknown flag: --(ansi|project-name)/;
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const CANCEL_GRACE_SECONDS = 2; // Less than the 5 seconds within which a cancelled deployment must end.
const WORDS_MAX = 200;
const PROGRESS_MAX = 1000;
