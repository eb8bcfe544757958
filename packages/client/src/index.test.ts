import { describe, expect, expectTypeOf, it } from "vitest";
import { type Client, createClient, type Inputs, type Outputs, problemOf } from "./index.ts";

describe("the client's types", () => {
  it("are those of the operations", () => {
    expectTypeOf<Outputs["version"]>().toEqualTypeOf<string>();
    expectTypeOf<Inputs["projects"]["get"]>().toEqualTypeOf<{ uuid: string }>();
    expectTypeOf<Client>().toEqualTypeOf<ReturnType<typeof createClient>>();
  });

  it("refuse what an operation does not take", () => {
    const unknownField = (client: Client) =>
      // @ts-expect-error: no such field
      client.projects.create.mutate({ name: "x", nope: 1 });
    const wrongType = (client: Client) =>
      // @ts-expect-error: a name is a text
      client.projects.create.mutate({ name: 1 });
    const unknownOperation = (client: Client) =>
      // @ts-expect-error: no such operation
      client.projects.explode;
    expect([unknownField, wrongType, unknownOperation]).toHaveLength(3);
  });
});

it("knows an error that no server gave", async () => {
  // Port 9 is that of the discard service, which is never running.
  const failed = createClient({ url: "http://127.0.0.1:9" }).health.query();
  await expect(failed).rejects.toSatisfy((error) => problemOf(error) === undefined);
});
