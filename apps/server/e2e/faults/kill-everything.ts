import { until } from "@berth/testing";
import { outcomeOf } from "../applications.fixture.ts";
import { canRead, expect, type Ground } from "./checks.ts";
import { deployments, lostWrites, visit, visitors, writers } from "./load.ts";
import { commandOf, processesOf, signal } from "./processes.ts";

/** The database's own processes, the proxy, the application, and at last the server itself. */
export async function killEverything({ server, uuid, host }: Ground): Promise<string> {
  const [writing, deploying, visiting] = [writers(server, 2), deployments(server, uuid), visitors(server, host)];
  const isRight = async () => (await canRead(server)) && (await visit(server, host));
  const killed: string[] = [];
  const victims = processesOf(server).filter((pid) => pid !== server.pid());
  for (const pid of victims) {
    const command = commandOf(pid);
    // It may have ended with one that was killed before.
    if (command === "" || !signal(pid, "SIGKILL")) continue;
    killed.push(command);
    await until(isRight, { what: `reads and the site are answered after ${command} was killed`, seconds: 60 });
  }
  await server.kill();
  await server.start();
  await until(isRight, { what: "reads and the site are answered after the server was killed", seconds: 60 });
  const [{ acknowledged }, queued, { answered, failed }] = await Promise.all([
    writing.end(),
    deploying.end(),
    visiting.end(),
  ]);
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  const outcomes = await Promise.all(queued.map((one) => outcomeOf(server, one, 180_000)));
  const finished = outcomes.filter(({ status }) => status === "finished").length;
  return (
    `${killed.length + 1} processes killed; none of ${acknowledged.length} acknowledged writes lost, ` +
    `${finished} of ${queued.length} deployments finished, ${failed} of ${answered + failed} requests to the site failed`
  );
}
