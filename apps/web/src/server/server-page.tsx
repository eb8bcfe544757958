import { clusterHead, ENGINES, ServerUpdate } from "@berth/core/server";
import { Group, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { lazy, type ReactNode } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, DangerButton, notify } from "../parts/action.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { SharedVariables, Terminal } from "../parts/lazy.tsx";
import { Empty, Facts, Loaded, LoadedPage, Section, useDocumentTitle } from "../parts/page.tsx";
import { PageTabs } from "../parts/page-tabs.tsx";
import { State, Status } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { ResourceLink } from "../resource/resource-link.tsx";
import { ClusterLink } from "./cluster-link.tsx";
import { machineRows } from "./machine.ts";
import { serverState } from "./server-state.ts";
import { ValidationSection } from "./validation-section.tsx";

const CleanupTab = lazy(() => import("./cleanup-tab.tsx"));
const DestinationsSection = lazy(() => import("./destinations-section.tsx"));
const LogDrainsSection = lazy(() => import("./log-drains-section.tsx"));
const ClusterTab = lazy(() => import("./cluster-tab.tsx"));
const ProxyTab = lazy(() => import("./proxy-tab.tsx"));
const MetricsTab = lazy(() => import("./metrics-tab.tsx"));
const JobsTab = lazy(() => import("./jobs-tab.tsx"));

type Server = Outputs["servers"]["get"];
type OnServer = Outputs["servers"]["resources"][number];

interface Tab {
  readonly name: string;
  readonly title: string;
  readonly panelOf: (server: Server) => ReactNode;
}

const TABS: readonly Tab[] = [
  { name: "overview", title: "Overview", panelOf: (server) => <Overview server={server} /> },
  { name: "nodes", title: "Cluster", panelOf: (server) => <ClusterTab server={server} /> },
  { name: "proxy", title: "Proxy", panelOf: ({ uuid }) => <ProxyTab uuid={uuid} /> },
  {
    name: "variables",
    title: "Shared variables",
    panelOf: ({ uuid }) => <SharedVariables scope="server" owner={{ uuid }} />,
  },
  { name: "cleanup", title: "Cleanup", panelOf: ({ uuid }) => <CleanupTab uuid={uuid} /> },
  { name: "jobs", title: "Jobs", panelOf: ({ uuid }) => <JobsTab uuid={uuid} /> },
  { name: "metrics", title: "Metrics", panelOf: ({ uuid }) => <MetricsTab uuid={uuid} /> },
  {
    name: "terminal",
    title: "Terminal",
    panelOf: ({ name, uuid }) => <Terminal label={`Terminal of ${name}`} place={{ kind: "server", uuid }} />,
  },
  { name: "settings", title: "Settings", panelOf: (server) => <Settings server={server} /> },
];

/** Only machines with a Docker engine can be in a cluster. */
const tabsOf = ({ engine }: Server) => TABS.filter(({ name }) => name !== "nodes" || ENGINES[engine].hasContainers);

export function ServerPage() {
  const { uuid, tab } = useParams({ from: "/shell/servers/$uuid/{-$tab}" });
  const navigate = useNavigate();
  const query = useQuery(trpc.servers.get.queryOptions({ uuid }));
  return (
    <LoadedPage query={query}>
      {(server) => (
        <>
          <Header server={server} />
          <PageTabs
            tabs={tabsOf(server)}
            open={tab}
            onOpen={(next) => navigate({ to: "/servers/$uuid/{-$tab}", params: { uuid, tab: next } })}
            panelOf={({ panelOf }) => panelOf(server)}
          />
        </>
      )}
    </LoadedPage>
  );
}

function Header({ server }: { readonly server: Server }) {
  const { uuid, name, engine } = server;
  useDocumentTitle(name);
  return (
    <Group justify="space-between" align="flex-start" mb="sm">
      <Group gap="sm" align="baseline">
        <Title order={1} className="break" dir="auto">
          {name}
        </Title>
        <State state={serverState(server)} withReason />
      </Group>
      <Group gap="xs">
        <ActionButton work={() => client.servers.validate.mutate({ uuid })} after={({ message }) => notify(message)}>
          Validate
        </ActionButton>
        {engine !== "process" && !server.is_usable && (
          <ActionButton
            work={() => client.servers.validate.mutate({ uuid, install_engine: true })}
            after={({ message }) => notify(message)}
          >
            Install Docker
          </ActionButton>
        )}
      </Group>
    </Group>
  );
}

const COLUMNS: readonly Column<OnServer>[] = [
  { header: "Name", cell: (resource) => <ResourceLink {...resource} /> },
  { header: "Status", cell: ({ status, status_problem }) => <Status status={status} problem={status_problem} /> },
  { header: "Changed", isExtra: true, cell: ({ updated_at }) => <Age at={updated_at} /> },
];

