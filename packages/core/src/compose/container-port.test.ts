import { expect, test } from "vitest";
import { containerPort } from "./container-port.ts";
import { parseCompose } from "./parse.ts";

const portOf = (definition: string) => {
  const compose = parseCompose(`services: { web: { image: a, ${definition} } }`);
  if ("problems" in compose) throw new Error(compose.problems.join());
  const [web] = compose.containers;
  return web && containerPort(web, compose.urls);
};

test.each([
  ["the port of its URL's variable goes first", "expose: [80], environment: [SERVICE_URL_WEB_3000]", 3000],
  ["then the first that it exposes", 'expose: ["8000-8010/tcp", 90], ports: ["1:2"]', 8000],
  ["then the first that it maps", 'ports: ["127.0.0.1:8080:81/tcp", "9:9"]', 81],
  ["a default of a variable counts", 'ports: ["${HTTP:-8080}:${INNER:-82}"]', 82],
  ["the long form", "ports: [{ target: 83, published: 8080 }]", 83],
  ["nothing is said", "restart: always", null],
  ["what is no port", 'expose: ["${NONE}"], ports: ["99999"]', null],
])("%s", (_title, definition, expected) => {
  expect(portOf(definition)).toBe(expected);
});
