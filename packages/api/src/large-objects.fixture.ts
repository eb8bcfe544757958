import { withClient } from "@berth/testing";
import { COMPOSE, createdApplication, createdService, type Served } from "./berth.fixture.ts";
import type { Objects } from "./objects.fixture.ts";

const TEXT = "0123456789\n".repeat(100_000);
/** As long as each may be; with the name of the variable, and with the rest of the compose file. */
const [FILE, VALUE, COMMENT] = [TEXT.slice(0, 524_288), TEXT.slice(0, 131_000), `# ${"x".repeat(1_000_000)}\n`];
/** More would be allowed. Of each kind, what ten clients are answered together exceeds the heap of the server. */
const FILES = 30;
const VARIABLES = 10;
const SERVICES = 2;
const DEPLOYMENTS = 2000;
const LOG_LINES = 2000;
const EXECUTIONS = 500;

/** Gives each kind of object of a team the largest contents that the rules allow. */
export async function fillLargely(api: Served, objects: Objects): Promise<void> {
  const application = `/applications/${objects["/applications/{uuid}"]}`;
  for (let n = 0; n < FILES; n += 1) {
    await make(api, `${application}/storages`, { type: "file", mount_path: `/large/${n}`, content: FILE });
  }
  for (let n = 0; n < VARIABLES; n += 1) {
    await make(api, "/teams/current/shared-variables", { key: `LARGE_${n}`, value: VALUE });
    await make(api, `${application}/envs`, { key: `LARGE_${n}`, value: VALUE });
    await make(api, `${application}/envs`, { key: `SHARED_${n}`, value: `{{ team.LARGE_${n} }}`.repeat(100) });
  }
  for (let n = 0; n < SERVICES; n += 1) {
    await createdService(api, { name: `large ${n}`, docker_compose: `${COMPOSE}${COMMENT}` });
    // A deployment of it is waiting, with all of its domains.
    await createdApplication(api, { name: `large ${n}`, domains: domains(n), instant_deploy: true });
  }
  await withClient({ connectionString: api.db.url }, async (client) => {
    for (const statement of RECORDS) await client.query(statement);
  });
}

const domains = (n: number): string =>
  Array.from({ length: 22 }, (_, at) => `https://${"x".repeat(60)}.${at}.large-${n}.example.com`).join(",");

async function make(api: Served, path: string, body: object): Promise<void> {
  const { status, json } = await api.ask("POST", path, { body });
  if (status !== 201) throw new Error(`It was not made: ${path} ${JSON.stringify(json).slice(0, 300)}`);
}

/** What the worker writes in the course of time, for the first deployment and the tasks that exist. */
const RECORDS = [
  `insert into deployment_log (deployment_id, seq, step, type, output, hidden, timestamp)
    select (select min(id) from deployment), 1000 + n, 'build', 'stdout', repeat('0123456789abcdef', 512), false, now()
    from generate_series(1, ${LOG_LINES}) n`,
  `update deployment set log_seq = 1000 + ${LOG_LINES} where id = (select min(id) from deployment)`,
  `insert into deployment (uuid, team_id, resource_id, resource_uuid, resource_name, server_id, destination_id, status,
      pull_request_id, commit, commit_message, force_rebuild, restart_only, rollback, is_webhook, is_api, is_instant,
      error, started_at, finished_at)
    select 'large' || n, team_id, resource_id, resource_uuid, resource_name, server_id, destination_id, 'failed',
      pull_request_id, commit, repeat('x', 2000), force_rebuild, restart_only, rollback, is_webhook, is_api, is_instant,
      repeat('x', 2000), now(), now()
    from (select * from deployment order by id limit 1) source, generate_series(1, ${DEPLOYMENTS}) n`,
  `insert into scheduled_task_execution (uuid, scheduled_task_id, status, message, retry_count, started_at, finished_at)
    select 'large' || task.id || n, task.id, 'failed', repeat('x', 60000), 0, now(), now()
    from scheduled_task task, generate_series(1, ${EXECUTIONS}) n`,
];
