import { afterAll, beforeAll, expect, test } from "vitest";
import { createdApplication, createdDatabase, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

test("limits that no engine takes are refused before anything is kept, with the field and what it should be", async () => {
  const paths = [`/applications/${await createdApplication(api)}`, `/databases/${await createdDatabase(api)}`];
  for (const path of paths) {
    const { status, json } = await api.ask("PATCH", path, { body: { limits_cpuset: "all", name: "other" } });
    expect([status, json.errors]).toEqual([
      422,
      { limits_cpuset: ["Must be numbers of processors and ranges of them, such as 0-2,4."] },
    ]);
    expect((await api.ask("GET", path)).json).toMatchObject({ limits_cpuset: null });
    await api.ask("PATCH", path, { body: { limits_cpuset: "0-2,4" } });
    expect((await api.ask("GET", path)).json).toMatchObject({ limits_cpuset: "0-2,4" });
  }
});
