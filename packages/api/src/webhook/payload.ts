import { isUtf8 } from "node:buffer";
import { DomainError, jsonProblem } from "@berth/core";
import { malformed } from "../rest/input.ts";

/**
 * What a delivery says, which is read before anybody knows who sends it: JSON, as it is or in the field `payload` of a
 * form.
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

/** Only the field is decoded: a form of a million others costs nothing. */
function fieldOf(form: string): string {
  const start = form.startsWith(FIELD) ? 0 : form.indexOf(`&${FIELD}`) + 1;
  if (!form.startsWith(FIELD, start)) return "";
  const end = form.indexOf("&", start);
  return new URLSearchParams(form.slice(start, end === -1 ? undefined : end)).get("payload") ?? "";
}

const FIELD = "payload=";

/** A push of 2,048 commits with as many files as fit into 25 MB stays below it. */
const VALUES_MAX = 500_000;
