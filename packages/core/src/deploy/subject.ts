import type { ApplicationSecrets } from "../application/application.ts";
import type { DatabaseRecord, DatabaseSecrets } from "../ports/database.ts";
import type { ApplicationRecord, DeploymentRecord, DomainClaim, EnvRecord } from "../ports/records.ts";
import type { ServiceContainerRecord, ServiceRecord } from "../ports/service.ts";
import type { StorageRecord } from "../ports/storage.ts";
import type { ResourceKind } from "../resource/resource.ts";
import type { ServiceSecrets } from "../service/service.ts";

/** A resource to deploy, with the fields of its kind. */
export type DeploySubject = DeployedApplication | DeployedDatabase | DeployedService;

export interface DeployedApplication {
  readonly kind: "application";
  readonly record: ApplicationRecord;
  readonly secrets: ApplicationSecrets;
}

export interface DeployedDatabase {
  readonly kind: "database";
  readonly record: DatabaseRecord;
  readonly secrets: DatabaseSecrets;
}

export interface DeployedService {
  readonly kind: "service";
  readonly record: ServiceRecord;
  readonly secrets: ServiceSecrets;
  readonly containers: readonly ServiceContainerRecord[];
}

export type SubjectOf<Kind extends ResourceKind> = Extract<DeploySubject, { readonly kind: Kind }>;

/** The input of a deployment, read at one moment. */
export interface DeployInput<Subject extends DeploySubject = DeploySubject> {
  readonly subject: Subject;
  readonly deployment: DeploymentRecord;
  readonly domains: readonly DomainClaim[];
  readonly envs: readonly EnvRecord[];
  readonly storages: readonly StorageRecord[];
}
