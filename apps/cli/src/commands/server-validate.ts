import type { ServerValidate } from "@berth/core/server";
import { EXIT, type ExitCode, Failure } from "../failure.ts";
import { followJob } from "../follow/job.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

/** Validates a server, and shows how that went and what is wrong with it. */
export async function validateServer(
  session: Session,
  { uuid, name }: { readonly uuid: string; readonly name: string },
  asked: ServerValidate,
): Promise<ExitCode> {
  const { output } = session;
  const { client } = await session.connect();
  const { job_uuid } = await client.servers.validate.mutate({ uuid, ...asked });
  if (job_uuid === undefined) throw new Failure("The server began no validation.");
  const job = await followJob(session, job_uuid);
  if (job === undefined) return EXIT.interrupted;
  const server = await client.servers.get.query({ uuid });
  output.show(server, () => {
    if (job.status === "finished") output.line(output.colors.green(`${printable(name)} can be used.`));
    else output.warn(`${printable(name)} cannot be used.`);
    const said = server.validation_logs ?? job.error ?? "";
    for (const line of said === "" ? [] : said.split("\n")) output.line(printable(line));
  });
  return job.status === "finished" ? EXIT.ok : EXIT.failed;
}
