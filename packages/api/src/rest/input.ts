import { isUtf8 } from "node:buffer";
import { DomainError, invalid, jsonProblem, NOT_ALLOWED } from "@berth/core";
import type { FastifyRequest } from "fastify";

import { toBoolean } from "./coerce.ts";
import type { Route } from "./routes.ts";

type Input = Record<string, unknown>;

/**
 * The input of an operation from path, query and body. A key of the path must not have another value in body or
 * query. Unknown keys are passed to the schema, which refuses them. Those in the query of a GET are ignored, and in
 * that of an action which is also served by GET.
 *
 * @throws DomainError `request.malformed` for an invalid JSON body, `request.invalid` for fields
 */
export function inputOf(route: Route, request: FastifyRequest): Input | undefined {
  const { operation, method, pathKeys, queryKeys } = route;
  const input: Input = {};
  const errors = new Map<string, string>();
  // A caller that changes from the GET of an action to its POST keeps the query.
  const ignoresUnknown = method === "GET" || operation.options.alsoByGet === true;
  const set = (key: string, value: unknown, contradiction: string) => {
    if (Object.hasOwn(input, key) && !isSame(input[key], value)) errors.set(key, contradiction);
    input[key] = value;
  };

  for (const [key, value] of Object.entries(bodyOf(route, request))) {
    const isInPathOnly = pathKeys.some((inPath) => inPath.key === key && inPath.name !== key);
    // The body of a DELETE may have the keys of its query; clients of this API family send either.
    const isForeign = method === "DELETE" && !queryKeys.some((inQuery) => inQuery.key === key);
    if (operation.options.ignoresEmptyFields && (value === null || value === "")) continue;
    if (key === "__proto__" || isInPathOnly || isForeign) errors.set(key, NOT_ALLOWED);
    else input[key] = value;
  }
  // Fastify returns texts, or lists of them for repeated keys.
  for (const [name, text] of Object.entries(request.query as Record<string, string | string[]>)) {
    const known = [...queryKeys, ...pathKeys].find((inUrl) => inUrl.name === name && inUrl.key === name);
    // Clients of this API family send empty values, and random keys to bypass caches. In deletions every key counts.
    const isUnset = operation.options.ignoresEmptyFields && known?.coerce === toBoolean && text === "undefined";
    if (((text === "" || isUnset) && known && method !== "DELETE") || (!known && ignoresUnknown)) continue;
    if (!known) errors.set(name, NOT_ALLOWED);
    else if (Array.isArray(text) && !known.isList) errors.set(name, "Must be given once.");
    else set(known.key, known.coerce(text), "Must be the same in the query and the body.");
  }
  for (const { name, key, coerce } of pathKeys) {
    // Fastify returns all parameters of the route's path, decoded.
    const text = (request.params as Record<string, string>)[name];
    set(key, coerce(text), "Must be the same as in the path.");
  }
  const lastEventId = request.headers["last-event-id"];
  // The header is newer than the query of a URL that an EventSource opens again.
  if (operation.options.events && lastEventId !== undefined) input.lastEventId = lastEventId;

  if (!operation.input) for (const key of Object.keys(input)) errors.set(key, NOT_ALLOWED);
  if (errors.size > 0) throw invalid(Object.fromEntries([...errors].map(([key, text]) => [key, [text]])));
  return operation.input && input;
}

function bodyOf({ body, method, operation }: Route, request: FastifyRequest): object {
  if (body === "upload") assertUploadType(request, operation.options.upload?.contentTypes ?? []);
  if (body === "upload" || method === "GET") return {};
  // The content type parser stores bytes here.
  const bytes = request.body as Buffer | undefined;
  const isEmpty = bytes === undefined || bytes.length === 0;
  if (isEmpty && body !== "required") return {};
  if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) throw malformed("Content-Type must be application/json.");
  const json = isEmpty ? undefined : parsed(bytes);
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw malformed("Invalid JSON.");
  if (body === "required" && Object.keys(json).length === 0) throw malformed("Empty JSON.");
  return json;
}

function assertUploadType({ headers }: FastifyRequest, types: readonly string[]): void {
  const [type = ""] = (headers["content-type"] ?? "").toLowerCase().split(";", 1);
  if (type === "" || types.includes(type.trim())) return;
  throw new DomainError("request.unsupported_media_type", `Content-Type must be ${types.join(" or ")}.`);
}

/** @throws DomainError `request.malformed` for more values than any operation reads */
export function assertFewValues(json: string): void {
  const problem = jsonProblem(json, VALUES_MAX);
  if (problem !== undefined) throw malformed(`Invalid JSON. ${problem}`);
}

const VALUES_MAX = 15_000; // A thousand variables with all their fields have 11,000 values.

function parsed(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  assertFewValues(text);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a body's value equals one of the URL; the URL has only texts where its schema allows any type. */
const isSame = (value: unknown, inUrl: unknown): boolean =>
  JSON.stringify(value) === JSON.stringify(inUrl) || (typeof value === "number" && String(value) === inUrl);

export const malformed = (error: string) =>
  new DomainError("request.malformed", "Invalid request.", { details: { error } });

/** The rule of this API family: any type that contains `/json` or `+json`. */
const JSON_TYPE = /[/+]json/i;
