import { ResourceDelete } from "@berth/core/deploy";
import type { Command } from "commander";
import { findLinks, removeLink } from "../application-link.ts";
import type { Bind } from "../command-module.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { addWaitFlag, waitForJob } from "../follow/job.ts";
import { printable } from "../printable.ts";
import { ask } from "../prompt.ts";
import type { Session } from "../session.ts";
import { namedApplication } from "../target.ts";

const FLAGS = flagsFor(ResourceDelete);

export function define(command: Command, bind: Bind): void {
  addWaitFlag(command.argument("<app>", "name or uuid").option("--yes", "do not ask"));
  addFlags(command, FLAGS, "Deleted with it:");
  command.action(bind(remove));
}

async function remove(session: Session, wanted: string, options: Record<string, unknown>): Promise<ExitCode> {
  const { output, system } = session;
  const api = await session.connect();
  const application = await namedApplication(api, wanted);
  const flags = valuesOf(FLAGS, options);
  if (!options.yes) await confirm(session, application.name, flags.delete_volumes !== false);
  const answer = await api.client.applications.delete.mutate({ uuid: application.uuid, ...flags });
  const found = await findLinks(system.cwd);
  if (found) await removeLink(found.folder, application.uuid);
  output.show(answer, () => output.line(printable(answer.message)));
  return options.wait === false || answer.job_uuid === undefined ? EXIT.ok : waitForJob(session, answer.job_uuid);
}

async function confirm({ system, output }: Session, name: string, takesStorages: boolean): Promise<void> {
  if (!system.stdin.isTTY) throw usage("This deletes an application. Confirm it with --yes.");
  const storages = takesStorages ? " and everything in its storages" : "";
  output.line(`This deletes ${printable(name)}${storages}. This cannot be undone.`);
  const typed = await ask(system, "Type its name to confirm: ");
  if (typed !== name) throw new Failure("That is not its name. Nothing was deleted.", { exitCode: EXIT.failed });
}
