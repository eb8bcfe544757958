import { expect, test } from "vitest";
import type { Api } from "./connection/api.ts";
import { requireNoOtherKind } from "./resource.ts";

test("names the commands for a service or database that was named as an application", async () => {
  const list = (name?: string) => ({ list: { query: async () => (name === undefined ? [] : [{ uuid: "s1", name }]) } });
  // Has only the calls that are made.
  const api = { client: { databases: list(), services: list("garage") } } as unknown as Api;
  await expect(requireNoOtherKind(api, "garage")).rejects.toMatchObject({
    message: "garage is a service, not an application.",
    details: [
      expect.stringContaining("berth services show|start|stop|restart|delete garage"),
      expect.stringContaining("berth services logs garage. Its deployments: berth deployments garage"),
      expect.stringContaining("berth env list --service garage"),
    ],
  });
  await expect(requireNoOtherKind(api, "shop")).resolves.toBeUndefined();
});
