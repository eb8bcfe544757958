import { addAbortSignal, Readable } from "node:stream";
import { DomainError, jsonProblem } from "@berth/core";
import { readAtMost } from "@berth/host";
import type Docker from "dockerode";

type Dial = Docker["modem"]["dial"];
type Request = Parameters<Dial>[0];

/**
 * Reads and parses answers here: an engine may send anything, and the library keeps every answer that is not a stream
 * and parses it at once, however long that takes.
 */
export function withAnswerLimit(docker: Docker, server: string): Docker {
  const { modem } = docker;
  const dial: Dial = modem.dial.bind(modem);
  modem.dial = (request, callback) => {
    if (request.isStream === true || request.hijack === true || request.openStdin === true) {
      return dial(request, callback);
    }
    dial({ ...request, isStream: true, statusCodes: ALL_STATUSES }, (error, response) => {
      if (error !== null || !(response instanceof Readable)) return callback?.(error, response);
      if (request.abortSignal !== undefined) addAbortSignal(request.abortSignal, response);
      readAnswer(request, response, server).then(
        (value) => queueMicrotask(() => callback?.(null, value as Parameters<NonNullable<typeof callback>>[1])),
        (cause: Error) => queueMicrotask(() => callback?.(cause, null)),
      );
    });
  };
  return docker;
}

/** Makes the library return refusals like other answers. */
const ALL_STATUSES = new Proxy<NonNullable<Request["statusCodes"]>>({}, { get: () => true });

/** @returns The bytes if they are not JSON, as the library does. */
async function readAnswer(
  { path, statusCodes = {} }: Request,
  response: Readable & { readonly statusCode?: number | undefined },
  server: string,
): Promise<unknown> {
  const body = await readAtMost(response, ANSWER_BYTES_MAX);
  if (body === undefined) throw malformed(server, `more than ${ANSWER_BYTES_MAX >> 20} MB`);
  const statusCode = response.statusCode ?? 0;
  if (statusCodes[statusCode] === true) return mayBeText(path) ? body : parsed(body, server);
  const json = parsed(body, server);
  // As the library words it.
  const reason = statusCodes[statusCode] ?? "unexpected";
  const detail = json instanceof Object && "message" in json ? json.message : json;
  throw Object.assign(new Error(`(HTTP code ${statusCode}) ${reason} - ${detail} `), { reason, statusCode, json });
}

function parsed(body: Buffer, server: string): unknown {
  // Latin-1 is enough: the syntax of JSON is ASCII.
  if (jsonProblem(body.toString("latin1"), VALUES_MAX) !== undefined) {
    throw malformed(server, `more than ${VALUES_MAX} values`);
  }
  try {
    return JSON.parse(body.toString());
  } catch {
    return body;
  }
}

/** Whether the answer to such a request is something else than JSON. */
export const mayBeText = (path: string): boolean => /^\/_ping|\/(?:logs|archive|export)(?:\?|$)/.test(path);

export const malformed = (server: string, what: string, cause?: unknown): DomainError =>
  new DomainError(
    "engine.failed",
    `The engine of ${server} answered ${what}. Check that it is a Docker engine, and any proxy between it and Berth.`,
    { cause },
  );

/** The description of a container with 2 MB of variables, as many as Linux lets it have, stays below. */
export const ANSWER_BYTES_MAX = 6 << 20;
/** In a list a container has some 75, so this is the list of 1,300 containers. */
const VALUES_MAX = 100_000;
