import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly responses?: Readonly<Record<string, Response>>;
}
interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

/**
 * Holds every answer of a test against the description: its status must be documented for the operation, and its body
 * must be of the schema that is documented for the status.
 *
 * @param path Below `/api/v1`, with or without a query.
 * @throws Error that names the operation and what is wrong.
 */
export type AnswerCheck = (
  method: string,
  path: string,
  answer: { readonly status: number; readonly json: unknown },
) => void;

/** @param document An OpenAPI description, as a server serves it. */
export function answerCheckOf(document: object): AnswerCheck {
  const description = document as Description; // Its own suite holds it against OpenAPI.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  formats.default(ajv);
  ajv.addSchema(description, "berth");
  const templates = Object.keys(description.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`),
    words: template.split("/").filter((part) => !part.startsWith("{")).length,
  }));
  const compiled = new Map<string, ValidateFunction>();

  /** A word in the path is nearer than a parameter. */
  const templateOf = (path: string) =>
    templates.filter(({ pattern }) => pattern.test(path)).sort((a, b) => b.words - a.words)[0]?.template;

  return (method, path, { status, json }) => {
    const template = templateOf(path.split("?")[0] ?? "");
    const operation = template === undefined ? undefined : description.paths[template]?.[method.toLowerCase()];
    if (template === undefined || operation === undefined) return; // 404 of what is not there
    const documented = operation.responses?.[String(status)];
    if (documented === undefined) throw new Error(`${method} ${template} answered ${status}, which is not documented.`);
    if (json === undefined) return;
    const pointer = pointerTo(description, template, method.toLowerCase(), String(status));
    if (pointer === undefined) return; // a text, a stream
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: pointer });
    compiled.set(pointer, validate);
    if (validate(json)) return;
    const problems = (validate.errors ?? []).slice(0, 5).map((error) => `${error.instancePath} ${error.message}`);
    throw new Error(`The ${status} of ${method} ${template} is not as documented: ${problems.join("; ")}`);
  };
}

/** Reference to the schema of a JSON answer in the description. */
function pointerTo(description: Description, template: string, method: string, status: string): string | undefined {
  const part = (key: string) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
  const response = description.paths[template]?.[method]?.responses?.[status];
  const schema = "content/application~1json/schema";
  if (response?.$ref !== undefined) return `berth${response.$ref}/${schema}`;
  if (response?.content?.["application/json"] === undefined) return undefined;
  return `berth#/paths/${part(template)}/${method}/responses/${status}/${schema}`;
}
