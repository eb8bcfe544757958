import Docker from "dockerode";
import { expect, test } from "vitest";
import { swarmMembership } from "./membership.ts";

test("a range of addresses with the server's own one is refused before the engine is asked", async () => {
  const nobody = new Docker({ socketPath: "/nowhere/docker.sock" });
  const asked = swarmMembership(nobody, "node-1").create({ address: "10.241.39.3", addressPool: "10.241.0.0/16" });
  await expect(asked).rejects.toMatchObject({
    code: "request.invalid",
    fields: { address_pool: [expect.stringContaining("contains the server's own address 10.241.39.3")] },
  });
});
