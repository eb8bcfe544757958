import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

/** A content that does not change while the server runs, with its compressed form. */
export interface Compressed {
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly tag: string;
}

/** Compressed once, beside the event loop. */
export async function compressed(content: string | Buffer): Promise<Compressed> {
  const plain = Buffer.from(content);
  const tag = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
  return { plain, gzip: await promisify(gzip)(plain, { level: 9 }), tag };
}

/** Sends the form that the client takes, or nothing when it has it already. */
export function sendCompressed(request: FastifyRequest, reply: FastifyReply, { plain, gzip, tag }: Compressed) {
  const isTaken = /\bgzip\b(?!;\s*q=0(\.0*)?(,|$))/.test(request.headers["accept-encoding"] ?? "");
  // The two forms are different contents to a cache.
  const etag = isTaken ? `"${tag}-gzip"` : `"${tag}"`;
  reply.headers({ etag, vary: "accept-encoding", "cache-control": "no-cache" });
  if (request.headers["if-none-match"] === etag) return reply.code(304).send();
  if (!isTaken) return reply.send(plain);
  return reply.header("content-encoding", "gzip").send(gzip);
}
