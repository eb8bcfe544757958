import { basename, dirname } from "node:path";
import { type RepositoryFiles, startGitServer } from "@berth/testing";
import { temporaryRepository } from "./applications.fixture.ts";
import { execIn } from "./docker.fixture.ts";
import {
  changed,
  deployedOnce,
  type EndlessImage,
  type HungStep,
  linesOf,
  type PlacedResource,
  placed,
} from "./placed-resource.fixture.ts";
import type { SeenServer } from "./seen-server.fixture.ts";

/** Several containers, one of them with data. */
export const placedStack = (seen: SeenServer): Promise<PlacedResource> => placedText(seen, { store: STORE });

/** A single container, of which two may run at once. */
export const placedService = (seen: SeenServer): Promise<PlacedResource> => placedText(seen, {});

async function placedText(seen: SeenServer, others: Others): Promise<PlacedResource> {
  const { server } = seen;
  const text = (version: string, change?: WebChange) => {
    const page = { type: "bind", source: "./page", target: "/www/index.html", content: version };
    return composeText({ volumes: [page], ...change }, others);
  };
  const uuid = await deployedOnce(seen, "/services", { docker_compose: text("0") });
  const { body } = await server.rest("GET", `/services/${uuid}`);
  const [{ fqdn } = { fqdn: "" }] = (body as { applications: { fqdn: string }[] }).applications;
  return {
    ...composed(seen, { kind: "services", uuid, host: new URL(fqdn).hostname, others }),
    change: (version) => changed(server, `/services/${uuid}`, { docker_compose: text(version) }),
    hang: (step, endlessImage) =>
      changed(server, `/services/${uuid}`, { docker_compose: text("hung", HUNG_WEB[step](endlessImage)) }),
  };
}

/** The same containers from a repository, where the one that answers is built, and is given a file beside. */
export async function placedComposeApplication(seen: SeenServer): Promise<PlacedResource> {
  const source = temporaryRepository(repository("0"));
  // Servers over SSH take no addresses of files.
  const git = await startGitServer({ root: dirname(source.folder) });
  const host = `web.${seen.serverUuid}.test`;
  const uuid = await deployedOnce(seen, "/applications/public", {
    git_repository: `${git.url}/${basename(source.folder)}/.git`,
    git_branch: "main",
    build_pack: "dockercompose",
    docker_compose_domains: [{ name: "web", domain: `http://${host}:8080` }],
  });
  return {
    ...composed(seen, { kind: "applications", uuid, host, others: { store: STORE } }),
    change: async (version) => void source.commit(repository(version)),
    hang: async (step, { url }) => void source.commit(repository("hung", step, url)),
    async dispose() {
      await git.close();
      source.dispose();
    },
  };
}

function repository(version: string, step?: HungStep, url = ""): RepositoryFiles {
  const isHealthy = step === undefined || step === "build";
  const web: WebChange = { build: ".", volumes: ["./site:/www:ro"], ...(isHealthy ? {} : HUNG_WEB[step]()) };
  return {
    "docker-compose.yaml": composeText(web, { store: STORE }),
    Dockerfile: ["FROM busybox:stable", ...(step === "build" ? [`RUN wget -qO- ${url}`] : []), ""].join("\n"),
    "site/index.html": version,
  };
}

const STORE = {
  image: "busybox:stable",
  init: true,
  command: ["httpd", "-f", "-p", "8000", "-h", "/data"],
  volumes: ["data:/data"],
  healthcheck: { test: ["CMD", "test", "-d", "/data"], interval: "1s", retries: 40 },
};

/** It never gets healthy, and what is new is its own. */
const SLOW = {
  image: "busybox:stable",
  init: true,
  command: ["sleep", "86400"],
  networks: ["behind"],
  volumes: ["later:/later"],
  healthcheck: { test: ["CMD", "false"], interval: "10s", retries: 1000 },
};

type WebChange = Readonly<{
  image?: string;
  build?: string;
  healthcheck?: object;
  depends_on?: object;
  volumes?: readonly unknown[];
}>;
type Others = Readonly<{ store?: object }>;

const HUNG_WEB = {
  build: ({ image }: EndlessImage): WebChange => ({ image }),
  start: (): WebChange => ({ depends_on: { slow: { condition: "service_healthy" } } }),
  health: (): WebChange => ({ healthcheck: SLOW.healthcheck }),
};

/** It serves a file that is copied into its container. */
function composeText(change: WebChange, others: Others): string {
  const web = {
    ...(change.build === undefined ? { image: "busybox:stable" } : {}),
    init: true,
    command: ["httpd", "-f", "-p", "8080", "-h", "/www"],
    environment: { SERVICE_URL_WEB_8080: "/" },
    healthcheck: {
      test: ["CMD", "wget", "-qO", "/dev/null", "http://127.0.0.1:8080/"],
      interval: "1s",
      retries: 40,
    },
    ...change,
  };
  const isWaiting = change.depends_on !== undefined;
  return JSON.stringify({
    services: { web, ...others, ...(isWaiting ? { slow: SLOW } : {}) },
    volumes: { ...(others.store === undefined ? {} : { data: null }), ...(isWaiting ? { later: null } : {}) },
    networks: isWaiting ? { behind: null } : {},
  });
}

interface Composed extends Pick<PlacedResource, "kind" | "uuid"> {
  readonly host: string;
  readonly others: Others;
}

/** Containers with data are stopped before their successors start. */
function composed(seen: SeenServer, { kind, uuid, host, others }: Composed) {
  const shell = (script: string) => execIn(seen, uuid, ["sh", "-c", script], "berth.container=store");
  const hasStore = others.store !== undefined;
  return {
    ...placed(seen, { kind, uuid, size: hasStore ? 2 : 1 }),
    isSeamless: !hasStore,
    visit: () => seen.visit(host),
    ...(hasStore && { kept: keptBy(shell) }),
  };
}

/** Access to the data by scripts in the container that has it. */
export const keptBy = (shell: (script: string) => Promise<string>) => ({
  add: (text: string) => shell(`echo ${text} >>/data/kept; sync`),
  all: async () => linesOf(await shell("cat /data/kept")),
});
