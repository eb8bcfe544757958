import { readFileSync } from "node:fs";
import { ASSETS } from "#assets";
import { type Flag, flagOf } from "../flags.ts";

/** One operation of the API, as a command needs it. */
export interface Operation {
  /** Words of its command, e.g. `databases create postgresql`. */
  readonly words: readonly string[];
  readonly method: string;
  /** Below `/api/v1`, e.g. `/databases/{uuid}`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** In their order in the path. */
  readonly pathParameters: readonly { readonly name: string; readonly help: string }[];
  readonly queryFlags: readonly Flag[];
  readonly bodyFlags: readonly Flag[];
  readonly hasBody: boolean;
  /** Types of a file that is its body. */
  readonly fileType: string | undefined;
  readonly isStream: boolean;
  /** Its answer names a job. */
  readonly startsJob: boolean;
}

const DESCRIPTION = new URL("openapi.json", ASSETS);

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

interface Described {
  readonly "x-berth-operation"?: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: ObjectSchema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}

interface Content {
  readonly schema?: ObjectSchema;
}

interface Parameter {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: unknown;
}

interface ObjectSchema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** Every operation there is, each once: a deprecated twin is left out where there is a form to use. */
export function operations(): readonly Operation[] {
  // Written by `pnpm openapi` from the operations themselves.
  const description = JSON.parse(readFileSync(DESCRIPTION, "utf8")) as Description;
  const found = new Map<string, Operation & { readonly isDeprecated: boolean }>();
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      const name = described["x-berth-operation"];
      if (name === undefined) continue;
      const known = found.get(name);
      if (known !== undefined && !known.isDeprecated) continue;
      found.set(name, operationOf(name, method.toUpperCase(), path, described, description));
    }
  }
  return [...found.values()];
}

function operationOf(name: string, method: string, path: string, described: Described, description: Description) {
  const { parameters = [], requestBody, responses, summary, deprecated = false } = described;
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const types = Object.keys(requestBody?.content ?? {});
  const isJson = types.includes("application/json");
  const body = resolved(requestBody?.content["application/json"]?.schema ?? {}, description);
  return {
    words: wordsOf(name),
    method,
    path,
    summary,
    description: described.description ?? "",
    isDeprecated: deprecated,
    pathParameters: parameters
      .filter((parameter) => parameter.in === "path")
      .map((parameter) => ({ name: parameter.name, help: parameter.description ?? "" })),
    queryFlags: inQuery.map(({ name: key, schema, required = false, description: help }) =>
      flagOf(key, withHelp(resolved(schema ?? {}, description), help), required),
    ),
    bodyFlags: Object.entries(body.properties ?? {}).map(([key, property]) =>
      flagOf(key, resolved(property, description), body.required?.includes(key) ?? false),
    ),
    hasBody: isJson,
    fileType: isJson ? undefined : types[0],
    isStream: Object.values(responses).some(({ content }) => content?.["text/event-stream"] !== undefined),
    startsJob: Object.values(responses).some(({ content }) => {
      const answer = resolved(content?.["application/json"]?.schema ?? {}, description);
      return answer.properties?.job_uuid !== undefined;
    }),
  };
}

const withHelp = (schema: ObjectSchema, description: string | undefined) =>
  description === undefined ? schema : { ...schema, description };

function resolved(schema: unknown, description: Description): ObjectSchema {
  // References of the description name its own schemas.
  const { $ref } = schema as ObjectSchema;
  if ($ref === undefined) return schema as ObjectSchema;
  return resolved(description.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {}, description);
}

/** Operations whose name would hide a command that is made by hand. */
const RENAMED: Readonly<Record<string, readonly string[]>> = {
  deploy: ["deployments", "request"],
  version: ["instance", "version"],
};

/** `applications.envs.updateBulk` is `applications envs update-bulk`, `applications.createPublic` `applications create public`. */
export function wordsOf(name: string): readonly string[] {
  const renamed = RENAMED[name];
  if (renamed !== undefined) return renamed;
  return name.split(".").flatMap((part) => {
    const words = part.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return words.startsWith("create-") ? ["create", words.slice("create-".length)] : [words];
  });
}
