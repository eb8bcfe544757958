import { type Candidate, choose } from "../choose.ts";
import type { RestRequest } from "../connection/rest.ts";
import type { Operation } from "./description.ts";

/** The answer to a GET, or `undefined` when it is none that could be read. */
export type Ask = (request: Pick<RestRequest, "method" | "path">) => Promise<unknown>;

/**
 * The values of an operation's path, with names replaced by the uuids that they mean: what a path names by its uuid has
 * a list just above it. What has no such list, or cannot be listed with this token, stays as it was typed.
 *
 * @throws Failure that lists what could have been meant
 */
export async function pathValues(ask: Ask, operation: Operation, typed: readonly string[]): Promise<readonly string[]> {
  const values: string[] = [];
  for (const [n, { name }] of operation.pathParameters.entries()) {
    const value = typed[n] ?? "";
    const above = filled(operation, values).split(`/{${name}}`)[0] ?? "";
    values.push(isNamed(name, value) ? await uuidOf(ask, listPath(above), value) : value);
  }
  return values;
}

/** The same of fields that name something by its uuid. */
export async function fieldValues(
  ask: Ask,
  fields: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const entries = Object.entries(fields).map(async ([key, value]) => {
    const list = FIELD_LISTS[key];
    const isName = list !== undefined && typeof value === "string" && value !== "" && !UUID.test(value);
    return [key, isName ? await uuidOf(ask, list, value) : value] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The operation's path with the values that are known so far. */
export const filled = ({ path, pathParameters }: Operation, values: readonly string[]): string =>
  values.reduce((text, value, n) => text.replace(`{${pathParameters[n]?.name}}`, encodeURIComponent(value)), path);

const FIELD_LISTS: Readonly<Record<string, string>> = {
  project_uuid: "/projects",
  server_uuid: "/servers",
  destination_uuid: "/destinations",
  private_key_uuid: "/security/keys",
  s3_storage_uuid: "/s3-storages",
  target_database_uuid: "/databases",
};

/** Nobody has to look up the uuid of what has a name; a deployment has none. */
const isNamed = (parameter: string, value: string): boolean =>
  parameter.endsWith("uuid") && !parameter.includes("name") && value !== "" && !UUID.test(value);
const UUID = /^[a-z0-9]{24}$/;

/** `/deployments/databases/{uuid}` is about a database. */
const listPath = (above: string): string => above.replace(/^\/deployments(?=\/)/, "");

async function uuidOf(ask: Ask, list: string, wanted: string): Promise<string> {
  const answer = await ask({ method: "GET", path: list });
  const candidates = Array.isArray(answer) ? answer.flatMap(candidateOf) : [];
  if (candidates.length === 0) return wanted;
  return choose(wanted, candidates, { thing: thingOf(list) }).uuid;
}

function candidateOf(item: unknown): Candidate[] {
  if (typeof item !== "object" || item === null || !("uuid" in item)) return [];
  const { uuid } = item;
  // Variables and storages are known by these.
  const { name = undefined, key = undefined, mount_path = undefined } = item as Readonly<Record<string, unknown>>;
  const shown = [name, key, mount_path].find(isText);
  return isText(uuid) && shown !== undefined ? [{ uuid, name: shown }] : [];
}

const isText = (value: unknown): value is string => typeof value === "string";

/** `/s3-storages` lists each `s3 storage`. */
const thingOf = (list: string): string => (list.split("/").at(-1) ?? "").replaceAll("-", " ").replace(/s$/, "");
