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
    // Operation ids must be unique, so deprecated duplicates get a suffix.
    operationId: isTwin ? `${operationId}-${method === options.method ? "alias" : "by-get"}` : operationId,
    // Its tRPC name: `applications.envs.list`. The CLI derives its commands from it.
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
  // Every input is strict; the generator drops that for schemas with refinements.
  const schema = parts.body && { ...parts.body, additionalProperties: false };
  if (!schema) return undefined;
  const content = { schema, example: example ?? requestExample(schema, schemas) };
  return { required: body === "required", content: { "application/json": content } };
}

function success({ operation }: Route, { answer }: GeneratedParts, schemas: ExampleSchemas): unknown {
  const { options, input } = operation;
  const isList = input !== undefined && "skip" in input.shape && "take" in input.shape;
  return {
    description: options.download?.description ?? (options.status === 204 ? "Done, without an answer." : "Done."),
    headers: {
      ...headersOf("X-Request-Id"),
      ...(options.isUncounted ? {} : headersOf("X-RateLimit-Limit", "X-RateLimit-Remaining")),
      ...(options.download ? headersOf("Content-Disposition", "Repr-Digest") : {}),
      ...(isList ? headersOf("X-Total-Count", "Link") : {}),
    },
    ...(options.status === 204 ? {} : { content: contentOf(options, answer, schemas) }),
  };
}

function contentOf(
  { contentType, events, download }: OperationOptions,
  answer: unknown,
  schemas: ExampleSchemas,
): unknown {
  if (download) {
    const file = { schema: { type: "string", format: "binary" } };
    return Object.fromEntries(download.contentTypes.map((type) => [type, file]));
  }
  if (contentType) return { [contentType]: { schema: { type: "string" } } };
  if (!events) {
    // What the generator makes of a schema is one. A named schema has its example beside it, once for all operations.
    const schema = answer as ExampleSchema;
    const isNamed = (schema.items ?? schema).$ref !== undefined;
    return { "application/json": { schema, ...(isNamed ? {} : { example: exampleOf(schema, schemas) }) } };
  }
  const data = { type: "string", contentMediaType: "application/json", contentSchema: answer };
  const properties = { id: { type: "string" }, event: { type: "string", enum: ["end", "error"] }, data };
  // OpenAPI 3.1 cannot describe the events of a stream; 3.2 uses the schema of one event, as here.
  return {
    "text/event-stream": { schema: { type: "array", description: EVENTS, items: { type: "object", properties } } },
  };
}

/** A parameter is missing rather than null, and described only once. */
function asParameter(parameter: unknown): unknown {
  // The generator's format of parameters.
  const { schema = {}, ...rest } = parameter as Parameter;
  const { anyOf, description, ...others } = schema;
  const [only, ...more] = (anyOf ?? []).filter(({ type }) => type !== "null");
  const bare = only && more.length === 0 ? { ...only, ...others } : { ...(anyOf && { anyOf }), ...others };
  const types = [bare.type].flat().filter((type) => type !== "null");
  // The generator puts the description beside the schema, inside it, or both.
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
  description: "Id of the last received event. Overrides `lastEventId` of the query.",
  schema: { type: "string" },
};

const EVENTS =
  "Server-sent events. `id` identifies where to resume. `event: end` comes when there will be no more, `event: error` with " +
  "an error's body if the stream failed; both have no `id`.";
