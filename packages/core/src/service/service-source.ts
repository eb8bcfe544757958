import { BASE64_PROBLEM, decodeBase64Field } from "../base64.ts";
import { type Compose, parseNewCompose } from "../compose/parse.ts";
import { invalid } from "../errors.ts";

const SOURCE_FIELDS = ["docker_compose", "docker_compose_raw", "type"] as const;

type SentSource = { readonly [Field in (typeof SOURCE_FIELDS)[number]]?: string | null | undefined };

/** The source of a service: the type of a template, or a compose file. */
export type ServiceSource = { readonly type: string } | ComposeText;

export interface ComposeText extends Compose {
  /** As its owner wrote it. */
  readonly text: string;
}

/** @throws DomainError `request.invalid` unless exactly one is given, or if the compose file is invalid */
export function serviceSource(sent: SentSource): ServiceSource {
  const given = SOURCE_FIELDS.filter((field) => sent[field]);
  const [field] = given;
  if (field === undefined || given.length > 1) {
    const sentence = `Exactly one of ${SOURCE_FIELDS.join(", ")} is required.`;
    const wrong = given.length > 1 ? given : SOURCE_FIELDS;
    throw invalid(Object.fromEntries(wrong.map((name) => [name, [sentence]])));
  }
  const text = sent[field] ?? "";
  return field === "type" ? { type: text } : readCompose(field, text);
}

/**
 * The new compose file of a change; `undefined`: unchanged.
 * @throws DomainError `request.invalid`
 */
export function changedCompose(sent: Omit<SentSource, "type">): ComposeText | undefined {
  if (sent.docker_compose && sent.docker_compose_raw) {
    const sentence = "Send only one of docker_compose and docker_compose_raw.";
    throw invalid({ docker_compose: [sentence], docker_compose_raw: [sentence] });
  }
  if (sent.docker_compose) return readCompose("docker_compose", sent.docker_compose);
  return sent.docker_compose_raw ? readCompose("docker_compose_raw", sent.docker_compose_raw) : undefined;
}

/** @throws DomainError `request.invalid` with the problems, for the field that was sent */
export function readCompose(field: "docker_compose" | "docker_compose_raw", sent: string): ComposeText {
  const text = decodeBase64Field(sent);
  if (text === undefined || text.includes("\0")) throw invalid({ [field]: [BASE64_PROBLEM] });
  const compose = parseNewCompose(text);
  if ("problems" in compose) throw invalid({ [field]: compose.problems });
  return { ...compose, text };
}
