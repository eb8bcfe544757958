import { isUtf8 } from "node:buffer";
import { DomainError, jsonProblem } from "@berth/core";
import { malformed } from "../rest/input.ts";

/**
 * The content of a delivery, before its sender is verified: JSON, plain or in the field `payload` of a form.
 * @throws DomainError `request.unsupported_media_type`, `request.malformed`
 */
export function payloadOf(contentType: string | undefined, body: Buffer): unknown {
  const [type = ""] = (contentType ?? "").toLowerCase().split(";", 1);
  const isForm = type.trim() === "application/x-www-form-urlencoded";
  if (!isForm && !/[/+]json$/.test(type.trim())) {
    const message = "Content-Type must be application/json or application/x-www-form-urlencoded.";
    throw new DomainError("request.unsupported_media_type", message);
  }
  if (!isUtf8(body)) throw malformed("Invalid JSON.");
  const text = isForm ? fieldOf(body.toString()) : body.toString();
  const problem = jsonProblem(text, VALUES_MAX);
  if (problem !== undefined) throw malformed(`Invalid JSON. ${problem}`);
  try {
    return JSON.parse(text);
  } catch {
    throw malformed("Invalid JSON.");
  }
}

/** Decodes only this field, so that a form with a million others costs nothing. */
function fieldOf(form: string): string {
  const start = form.startsWith(FIELD) ? 0 : form.indexOf(`&${FIELD}`) + 1;
  if (!form.startsWith(FIELD, start)) return "";
  const end = form.indexOf("&", start);
  return new URLSearchParams(form.slice(start, end === -1 ? undefined : end)).get("payload") ?? "";
}

const FIELD = "payload=";

/** Enough for a push of 2,048 commits with as many files as fit into 25 MB. */
const VALUES_MAX = 500_000;
