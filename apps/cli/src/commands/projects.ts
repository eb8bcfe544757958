import { ProjectCreate } from "@berth/core/team";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { cell } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

const FLAGS = flagsFor(ProjectCreate.omit({ name: true }));

export function define(command: Command, bind: Bind): void {
  command.command("list", { isDefault: true }).description("List the team's projects.").action(bind(list));
  const create = command.command("create").description("Create a project.").argument("<name>");
  addFlags(create, FLAGS, "About it:");
  create.action(bind(createProject));
}

async function list(session: Session): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const projects = await client.projects.list.query({});
  output.show(projects, () => {
    if (projects.length === 0) output.line("No projects yet. Create one with: berth projects create NAME");
    else
      output.table(
        ["NAME", "UUID", "DESCRIPTION"],
        projects.map(({ name, uuid, description }) => [cell(name), cell(uuid), cell(description)]),
      );
  });
}

async function createProject(session: Session, name: string, options: Record<string, unknown>): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const created = await client.projects.create.mutate({ name, ...valuesOf(FLAGS, options) });
  output.show(created, () => output.line(`Created project ${printable(name)} (${created.uuid}).`));
}
