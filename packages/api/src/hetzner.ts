import {
  CloudCatalogueQuery,
  CloudImage,
  CloudLocation,
  CloudServerType,
  CloudSshKey,
  HetznerServerCreate,
  HetznerServerCreated,
} from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import type { OperationOptions } from "./operation-options.ts";

const Query = CloudCatalogueQuery.extend(paging);

const catalogue = {
  method: "GET",
  tag: "Hetzner",
  ability: "read",
  errors: ["resource.not_found", "cloud.refused", "cloud.rate_limited", "cloud.failed"],
  isMadeWhole: true,
} as const satisfies Partial<OperationOptions>;

export const hetzner = {
  locations: operation({
    ...catalogue,
    path: "/hetzner/locations",
    operationId: "get-hetzner-locations",
    summary: "List Hetzner's locations",
  })
    .input(Query)
    .output(z.array(CloudLocation))
    .query(async ({ ctx, input: { skip, take, ...query } }) => [
      ...listed(ctx, await ctx.control.cloudCatalogue.locations(query, { skip, take }), { skip, take }),
    ]),

  serverTypes: operation({
    ...catalogue,
    path: "/hetzner/server-types",
    operationId: "get-hetzner-server-types",
    summary: "List Hetzner's types of server with their prices",
    description: "Without those that can no longer be rented.",
  })
    .input(Query)
    .output(z.array(CloudServerType))
    .query(async ({ ctx, input: { skip, take, ...query } }) => [
      ...listed(ctx, await ctx.control.cloudCatalogue.serverTypes(query, { skip, take }), { skip, take }),
    ]),

  images: operation({
    ...catalogue,
    path: "/hetzner/images",
    operationId: "get-hetzner-images",
    summary: "List Hetzner's operating systems",
    description: "Neither snapshots nor what is deprecated.",
  })
    .input(Query)
    .output(z.array(CloudImage))
    .query(async ({ ctx, input: { skip, take, ...query } }) => [
      ...listed(ctx, await ctx.control.cloudCatalogue.images(query, { skip, take }), { skip, take }),
    ]),

  sshKeys: operation({
    ...catalogue,
    path: "/hetzner/ssh-keys",
    operationId: "get-hetzner-ssh-keys",
    summary: "List the SSH keys stored at Hetzner",
  })
    .input(Query)
    .output(z.array(CloudSshKey))
    .query(async ({ ctx, input: { skip, take, ...query } }) => [
      ...listed(ctx, await ctx.control.cloudCatalogue.sshKeys(query, { skip, take }), { skip, take }),
    ]),

  createServer: operation({
    method: "POST",
    path: "/servers/hetzner",
    operationId: "create-hetzner-server",
    tag: "Hetzner",
    summary: "Rent a machine at Hetzner and add it as a server",
    description:
      "The machine gets the public part of the key, for the login of root. If it cannot be added as a server, it is " +
      "deleted again. A name that a machine of the project already has is refused with 409, so a repeated request creates no " +
      "second one. While Hetzner's rate limit is reached, the request waits for up to a minute before it answers 429.",
    ability: "write",
    status: 201,
    errors: [
      "resource.not_found",
      "resource.already_exists",
      "resource.in_use",
      "resource.state",
      "cloud.refused",
      "cloud.rate_limited",
      "cloud.failed",
    ],
  })
    .input(HetznerServerCreate)
    .output(HetznerServerCreated)
    .mutation(({ ctx, input }) => ctx.control.cloudServers.createHetzner(input)),
};
