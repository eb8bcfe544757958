import type { Application } from "@berth/core/application";

/** How an application without a URL gets one. Those of a compose file belong to its containers. */
export const urlRemedy = ({ build_pack }: Pick<Application, "build_pack">): string =>
  build_pack === "dockercompose"
    ? `Give one to a container with: berth deploy --docker-compose-domains '[{"name":"web","domain":"https://example.com:3000"}]', where 3000 is the port that it listens on`
    : "Give it one with: berth deploy --domains https://example.com";
