import {
  createApplication,
  outcomeOf,
  plainServer,
  requestDeployment,
  temporaryRepository,
} from "../applications.fixture.ts";
import { type ServerOptions, testServer } from "../server.fixture.ts";
import type { Ground } from "./checks.ts";

/** A server with a running application. */
export async function ground(options: ServerOptions = {}): Promise<Ground & { dispose(): Promise<void> }> {
  const server = await testServer(options);
  const repository = temporaryRepository(plainServer("1"));
  const { uuid, host } = await createApplication(server, repository);
  const { status, error } = await outcomeOf(server, await requestDeployment(server, uuid));
  if (status !== "finished") throw new Error(`The application was not deployed: ${error}`);
  return {
    server,
    uuid,
    host,
    async dispose() {
      await server.dispose();
      repository.dispose();
    },
  };
}
