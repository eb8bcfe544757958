import type { HealthCheck } from "../application/health-check.ts";
import type { EngineCapabilities } from "../ports/engine.ts";
import { deployedKind } from "./deployed-kind.ts";
import type { Upstream } from "./release.ts";
import type { SiteSubject } from "./site.ts";
import type { DeploySubject } from "./subject.ts";
import type { WantedContainer } from "./wanted.ts";

type Sharing = Pick<EngineCapabilities, "networks" | "port_mappings">;

/**
 * What a comparison with what runs needs of a resource. Its settings and secrets are much larger, and control planes
 * keep these facts of each resource.
 */
export interface SubjectFacts {
  readonly healthCheck: HealthCheck;
  readonly replicas: number | undefined;
  readonly restartCount: number;
  readonly restartCountMax: number | undefined;
  readonly hasScaleProblem: boolean;
  /** Its recorded containers; `undefined`: none are recorded for this kind. */
  readonly containers: readonly WantedContainer[] | undefined;
  /** `undefined`: it has none. */
  readonly site: Pick<SiteSubject, "owner" | "settings" | "secrets"> | undefined;
  /** The engines on which only one of its releases may run at a time. */
  readonly exclusiveOn: readonly Sharing[];
}

/** @param upstream Of the live release. */
export function subjectFacts(subject: DeploySubject, upstream: Upstream | null): SubjectFacts {
  const kind = deployedKind(subject);
  return {
    healthCheck: kind.healthCheck(subject),
    replicas: kind.replicas(subject),
    restartCount: kind.restartCount(subject),
    restartCountMax: kind.restartCountMax(subject),
    hasScaleProblem: kind.hasScaleProblem(subject),
    containers: kind
      .containers(subject)
      ?.map(({ name, status, exclude_from_status }) => ({ name, status, isExcluded: exclude_from_status })),
    site: siteFacts(kind.site(subject)),
    exclusiveOn: SHARINGS.filter((sharing) => kind.exclusiveReason(subject, sharing, upstream) !== undefined),
  };
}

export const isExclusiveOn = ({ exclusiveOn }: SubjectFacts, { networks, port_mappings }: Sharing): boolean =>
  exclusiveOn.some((one) => one.networks === networks && one.port_mappings === port_mappings);

/** Copied field by field, since the whole settings and secrets would be kept otherwise. */
function siteFacts(site: SubjectFacts["site"]): SubjectFacts["site"] {
  if (site === undefined) return undefined;
  const { settings, secrets } = site;
  return {
    owner: site.owner,
    settings: {
      redirect: settings.redirect,
      noindex_domains: settings.noindex_domains,
      is_http_basic_auth_enabled: settings.is_http_basic_auth_enabled,
      http_basic_auth_username: settings.http_basic_auth_username,
      is_force_https_enabled: settings.is_force_https_enabled,
      is_gzip_enabled: settings.is_gzip_enabled,
      is_stripprefix_enabled: settings.is_stripprefix_enabled,
      autoscaling_enabled: settings.autoscaling_enabled,
      autoscaling_requests_per_second: settings.autoscaling_requests_per_second,
    },
    secrets: {
      http_basic_auth_password: secrets.http_basic_auth_password,
      ...(secrets.custom_labels === undefined ? {} : { custom_labels: secrets.custom_labels }),
    },
  };
}

const SHARINGS: readonly Sharing[] = [true, false].flatMap((networks) =>
  [true, false].map((port_mappings) => ({ networks, port_mappings })),
);
