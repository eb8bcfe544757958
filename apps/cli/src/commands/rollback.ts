import type { RollbackImage } from "@berth/core/deploy";
import type { Command } from "commander";
import { nameInCommand } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { ago } from "../format.ts";
import { cell } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

interface RollbackOptions {
  readonly to?: string;
  readonly list?: boolean;
  readonly detach?: boolean;
}

export function define(command: Command, bind: Bind): void {
  command
    .description("Roll an application back to an earlier build.")
    .argument("[app]", "name or uuid; default: the application of this folder")
    .option("--to <commit>", "the commit, its beginning, or the deployment that built it; default: the one before")
    .option("--list", "list the kept builds, and change nothing")
    .option("--detach", "do not follow it")
    .action(bind(rollback));
}

async function rollback(session: Session, wanted: string | undefined, options: RollbackOptions): Promise<ExitCode> {
  const { output, system } = session;
  const api = await session.connect();
  const { uuid, name } = await targetApplication(api, system, wanted);
  const kept = await api.client.rollbacks.images.query({ uuid });
  if (options.list) {
    output.show(kept, () => showKept(session, printable(name), kept.images));
    return EXIT.ok;
  }
  if (kept.images.length === 0) throw nothingKept(name);
  const app = nameInCommand({ uuid, name }, await api.client.applications.list.query({}));
  const { tag, commit_message, deployment_uuid } = chosenImage(kept.images, options.to, app);
  // By deployment: several builds of one commit may be kept, including the running one.
  const queued = await api.client.rollbacks.rollback.mutate({ uuid, commit: deployment_uuid });
  output.json(queued);
  const title = commit_message === null ? "" : `: ${printable(commit_message)}`;
  output.line(`Rolls ${printable(name)} back to ${printable(tag.slice(0, SHOWN_LENGTH))}${title}`);
  if (!options.detach) {
    const code = await followDeployment(api, session, queued.deployment_uuid);
    if (code === EXIT.ok)
      output.line("The next deployment takes the newest source or image again, also one that a push starts.");
    return code;
  }
  output.line(`Follow it with: berth logs --deployment ${queued.deployment_uuid} -f`);
  return EXIT.ok;
}

const nothingKept = (name: string): Failure =>
  new Failure(`No builds of ${printable(name)} are kept.`, {
    details: ["A server keeps those of an application's last releases. Deploy it first with: berth deploy"],
  });

type Tagged = RollbackImage & { readonly tag: string };

/**
 * The named image, else the newest of those older than the running one.
 * @param app How a command that is shown names the application.
 * @throws Failure that says where to look
 */
export function chosenImage(images: readonly RollbackImage[], wanted: string | undefined, app: string): Tagged {
  const details = [`Kept builds: berth rollback ${app} --list`];
  const tagged = images.flatMap((image): readonly Tagged[] =>
    image.tag === null ? [] : [{ ...image, tag: image.tag }],
  );
  if (wanted === undefined) {
    const current = tagged.find(({ is_current }) => is_current);
    const [before] = tagged
      .filter(({ created_at, is_current }) => !is_current && timeOf(created_at) < timeOf(current?.created_at))
      .sort((a, b) => timeOf(b.created_at) - timeOf(a.created_at));
    if (before !== undefined) return before;
    throw new Failure("No build older than the running one is kept.", { details });
  }
  const found = tagged.filter(({ tag, deployment_uuid }) => deployment_uuid === wanted || tag.startsWith(wanted));
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) throw usage(`No kept release is named ${printable(wanted)}.`, details);
  throw usage(`${found.length} kept builds begin with ${printable(wanted)}. Name one by its deployment.`, details);
}

/** A missing time counts as the newest. */
const timeOf = (time: string | null | undefined): number => (time ? new Date(time).getTime() : Number.MAX_VALUE);

function showKept({ output }: Session, name: string, images: readonly RollbackImage[]): void {
  if (images.length === 0) {
    output.line(`No builds of ${name} are kept.`);
    return;
  }
  const now = new Date();
  const rows = images.map(({ tag, created_at, is_current, deployment_uuid, commit_message, image }) => [
    cell(tag?.slice(0, SHOWN_LENGTH)),
    is_current ? "runs" : "-",
    ago(created_at, now),
    cell(commit_message),
    cell(image),
    cell(deployment_uuid),
  ]);
  output.table(["COMMIT", "NOW", "BUILT", "MESSAGE", "IMAGE", "DEPLOYMENT"], rows);
}

const SHOWN_LENGTH = 10;
