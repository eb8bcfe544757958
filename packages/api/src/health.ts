import { z } from "zod";
import { operation } from "./operation.ts";

export const health = operation({
  method: "GET",
  path: "/health",
  operationId: "healthcheck",
  tag: "System",
  summary: "Whether Berth answers",
  description: "Answers the text `OK`. Needs no token.",
  ability: null,
  contentType: "text/plain",
  evenWhenDisabled: true,
  isUncounted: true,
})
  .output(z.string())
  .query(() => "OK");
