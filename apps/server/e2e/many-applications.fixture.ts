import { readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import type { TestServer } from "./server.fixture.ts";

/** Copies of the one application that was made through the API, as if they had been created and never deployed. */
export const copiesSql = (count: number, first = 1): string => `
  with source as (
    select * from resource where name = 'measured' order by id limit 1
  ), copies as (
    insert into resource (uuid, kind, team_id, environment_id, server_id, destination_id, name)
    select 'c' || substr(md5(random()::text || n), 1, 23), kind, team_id, environment_id, server_id, destination_id,
      'copy-' || n
    from source, generate_series(${first}, ${first + count - 1}) n returning id, name
  ), applied as (
    insert into application (resource_id, source, fqdn, settings)
    select copies.id, a.source, 'http://' || copies.name || '.example.com', a.settings
    from copies, application a join source on source.id = a.resource_id
  )
  insert into domain (resource_id, host, path, url, position)
  select id, name || '.example.com', '/', 'http://' || name || '.example.com', 0 from copies`;

/** Asks for the list of all applications. Of the answer, only the head is read. */
export function askForAll({ url, token }: Pick<TestServer, "url" | "token">): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/api/v1/applications`, {
      agent: false,
      headers: { authorization: `Bearer ${token}` },
    });
    asked.once("response", resolve).once("error", reject).end();
  });
}

export async function sizeOf(answer: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer) bytes += (chunk as Buffer).length;
  return bytes;
}

/** A token of another team that may read. */
export async function otherTeam(server: TestServer): Promise<string> {
  const made = await server.rest("POST", "/teams", { name: "other" });
  const { id } = made.body as { id: number };
  const { status, body } = await server.rest("POST", "/tokens", { name: "other", abilities: ["read"], team_id: id });
  if (status !== 201) throw new Error(`The token of another team is answered with ${status}.`);
  return (body as { token: string }).token;
}

/** The largest resident memory of a process since `forgetPeak`. */
export const peakMb = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? Number.NaN) / 1024;

export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5");
