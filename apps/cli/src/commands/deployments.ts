import type { Deployment } from "@berth/core/deploy";
import { type Command, InvalidArgumentError } from "commander";
import { findLinks } from "../application-link.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { Failure } from "../failure.ts";
import { ago, duration } from "../format.ts";
import { cell } from "../output.ts";
import { findOtherKind } from "../resource.ts";
import type { Session } from "../session.ts";
import { deploymentStatusText } from "../status-text.ts";
import { targetApplication } from "../target.ts";

interface DeploymentListOptions {
  readonly take?: number;
  readonly skip?: number;
  readonly all?: boolean;
}

export function define(command: Command, bind: Bind): void {
  addPaging(
    command
      .argument(
        "[name]",
        "name or uuid of an application, database or service; default: the application of this folder, else all that wait or run",
      )
      .option("--all", "all queued and running deployments of the team, also inside of a deployed folder"),
  ).action(bind(list));
  addPaging(command.command("list"))
    .description("List the waiting and running deployments of the team. Those of one resource: berth deployments NAME")
    // Commander gives the flags that the group has too to the group.
    .action(
      bind((session: Session, _: DeploymentListOptions, self: Command) =>
        listActive(session, self.optsWithGlobals<DeploymentListOptions>()),
      ),
    );
}

const addPaging = (command: Command): Command =>
  command
    .option("--take <count>", "how many at most", count)
    .option("--skip <count>", "how many of the newest to skip", count);

async function list(
  session: Session,
  wanted: string | undefined,
  { all, ...paging }: DeploymentListOptions,
): Promise<void> {
  const { output, system } = session;
  const isOfTeam = all === true || (wanted === undefined && (await findLinks(system.cwd)) === undefined);
  if (isOfTeam) return await listActive(session, paging);
  const api = await session.connect();
  const { name, read } = await deploymentsOf(session, api, wanted);
  const page = await read(paging);
  output.show(page, () => {
    table(session, page.deployments, `${cell(name)} was not deployed yet.`);
    const left = page.count - page.deployments.length - (paging.skip ?? 0);
    if (left > 0) output.line(output.colors.dim(`${left} older ones: --take and --skip show them.`));
  });
}

/** An application with the name goes before a database or service. */
async function deploymentsOf({ system }: Session, api: Api, wanted: string | undefined) {
  const { deployments } = api.client;
  try {
    const { uuid, name } = await targetApplication(api, system, wanted);
    return { name, read: (paging: Paging) => deployments.listByApplication.query({ uuid, ...paging }) };
  } catch (error) {
    // Only where no application has the name; a connection that failed is not a reason to look further.
    if (!(error instanceof Failure) || wanted === undefined) throw error;
    const other = await findOtherKind(api, wanted);
    if (other === undefined) throw error;
    const { kind, uuid, name } = other;
    const list = kind === "database" ? deployments.listByDatabase : deployments.listByService;
    return { name, read: (paging: Paging) => list.query({ uuid, ...paging }) };
  }
}

type Paging = Pick<DeploymentListOptions, "take" | "skip">;

async function listActive(session: Session, { take, skip }: DeploymentListOptions): Promise<void> {
  const { client } = await session.connect();
  const active = await client.deployments.list.query({ take, skip });
  session.output.show(active, () => table(session, active, NONE_ACTIVE));
}

const NONE_ACTIVE =
  "No deployment is queued or running. List those that have ended, of one resource, with: berth deployments NAME";

function table({ output }: Session, deployments: readonly Deployment[], none: string): void {
  if (deployments.length === 0) {
    output.line(none);
    return;
  }
  const now = new Date();
  const isOnSeveral = new Set(deployments.map(({ server_id }) => server_id)).size > 1;
  const rows = deployments.map((each) => [
    cell(each.deployment_uuid),
    cell(each.application_name),
    ...(isOnSeveral ? [cell(each.server_name)] : []),
    deploymentStatusText(each.status, output.colors),
    cell(each.commit.slice(0, 10)),
    ago(each.created_at, now),
    took(each, now),
    cell(each.error ?? each.commit_message),
  ]);
  const server = isOnSeveral ? ["SERVER"] : [];
  output.table(["DEPLOYMENT", "RESOURCE", ...server, "STATUS", "COMMIT", "CREATED", "TOOK", "MESSAGE"], rows);
}

function took({ started_at, finished_at }: Deployment, now: Date): string {
  if (started_at === null) return "-";
  const end = finished_at === null ? now : new Date(finished_at);
  return duration(end.getTime() - new Date(started_at).getTime());
}

function count(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It takes a whole number.");
}
