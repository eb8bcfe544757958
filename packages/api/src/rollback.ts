import { ApplicationRollback, RollbackImages } from "@berth/core/deploy";
import { z } from "zod";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The application's identifier.");

export const rollbacks = {
  rollback: operation({
    method: "POST",
    path: "/applications/{uuid}/rollback",
    operationId: "rollback-application-by-uuid",
    tag: "Applications",
    summary: "Roll an application back to a kept image",
    description:
      "Nothing is built: the image starts with the application's current settings and variables, and gets the traffic " +
      "once it is healthy. docker_images_to_keep sets how many earlier images are kept.",
    ability: "deploy",
    errors: ["queue.full", "engine.unsupported", "resource.state"],
  })
    .input(z.strictObject({ uuid, ...ApplicationRollback.shape }))
    .output(z.object({ message: z.string(), deployment_uuid: z.string() }))
    .mutation(({ ctx, input: { uuid, ...wish } }) => ctx.control.rollbacks.rollBack(uuid, wish)),

  images: operation({
    method: "GET",
    path: "/applications/{uuid}/rollback-images",
    operationId: "list-application-rollback-images",
    tag: "Applications",
    summary: "List the images an application can be rolled back to",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(RollbackImages)
    .query(({ ctx, input }) => ctx.control.rollbacks.images(input.uuid)),
};
