import { isUtf8 } from "node:buffer";
import { DomainError } from "@berth/core";
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
  if (hasTooManyValues(text)) throw malformed(`Invalid JSON: it has more than ${VALUES_MAX} values.`);
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

/** JSON of brackets alone takes twenty times its size in memory and seconds to parse. */
function hasTooManyValues(json: string): boolean {
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfText(json, at);
    else if (code === COMMA || code === BRACKET || code === BRACE) count += 1;
    if (count > VALUES_MAX) return true;
  }
  return false;
}

const [QUOTE, COMMA, BRACKET, BRACE, BACKSLASH] = [0x22, 0x2c, 0x5b, 0x7b, 0x5c];

function endOfText(json: string, quote: number): number {
  for (let at = quote + 1; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return json.length;
}
