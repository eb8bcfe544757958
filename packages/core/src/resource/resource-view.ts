import { z } from "zod";
import { Application } from "../application/application-view.ts";
import { databaseType } from "../database/database.ts";
import { DATABASE_ENGINE_NAMES, type DatabaseEngine, databaseEngine } from "../database/database-engine.ts";
import { DATABASE_ANSWERS } from "../database/database-view.ts";
import { Service } from "../service/service-view.ts";

const id = z.int();

const ListedApplication = z
  .object({ ...Application.shape, id, type: z.literal("application") })
  .meta({ id: "ListedApplication", description: "An application in a list of all resources." });

const ListedService = z
  .object({ ...Service.shape, id, type: z.literal("service") })
  .meta({ id: "ListedService", description: "A service in a list of all resources." });

const listedDatabase = <E extends DatabaseEngine>(engine: E) =>
  z.object({ ...DATABASE_ANSWERS[engine].shape, id, type: z.literal(databaseType(engine)) }).meta({
    id: `ListedDatabase-${engine}`,
    description: `A database of ${databaseEngine(engine).title} in a list of all resources.`,
  });
type ListedDatabase = { [E in DatabaseEngine]: ReturnType<typeof listedDatabase<E>> }[DatabaseEngine];

/** A resource of any kind, in a list of all. */
export const Resource = z
  .discriminatedUnion("type", [
    ListedApplication,
    ListedService,
    // Has one schema for each engine; `map` returns one common type.
    ...(DATABASE_ENGINE_NAMES.map(listedDatabase) as unknown as readonly ListedDatabase[]),
  ])
  .meta({ id: "Resource", description: "A resource of the team; `type` says what it is." });
export type Resource = z.infer<typeof Resource>;
