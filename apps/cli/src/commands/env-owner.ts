import type { EnvCreate, EnvironmentVariable, SharedVariable, SharedVariableCreate } from "@berth/core/env";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Api } from "../connection/api.ts";
import { usage } from "../failure.ts";
import { printable } from "../printable.ts";
import { type NamedKind, namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";
import { currentCommands, type EffectCommands, effectLines } from "../variable-effect.ts";

/** Options that select the owner of variables. */
export interface OwnerOptions {
  readonly app?: string;
  readonly service?: string;
  readonly database?: string;
  readonly team?: boolean;
  readonly project?: string;
  readonly environment?: string;
  readonly server?: string;
}

export const addOwnerFlags = (command: Command): Command =>
  command
    .option("--app <app>", "name or uuid; default: the application of this folder")
    .option("--service <service>", "of this service instead (name or uuid)")
    .option("--database <database>", "of this database instead (name or uuid)")
    .option("--team", "shared ones of the team, which others name as {{ team.KEY }}")
    .option("--project <project>", "shared ones of this project: {{ project.KEY }}")
    .option("--environment <environment>", "with --project: of this environment of it: {{ environment.KEY }}")
    .option("--server <server>", "shared ones of this server: {{ server.KEY }}");

/** Whether any owner was selected. */
export const isNamed = ({ app, service, database, team, project, environment, server }: OwnerOptions): boolean =>
  [app, service, database, team, project, environment, server].some((named) => named !== undefined);

/** Fields of a variable that are shown, for shared ones and those of a resource. */
export type ShownVariable = Pick<EnvironmentVariable, "uuid" | "key" | "value" | "comment" | "is_shown_once"> &
  Partial<
    Pick<EnvironmentVariable, "is_preview" | "is_runtime" | "is_buildtime" | "real_value" | "reference_problem">
  > &
  Partial<Pick<SharedVariable, "reference">>;

/** The owner of variables, and the calls that change them. */
export interface VariableOwner {
  readonly name: string;
  readonly isShared: boolean;
  list(): Promise<readonly ShownVariable[]>;
  /** Saves all of them or none. */
  save(data: EnvCreate[]): Promise<readonly ShownVariable[]>;
  remove(variableUuid: string): Promise<unknown>;
  /** Says what makes a change of these effective. */
  next(saved: readonly ShownVariable[]): Promise<readonly string[]>;
}

/** @param wanted The application in the command's first argument. */
export async function ownerOf(
  session: Session,
  wanted: string | undefined,
  options: OwnerOptions,
): Promise<VariableOwner> {
  const { app, service, database, team, project, environment, server } = options;
  if (environment !== undefined && project === undefined) {
    throw usage("Name the project of the environment: --project NAME --environment NAME.");
  }
  if ([wanted, app, service, database, team, project, server].filter((each) => each !== undefined).length > 1) {
    throw usage("Name one: an application, --service, --database, --team, --project or --server.");
  }
  const api = await session.connect();
  if (team === true || project !== undefined || server !== undefined) return await sharedOwner(api, options);
  const other = service ?? database;
  if (other === undefined) {
    const named = wanted ?? app;
    const application = await targetApplication(api, session.system, named);
    const commands = () => currentCommands(api, application, named);
    return resourceOwner(api.client.applications.envs, application, commands);
  }
  const kind = service === undefined ? "database" : "service";
  const { uuid, name } = await namedResource(api, kind, other);
  const { routes, command } = KINDS[kind];
  const restart = `berth ${command} restart ${other}`;
  return resourceOwner(api.client[routes].envs as unknown as Envs, { uuid, name }, async () => ({ restart }));
}

const KINDS = {
  service: { routes: "services", command: "service" },
  database: { routes: "databases", command: "db" },
} as const satisfies Record<NamedKind, object>;

// The operations of all kinds have the same types.
type Envs = Api["client"]["applications"]["envs"];

interface Named {
  readonly uuid: string;
  readonly name: string;
}

const resourceOwner = (envs: Envs, { uuid, name }: Named, commands: () => Promise<EffectCommands>): VariableOwner => ({
  name,
  isShared: false,
  list: () => envs.list.query({ uuid }),
  save: (data) => envs.updateBulk.mutate({ uuid, data }),
  remove: (env_uuid) => envs.delete.mutate({ uuid, env_uuid }),
  next: async (saved) => effectLines(await commands(), saved).map(printable),
});

// The operations of all scopes have the same types, except for the parameters of their owner.
type SharedVariables = Api["client"]["sharedVariables"]["environment"];

async function sharedOwner(
  { client }: Api,
  { project: wantedProject, environment: wantedEnvironment, server: wantedServer }: OwnerOptions,
): Promise<VariableOwner> {
  const { sharedVariables } = client;
  if (wantedServer !== undefined) {
    const { uuid, name } = choose(wantedServer, await client.servers.list.query({}), { thing: "server" });
    return shared(sharedVariables.server as unknown as SharedVariables, { uuid }, name);
  }
  if (wantedProject === undefined) {
    const { name } = await client.teams.current.query();
    return shared(sharedVariables.team as unknown as SharedVariables, {}, name);
  }
  const { uuid, name } = choose(wantedProject, await client.projects.list.query({}), { thing: "project" });
  if (wantedEnvironment === undefined) {
    return shared(sharedVariables.project as unknown as SharedVariables, { uuid }, name);
  }
  const environments = await client.projects.environments.list.query({ uuid });
  const environment = choose(wantedEnvironment, environments, { thing: "environment" });
  const ref = { uuid, environment_name_or_uuid: environment.uuid };
  return shared(sharedVariables.environment, ref, `${name}, ${environment.name}`);
}

function shared(variables: SharedVariables, ref: object, name: string): VariableOwner {
  // Parameters of the owner in this scope.
  const owner = ref as { readonly uuid: string; readonly environment_name_or_uuid: string };
  return {
    name,
    isShared: true,
    list: () => variables.list.query(owner),
    // The server refuses fields that shared variables do not have.
    save: (data) => variables.updateBulk.mutate({ ...owner, data: data as SharedVariableCreate[] }),
    remove: (variable_uuid) => variables.delete.mutate({ ...owner, variable_uuid }),
    next: async () => ["It takes effect in each resource that refers to it with that resource's next deployment."],
  };
}
