import { DomainError } from "@berth/core";
import type { GitCredentials, SourceFetcher } from "@berth/core/ports";
import type { Points } from "./points.fixture.ts";

export interface FakeSource extends SourceFetcher {
  /** Deployment uuids of the existing checkouts. */
  readonly checkouts: ReadonlySet<string>;
  readonly removedResources: readonly string[];
  commit: string;
  /** Credentials of all fetches. */
  readonly credentials: readonly (GitCredentials | undefined)[];
}

export function fakeSource(points: Points): FakeSource {
  const checkouts = new Set<string>();
  const removedResources: string[] = [];
  const credentials: (GitCredentials | undefined)[] = [];
  const fake: FakeSource = {
    checkouts,
    removedResources,
    credentials,
    commit: "a".repeat(40),
    async checkout(spec, deploymentUuid, io) {
      checkouts.add(deploymentUuid);
      if (spec.type === "git") {
        credentials.push(spec.credentials);
        // Like a tool that prints credentials.
        if (spec.credentials?.type === "basic") {
          io.onLine(`Logs in with ${spec.credentials.login.for(spec.repository)?.password}`, "stderr");
        }
      }
      try {
        await points.pass("checkout", io.signal);
      } catch (cause) {
        if (io.signal.aborted) throw new DomainError("deploy.cancelled", "Cancelled.", { cause });
        throw cause;
      }
      const commit = spec.type === "git" && spec.commit !== "HEAD" ? spec.commit : fake.commit;
      return { folder: `/checkouts/${deploymentUuid}`, commit, message: "Say hello" };
    },
    async removeCheckout(deploymentUuid) {
      checkouts.delete(deploymentUuid);
    },
    async defaultBranch() {
      return "main";
    },
    async saveUpload() {
      return { commit: fake.commit, sizeBytes: 0 };
    },
    async removeResource(uuid) {
      removedResources.push(uuid);
    },
  };
  return fake;
}
