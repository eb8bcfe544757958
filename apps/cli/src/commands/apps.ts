import type { Application } from "@berth/core/application";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { cell } from "../output.ts";
import type { Session } from "../session.ts";
import { statusText, warnOfProblems } from "../status-text.ts";

interface AppListOptions {
  readonly tag?: string;
  readonly project?: string;
  readonly server?: string;
}

/** Users look for the settings under these commands too. */
export const SETTINGS_HELP = "\nSettings are changed with: berth applications update APP";

export function define(command: Command, bind: Bind): void {
  defineList(command.command("list", { isDefault: true }).description("List applications."), bind);
  command.addHelpText("after", SETTINGS_HELP);
}

export function defineList(command: Command, bind: Bind): void {
  command
    .option("--tag <name>", "only those with this tag")
    .option("--project <name>", "only those of this project (name or uuid)")
    .option("--server <name>", "only those on this server (name or uuid)")
    .action(bind(list));
}

async function list(session: Session, options: AppListOptions): Promise<void> {
  const { output } = session;
  const api = await session.connect();
  const all = await api.client.applications.list.query(options.tag === undefined ? {} : { tag: options.tag });
  const applications = await filtered(api, all, options);
  output.show(applications, () => {
    if (applications.length === 0) output.line("No applications yet. Deploy a folder with: berth deploy");
    else
      output.table(
        ["NAME", "STATUS", "URL", "ENVIRONMENT", "UUID"],
        applications.map((each) => row(each, session)),
      );
    warnOfProblems(
      output,
      applications.map(({ name, status_problem }) => [name, status_problem]),
    );
  });
}

const row = ({ name, status, urls, environment_name, uuid }: Application, { output }: Session): readonly string[] => [
  cell(name),
  statusText(status, output.colors),
  cell(urls.join(" ")),
  cell(environment_name),
  cell(uuid),
];

async function filtered(api: Api, all: readonly Application[], { project, server }: AppListOptions) {
  const projectUuid =
    project === undefined
      ? undefined
      : choose(project, await api.client.projects.list.query({}), { thing: "project" }).uuid;
  const serverUuid =
    server === undefined
      ? undefined
      : choose(server, await api.client.servers.list.query({}), { thing: "server" }).uuid;
  return all.filter(
    (each) =>
      (projectUuid === undefined || each.project_uuid === projectUuid) &&
      (serverUuid === undefined || each.server_uuid === serverUuid),
  );
}
