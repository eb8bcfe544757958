import type { OperationOptions } from "../operation-options.ts";
import { needsText } from "../permission.ts";
import type { Route } from "../rest/routes.ts";
import { type ExampleSchema, type ExampleSchemas, exampleOf, requestExample } from "./example.ts";
import type { GeneratedParts } from "./generate.ts";
import { headersOf } from "./headers.ts";
import { problemsOf } from "./problems.ts";

export interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

export function describeOperation(route: Route, parts: GeneratedParts, schemas: ExampleSchemas): OperationObject {
  const { operation, isTwin, method } = route;
  const { options } = operation;
  const { status = 200, ability, operationId } = options;
  const body = requestBody(route, parts, schemas);
  const parameters = [...(parts.parameters ?? []).map(asParameter), ...(options.events ? [LAST_EVENT_ID] : [])];
  return {
    // Names of operations are unique; the twin is told by what sets it apart.
    operationId: isTwin ? `${operationId}-${method === options.method ? "alias" : "by-get"}` : operationId,
    // Its name for tRPC: `applications.envs.list`. The command line names its commands after it.
    "x-berth-operation": operation.name,
    tags: [options.tag],
    summary: options.summary,
    description: [options.description, needsText(operation)].filter((text) => text !== undefined).join("\n\n"),
    ...(isTwin || options.deprecated ? { deprecated: true } : {}),
    ...(ability === null ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: body } : {}),
    responses: { [status]: success(route, parts, schemas), ...problemsOf(route) },
  };
}

function requestBody({ body, operation }: Route, parts: GeneratedParts, schemas: ExampleSchemas): unknown {
  const { upload, example } = operation.options;
  if (upload) {
    const content = upload.contentTypes.map((type) => [type, { schema: { type: "string", format: "binary" } }]);
    return { required: true, description: upload.description, content: Object.fromEntries(content) };
  }
  // Every input is strict; the generator forgets it where the schema has refinements.
  const schema = parts.body && { ...parts.body, additionalProperties: false };
  if (!schema) return undefined;
  const content = { schema, example: example ?? requestExample(schema, schemas) };
  return { required: body === "required", content: { "application/json": content } };
}

function success({ operation }: Route, { answer }: GeneratedParts, schemas: ExampleSchemas): unknown {
  const { options, input } = operation;
  const isList = input !== undefined && "skip" in input.shape && "take" in input.shape;
  return {
    description: options.status === 204 ? "Done; nothing to tell." : "Done.",
    headers: {
      ...headersOf("X-Request-Id"),
      ...(options.isUncounted ? {} : headersOf("X-RateLimit-Limit", "X-RateLimit-Remaining")),
      ...(isList ? headersOf("X-Total-Count", "Link") : {}),
    },
    ...(options.status === 204 ? {} : { content: contentOf(options, answer, schemas) }),
  };
}

function contentOf({ contentType, events }: OperationOptions, answer: unknown, schemas: ExampleSchemas): unknown {
  if (contentType) return { [contentType]: { schema: { type: "string" } } };
  if (!events) {
    // What the generator makes of a schema is one. A named schema has its example beside it, once for all operations.
    const schema = answer as ExampleSchema;
    const isNamed = (schema.items ?? schema).$ref !== undefined;
    return { "application/json": { schema, ...(isNamed ? {} : { example: exampleOf(schema, schemas) }) } };
  }
  const data = { type: "string", contentMediaType: "application/json", contentSchema: answer };
  const properties = { id: { type: "string" }, event: { type: "string", enum: ["end", "error"] }, data };
  // OpenAPI 3.1 has no word for the events of a stream; 3.2 describes them by the same schema of one event.
  return {
    "text/event-stream": { schema: { type: "array", description: EVENTS, items: { type: "object", properties } } },
  };
}

/** A parameter is absent rather than null, and described once. */
function asParameter(parameter: unknown): unknown {
  // As the generator makes them.
  const { schema = {}, ...rest } = parameter as Parameter;
  const { anyOf, description, ...others } = schema;
  const [only, ...more] = (anyOf ?? []).filter(({ type }) => type !== "null");
  const bare = only && more.length === 0 ? { ...only, ...others } : { ...(anyOf && { anyOf }), ...others };
  const types = [bare.type].flat().filter((type) => type !== "null");
  // The generator says it beside the schema, within, or both.
  const about = rest.description ?? description;
  return {
    ...rest,
    ...(about === undefined ? {} : { description: about }),
    ...(rest.in === "path" ? { example: exampleOf(bare as ExampleSchema, {}, rest.name) } : {}),
    schema: types.length === 1 ? { ...bare, type: types[0] } : bare,
  };
}

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema?: ParameterSchema;
  readonly description?: string;
}

interface ParameterSchema {
  readonly type?: unknown;
  readonly description?: string;
  readonly anyOf?: readonly { readonly type?: unknown }[];
}

const LAST_EVENT_ID = {
  in: "header",
  name: "Last-Event-ID",
  description: "Id of the last event that was received, before `lastEventId` of the query.",
  schema: { type: "string" },
};

const EVENTS =
  "Server-sent events. `id` is what to resume from. `event: end` comes when there will be no more, `event: error` with " +
  "an error's body when the source broke; both have no `id`.";
