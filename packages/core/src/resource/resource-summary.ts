import { z } from "zod";
import { CertificateProblem } from "../application/certificate-problem.ts";
import { firstUrlProblem, type UrlProblem } from "../application/domain.ts";
import { BACKUP_STATUSES } from "../backup/backup-status.ts";
import { Deployment } from "../deploy/deployment-view.ts";
import type { LastDeploymentRecord } from "../ports/deployment-store.ts";
import type { ResourceSummaryRecord } from "../ports/resource-summary.ts";
import type { LastDrill } from "../ports/restore.ts";
import { ServerResource, serverResourceView } from "../server/server-view.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";

const LAST_DEPLOYMENT = {
  deployment_uuid: true,
  status: true,
  error: true,
  commit: true,
  commit_message: true,
  actor: true,
  is_webhook: true,
  created_at: true,
  started_at: true,
  finished_at: true,
} as const;

const LastDeployment = Deployment.pick(LAST_DEPLOYMENT).meta({
  id: "LastDeployment",
  description: "The newest deployment of a resource.",
});

const LastDrillView = z
  .object({
    status: z.enum(BACKUP_STATUSES).extract(["success", "failed"]),
    message: z.string().nullable().describe("Why it failed."),
    finished_at: Timestamp,
  })
  .meta({ id: "LastDrill", description: "The newest drill of a database's backups that was not cancelled." });

export const ResourceSummary = z
  .object({
    ...ServerResource.shape,
    project_uuid: z.string(),
    environment_uuid: z.string(),
    environment_name: z.string(),
    server_uuid: z.string(),
    urls: z.array(z.string()).describe("Its URLs for a browser, with the proxy's port unless it is the default one."),
    url_problem: z.string().nullable().describe("Why a URL does not answer, and what to do."),
    certificate_problem: CertificateProblem.nullable(),
    last_deployment: LastDeployment.nullable().describe("Without those of previews."),
    public_port_problem: z.string().nullable().describe("Why the public port of a database does not work."),
    certificate_expires_at: Timestamp.nullable().describe("Of a database's own certificate."),
    scale_problem: z.string().nullable().describe("Why an application does not have as many containers as asked for."),
    failed_backups: z.array(z.string()).describe("Why the newest run of a backup schedule failed, for each that did."),
    last_drill: LastDrillView.nullable().describe("Of a database with a backup schedule. Null if none was ever run."),
    undrilled_since: Timestamp.optional().describe(
      "When the oldest successful backup of a database was made of whose backups no drill was ever run.",
    ),
  })
  .meta({ id: "ResourceSummary", description: "What lists and overviews show of a resource of any kind." });
export type ResourceSummary = z.infer<typeof ResourceSummary>;

export interface SummaryExtras {
  readonly lastDeployment: LastDeploymentRecord | undefined;
  readonly failedBackups: readonly string[];
  readonly lastDrill: LastDrill | undefined;
  readonly undrilledSince: Date | undefined;
  readonly publicUrl: (url: string) => string;
  readonly urlProblem: UrlProblem;
}

export function resourceSummaryView(
  resource: ResourceSummaryRecord,
  { lastDeployment, failedBackups, lastDrill, undrilledSince, publicUrl, urlProblem }: SummaryExtras,
): ResourceSummary {
  const { project_uuid, environment_uuid, environment_name, server_uuid } = resource.placement;
  return {
    ...serverResourceView(resource),
    ...{ project_uuid, environment_uuid, environment_name, server_uuid },
    urls: resource.urls.map(publicUrl),
    url_problem: firstUrlProblem(resource.urls, urlProblem),
    certificate_problem: resource.certificate_problem,
    last_deployment: lastDeployment === undefined ? null : lastDeploymentView(lastDeployment),
    public_port_problem: resource.public_port_problem,
    certificate_expires_at: timestampOrNull(resource.certificate_expires_at),
    scale_problem: resource.scale_problem,
    failed_backups: [...failedBackups],
    last_drill: lastDrill === undefined ? null : lastDrillView(lastDrill),
    ...(undrilledSince !== undefined && { undrilled_since: timestamp(undrilledSince) }),
  };
}

const lastDrillView = ({ status, message, finished_at }: LastDrill): z.infer<typeof LastDrillView> => ({
  status,
  message,
  finished_at: timestamp(finished_at),
});

const lastDeploymentView = (deployment: LastDeploymentRecord): z.infer<typeof LastDeployment> => ({
  deployment_uuid: deployment.uuid,
  status: deployment.status,
  error: deployment.error,
  commit: deployment.commit,
  commit_message: deployment.commit_message,
  actor: deployment.actor,
  is_webhook: deployment.is_webhook,
  created_at: timestamp(deployment.created_at),
  started_at: timestampOrNull(deployment.started_at),
  finished_at: timestampOrNull(deployment.finished_at),
});
