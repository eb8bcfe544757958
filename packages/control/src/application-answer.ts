import { type Application, applicationView } from "@berth/core/application";
import type { ApplicationRecord } from "@berth/core/ports";
import { maySeeSecrets } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

type AnswerContext = Pick<UseCaseContext, "scope" | "stores" | "publicUrl" | "urlProblem">;

/** Views of these applications for the caller. */
export async function applicationViews(
  { scope, stores, publicUrl, urlProblem }: AnswerContext,
  applications: readonly ApplicationRecord[],
): Promise<Application[]> {
  const isOpen = maySeeSecrets(scope) && applications.length > 0;
  const secrets = isOpen ? await stores.applications.secretsOf(applications.map(({ id }) => id)) : undefined;
  return applications.map((application) =>
    applicationView(application, {
      secrets: secrets?.get(application.id),
      publicUrl: (url) => publicUrl(url, application.server_id),
      urlProblem: (url) => urlProblem(url, application.server_id),
    }),
  );
}
