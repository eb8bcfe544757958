import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
}
interface DescribedOperation {
  readonly responses?: Readonly<Record<string, Response>>;
}
interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

/**
 * Checks every answer of a test against the API description: its status must be documented for the operation, and its
 * body must match the schema for that status.
 *
 * @param path Path below `/api/v1`, with or without a query.
 * @throws Error that names the operation and the mismatch.
 */
export type AnswerCheck = (
  method: string,
  path: string,
  answer: { readonly status: number; readonly json: unknown },
) => void;

/** @param document An OpenAPI description, as a server serves it. */
export function answerCheckOf(document: object): AnswerCheck {
  const description = document as Description; // Another suite checks that it is valid OpenAPI.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  formats.default(ajv);
  ajv.addSchema(description, "berth");
  const templates = Object.keys(description.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`),
    words: template.split("/").filter((part) => !part.startsWith("{")).length,
  }));
  const compiled = new Map<string, ValidateFunction>();

  /** A literal path segment takes precedence over a parameter. */
  const templateOf = (path: string) =>
    templates.filter(({ pattern }) => pattern.test(path)).sort((a, b) => b.words - a.words)[0]?.template;

  return (method, path, { status, json }) => {
    const template = templateOf(path.split("?")[0] ?? "");
    const operation = template === undefined ? undefined : description.paths[template]?.[method.toLowerCase()];
    if (template === undefined || operation === undefined) return; // 404 of an unknown path
    const documented = operation.responses?.[String(status)];
    if (documented === undefined) throw new Error(`${method} ${template} answered ${status}, which is not documented.`);
    if (json === undefined) return;
    const pointer = pointerTo(description, template, method.toLowerCase(), String(status));
    if (pointer === undefined) return; // plain text or a stream
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: pointer });
    compiled.set(pointer, validate);
    if (validate(json)) return;
    const problems = (validate.errors ?? []).slice(0, 5).map((error) => `${error.instancePath} ${error.message}`);
    throw new Error(`The ${status} of ${method} ${template} is not as documented: ${problems.join("; ")}`);
  };
}

/** JSON pointer to the schema of an answer in the description. */
function pointerTo(description: Description, template: string, method: string, status: string): string | undefined {
  const part = (key: string) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
  const response = description.paths[template]?.[method]?.responses?.[status];
  const schema = "content/application~1json/schema";
  if (response?.$ref !== undefined) return `berth${response.$ref}/${schema}`;
  if (response?.content?.["application/json"] === undefined) return undefined;
  return `berth#/paths/${part(template)}/${method}/responses/${status}/${schema}`;
}
