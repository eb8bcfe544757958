import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, Failure } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { addWaitFlag } from "../follow/job.ts";
import { pollUntilEnded } from "../follow/poll.ts";
import type { Output } from "../output.ts";
import { printable } from "../printable.ts";
import { GROUPS, type NamedKind, namedResource } from "../resource.ts";
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

/** Kind of object named by a command's argument, and how to find it. */
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
  // Never empty: commander requires the argument.
  find: (api, _session, wanted = "") => namedResource(api, kind, wanted),
});

/** Defines a command that queues a deployment of an application, or of the object in `of`, and follows it. */
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

/** Defines `start`, `restart` and `stop` of a kind. */
export function defineLifecycle(group: Command, bind: Bind, kind: NamedKind): void {
  const of = named(kind);
  for (const verb of ["start", "restart"] as const) {
    const command = group.command(verb).description(`${verb === "start" ? "Start" : "Restart"} a ${kind}.`);
    defineQueueing(command, bind, ({ client }, uuid) => clientOf(client, kind)[verb].mutate({ uuid }), of);
  }
  defineStop(group.command("stop").description(`Stop a ${kind}.`), bind, of, (client) => clientOf(client, kind));
}

interface Stoppable {
  readonly get: { query(input: { readonly uuid: string }): Promise<{ readonly status: string }> };
  readonly stop: { mutate(input: { readonly uuid: string }): Promise<{ readonly message: string }> };
}

export const defineStopOfApplication = (command: Command, bind: Bind): void =>
  defineStop(command, bind, APPLICATION, (client) => client.applications);

function defineStop(command: Command, bind: Bind, of: Named, kindOf: (client: Api["client"]) => Stoppable): void {
  addWaitFlag(command.argument(...of.argument)).action(
    bind(async (session: Session, wanted: string | undefined, { wait }: { readonly wait: boolean }) => {
      const { output } = session;
      const api = await session.connect();
      const operations = kindOf(api.client);
      const { uuid, name } = await of.find(api, session, wanted);
      const answer = await operations.stop.mutate({ uuid });
      output.show(answer, () => output.line(`${printable(name)}: ${printable(answer.message)}`));
      return wait ? untilStopped(session, name, () => operations.get.query({ uuid })) : EXIT.ok;
    }),
  );
}

/** A server that does not answer stops nothing, and scripts must not wait for ever. */
const STOP_PATIENCE_MS = 5 * 60_000;

async function untilStopped(
  session: Session,
  name: string,
  read: () => Promise<{ readonly status: string }>,
): Promise<ExitCode> {
  const deadline = Date.now() + STOP_PATIENCE_MS;
  const look = async () => {
    if ((await read()).status.startsWith("exited")) return true;
    return Date.now() > deadline ? false : undefined;
  };
  const isStopped = await pollUntilEnded(session, look, `Waiting until ${printable(name)} has stopped`);
  if (isStopped === undefined) return EXIT.interrupted;
  if (!isStopped) throw new Failure(`${printable(name)} has not stopped within 5 minutes. Berth continues to try.`);
  session.output.line(`${printable(name)} is stopped.`);
  return EXIT.ok;
}

// The operations of both kinds have the same types.
const clientOf = (client: Api["client"], kind: NamedKind) =>
  kind === "database" ? client.databases : (client.services as unknown as Api["client"]["databases"]);

/** Follows the deployment that a creation queued. @returns 0 also if none was queued */
export async function followNewest(api: Api, session: Session, kind: NamedKind, uuid: string): Promise<ExitCode> {
  const query = { uuid, take: 1 };
  const { deployments } =
    kind === "database"
      ? await api.client.deployments.listByDatabase.query(query)
      : await api.client.deployments.listByService.query(query);
  const [newest] = deployments;
  return newest === undefined ? EXIT.ok : followDeployment(api, session, newest.deployment_uuid);
}

/** The first deployment failed, so that the object exists, but nothing of it runs. */
export function reportKept(output: Pick<Output, "line">, kind: NamedKind, name: string): void {
  const group = GROUPS[kind];
  output.line(`The ${kind} ${printable(name)} is kept, and nothing of it runs.`);
  output.line(`  Start it again:  berth ${group} start ${printable(name)}`);
  output.line(`  Delete it:       berth ${group} delete ${printable(name)}`);
}
