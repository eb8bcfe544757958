// A page of a long list against the same page of a short one.
import { createApplication, plainServer, temporaryRepository } from "../apps/server/e2e/applications.fixture.ts";
import { type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { benchDatabase } from "./database.ts";
import { median } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const ROUNDS = 60;

interface Instance {
  readonly server: TestServer;
  readonly pages: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export async function benchLists(): Promise<readonly Figure[]> {
  // Measured alternately, so that other load on the machine affects both alike.
  const [short, long] = await Promise.all([instance(99, 1_000), instance(9_999, 1_000_000)]);
  try {
    const figures: Figure[] = [];
    for (const [name, what] of Object.entries(LISTS)) {
      const ratios: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        ratios.push((await pageMs(long, name)) / (await pageMs(short, name)));
      }
      figures.push(atMost(`Page of 50 ${name}, ${what}`, median(ratios.slice(ROUNDS / 10)), 2));
    }
    return figures;
  } finally {
    await short.stop();
    await long.stop();
  }
}

const LISTS = {
  applications: "10,000 against 100",
  "deployments of the team": "1,000,000 against 1,000",
  "deployments of one application": "1,000,000 against 1,000",
} as const;

async function instance(applications: number, deployments: number): Promise<Instance> {
  const database = await benchDatabase();
  const server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
  const repository = temporaryRepository(plainServer("1"));
  const { uuid } = await createApplication(server, repository, { name: "measured" });
  await database.query(applicationCopiesSql(applications));
  await database.query(deploymentsSql(deployments));
  await database.query("vacuum analyze");
  return {
    server,
    pages: {
      applications: "/applications?take=50",
      "deployments of the team": "/deployments?take=50",
      "deployments of one application": `/deployments/applications/${uuid}?take=50`,
    },
    stop: async () => {
      await server.dispose();
      repository.dispose();
      await database.stop();
    },
  };
}

async function pageMs({ server, pages }: Instance, name: string): Promise<number> {
  const path = pages[name] ?? "";
  const startedAt = performance.now();
  const { status } = await server.rest("GET", path);
  if (status !== 200) throw new Error(`${path} answers ${status}`);
  return performance.now() - startedAt;
}

/** Copies of the application that was created through the API. */
export const applicationCopiesSql = (count: number): string => `
  with source as (
    select * from resource where name = 'measured' order by id limit 1
  ), copies as (
    insert into resource (uuid, kind, team_id, environment_id, server_id, destination_id, name)
    select md5(random()::text || n), kind, team_id, environment_id, server_id, destination_id, 'copy ' || n
    from source, generate_series(1, ${count}) n returning id
  )
  insert into application (resource_id, source, fqdn, settings)
  select copies.id, a.source, null, a.settings from copies, application a join source on source.id = a.resource_id`;

/** Ended deployments of that application. */
const deploymentsSql = (count: number): string => `
  insert into deployment (uuid, team_id, resource_id, resource_uuid, resource_name, server_id, destination_id, status,
    pull_request_id, commit, force_rebuild, restart_only, rollback, is_webhook, is_api, is_instant)
  select md5(random()::text || n), team_id, id, uuid, name, server_id, destination_id, 'finished',
    0, md5(n::text), false, false, false, false, true, false
  from resource, generate_series(1, ${count}) n where name = 'measured'`;
