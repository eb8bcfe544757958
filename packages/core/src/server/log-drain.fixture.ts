import type { DrainedSource } from "./log-drain-request.ts";

export const DRAINED_SOURCE: DrainedSource = {
  server_name: "web-1",
  project_name: "Shop",
  environment_name: "production",
  resource_kind: "application",
  resource_name: "api",
  resource_uuid: "r1",
  deployment_uuid: "d1",
  pull_request_id: 0,
};
