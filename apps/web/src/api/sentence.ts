import type { ProblemBody } from "@berth/api";

/** Of what a form or a button sent, the sentences of the fields say more than the message "Validation failed.". */
export function sentenceOf({ code, message, errors = {} }: Pick<ProblemBody, "code" | "message" | "errors">): string {
  if (code !== "request.invalid") return message;
  const sentences = Object.entries(errors).map(([field, messages]) => {
    const text = [messages].flat().join(" ");
    return field === "_" ? text : `${field}: ${text}`;
  });
  return sentences.length === 0 ? message : sentences.join(" ");
}
