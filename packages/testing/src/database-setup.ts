import { startTestPostgres } from "./postgres-server.ts";

/** Environment variable with the address of the run's PostgreSQL, which workers inherit. */
export const ADDRESS_VARIABLE = "BERTH_TEST_POSTGRES";

interface SharedPostgres {
  users: number;
  readonly server: ReturnType<typeof startTestPostgres>;
}

const RUN = Symbol.for("berth.test.postgres");
// Each vitest project loads this file again in the same process, so the state is shared in the global scope under a
// unique key.
const shared = globalThis as { [RUN]?: SharedPostgres };

/** For vitest's `globalSetup`: the first project of the run that needs a database starts it, the last one stops it. */
export async function setup(): Promise<() => Promise<void>> {
  shared[RUN] ??= { users: 0, server: startTestPostgres() };
  const run = shared[RUN];
  run.users += 1;
  const { stop, ...address } = await run.server;
  process.env[ADDRESS_VARIABLE] = JSON.stringify(address);
  return async () => {
    run.users -= 1;
    if (run.users > 0) return;
    delete shared[RUN];
    await stop();
  };
}
