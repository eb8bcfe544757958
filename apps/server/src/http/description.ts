import { createHash } from "node:crypto";
import { appRouter, describe, jsonOf, yamlOf } from "@berth/api";
import type { FastifyInstance } from "fastify";

/** Serves the OpenAPI description. Each format is generated at the first request and cached. */
export function descriptionPlugin(app: FastifyInstance, _options: object, done: () => void): void {
  const json = once(async () => jsonOf(await describe(appRouter)));
  const yaml = once(async () => yamlOf(JSON.parse((await json()).text)));
  const serve = (path: string, type: string, document: () => Promise<Document>) =>
    app.get(path, async (request, reply) => {
      const { text, etag } = await document();
      reply.headers({ etag, "cache-control": "no-cache" });
      if (request.headers["if-none-match"] === etag) return reply.code(304).send();
      return reply.type(type).send(text);
    });
  serve("/openapi.json", "application/json; charset=utf-8", json);
  serve("/openapi.yaml", "application/yaml; charset=utf-8", yaml);
  done();
}

interface Document {
  readonly text: string;
  readonly etag: string;
}

function once(make: () => Promise<string>): () => Promise<Document> {
  let made: Promise<Document> | undefined;
  return () => {
    made ??= make().then((text) => ({ text, etag: etagOf(text) }));
    return made;
  };
}

const etagOf = (text: string) => `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
