import type { ResourceRecord, Stores } from "@berth/core/ports";
import type { ResourceKind } from "@berth/core/resource";
import { testDatabaseResource } from "./database-records.ts";
import { type TestPlace, testApplication, testService } from "./records.ts";

/** A resource of any kind, for tests of what all kinds share. */
export const testResource = (stores: Stores, kind: ResourceKind, place: TestPlace): Promise<ResourceRecord> =>
  MAKERS[kind](stores, place);

const MAKERS: Readonly<Record<ResourceKind, (stores: Stores, place: TestPlace) => Promise<ResourceRecord>>> = {
  application: testApplication,
  service: async (stores, place) => (await testService(stores, place)).service,
  database: testDatabaseResource,
};
