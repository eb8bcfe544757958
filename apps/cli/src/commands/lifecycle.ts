import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { printable } from "../printable.ts";
import { type NamedKind, namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

interface Queued {
  readonly message: string;
  readonly deployment_uuid: string;
}

interface Target {
  readonly uuid: string;
  readonly name: string;
}

/** Kind of object that a command's argument names, and how it is found. */
interface Named {
  readonly argument: readonly [flags: string, description: string];
  find(api: Api, session: Session, wanted: string | undefined): Promise<Target>;
}

const APPLICATION: Named = {
  argument: ["[app]", "name or uuid; default: the application of this folder"],
  find: (api, { system }, wanted) => targetApplication(api, system, wanted),
};

const named = (kind: NamedKind): Named => ({
  argument: [`<${kind}>`, "name or uuid"],
  // Commander refuses a command without it.
  find: (api, _session, wanted = "") => namedResource(api, kind, wanted),
});

/** A command that queues a deployment of an application, or of what `of` names, and follows it. */
export function defineQueueing<Options extends { readonly detach?: boolean }>(
  command: Command,
  bind: Bind,
  queue: (api: Api, uuid: string, options: Options) => Promise<Queued>,
  of: Named = APPLICATION,
): void {
  command
    .argument(...of.argument)
    .option("--detach", "do not follow it")
    .action(
      bind(async (session: Session, wanted: string | undefined, options: Options): Promise<ExitCode> => {
        const { output } = session;
        const api = await session.connect();
        const { uuid, name } = await of.find(api, session, wanted);
        const queued = await queue(api, uuid, options);
        if (options.detach) {
          output.show(queued, () => {
            output.line(`${printable(name)}: ${printable(queued.message)}`);
            output.line(`Follow it with: berth logs --deployment ${queued.deployment_uuid} -f`);
          });
          return EXIT.ok;
        }
        output.json(queued);
        output.line(`${printable(name)}: ${printable(queued.message)}`);
        return followDeployment(api, session, queued.deployment_uuid);
      }),
    );
}

/** `start`, `restart` and `stop` of a kind. */
export function defineLifecycle(group: Command, bind: Bind, kind: NamedKind): void {
  const of = named(kind);
  for (const verb of ["start", "restart"] as const) {
    const command = group.command(verb).description(`${verb === "start" ? "Start" : "Restart"} a ${kind}.`);
    defineQueueing(command, bind, ({ client }, uuid) => clientOf(client, kind)[verb].mutate({ uuid }), of);
  }
  group
    .command("stop")
    .description(`Stop a ${kind}.`)
    .argument(...of.argument)
    .action(
      bind(async (session: Session, wanted: string): Promise<void> => {
        const { output } = session;
        const api = await session.connect();
        const { uuid, name } = await of.find(api, session, wanted);
        const answer = await clientOf(api.client, kind).stop.mutate({ uuid });
        output.show(answer, () => output.line(`${printable(name)}: ${printable(answer.message)}`));
      }),
    );
}

// The operations of both kinds are one definition.
const clientOf = (client: Api["client"], kind: NamedKind) =>
  kind === "database" ? client.databases : (client.services as unknown as Api["client"]["databases"]);

/** Follows the deployment that was queued with a creation. @returns 0 also where none was queued */
export async function followNewest(api: Api, session: Session, kind: NamedKind, uuid: string): Promise<ExitCode> {
  const query = { uuid, take: 1 };
  const { deployments } =
    kind === "database"
      ? await api.client.deployments.listByDatabase.query(query)
      : await api.client.deployments.listByService.query(query);
  const [newest] = deployments;
  return newest === undefined ? EXIT.ok : followDeployment(api, session, newest.deployment_uuid);
}
