import type { Argv } from "@berth/core";
import { describeLargeDocker, TEST_CLIENTS } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askClient, databaseCalls } from "./database.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

const ENGINES = ["postgresql", "mariadb", "mysql"] as const;
const IMAGES = ENGINES.map((engine) => TEST_CLIENTS[engine].image);
const SCHEMA = { filename: "z-schema.sql", content: "CREATE TABLE t (v text);\n" };
const DATA = { filename: "a-data.sql", content: "INSERT INTO t VALUES ('made');\n" };
/** Changes the data of `DATA`. The stand-in for MySQL does not run shell scripts. */
const SHELL_CLIENTS: Partial<Record<(typeof ENGINES)[number], string>> = {
  postgresql: 'psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB"',
  mariadb: 'mariadb --user=root --password="$MARIADB_ROOT_PASSWORD" "$MARIADB_DATABASE"',
};
const CHANGED = "changed by a shell";
const changing = (client: string) => ({
  filename: "0-change.sh",
  content: `#!/bin/sh\nby=$(printf 'by a %s' shell)\n${client} <<SQL\nUPDATE t SET v = 'changed $by';\nSQL\n`,
});

describeLargeDocker("a database with initialisation scripts", IMAGES, (docker) => {
  let server: DockerServer;
  const network = docker.name("scripts");
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: network } });
  });
  afterAll(async () => server?.dispose());
  const { done, shows, create, run } = databaseCalls(() => server);

  describe.each(ENGINES)("of %s", (engine) => {
    const { image, read } = TEST_CLIENTS[engine];
    const shellClient = SHELL_CLIENTS[engine];
    const [scripts, made] =
      shellClient === undefined ? [[SCHEMA, DATA], "made"] : [[SCHEMA, DATA, changing(shellClient)], CHANGED];
    const ask = (argv: Argv) => askClient(docker, { image, networkMode: network }, argv);

    test("runs them in their order when it starts first, and never again", async () => {
      const uuid = await create(engine, image, { init_scripts: scripts });
      const shown = await shows(uuid, "running:healthy");
      expect(await ask(read(shown.internal_db_url))).toEqual([0, made]);
      await done("PATCH", `/databases/${uuid}`, { init_scripts: [{ filename: "b.sql", content: "DROP TABLE t;" }] });
      const outcome = await run(uuid, "restart");
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      await shows(uuid, "running:healthy");
      expect(await ask(read(shown.internal_db_url))).toEqual([0, made]);
    });

    test("fails to start with one that fails, says why, and begins anew with what it is set to then", async () => {
      const broken = { filename: "broken.sql", content: "CREATE TABEL t (v text);\n" };
      const uuid = await create(engine, image, { init_scripts: [SCHEMA, broken], instant_deploy: false });
      const failed = await run(uuid, "start");
      expect(failed, failed.log).toMatchObject({ status: "failed", error: expect.stringContaining("crashed") });
      expect(failed.log).toMatch(/syntax/i);
      expect(failed.log).toContain("TABEL");

      await done("PATCH", `/databases/${uuid}`, { init_scripts: [SCHEMA, DATA] });
      const outcome = await run(uuid, "start");
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      const shown = await shows(uuid, "running:healthy");
      expect(await ask(read(shown.internal_db_url))).toEqual([0, "made"]);
    });
  });
});
