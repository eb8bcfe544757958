import { z } from "zod";
import { DEPLOYMENT_STATUSES } from "../deploy/deployment.ts";
import { isRunning, withHealth } from "../deploy/shown-status.ts";
import type { ApplicationDestinationRecord } from "../ports/application-destination.ts";
import type { ServerDeploymentRecord } from "../ports/deployment-store.ts";
import type { ApplicationRecord } from "../ports/records.ts";
import { Timestamp, timestampOrNull } from "../timestamp.ts";
import { GIVEN_UP_HERE } from "./several-servers.ts";

export const DestinationAttach = z.strictObject({
  destination_uuid: z.string().describe("A destination on a server that the application is not deployed to yet."),
});
export type DestinationAttach = z.infer<typeof DestinationAttach>;

export const AttachedDestination = z
  .object({
    uuid: z.string().describe("Of the destination."),
    name: z.string(),
    network: z.string().nullable(),
    server_uuid: z.string().nullable(),
    server_id: z.int(),
    server_name: z.string(),
    is_primary: z
      .boolean()
      .describe("The first server: it is deployed to first, and has previews and scheduled tasks."),
    status: z.string().describe("Of the application on this server."),
    problem: z.string().nullable().describe("Why it is not as it should be on this server, and what helps."),
    deployment: z
      .object({
        uuid: z.string(),
        status: z.enum(DEPLOYMENT_STATUSES),
        commit: z.string(),
        error: z.string().nullable(),
        finished_at: Timestamp.nullable(),
        follows: z
          .string()
          .nullable()
          .describe("Uuid of the deployment to the primary server in the same request, which ends before it starts."),
      })
      .nullable()
      .describe("The newest to this server."),
  })
  .meta({ id: "AttachedDestination", description: "A server that an application is deployed to." });
export type AttachedDestination = z.infer<typeof AttachedDestination>;

type Destination = Omit<ApplicationDestinationRecord, "restart_count">;

/** The only destination of an application on one server. */
export const onlyDestination = ({
  server_id,
  destination_id,
  status,
  status_problem,
  scale_problem,
  placement,
}: ApplicationRecord): Destination => {
  const { project_uuid, project_name, environment_uuid, environment_name, ...names } = placement;
  return { ...names, server_id, destination_id, status, status_problem, scale_problem, is_given_up: false };
};

export function attachedDestinationView(
  destination: Destination,
  primaryId: number,
  deployment: ServerDeploymentRecord | undefined,
): AttachedDestination {
  const { status, server_id, server_uuid, server_name } = destination;
  return {
    uuid: destination.destination_uuid,
    name: destination.destination_name,
    network: destination.destination_network,
    server_uuid,
    server_id,
    server_name,
    is_primary: destination.destination_id === primaryId,
    status: withHealth(status),
    problem: problemOf(destination, deployment),
    deployment:
      deployment === undefined
        ? null
        : {
            uuid: deployment.uuid,
            status: deployment.status,
            commit: deployment.commit,
            error: deployment.error,
            finished_at: timestampOrNull(deployment.finished_at),
            follows: deployment.follows,
          },
  };
}

function problemOf(
  { server_name, status, is_server_functional, is_given_up, scale_problem, status_problem }: Destination,
  deployment: ServerDeploymentRecord | undefined,
): string | null {
  if (!is_server_functional) return `Server ${server_name} is not within reach, so its status is the last one seen.`;
  if (is_given_up) return GIVEN_UP_HERE;
  if (status_problem !== null) return status_problem;
  if (deployment === undefined) return "It was not deployed to this server yet.";
  if (deployment.status !== "failed" && deployment.status !== "cancelled-by-user") return scale_problem;
  const before = isRunning(status) ? ", so what ran before still runs" : "";
  const reason = deployment.error === null ? "" : ` ${deployment.error}`;
  return `Its last deployment to this server did not finish${before}.${reason}`;
}
