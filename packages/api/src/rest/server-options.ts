import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { DomainError } from "@berth/core";
import type { FastifyReply, FastifyRequest, FastifyServerOptions } from "fastify";
import { problemOf } from "../errors.ts";
import { malformed } from "./input.ts";
import { asRequestError } from "./request-error.ts";

/** Zod validates, and no route has a schema for Fastify, so its own validators are never needed. */
const noCompiler = () => () => {
  throw new Error("A route has a schema for Fastify; give the operation a zod schema instead.");
};

/** Options that the plugins need of their Fastify instance. */
export const serverOptions = {
  routerOptions: {
    ignoreTrailingSlash: true,
    // Paths contain names of up to 255 characters, each encoded in up to 12.
    maxParamLength: 4096,
  },
  schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
  requestIdHeader: false,
  genReqId: (request: Pick<IncomingMessage, "headers">) => {
    const given = request.headers["x-request-id"];
    return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
  },
  // Errors before routing get Berth's format too.
  frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { status, body } = problemOf(asRequestError(error), request.id);
    reply.code(status).header("x-request-id", request.id).send(body);
  },
  clientErrorHandler(error: Error & { code?: string }, socket: Socket) {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    const [line, detail] = UNREADABLE[error.code ?? ""] ?? ["400 Bad Request", "This is not HTTP."];
    refuseConnection(socket, line, malformed(detail));
  },
} satisfies FastifyServerOptions;

/** Answers on a connection whose request has no reply object, and closes it. */
export function refuseConnection(socket: Socket, line: string, error: DomainError): void {
  const text = JSON.stringify(problemOf(error, randomUUID()).body);
  const head = ["content-type: application/json; charset=utf-8", `content-length: ${Buffer.byteLength(text)}`];
  socket.end([`HTTP/1.1 ${line}`, ...head, "connection: close", "", text].join("\r\n"));
}

/** Errors of requests that Node cannot parse, by error code. */
const UNREADABLE: Readonly<Record<string, readonly [line: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "The headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "The request did not come in time."],
};

/** Request ids appear in logs and headers, so they contain no special characters. */
const REQUEST_ID = /^[\w.:-]{1,128}$/;
