import type { Application } from "@berth/core/application";
import type { Attachment } from "@berth/core/database";
import type { RunningContainer } from "@berth/core/resource";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { problemIn } from "../connection/problem.ts";
import { Failure, usage } from "../failure.ts";
import { ago } from "../format.ts";
import { createHint } from "../habits.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { statusText } from "../status-text.ts";
import { targetApplication } from "../target.ts";
import { defineServers } from "./app-servers.ts";
import { defineList, SETTINGS_HELP } from "./apps.ts";

export function define(command: Command, bind: Bind): void {
  command
    .command("show", { isDefault: true })
    .description("Show an application.")
    .argument("[app]", "name or uuid; default: the application of this folder")
    .action(bind(show));
  defineList(command.command("list").description("List applications."), bind);
  defineServers(command, bind);
  command.addHelpText("after", SETTINGS_HELP);
}

async function show(session: Session, wanted: string | undefined): Promise<void> {
  const { output, system } = session;
  const api = await session.connect();
  const application = await targetApplication(api, system, wanted).catch((error: unknown) => {
    // `berth app create` shows the application `create`, if one is called so.
    const hint = createHint("app", wanted ?? "");
    throw hint === undefined || !(error instanceof Failure) ? error : usage(error.message, [hint]);
  });
  const { uuid } = application;
  const [{ current }, containers, attachments] = await Promise.all([
    api.client.rollbacks.images.query({ uuid }),
    application.restart_count > 0 ? endedContainers(api, uuid) : [],
    api.client.applications.attachments.list.query({ uuid }),
  ]);
  output.show(application, () => {
    output.details([...pairs(application, { running: current, containers }, output), ...databasePairs(attachments)]);
    if (application.status_problem) output.warn(printable(application.status_problem));
    if (application.scale_problem !== null) output.warn(printable(application.scale_problem));
    if (application.url_problem !== null) output.warn(printable(application.url_problem));
    else if (application.certificate_problem !== null) output.warn(printable(application.certificate_problem.reason));
  });
}

/** The databases that its variables refer to, with these variables. */
function databasePairs(attachments: readonly Attachment[]): readonly (readonly [string, string])[] {
  const names = [...new Set(attachments.map(({ database_name }) => database_name))];
  const shown = names.map((name) => {
    const keys = attachments.flatMap(({ database_name, key }) => (database_name === name ? key : []));
    return `${name} (${[...new Set(keys)].join(", ")})`;
  });
  return shown.length === 0 ? [] : [["Databases", cell(shown.join(", "))]];
}

function containersOf(application: Application): string {
  const { replicas, autoscaling_enabled, autoscaling_replicas_min: min, autoscaling_replicas_max: max } = application;
  return autoscaling_enabled ? `${replicas} (Berth chooses from ${min} to ${max})` : String(replicas);
}

/** What runs is another commit than the one to deploy after a rollback, and until a newer source is deployed. */
function commitOf({ git_commit_sha: wanted, source }: Application, running: string | null): string {
  const hasCommits = source === "git" || source === "upload";
  return !hasCommits || running === null || running === wanted
    ? cell(wanted)
    : `${cell(wanted)} (${cell(running)} runs)`;
}

/** None where the server is out of reach, which the application's status says. */
const endedContainers = ({ client }: Api, uuid: string): Promise<readonly RunningContainer[]> =>
  client.applications.containers.list.query({ uuid }).catch((error: unknown) => {
    if (problemIn(error)?.code !== "engine.unreachable") throw error;
    return [];
  });

/** With when and how a run ended last, where one has. */
function restartsOf({ restart_count, last_restart_at }: Application, containers: readonly RunningContainer[]): string {
  const ended = containers.filter(({ exit_code }) => exit_code !== null);
  const codes = ended.map(({ name, exit_code }) =>
    name === null ? `${exit_code}` : `${printable(name)}: ${exit_code}`,
  );
  return [
    String(restart_count),
    ...(last_restart_at === null || last_restart_at === undefined
      ? []
      : [`the last ${ago(last_restart_at, new Date())}`]),
    ...(codes.length === 0 ? [] : [`with exit code ${codes.join(", ")}`]),
  ].join(", ");
}

function pairs(
  application: Application,
  { running, containers }: { readonly running: string | null; readonly containers: readonly RunningContainer[] },
  { colors }: Output,
): readonly (readonly [string, string])[] {
  const { git_repository, git_branch, source } = application;
  const from = source === "git" ? `${git_repository} (${git_branch})` : source;
  return [
    ["Name", cell(application.name)],
    ["UUID", cell(application.uuid)],
    ["Status", statusText(application.status, colors)],
    ["URL", cell(application.urls.join(" "))],
    ["Source", cell(from)],
    ["Commit", commitOf(application, running)],
    ["Build pack", cell(application.build_pack)],
    ["Environment", cell(application.environment_name)],
    ["Server", cell(application.destination.server.name)],
    ["Containers", containersOf(application)],
    ["Restarts", restartsOf(application, containers)],
    ["Created", ago(application.created_at, new Date())],
    ["Changed", ago(application.updated_at, new Date())],
  ];
}
