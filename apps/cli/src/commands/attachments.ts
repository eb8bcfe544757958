import type { Attachment, Database } from "@berth/core/database";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { printable } from "../printable.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { attachedCommands, effectLines } from "../variable-effect.ts";

const DATABASE = ["<database>", "name or uuid"] as const;
const RESOURCE = ["<resource>", "name or uuid of an application, service or database of the same environment"] as const;

/** `attach` and `detach` of databases; `databases attachments list` shows them. */
export function defineAttachments(group: Command, bind: Bind): void {
  group
    .command("attach")
    .description(
      "Put the URL of a database into a variable of an application. It follows changes of address and password.",
    )
    .argument(...DATABASE)
    .argument(...RESOURCE)
    .option("--as <variable>", "the variable; default: DATABASE_URL")
    .action(bind(attach));
  group
    .command("detach")
    .description("Delete the variables of an application that are the URL of a database, or a part of it.")
    .argument(...DATABASE)
    .argument(...RESOURCE)
    .option("--as <variable>", "only this variable")
    .action(bind(detach));
}

interface AttachOptions {
  readonly as?: string;
}

async function attach(session: Session, wanted: string, user: string, options: AttachOptions): Promise<void> {
  const { output } = session;
  const api = await session.connect();
  const database = await namedResource(api, "database", wanted);
  const resource = await findUser(api.client, database, user);
  const made = await api.client.databases.attachments.attach.mutate({
    uuid: database.uuid,
    resource_uuid: resource.uuid,
    ...options,
  });
  const commands = await attachedCommands(api, made);
  output.show(made, () => {
    output.line(
      `${printable(resource.name)}: ${printable(made.key)} is ${printable(made.reference)}, ${routeText(made)}.`,
    );
    // A new variable of an application is for its build and for what runs.
    for (const line of effectLines(commands, [{}])) output.line(line);
  });
}

async function detach(session: Session, wanted: string, user: string, options: AttachOptions): Promise<void> {
  const { output } = session;
  const api = await session.connect();
  const database = await namedResource(api, "database", wanted);
  const resource = await findUser(api.client, database, user);
  const sent = { uuid: database.uuid, resource_uuid: resource.uuid, ...options };
  const answer = await api.client.databases.attachments.detach.mutate(sent);
  output.show(answer, () => output.line(printable(answer.message)));
}

const ROUTES = {
  network: "its network",
  loopback: "a port of the machine",
  public_port: "its public port",
} as const satisfies Record<NonNullable<Attachment["route"]>, string>;

const routeText = ({ route }: Attachment): string => (route === null ? "not reached" : `reached by ${ROUTES[route]}`);

/** Finds a resource of any kind in the database's environment, by name or uuid. */
async function findUser(client: Api["client"], database: Database, wanted: string) {
  const all = await client.resources.list.query({});
  const near = all.filter(
    ({ uuid, environment_id }) => uuid !== database.uuid && environment_id === database.environment_id,
  );
  return choose(wanted, near, { thing: "resource of its environment", describe: ({ status }) => status });
}
