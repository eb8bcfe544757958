import { describe, expect, test } from "vitest";
import { operations } from "./description.ts";
import { fieldValues, pathValues } from "./names.ts";

const SHOP = "a".repeat(24);
const NIGHTLY = "b".repeat(24);
const LISTS: Readonly<Record<string, unknown>> = {
  "/databases": [{ uuid: SHOP, name: "shop" }],
  "/services": [{ uuid: SHOP, name: "shop" }],
  [`/services/${SHOP}/scheduled-tasks`]: [{ uuid: NIGHTLY, name: "nightly" }],
  [`/databases/${SHOP}/envs`]: [{ uuid: NIGHTLY, key: "MODE" }],
  "/s3-storages": [{ uuid: SHOP, name: "far away" }],
};
const all = operations();

function asked(words: string, ...typed: readonly string[]) {
  const operation = all.find((each) => each.words.join(" ") === words);
  if (operation === undefined) throw new Error(`No operation ${words}`);
  const paths: string[] = [];
  const ask = async ({ path }: { readonly path: string }) => {
    paths.push(path);
    return LISTS[path];
  };
  return { paths, values: pathValues(ask, operation, typed) };
}

describe("a name in the place of a uuid", () => {
  test.each([
    ["databases get", ["shop"], [SHOP]],
    ["deployments list-by-database", ["SHOP"], [SHOP]],
    ["services scheduled-tasks run", ["shop", "nightly"], [SHOP, NIGHTLY]],
    ["databases envs delete", ["shop", "MODE"], [SHOP, NIGHTLY]],
  ])("of %s means what it is the name of", async (words, typed, values) => {
    expect(await asked(words, ...typed).values).toEqual(values);
  });

  test("is looked up only where it is one", async () => {
    const { paths, values } = asked("services scheduled-tasks run", SHOP, NIGHTLY);
    expect(await values).toEqual([SHOP, NIGHTLY]);
    expect(paths).toEqual([]);
  });

  test("that nothing has lists what is near", async () => {
    await expect(asked("databases get", "shpo").values).rejects.toThrow(
      "No database is called shpo. Did you mean shop?",
    );
  });

  test("of what cannot be listed is sent as it is", async () => {
    expect(await asked("deployments get", "some-deployment").values).toEqual(["some-deployment"]);
    expect(await asked("teams get", "0").values).toEqual(["0"]);
  });

  test("counts in fields too", async () => {
    const ask = async ({ path }: { readonly path: string }) => LISTS[path];
    expect(await fieldValues(ask, { s3_storage_uuid: "Far away", name: "shop", target_database_uuid: SHOP })).toEqual({
      s3_storage_uuid: SHOP,
      name: "shop",
      target_database_uuid: SHOP,
    });
    expect(await fieldValues(ask, { s3_storage_uuid: null })).toEqual({ s3_storage_uuid: null });
  });
});
