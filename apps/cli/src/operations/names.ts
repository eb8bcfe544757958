import { type Candidate, choose } from "../choose.ts";
import type { RestRequest } from "../connection/rest.ts";
import type { DescribedOperation } from "./description.ts";

/** Sends a GET, and returns `undefined` when it cannot be read. */
export type Ask = (request: Pick<RestRequest, "method" | "path">) => Promise<unknown>;

/**
 * Values for an operation's path, with names replaced by uuids, which are looked up in the list above each parameter.
 * Values stay unchanged if the list does not exist or this token cannot read it.
 *
 * @throws Failure that lists similar names
 */
export async function pathValues(
  ask: Ask,
  operation: DescribedOperation,
  typed: readonly string[],
): Promise<readonly string[]> {
  const values: string[] = [];
  for (const [n, { name }] of operation.pathParameters.entries()) {
    const value = typed[n] ?? "";
    const above = filledPath(operation, values).split(`/{${name}}`)[0] ?? "";
    values.push(isNamed(name, value) ? await uuidOf(ask, listPath(above), value) : value);
  }
  return values;
}

/** Does the same for fields that contain uuids. */
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

/** The operation's path with the known values filled in. */
export const filledPath = ({ path, pathParameters }: DescribedOperation, values: readonly string[]): string =>
  values.reduce((text, value, n) => text.replace(`{${pathParameters[n]?.name}}`, encodeURIComponent(value)), path);

const FIELD_LISTS: Readonly<Record<string, string>> = {
  project_uuid: "/projects",
  server_uuid: "/servers",
  destination_uuid: "/destinations",
  private_key_uuid: "/security/keys",
  s3_storage_uuid: "/s3-storages",
  target_database_uuid: "/databases",
};

/** Whether it is a name to look up. Deployments have no names. */
const isNamed = (parameter: string, value: string): boolean =>
  parameter.endsWith("uuid") && !parameter.includes("name") && value !== "" && !UUID.test(value);
const UUID = /^[a-z0-9]{24}$/;

/** `/deployments/databases/{uuid}` → the list of databases. */
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
  // Variables have keys, and storages mount paths, instead of names.
  const { name = undefined, key = undefined, mount_path = undefined } = item as Readonly<Record<string, unknown>>;
  const shown = [name, key, mount_path].find(isText);
  return isText(uuid) && shown !== undefined ? [{ uuid, name: shown }] : [];
}

const isText = (value: unknown): value is string => typeof value === "string";

/** `/s3-storages` → `s3 storage`. */
const thingOf = (list: string): string => (list.split("/").at(-1) ?? "").replaceAll("-", " ").replace(/s$/, "");
