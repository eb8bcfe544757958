import { statSync } from "node:fs";
import Docker from "dockerode";

/** Socket of this machine's engine, as the `docker` program finds it. */
export const TEST_DOCKER_SOCKET =
  /^unix:\/\/(\/.+)$/.exec(process.env.DOCKER_HOST ?? "")?.[1] ?? "/var/run/docker.sock";

const PING_MS_MAX = 20_000; // Generous, so that suites are not skipped on a busy machine.
const API_VERSION_MIN = 1.41;

export const testDockerClient = (): Docker => new Docker({ socketPath: TEST_DOCKER_SOCKET });

interface Found {
  /** The reason why suites are skipped; `undefined` when the engine can be used. */
  readonly problem: string | undefined;
  /** Names of the images, with tags. */
  readonly images: ReadonlySet<string>;
}

async function look(): Promise<Found> {
  const none = (problem: string): Found => ({ problem, images: new Set() });
  if (process.env.BERTH_TEST_DOCKER === "0") return none("switched off by BERTH_TEST_DOCKER=0");
  if (!isSocket(TEST_DOCKER_SOCKET)) return none(`no Docker engine: ${TEST_DOCKER_SOCKET} does not exist`);
  const client = new Docker({ socketPath: TEST_DOCKER_SOCKET, timeout: PING_MS_MAX });
  try {
    const { ApiVersion } = await client.version();
    if (Number(ApiVersion) < API_VERSION_MIN)
      return none(`the Docker engine speaks API ${ApiVersion}, not 1.41 or newer`);
    const images = await client.listImages();
    return { problem: undefined, images: new Set(images.flatMap(({ RepoTags }) => RepoTags ?? [])) };
  } catch (cause) {
    return none(`no Docker engine answers on ${TEST_DOCKER_SOCKET}: ${cause instanceof Error ? cause.message : cause}`);
  }
}

function isSocket(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() ?? false;
}

// Checked while the test file loads, so that `describe.skipIf` can use the result.
const found = await look();

/** Whether an engine answers here. Suites use `describeDocker`, which also names the reason when none does. */
export const dockerAvailable: boolean = found.problem === undefined;

/** The reason why a suite with these images cannot run here, in one line; `undefined` when it can. */
export function dockerProblem(images: readonly string[] = []): string | undefined {
  if (found.problem !== undefined) return found.problem;
  const missing = images.filter((image) => !found.images.has(image));
  return missing.length === 0
    ? undefined
    : `no image ${missing.join(", ")}: tooling/docker/images.sh makes stand-ins, with "languages" those of compilers`;
}
