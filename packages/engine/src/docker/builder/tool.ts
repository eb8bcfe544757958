import { lstat, mkdir, realpath } from "node:fs/promises";
import { delimiter, dirname, join, relative } from "node:path";
import { DomainError } from "@berth/core";
import type { BuildConfig, BuildRequest } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type { Argv } from "@berth/host";
import { run } from "@berth/host";
import type { InWorkplace, Workplace } from "../../builder/build-place.ts";
import { isProgram } from "../../builder/facts.ts";
import { moveSource } from "../../builder/source-move.ts";
import { markerEnv, stepMarker } from "../../builder/step-env.ts";
import { shown } from "../../builder/step-failure.ts";

/** A program on Berth's machine that turns a source into input for BuildKit. */
export interface BuildTool {
  readonly name: "nixpacks" | "railpack";
  /** Command that installs the program. */
  readonly install: string;
  argv(place: ToolPlace): Argv;
  /** Variables in addition to the application's own. */
  env(config: BuildConfig): Readonly<Record<string, string>>;
  /** The build context and Dockerfile that the program has written. */
  made(place: Pick<ToolPlace, "source" | "out">): { readonly context: string; readonly dockerfile: string };
  /** Beside the application's own variables. */
  args(ids: {
    readonly secretsHash: string;
    readonly cacheId: string;
    /** Version of the program, where it is known. */
    readonly version?: string | undefined;
  }): Readonly<Record<string, string>>;
}

/** A build tool as it is run. */
export interface UsableTool {
  readonly tool: BuildTool;
  /** The folder that contains it. */
  readonly folder: string;
  /** PATH under which it is found. */
  readonly path: string;
  readonly version?: string;
}

export interface ToolPlace {
  /** The base directory, absolute. `out` is a folder for this build alone that does not exist yet. */
  readonly source: string;
  readonly out: string;
  readonly config: BuildConfig;
  /** Names of variables; their values are in the program's environment. */
  readonly variables: readonly string[];
}

/** The user's value follows a `=`, so it is never read as an option. */
const option = (name: string, value: string | null): string[] => (value === null ? [] : [`--${name}=${value}`]);
const variableOptions = (names: readonly string[]): string[] => names.map((name) => `--env=${name}`);

export const BUILD_TOOLS: Readonly<Record<BuildTool["name"], BuildTool>> = {
  nixpacks: {
    name: "nixpacks",
    install: "curl -sSL https://nixpacks.com/install.sh | bash",
    argv: ({ source, out, config, variables }) => [
      "nixpacks",
      "build",
      source,
      `--out=${out}`,
      ...option("install-cmd", config.install_command),
      ...option("build-cmd", config.build_command),
      ...option("start-cmd", config.start_command),
      ...variableOptions(variables),
    ],
    env: () => ({}),
    made: ({ out }) => ({ context: out, dockerfile: join(out, ".nixpacks", "Dockerfile") }),
    args: () => ({}),
  },
  railpack: {
    name: "railpack",
    install: "curl -sSL https://railpack.com/install.sh | sh",
    argv: ({ source, out, config, variables }) => [
      "railpack",
      "prepare",
      source,
      `--plan-out=${out}.json`,
      ...option("build-cmd", config.build_command),
      ...option("start-cmd", config.start_command),
      ...variableOptions(config.install_command === null ? variables : [...variables, "RAILPACK_INSTALL_CMD"]),
    ],
    // Railpack has no option for the install command.
    env: ({ install_command }) => (install_command === null ? {} : { RAILPACK_INSTALL_CMD: install_command }),
    made: ({ source, out }) => ({ context: source, dockerfile: `${out}.json` }),
    args: ({ secretsHash, cacheId, version }) => ({
      // It reads what the program has written, so it is of the same version.
      BUILDKIT_SYNTAX: `ghcr.io/railwayapp/railpack-frontend${version === undefined ? "" : `:v${version}`}`,
      "secrets-hash": secretsHash,
      "cache-key": cacheId,
    }),
  },
};

/** `undefined`: it is not installed. */
export async function findTool(config: BuildConfig, path: string): Promise<UsableTool | undefined> {
  const tool = toolOf(config);
  if (tool === undefined) return undefined;
  for (const folder of path.split(delimiter)) if (await isProgram(tool.name, folder)) return { tool, folder, path };
  return undefined;
}

