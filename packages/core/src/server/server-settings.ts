import { z } from "zod";

/** Settings of a server, with the defaults of the API family. */
export const ServerSettings = z.object({
  concurrent_builds: z.int().min(1).max(1000).default(2).describe("Deployments in progress at once."),
  deployment_queue_limit: z.int().min(1).max(100000).default(25).describe("Deployments that may wait."),
  dynamic_timeout: z.int().min(1).max(86400).default(3600).describe("Seconds a deployment may take."),
  is_build_server: z.boolean().default(false),
  is_swarm_manager: z.boolean().default(false),
  is_swarm_worker: z.boolean().default(false),
  is_cluster_ingress: z.boolean().default(false).describe("Its proxy takes requests for the sites of its cluster too."),
  is_jump_server: z.boolean().default(false),
  is_reachable: z.boolean().default(false),
  is_usable: z.boolean().default(false),
  is_substituted: z
    .boolean()
    .default(false)
    .describe("It is out of reach, and its cluster is managed through another of its managers meanwhile."),
  wildcard_domain: z
    .string()
    .max(255)
    .nullable()
    .default(null)
    .describe("URL that generated domains are placed below."),
  is_cloudflare_tunnel: z.boolean().default(false),
  is_metrics_enabled: z.boolean().default(false),
  is_terminal_enabled: z.boolean().default(true),
  force_disabled: z.boolean().default(false),
  generate_exact_labels: z.boolean().default(false),
  redirect_enabled: z.boolean().default(true),
  redirect_url: z.string().max(2048).nullable().default(null),
  is_logdrain_newrelic_enabled: z.boolean().default(false),
  logdrain_newrelic_base_uri: z.string().max(2048).nullable().default(null),
  is_logdrain_axiom_enabled: z.boolean().default(false),
  logdrain_axiom_dataset_name: z.string().max(255).nullable().default(null),
  is_logdrain_custom_enabled: z.boolean().default(false),
  force_docker_cleanup: z.boolean().default(true),
  docker_cleanup_frequency: z.string().max(255).default("0 0 * * *"),
  docker_cleanup_threshold: z.int().min(1).max(100).default(80),
  delete_unused_volumes: z.boolean().default(false),
  delete_unused_networks: z.boolean().default(false),
  disable_application_image_retention: z.boolean().default(false),
  server_timezone: z.string().max(64).default("UTC"),
  server_disk_usage_notification_threshold: z.int().min(1).max(100).default(80),
  server_disk_usage_check_frequency: z.string().max(255).default("0 23 * * *"),
  connection_timeout: z.int().min(1).max(300).default(10),
});
export type ServerSettings = z.infer<typeof ServerSettings>;

interface EngineTraits {
  /** Name for people. */
  readonly title: string;
  /** It runs only on the machine of a control plane, without a login. */
  readonly isOwnMachineOnly: boolean;
  /** Berth runs containers on it, including the proxy, and manages the machine. */
  readonly hasContainers: boolean;
  /** Its server is a manager that places containers on the machines of a cluster. */
  readonly isCluster: boolean;
  readonly destinationType: "standalone" | "swarm";
  /** What it means to run there, behind the server's name in a sentence. */
  readonly meaning: string;
}

/** The engines and their traits. Other code asks for a trait, never for an engine's name. */
export const ENGINES = {
  process: {
    title: "processes",
    isOwnMachineOnly: true,
    hasContainers: false,
    isCluster: false,
    destinationType: "standalone",
    meaning: "as a process of Berth's own machine, without a container",
  },
  docker: {
    title: "Docker",
    isOwnMachineOnly: false,
    hasContainers: true,
    isCluster: false,
    destinationType: "standalone",
    meaning: "in a container, with its own files, network and limits",
  },
  swarm: {
    title: "Docker Swarm",
    isOwnMachineOnly: false,
    hasContainers: true,
    isCluster: true,
    destinationType: "swarm",
    meaning: "in containers on several machines",
  },
} as const satisfies Readonly<Record<string, EngineTraits>>;
export type EngineKind = keyof typeof ENGINES;

export const whereItRuns = ({ name, engine }: { readonly name: string; readonly engine: EngineKind }): string =>
  `Runs on server ${name}, ${ENGINES[engine].meaning}.`;
