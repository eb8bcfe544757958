import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { usage } from "../failure.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

interface Options {
  readonly environment?: string;
  readonly project?: string;
  readonly force?: boolean;
}

export function define(command: Command, bind: Bind): void {
  command
    .argument("<name>", "an application, database or service, by name or uuid")
    .option("--environment <environment>", "name or uuid; default: the only one of --project")
    .option("--project <project>", "name or uuid; default: the project that it is in")
    .option("--force", "also if variables lose what they reference, or resources the database that they reference")
    .action(bind(move));
}

async function move(session: Session, wanted: string, options: Options): Promise<void> {
  const { output } = session;
  if (options.environment === undefined && options.project === undefined) {
    throw usage("Where to? Name an environment: --environment NAME, of another project with --project NAME.");
  }
  const api = await session.connect();
  const { name, type, uuid, project_uuid } = choose(wanted, await api.client.resources.summaries.query({}), {
    thing: "resource",
    describe: (candidate) => `${candidate.type}, ${candidate.environment_name}`,
  });
  const target = await targetOf(api, options, project_uuid);
  const sent = { uuid, environment_uuid: target.uuid, ...(options.force ? { force: true } : {}) };
  const moved = await clientOf(api, type).move.mutate(sent);
  output.show(moved, () => {
    output.line(`${printable(name)} is in environment ${printable(target.name)} now. What runs continues.`);
    output.line("Shared variables and databases of the environment count from the next deployment on.");
  });
}

async function targetOf({ client }: Api, { project, environment }: Options, ownProject: string) {
  const uuid =
    project === undefined
      ? ownProject
      : choose(project, await client.projects.list.query({}), { thing: "project" }).uuid;
  const environments = await client.projects.environments.list.query({ uuid });
  const [only, ...others] = environments;
  if (environment !== undefined) return choose(environment, environments, { thing: "environment" });
  if (only !== undefined && others.length === 0) return only;
  const names = environments.map(({ name }) => printable(name)).join(", ");
  throw usage(`The project has several environments: ${names}. Name one with --environment.`);
}

// The operations of all kinds have the same types.
const clientOf = ({ client }: Api, type: string) =>
  type === "application"
    ? client.applications
    : ((type === "service" ? client.services : client.databases) as unknown as Api["client"]["applications"]);
