import { expect, it } from "vitest";
import type { Resource } from "../resource/attention.ts";
import { elementsOf, type Use } from "./elements.ts";

// Only the fields that are read.
const resource = (name: string, fields: object = {}) =>
  ({ uuid: name, name, type: "application", urls: [], server_uuid: "nuc", ...fields }) as unknown as Resource;
const use = (resource_uuid: string, database_uuid: string, fields: Partial<Use> = {}): Use => ({
  ...{ resource_uuid, database_uuid, resource_name: resource_uuid, database_name: database_uuid },
  ...{ key: "DATABASE_URL", is_preview: false, problem: null },
  ...fields,
});

it("shows URLs before what answers them, and databases last, by server and name", () => {
  const database = { type: "standalone-postgresql" };
  const resources = [
    resource("web", { urls: ["http://web.test"] }),
    resource("db", database),
    resource("api", { server_uuid: "vps" }),
    resource("mail", { type: "service" }),
  ];
  const { boxes, arrows } = elementsOf(resources, []);
  expect(boxes.map(({ id, frame, rank }) => `${frame} ${rank} ${id}`)).toEqual([
    "nuc 2 db",
    "nuc 1 mail",
    "nuc 0 urls of web",
    "nuc 1 web",
    "vps 1 api",
  ]);
  expect(arrows).toEqual([{ from: "urls of web", to: "web", keys: [], hasProblem: false }]);
  expect(elementsOf([...resources].reverse(), []).boxes).toEqual(boxes);
});

it("draws one arrow for all variables that name a database, and none for previews", () => {
  const uses = [
    use("api", "db"),
    use("api", "db", { key: "REPLICA_URL", problem: "It has no public port." }),
    use("api", "db", { is_preview: true }),
    use("web", "db", { is_preview: true }),
    use("web", "cache", { key: "CACHE_URL" }),
  ];
  expect(elementsOf([resource("api")], uses).arrows).toEqual([
    { from: "api", to: "db", keys: ["DATABASE_URL", "REPLICA_URL"], hasProblem: true },
    { from: "web", to: "cache", keys: ["CACHE_URL"], hasProblem: false },
  ]);
});