function Overview({ server }: { readonly server: Server }) {
  const { uuid, engine, proxy, settings } = server;
  const resources = useQuery(trpc.servers.resources.queryOptions({ uuid }));
  const destinations = useQuery(trpc.destinations.listOfServer.queryOptions({ uuid })).data ?? [];
  const isNode = server.swarm_cluster !== null && !ENGINES[engine].isCluster;
  const servers = useQuery({ ...trpc.servers.list.queryOptions({}), enabled: isNode }).data ?? [];
  const head = clusterHead(server, servers);
  return (
    <Stack>
      <Section title="Machine">
        <Facts
          rows={[
            ...connectionRows(server),
            ["Runs", engine],
            ...(head === undefined ? [] : ([["Node of", <ClusterLink key="cluster" {...head} />]] as const)),
            ...machineRows(server.server_metadata),
            ["Proxy", proxy === null ? "none" : `${proxy.type}, ${proxy.status}`],
            [
              "Disk alert",
              server.high_disk_usage_notification_sent
                ? `more than ${settings.server_disk_usage_notification_threshold} % full: see Cleanup`
                : `above ${settings.server_disk_usage_notification_threshold} %`,
            ],
            ["Builds", `${settings.concurrent_builds} at once`],
            ["Destinations", destinations.map(({ name }) => name).join(", ") || "–"],
          ]}
        />
      </Section>
      <ValidationSection uuid={uuid} said={server.validation_logs} />
      <Section title="On this server">
        <Loaded query={resources}>
          {(list) => (
            <DataTable
              label="Resources"
              rows={list}
              columns={COLUMNS}
              keyOf={(resource) => resource.uuid}
              textOf={({ name, status }) => `${name} ${status}`}
              empty={
                <Empty title={isNode ? "Nothing of its own runs here" : "Nothing runs here"}>
                  {isNode && "What runs on the cluster is listed with the server that manages it."}
                </Empty>
              }
            />
          )}
        </Loaded>
      </Section>
    </Stack>
  );
}

/** How Berth reaches it: its own machine needs no connection. */
function connectionRows({
  is_coolify_host,
  user,
  ip,
  port,
  host_key,
}: Server): readonly (readonly [string, ReactNode])[] {
  if (is_coolify_host) return [["Address", "The machine that Berth runs on"]];
  const mono = (text: string) => <span className="mono">{text}</span>;
  return [
    ["Address", mono(`${user}@${ip}:${port}`)],
    ["Host key", mono(host_key ?? "–")],
  ];
}

const NAMES: FieldGroup = { fields: ["name", "description"] };
const OWN_MACHINE_FIELDS: readonly FieldGroup[] = [
  NAMES,
  {
    title: "Deployments",
    fields: ["wildcard_domain", "concurrent_builds", "deployment_queue_limit", "dynamic_timeout", "is_build_server"],
  },
  { title: "Disk", fields: ["server_disk_usage_notification_threshold", "server_disk_usage_check_frequency"] },
];
const FIELDS: readonly FieldGroup[] = [
  NAMES,
  { title: "Connection", fields: ["ip", "port", "user", "private_key_uuid", "host_key", "connection_timeout"] },
  ...OWN_MACHINE_FIELDS.slice(1),
];

function Settings({ server }: { readonly server: Server }) {
  const { uuid, name } = server;
  const navigate = useNavigate();
  const keys = useQuery(trpc.privateKeys.list.queryOptions({})).data ?? [];
  const key = keys.find(({ id }) => id === server.private_key_id)?.uuid ?? "";
  return (
    <Stack>
      <Section title="Settings">
        <SchemaForm
          schema={ServerUpdate}
          groups={server.is_coolify_host ? OWN_MACHINE_FIELDS : FIELDS}
          values={{ ...server.settings, ...server, private_key_uuid: key }}
          choices={{ private_key_uuid: keys.map((each) => ({ value: each.uuid, label: each.name })) }}
          submitLabel="Save settings"
          submit={(sent) => client.servers.update.mutate({ uuid, ...sent })}
        />
      </Section>
      <DestinationsSection uuid={uuid} />
      <LogDrainsSection uuid={uuid} />
      {!server.is_coolify_host && (
        <Section title="Danger zone">
          <DangerButton
            name={name}
            about="Berth forgets the server. It must have no resources; the machine itself stays as it is."
            work={() => client.servers.delete.mutate({ uuid })}
            after={() => navigate({ to: "/servers" })}
          >
            Delete server
          </DangerButton>
        </Section>
      )}
    </Stack>
  );
}
