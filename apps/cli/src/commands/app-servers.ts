import type { AttachedDestination } from "@berth/core/application";
import type { Command } from "commander";
import { choose, chooseOnly } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { ago } from "../format.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { statusText } from "../status-text.ts";
import { namedApplication, targetApplication } from "../target.ts";

const APP = ["<app>", "name or uuid"] as const;
const SERVER = ["<server>", "name or uuid"] as const;

/** The servers that one application is deployed to. */
export function defineServers(group: Command, bind: Bind): void {
  group
    .command("servers")
    .description("Show the servers that an application is deployed to, with its status on each.")
    .argument("[app]", "name or uuid; default: the application of this folder")
    .action(bind(list));
  group
    .command("add-server")
    .description("Deploy an application to another server too: now, and with each further deployment.")
    .argument(...APP)
    .argument(...SERVER)
    .option("--destination <destination>", "name or uuid; default: the only one of the server")
    .option("--no-deploy", "only with its next deployment, not now")
    .option("--detach", "do not follow the deployment")
    .action(bind(add));
  group
    .command("remove-server")
    .description("Remove an application from one of its servers. Its first server stays.")
    .argument(...APP)
    .argument(...SERVER)
    .action(bind(remove));
}

async function list({ connect, output, system }: Session, wanted: string | undefined): Promise<void> {
  const api = await connect();
  const { uuid } = await targetApplication(api, system, wanted);
  const destinations = await api.client.applications.destinations.list.query({ uuid });
  output.show(destinations, () => {
    output.table(
      ["SERVER", "STATUS", "LAST DEPLOYMENT", "COMMIT", "DESTINATION"],
      destinations.map((each) => row(each, output)),
    );
    for (const { server_name, problem } of destinations)
      if (problem !== null) output.warn(`${printable(server_name)}: ${printable(problem)}`);
  });
}

const row = (destination: AttachedDestination, { colors }: Output): readonly string[] => {
  const { server_name, is_primary, status, deployment, name } = destination;
  const ended = deployment?.finished_at;
  const last = deployment === null ? "never" : `${deployment.status}${ended ? ` ${ago(ended, new Date())}` : ""}`;
  return [
    cell(`${server_name}${is_primary ? " (first)" : ""}`),
    statusText(status, colors),
    last,
    cell(deployment?.commit.slice(0, COMMIT_LENGTH) ?? null),
    cell(name),
  ];
};

const COMMIT_LENGTH = 12;

async function add(
  session: Session,
  wanted: string,
  serverName: string,
  options: { readonly destination?: string; readonly deploy: boolean; readonly detach?: boolean },
): Promise<ExitCode> {
  const { output } = session;
  const api = await session.connect();
  const { uuid, name } = await namedApplication(api, wanted);
  const server = choose(serverName, await api.client.servers.list.query({}), { thing: "server" });
  // Later, the deployment would fail for it after half a minute.
  if (options.deploy && !server.settings.is_usable) {
    const { validation_logs: reason } = server;
    throw new Failure(`Server ${printable(server.name)} is not usable, so nothing is deployed to it.`, {
      details: [
        ...(reason ? [printable(reason)] : []),
        `Validate it: berth servers validate ${printable(server.name)}`,
        "Add it all the same, for the next deployment: add --no-deploy",
      ],
    });
  }
  const destinations = await api.client.destinations.listOfServer.query({ uuid: server.uuid });
  const destination = chooseOnly(options.destination, destinations, "destination");
  const sent = { uuid, destination_uuid: destination.uuid };
  const attached = await api.client.applications.destinations.attach.mutate(sent);
  output.show(attached, () => {
    const since = options.deploy ? "" : ", from its next deployment on";
    output.line(`${printable(name)} is deployed to ${printable(server.name)} too${since}.`);
    output.line("Requests reach it there once a name of the application points to that server too.");
  });
  if (!options.deploy) return EXIT.ok;
  const { deployments = [] } = await api.client.deploy.mutate({ uuid, server_uuid: server.uuid });
  const queued = deployments[0]?.deployment_uuid;
  if (queued === undefined) return EXIT.ok;
  if (!options.detach) return followDeployment(api, session, queued);
  output.line(`Queued deployment ${queued}`);
  return EXIT.ok;
}

async function remove({ connect, output }: Session, wanted: string, serverName: string): Promise<void> {
  const api = await connect();
  const { uuid, name } = await namedApplication(api, wanted);
  const { uuid: destination_uuid, server_name, is_primary } = await serverOf(api, uuid, serverName);
  if (is_primary) {
    throw usage(`${printable(server_name)} is the first server of ${printable(name)}, which stays.`, [
      `Move the application to another one: berth move ${printable(name)} --server SERVER`,
    ]);
  }
  const detached = await api.client.applications.destinations.detach.mutate({ uuid, destination_uuid });
  output.show(detached, () =>
    output.line(
      `Removed ${printable(server_name)} from the servers of ${printable(name)}. Berth stops what runs there.`,
    ),
  );
}

/** One of the servers of an application, by name or uuid. @throws Failure that lists them */
async function serverOf({ client }: Api, uuid: string, wanted: string): Promise<AttachedDestination> {
  const destinations = await client.applications.destinations.list.query({ uuid });
  const named = destinations.map((each) => ({ name: each.server_name, uuid: each.server_uuid ?? "", each }));
  return choose(wanted, named, { thing: "server of the application" }).each;
}

/** The field of a request that is for one of the servers of an application; nothing where none was named. */
export async function serverField(
  api: Api,
  uuid: string,
  wanted: string | undefined,
): Promise<{ readonly server_uuid?: string }> {
  if (wanted === undefined) return {};
  const { server_uuid } = await serverOf(api, uuid, wanted);
  return server_uuid === null ? {} : { server_uuid };
}
