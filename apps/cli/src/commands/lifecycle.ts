import type { Command } from "commander";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { printable } from "../printable.ts";
import type { Bind } from "../program.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

interface Queued {
  readonly message: string;
  readonly deployment_uuid: string;
}

/** A command that queues a deployment of an application and follows it. */
export function defineQueueing<Options extends { readonly detach?: boolean }>(
  command: Command,
  bind: Bind,
  queue: (api: Api, uuid: string, options: Options) => Promise<Queued>,
): void {
  command
    .argument("[app]", "name or uuid; default: the application of this folder")
    .option("--detach", "do not follow it")
    .action(
      bind(async (session: Session, wanted: string | undefined, options: Options): Promise<ExitCode> => {
        const { output, system } = session;
        const api = await session.connect();
        const { uuid, name } = await targetApplication(api, system, wanted);
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
