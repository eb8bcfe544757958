import { until } from "@berth/testing";
import type { TestServer } from "../../server/e2e/server.fixture.ts";
import { describePages } from "./pages.fixture.ts";

describePages("the pages of what runs", { env: { BERTH_EXAMPLE: "on" } }, pathsOf);

async function pathsOf({ client }: TestServer) {
  const [application] = await until(async () => {
    const list = await client.applications.list.query({});
    return list[0]?.status.startsWith("running") ? list : undefined;
  });
  const [project] = await client.projects.list.query({});
  await client.sharedVariables.project.create.mutate({
    uuid: project?.uuid ?? "",
    key: "SMTP_HOST",
    value: "smtp.test",
  });
  const { deployments } = await client.deployments.listByApplication.query({ uuid: application?.uuid ?? "" });
  const base = `/applications/${application?.uuid}`;
  const tabs = ["deployments", "logs", "terminal", "variables", "domains", "storage", "tasks", "metrics", "settings"];
  return {
    overview: "/",
    project: `/projects/${project?.uuid}`,
    "project-variables": `/projects/${project?.uuid}?view=variables`,
    application: base,
    ...Object.fromEntries(tabs.map((name) => [name, `${base}/${name}`])),
    deployment: `/deployments/${deployments[0]?.deployment_uuid}`,
    servers: "/servers",
  };
}
