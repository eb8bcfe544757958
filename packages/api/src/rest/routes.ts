import type { Paging } from "@berth/core/ports";
import type { AnyRouter } from "@trpc/server";
import { z } from "zod";
import type { Method, OperationOptions, Path } from "../operation-options.ts";
import type { Meta, RequestContext } from "../trpc.ts";
import { type Coerce, coercerOf, isList } from "./coerce.ts";

/** A tRPC procedure as it is called outside of a router. Internal to tRPC, whose version is therefore pinned. */
export interface Procedure {
  (call: {
    readonly path: string;
    readonly type: ProcedureType;
    readonly ctx: RequestContext;
    readonly getRawInput: () => Promise<unknown>;
    readonly signal: AbortSignal;
    readonly batchIndex: 0;
  }): Promise<unknown>;
  readonly _def: {
    readonly type: ProcedureType;
    readonly meta?: Meta;
    readonly inputs: readonly unknown[];
    readonly output?: z.ZodType;
  };
}
type ProcedureType = "query" | "mutation" | "subscription";

/** A procedure that is an operation: the source of both the routes and the OpenAPI document. */
export interface ApiOperation {
  /** Name in the router, e.g. `applications.envs.list`. */
  readonly name: string;
  readonly procedure: Procedure;
  readonly options: OperationOptions;
  readonly input: z.ZodObject | undefined;
  readonly output: z.ZodType | undefined;
}

export interface Route {
  readonly operation: ApiOperation;
  readonly method: Method;
  readonly path: Path;
  /** For old clients: documented as deprecated. */
  readonly isTwin: boolean;
  readonly pathKeys: readonly InputKey[];
  readonly queryKeys: readonly InputKey[];
  /** `required`: at least one field must be sent. */
  readonly body: "none" | "optional" | "required" | "upload";
}

export interface InputKey {
  /** Name in the path or query. */
  readonly name: string;
  /** Name in the input. */
  readonly key: string;
  readonly coerce: Coerce;
  /** May be repeated. */
  readonly isList: boolean;
}

/** @throws Error for an invalid definition: found at the start, not by a request. */
export function operationsOf(router: AnyRouter): ApiOperation[] {
  const operations: ApiOperation[] = [];
  // tRPC stores the flattened procedures here; their shape is that of `Procedure`.
  for (const [name, procedure] of Object.entries(router._def.procedures as Record<string, Procedure>)) {
    const { meta, inputs, output } = procedure._def;
    if (!meta) continue;
    const [input] = inputs;
    if (inputs.length > 1 || (input !== undefined && !isStrictObject(input)))
      throw new Error(`The input of ${name} must be one strict object.`);
    if (!output && !meta.operation.events && !meta.operation.download)
      throw new Error(`${name} must say what it answers.`);
    operations.push({ name, procedure, options: meta.operation, input, output });
  }
  return operations;
}

/** Whether it returns a list that can be read in parts. */
export const isPagedList = ({ input, output, options }: ApiOperation): boolean =>
  output instanceof z.ZodArray && !options.isMadeWhole && input?.shape.skip !== undefined && "take" in input.shape;

/** The requested page of a list; `undefined` if its schema refuses it. */
export function askedPage(
  { input }: ApiOperation,
  { skip, take }: Readonly<Record<string, unknown>>,
): Paging | undefined {
  const { skip: skipSchema, take: takeSchema } = input?.shape ?? {};
  if (skipSchema === undefined || takeSchema === undefined) return undefined;
  const asked = { skip: z.safeParse(skipSchema, skip), take: z.safeParse(takeSchema, take) };
  if (!asked.skip.success || !asked.take.success) return undefined;
  // These are the schemas of every list's page.
  return { skip: asked.skip.data, take: asked.take.data } as Paging;
}

/** All methods and paths of an operation. */
export function routesOf(operation: ApiOperation): Route[] {
  const { method, path, aliases = [], alsoByGet } = operation.options;
  return [
    routeOf(operation, method, path, false),
    ...aliases.map((alias) => routeOf(operation, method, alias, true)),
    ...(alsoByGet ? [path, ...aliases].map((at) => routeOf(operation, "GET", at, true)) : []),
  ];
}

export const parametersOf = (path: Path): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

function routeOf(operation: ApiOperation, method: Method, path: Path, isTwin: boolean): Route {
  const { options, name } = operation;
  const shape: Readonly<Record<string, z.core.$ZodType>> = operation.input?.shape ?? {};
  const inputKey = (parameter: string, key: string): InputKey => {
    const schema = shape[key];
    if (!schema) throw new Error(`${method} ${path}: the input of ${name} has no ${key}.`);
    return { name: parameter, key, coerce: coercerOf(schema), isList: isList(schema) };
  };
  const pathKeys = parametersOf(path).map((parameter) =>
    inputKey(parameter, options.pathKeys?.[parameter] ?? parameter),
  );
  const others = Object.keys(shape).filter((key) => !pathKeys.some((inPath) => inPath.key === key));
  const hasBody = method !== "GET" && method !== "DELETE" && !options.upload;
  const inQuery = hasBody ? (options.query ?? []) : others;
  const inBody = hasBody ? others.filter((key) => !inQuery.includes(key)) : [];
  return {
    operation,
    method,
    path,
    isTwin,
    pathKeys,
    queryKeys: inQuery.map((key) => inputKey(key, key)),
    body: bodyOf(
      method,
      inBody.map((key) => shape[key]),
      options,
    ),
  };
}

function bodyOf(
  method: Method,
  fields: readonly (z.core.$ZodType | undefined)[],
  { upload }: OperationOptions,
): Route["body"] {
  if (upload) return "upload";
  if (fields.length === 0) return "none";
  const isRequired = fields.some((field) => field && !z.safeParse(field, undefined).success);
  return isRequired || method === "PATCH" || method === "PUT" ? "required" : "optional";
}

export const isStrictObject = (schema: unknown): schema is z.ZodObject =>
  schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever;
