import type { DockerFixture, TestContainer } from "@berth/testing";
import { until } from "@berth/testing";
import { outcomeOf, placeOf } from "./applications.fixture.ts";
import type { DockerServer } from "./docker.fixture.ts";

export const DATABASE_DEADLINE_MS = 90_000;

export interface ShownDatabase {
  readonly status: string;
  readonly internal_db_url: string;
  readonly external_db_url: string | null;
  readonly ca_certificate: string | null;
  readonly started_at: string | null;
  readonly last_online_at: string;
  readonly restart_count: number;
}

type DatabaseServer = Pick<DockerServer, "rest" | "dockerUuid">;

/** Calls about databases of a server. @param server Available once the suite has begun. */
export function databaseCalls(server: () => DatabaseServer & Parameters<typeof placeOf>[0]) {
  const done = async <T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await server().rest(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as T;
  };
  const show = (uuid: string) => done<ShownDatabase>("GET", `/databases/${uuid}`);
  return {
    done,
    show,
    /** Creates a database and starts it, unless `fields` prevent that. */
    async create(engine: string, image: string, fields: object = {}): Promise<string> {
      const where = { ...(await placeOf(server())), server_uuid: server().dockerUuid };
      const about = { image, health_check_interval: 1, health_check_retries: 60, instant_deploy: true };
      return String((await done("POST", `/databases/${engine}`, { ...where, ...about, ...fields })).uuid);
    },
    shows: (uuid: string, status: string) =>
      until(
        async () => {
          const shown = await show(uuid);
          return shown.status === status ? shown : undefined;
        },
        { seconds: DATABASE_DEADLINE_MS / 1000 },
      ),
    /** Requests a start or restart, and waits for its end. */
    async run(uuid: string, action: "start" | "restart") {
      const { deployment_uuid } = await done("POST", `/databases/${uuid}/${action}`);
      return await outcomeOf(server(), String(deployment_uuid));
    },
  };
}

/** A container for database clients. @param networkMode A network of databases, or `host`. */
export const clientContainer = (
  docker: Pick<DockerFixture, "container">,
  image: string,
  networkMode: string,
): Promise<TestContainer> =>
  docker.container({ image, hostConfig: { NetworkMode: networkMode }, raw: { Entrypoint: ["sleep", "120"] } });

/** Output of a client. */
export async function askClient(
  docker: Pick<DockerFixture, "container">,
  { image, networkMode }: { readonly image: string; readonly networkMode: string },
  argv: readonly string[],
): Promise<readonly [exitCode: number, output: string]> {
  const client = await clientContainer(docker, image, networkMode);
  const { exitCode, output } = await client.exec(argv);
  await client.container.remove({ force: true, v: true });
  return [exitCode, output.trim()];
}
