import type { Application } from "@berth/core/application";
import type { Attachment } from "@berth/core/database";
import type { EnvironmentVariable } from "@berth/core/env";
import type { Api } from "./connection/api.ts";

/** The commands after which a changed variable of a resource takes effect. */
export interface EffectCommands {
  readonly restart: string;
  /** `undefined`: nothing of it is built. */
  readonly deploy?: string | undefined;
}

export type BuildOrRun = Partial<Pick<EnvironmentVariable, "is_buildtime" | "is_runtime">>;

/** What to type after a change of variables: a restart runs the same build again, which has the old values. */
export function effectLines(
  { restart, deploy }: EffectCommands,
  variables: readonly BuildOrRun[],
): readonly [string, ...string[]] {
  const isBuilt = variables.some(({ is_buildtime = true }) => is_buildtime);
  if (deploy === undefined || !isBuilt) return [`It takes effect with the next deployment: ${restart}`];
  const isRun = variables.some(({ is_runtime = true }) => is_runtime);
  return [
    `It takes effect with the next deployment: ${deploy}`,
    ...(isRun ? [`Where only the running program reads it, this is enough: ${restart}`] : []),
  ];
}

/** After a first deployment that failed only another one helps: nothing is there to run again. */
export async function currentCommands(
  { client }: Pick<Api, "client">,
  application: Pick<Application, "uuid" | "status" | "source">,
  named: string | undefined,
): Promise<EffectCommands> {
  const commands = applicationCommands(application, named);
  const { uuid, status } = application;
  if (commands.deploy === undefined || !status.startsWith("exited")) return commands;
  const { count, deployments } = await client.deployments.listByApplication.query({ uuid });
  const isReleased = deployments.some((each) => each.status === "finished") || count > deployments.length;
  return isReleased ? commands : { restart: commands.deploy };
}

/** @param named The application as it was typed; `undefined`: the one of this folder. */
export function applicationCommands(
  { source }: Pick<Application, "source">,
  named: string | undefined,
): EffectCommands {
  const restart = ["berth restart", named];
  // What is not uploaded needs no folder, but outside of its own folder the command would mean another application.
  const deploy = ["berth deploy", named !== undefined && source === "upload" ? "FOLDER" : undefined];
  const app = named === undefined ? [] : ["--app", named];
  const command = (words: readonly (string | undefined)[]) => words.filter((word) => word !== undefined).join(" ");
  return { restart: command(restart), deploy: source === "image" ? undefined : command([...deploy, ...app]) };
}

/** The commands after which a resource gets the present URL of a database that it is attached to. */
export async function attachedCommands(
  api: Pick<Api, "client">,
  { resource_type, resource_name, resource_uuid: uuid }: Attachment,
): Promise<EffectCommands> {
  const named = /^[\w.-]+$/.test(resource_name) ? resource_name : uuid;
  if (resource_type !== "application") {
    return { restart: `berth ${resource_type === "service" ? "service" : "db"} restart ${named}` };
  }
  return currentCommands(api, await api.client.applications.get.query({ uuid }), named);
}