/** The tool of a build pack. */
export const toolOf = ({ build_pack }: BuildConfig): BuildTool | undefined =>
  build_pack === "nixpacks" || build_pack === "railpack" ? BUILD_TOOLS[build_pack] : undefined;

/**
 * Variables that the program may have in its own environment. Where the machine isolates nothing it runs as Berth's
 * user, and it downloads programs that it executes: no proxy, certificate or loader of an application may reach it.
 */
export const isForTool = (name: string): boolean =>
  /^[A-Za-z_]\w*$/.test(name) &&
  !/^(PATH|HOME|TMPDIR|IFS|ENV|BASH_ENV|NODE_OPTIONS|\w*_proxy|(LD|DYLD|RUST|GO|GIT|XDG|MISE|SSL|CURL|DOCKER|NODE_EXTRA)\w*)$/i.test(
    name,
  );

export interface ToolRun {
  readonly request: BuildRequest;
  readonly inWorkplace: InWorkplace;
  /** The whole source and the base directory in it, real paths. The tool takes the source away. */
  readonly root: string;
  readonly folder: string;
  /** A folder that does not exist yet, where only Berth may write. */
  readonly target: string;
  /** The application's own variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs a tool where it sees nothing but the source, and takes away what it made once nothing of it runs any more.
 * @throws DomainError `deploy.build_failed`
 */
export async function runTool(usable: UsableTool, order: ToolRun, io: WorkIO): Promise<ReturnType<BuildTool["made"]>> {
  const { tool } = usable;
  const { request, root, target } = order;
  const way = relative(root, order.folder);
  await order.inWorkplace(request, [usable.folder], async (place) => {
    await moveSource(root, place.source, place.user);
    await execute(usable, placeIn(place, way, order), { ...order, place }, io);
    await mkdir(target, { mode: 0o700 });
    await moveSource(place.source, join(target, "source"), undefined);
    await moveSource(place.output, join(target, "output"), undefined);
  });
  const taken = await realpath(target);
  const made = tool.made(placeIn({ source: join(taken, "source"), output: join(taken, "output") }, way, order));
  await requireOwnFiles(tool, made);
  return made;
}

const placeIn = (
  { source, output }: Pick<Workplace, "source" | "output">,
  way: string,
  { request, env }: ToolRun,
): ToolPlace => ({
  source: join(source, way),
  out: join(output, "out"),
  config: request.config,
  variables: Object.keys(env),
});

async function execute(
  { tool, path }: UsableTool,
  toolPlace: ToolPlace,
  { request, env, place }: ToolRun & { readonly place: Workplace },
  io: WorkIO,
): Promise<void> {
  const lines: string[] = [];
  const { home, temporaryFolder, user, sandbox, group } = place;
  const own = { ...env, ...tool.env(toolPlace.config), ...markerEnv(request) };
  const { exitCode, isTimedOut } = await run(tool.argv(toolPlace), {
    env: markerEnv(request),
    programEnv: { ...own, PATH: path, HOME: home, TMPDIR: temporaryFolder },
    cwd: home,
    user,
    sandbox,
    marker: stepMarker(request),
    cgroupFiles: group?.cgroupFiles,
    members: group?.members,
    signal: io.signal,
    timeoutSeconds: TOOL_SECONDS_MAX,
    maxOutputBytes: 0,
    onLine: (line, stream) => {
      if (line.trim() !== "") lines.push(line);
      io.onLine(line, stream);
    },
  });
  if (exitCode === 0) return;
  const said = shown(lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? "");
  const what = isTimedOut ? "did not end in time" : `exited with code ${exitCode}`;
  throw new DomainError("deploy.build_failed", `${tool.name} ${what}${said === "" ? "" : `: ${said}`}.`);
}

/** Berth reads these with its own rights, so a link could lead it to any file of the machine. */
async function requireOwnFiles({ name }: BuildTool, { context, dockerfile }: ReturnType<BuildTool["made"]>) {
  const isOwn = async (folder: string) => (await realpath(folder).catch(() => undefined)) === folder;
  const file = await lstat(dockerfile).catch(() => undefined);
  if (file?.isFile() && (await isOwn(context)) && (await isOwn(dirname(dockerfile)))) return;
  throw new DomainError(
    "deploy.build_failed",
    `${name} has not written its Dockerfile, or has put a link in its place. Correct the configuration of ${name} in the source, or choose another build pack.`,
  );
}

const TOOL_SECONDS_MAX = 600; // Enough: the program only reads the source and asks registries for versions.
