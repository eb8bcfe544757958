import type { Command } from "commander";
import { choose, chooseOnly } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { namedApplication } from "../target.ts";

interface MoveOptions {
  readonly environment?: string;
  readonly project?: string;
  readonly force?: boolean;
  readonly server?: string;
  readonly destination?: string;
  readonly withoutData?: boolean;
  readonly detach?: boolean;
}

export function define(command: Command, bind: Bind): void {
  command
    .argument("<name>", "an application, database or service, by name or uuid")
    .option("--environment <environment>", "name or uuid; default: the only one of --project")
    .option("--project <project>", "name or uuid; default: the project that it is in")
    .option("--force", "also if variables lose what they reference, or resources the database that they reference")
    .option("--server <server>", "to this server instead: an application, by name or uuid")
    .option("--destination <destination>", "with --server: name or uuid; default: its only one")
    .option("--without-data", "with --server: also if it has volumes, whose data stays where it is")
    .option("--detach", "with --server: do not follow the deployment")
    .action(bind(move));
}

async function move(session: Session, wanted: string, options: MoveOptions): Promise<ExitCode> {
  const { environment, project, server } = options;
  const isToEnvironment = environment !== undefined || project !== undefined;
  if (isToEnvironment && server !== undefined) throw usage("Name an environment or a server, one after the other.");
  if (server !== undefined) return toServer(session, wanted, server, options);
  if (isToEnvironment) return toEnvironment(session, wanted, options);
  throw usage("Where to? Name an environment (--environment NAME, --project NAME) or a server (--server NAME).");
}

async function toServer(session: Session, wanted: string, serverName: string, options: MoveOptions): Promise<ExitCode> {
  const { output } = session;
  const api = await session.connect();
  const { uuid, name } = await namedApplication(api, wanted);
  const server = choose(serverName, await api.client.servers.list.query({}), { thing: "server" });
  const destinations = await api.client.destinations.listOfServer.query({ uuid: server.uuid });
  const destination = chooseOnly(options.destination, destinations, "destination");
  const migrate_volumes = options.withoutData !== true;
  const sent = { uuid, destination_uuid: destination.uuid, migrate_volumes };
  const migrated = await api.client.applications.migrate.mutate(sent);
  output.show(migrated, () => output.line(`${printable(name)} belongs to server ${printable(server.name)} now.`));
  if (migrated.deployment_uuid === null) return EXIT.ok;
  output.line("It continues where it was until this deployment has switched.");
  return options.detach ? EXIT.ok : followDeployment(api, session, migrated.deployment_uuid);
}

async function toEnvironment(session: Session, wanted: string, options: MoveOptions): Promise<ExitCode> {
  const { output } = session;
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
  return EXIT.ok;
}

async function targetOf({ client }: Api, { project, environment }: MoveOptions, ownProject: string) {
  const uuid =
    project === undefined
      ? ownProject
      : choose(project, await client.projects.list.query({}), { thing: "project" }).uuid;
  return chooseOnly(environment, await client.projects.environments.list.query({ uuid }), "environment");
}

// The operations of all kinds have the same types.
const clientOf = ({ client }: Api, type: string) =>
  type === "application"
    ? client.applications
    : ((type === "service" ? client.services : client.databases) as unknown as Api["client"]["applications"]);
