import { appRouter, describe, jsonOf, yamlOf } from "@berth/api";
import type { FastifyInstance } from "fastify";
import { type Compressed, compressed, sendCompressed } from "./compressed.ts";

/** The OpenAPI description. Each form is made when it is first asked for, and kept. */
export function descriptionPlugin(app: FastifyInstance, _options: object, done: () => void): void {
  const json = once(async () => jsonOf(await describe(appRouter)));
  const yaml = once(async () => yamlOf(JSON.parse((await json()).plain.toString())));
  const serve = (path: string, type: string, document: () => Promise<Compressed>) =>
    app.get(path, async (request, reply) => {
      const content = await document();
      return sendCompressed(request, reply.type(type), content);
    });
  serve("/openapi.json", "application/json; charset=utf-8", json);
  serve("/openapi.yaml", "application/yaml; charset=utf-8", yaml);
  done();
}

function once(make: () => Promise<string>): () => Promise<Compressed> {
  let made: Promise<Compressed> | undefined;
  return () => {
    made ??= make().then(compressed);
    return made;
  };
}
