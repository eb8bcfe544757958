import type { ReleaseContainer, ReleaseState, StorageMount } from "./release.ts";
import type { Health } from "./status.ts";

// A stack is one release of several containers: what a compose text describes.

/**
 * What a compose text came to: plain JSON like every artifact, and complete, since the folder that it was read from is
 * gone when it is started again. Holds secrets.
 */
export interface StackArtifact {
  readonly type: "stack";
  /** Without what is built and without other files. Its references to variables are still there. */
  readonly compose: string;
  /** Values from env files of the source, for references that the resource has no variable for. Secrets. */
  readonly variables?: Readonly<Record<string, string>>;
  /** By the container's name, and under a name that no container has: what holds large files of the source. */
  readonly images: Readonly<Record<string, StackImage>>;
  /** Files of the source that are mounted into containers. */
  readonly files: readonly StackFile[];
}

export interface StackImage {
  /** The name under which it lies on the server, which no other deployment shares. */
  readonly image: string;
  /** `sha256:...` of the image itself. */
  readonly id?: string;
  /** `name@sha256:...` of one that was pulled; `null` for one that was built. */
  readonly digest?: string | null;
}

export interface StackFile {
  readonly container: string;
  readonly mountPath: string;
  /** In base64: not every file is text. `null`: it lies in the image of the source. */
  readonly content: string | null;
  /** Its permissions. */
  readonly mode: number;
}

/** Options of a stack's start, besides its artifact. */
export interface StackOptions {
  /** Values of `${NAME}` in the compose file, byte for byte. Secrets. */
  readonly variables: Readonly<Record<string, string>>;
  /** By the container's name; one that is missing gets what the compose text says, and nothing else. */
  readonly containers: Readonly<Record<string, StackContainer>>;
  /** Networks of the server that every container joins beside those of the stack itself. */
  readonly networks: readonly string[];
  readonly replaces?: StackPredecessor;
  /** How many containers of each service, in the place of what the text says. */
  readonly scale?: Readonly<Record<string, number>>;
  /** Every container is made anew, whether anything of it has changed or not. */
  readonly isRecreated?: boolean;
  /** Names its own networks. Default: the resource's uuid; a preview has others than its application. */
  readonly scope?: string;
}

/** The release that a stack takes the place of, as long as it is there. */
export interface StackPredecessor {
  readonly deploymentUuid: string;
  /** Which of its containers go on in the new release: those that would be made again just as they are, or none. */
  readonly keeps: "unchanged" | "none";
  /** Where nothing at all has changed, all are made anew: somebody asked for a restart. */
  readonly isRestart: boolean;
}

/** Additions of Berth to one container of a stack. */
export interface StackContainer {
  /** Byte for byte; goes before what the text says of the same variables. Secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The first is the one that takes requests; none where nothing does. */
  readonly ports: readonly number[];
  /**
   * What the text mounts at the same path is this. A volume is named by its `uuid` as everywhere: two containers that
   * share one have it under the same uuid.
   */
  readonly storages: readonly StorageMount[];
  /** Names under which the other containers of its networks find it, beside its own. */
  readonly networkAliases: readonly string[];
}

type Aggregate = Pick<
  ReleaseState,
  "state" | "restartCount" | "exitCode" | "startedAt" | "health" | "upstream" | "containers"
>;

/**
 * The state of the release as a whole. Containers that run once, and those that are left out of the status, count only
 * where there are no others.
 * @param containers In the order of the compose text.
 */
export function stackState(containers: readonly ReleaseContainer[]): Aggregate {
  const counted = countedContainers(containers);
  const main = mainContainer(containers);
  const health = healthOf(counted);
  return {
    state: stateOf(counted),
    upstream: main === undefined ? null : upstreamOf(main),
    restartCount: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    exitCode: counted.find(({ exitCode }) => exitCode !== null && exitCode !== 0)?.exitCode ?? main?.exitCode ?? null,
    startedAt: counted.reduce<Date | null>((last, { startedAt }) => laterOf(last, startedAt), null),
    containers,
    ...(health === undefined ? {} : { health }),
  };
}

/** Containers that run once or are excluded from the status count only when there are no others. */
function countedContainers(containers: readonly ReleaseContainer[]): readonly ReleaseContainer[] {
  const lasting = containers.filter(({ isExcluded }) => !isExcluded);
  return lasting.length > 0 ? lasting : containers;
}

/** The first that takes requests, else the first. */
export function mainContainer(containers: readonly ReleaseContainer[]): ReleaseContainer | undefined {
  const counted = countedContainers(containers);
  return counted.find(({ port }) => port !== null) ?? counted[0];
}

const upstreamOf = ({ state, address, port }: ReleaseContainer): ReleaseState["upstream"] =>
  state !== "running" || address === null || port === null ? null : { host: address, port };

function stateOf(containers: readonly ReleaseContainer[]): ReleaseState["state"] {
  const has = (state: ReleaseState["state"]) => containers.some((container) => container.state === state);
  // One that crashes again and again says more than those beside it, and then what still has to come.
  const first = (["restarting", "running", "paused", "starting", "removing", "dead", "exited"] as const).find(has);
  return first ?? (containers.length === 0 ? "exited" : "created");
}

/**
 * One that ended by a failure makes the whole unhealthy: its other containers do not answer for it. None answers for
 * one that has no check of its own either.
 */
function healthOf(containers: readonly ReleaseContainer[]): Health | "starting" | undefined {
  const isUp = containers.some(({ state }) => state === "running");
  if (isUp && containers.some(hasFailed)) return "unhealthy";
  const all = containers.filter(({ state }) => state === "running").map(({ health }) => health);
  const bad = (["unhealthy", "starting"] as const).find((health) => all.includes(health));
  return bad ?? (all.every((health) => health !== undefined) ? all[0] : undefined);
}

const hasFailed = ({ state, exitCode }: ReleaseContainer): boolean =>
  state === "dead" || (state === "exited" && exitCode !== 0);

const laterOf = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other > one) ? other : one;
