import type { CertificateProblem } from "../application/certificate-problem.ts";
import type { ListedResource, Placement } from "./records.ts";

/** What lists of all kinds show of a resource. */
export interface ResourceSummaryRecord
  extends Pick<
    ListedResource,
    | "id"
    | "uuid"
    | "kind"
    | "server_id"
    | "name"
    | "status"
    | "status_problem"
    | "removing_at"
    | "created_at"
    | "updated_at"
    | "database_engine"
  > {
  readonly placement: Pick<Placement, "project_uuid" | "environment_uuid" | "environment_name" | "server_uuid">;
  /** Without those of previews. */
  readonly urls: readonly string[];
  /** Of a database with a public port. */
  readonly public_port_problem: string | null;
  readonly certificate_expires_at: Date | null;
  /** Of an application. */
  readonly scale_problem: string | null;
  /** Of an application or service, the worst one of its URLs. */
  readonly certificate_problem: CertificateProblem | null;
}
