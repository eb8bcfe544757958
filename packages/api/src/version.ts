import { z } from "zod";
import { operation } from "./operation.ts";

export const version = operation({
  method: "GET",
  path: "/version",
  operationId: "version",
  tag: "System",
  summary: "The version of Berth",
  description: "Answers the version as plain text.",
  ability: "read",
  contentType: "text/plain",
})
  .output(z.string())
  .query(({ ctx }) => ctx.control.instance.version());
