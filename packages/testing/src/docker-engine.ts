import { statSync } from "node:fs";
import Docker from "dockerode";

/** The engine of this machine, as the `docker` program finds it. */
export const TEST_DOCKER_SOCKET =
  /^unix:\/\/(\/.+)$/.exec(process.env.DOCKER_HOST ?? "")?.[1] ?? "/var/run/docker.sock";

const PING_MS_MAX = 20_000; // A machine that is drowned in work answers late, and its suites shall not be left out for it.
const API_VERSION_MIN = 1.41;

export const testDockerClient = (): Docker => new Docker({ socketPath: TEST_DOCKER_SOCKET });

interface Found {
  /** Why no suite can use it; `undefined` when one can. */
  readonly problem: string | undefined;
  /** Names with their tags. */
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

// Looked at once, while the test file loads, so that `describe.skipIf` knows.
const found = await look();

/** Whether an engine answers here. Suites use `describeDocker`, which also names the reason when none does. */
export const dockerAvailable: boolean = found.problem === undefined;

/** One line: why a suite that needs these images cannot run here; `undefined` when it can. */
export function dockerProblem(images: readonly string[] = []): string | undefined {
  if (found.problem !== undefined) return found.problem;
  const missing = images.filter((image) => !found.images.has(image));
  return missing.length === 0 ? undefined : `no image ${missing.join(", ")}: tooling/docker/images.sh makes them`;
}
