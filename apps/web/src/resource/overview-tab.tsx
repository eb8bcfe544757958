import { Anchor, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Outputs, trpc } from "../api/client.ts";
import { Commit } from "../deployment/commit.tsx";
import { shortCommit } from "../deployment/short-commit.ts";
import { HiddenSecret } from "../parts/confirmation.tsx";
import { CopyText } from "../parts/copy.tsx";
import { TextLink } from "../parts/link.tsx";
import { Empty, Facts, Section } from "../parts/page.tsx";
import { RunStatus } from "../parts/state.tsx";
import { Age, Elapsed } from "../parts/time.tsx";
import { AttachmentsSection } from "./attachments-section.tsx";
import { ContainersSection } from "./containers-section.tsx";
import { engineOf } from "./kinds.ts";
import { deploymentsOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";
import type { ShownResource } from "./resource.ts";
import { ServersSection } from "./servers-section.tsx";

export default function OverviewTab({ resource }: PanelProps) {
  const { kind, uuid } = resource;
  const deployments = useQuery(deploymentsOf(kind, uuid, 5)).data?.deployments ?? [];
  const live = deployments.find(({ status }) => status === "finished");
  const isOnSeveral = new Set(deployments.map(({ server_id }) => server_id)).size > 1;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
      {resource.database !== undefined && <Connection database={resource.database} />}
      <Section title="What runs">
        <Stack gap="sm">
          <Facts rows={[...factsOf(resource), ["Server", <ServerLink key="server" uuid={resource.server_uuid} />]]} />
          {live !== undefined && (
            <Text size="sm">
              Since <Age at={live.finished_at} />
              {shortCommit(live) !== undefined && (
                <>
                  : <Commit {...live} />
                </>
              )}
            </Text>
          )}
        </Stack>
      </Section>
      <Section title="Last deployments">
        {deployments.length === 0 ? (
          <Empty
            title="Never deployed"
            command={kind === "application" ? "berth deploy" : `berth start ${resource.name}`}
          >
            The first deployment builds it, starts it, checks that it answers and then routes its URLs to it.
          </Empty>
        ) : (
          <Stack gap={6}>
            {deployments.map((deployment) => (
              <Text key={deployment.deployment_uuid} size="sm" component="div">
                <RunStatus status={deployment.status} />{" "}
                <TextLink to="/deployments/$uuid" params={{ uuid: deployment.deployment_uuid }} size="sm">
                  <Age at={deployment.created_at} />
                </TextLink>{" "}
                {deployment.started_at !== null && (
                  <Text span size="sm" c="dimmed">
                    took <Elapsed from={deployment.started_at} to={deployment.finished_at} />
                  </Text>
                )}
                {isOnSeveral && (
                  <Text span size="sm" c="dimmed">
                    {" "}
                    on {deployment.server_name}
                  </Text>
                )}
                {deployment.error !== null && (
                  <Text size="sm" c="dimmed" className="break" lineClamp={2}>
                    {deployment.error}
                  </Text>
                )}
              </Text>
            ))}
          </Stack>
        )}
      </Section>
      <ContainersSection resource={resource} />
      {kind === "application" && <ServersSection resource={resource} />}
      <AttachmentsSection resource={resource} />
    </SimpleGrid>
  );
}

function factsOf({ application, database, service, description }: ShownResource): [string, React.ReactNode][] {
  const about: [string, React.ReactNode][] = description === null ? [] : [["About", description]];
  if (application !== undefined) {
    const { git_full_url: url, git_branch: branch, source } = application;
    const from: Readonly<Record<typeof source, React.ReactNode>> = {
      git:
        url === null ? (
          application.git_repository
        ) : (
          <Anchor href={url} target="_blank" rel="noreferrer" size="sm">
            {application.git_repository}
          </Anchor>
        ),
      upload: "An uploaded folder",
      dockerfile: "A Dockerfile",
      image: `${application.docker_registry_image_name}:${application.docker_registry_image_tag ?? "latest"}`,
    };
    return [
      ...about,
      ["Source", from[source]],
      ...(source === "git" ? ([["Branch", branch]] as [string, string][]) : []),
      ["Built from", BUILT_FROM[application.build_pack]],
      ["Port", application.ports_exposes ?? "given by Berth in PORT"],
      ...(application.replicas > 1 || application.autoscaling_enabled || application.scale_problem !== null
        ? ([["Containers", scaleOf(application)]] as [string, string][])
        : []),
    ];
  }
  if (database !== undefined) {
    return [
      ...about,
      ["Engine", engineOf(database.database_type)],
      [
        "Image",
        <span key="image" className="mono">
          {database.image}
        </span>,
      ],
    ];
  }
  const containers = service === undefined ? 0 : service.applications.length + service.databases.length;
  return [...about, ["Containers", containers], ["Template", service?.service_type ?? "own compose file"]];
}

function scaleOf({
  replicas,
  scale_problem,
  autoscaling_enabled,
  autoscaling_replicas_min: min,
  autoscaling_replicas_max: max,
}: NonNullable<ShownResource["application"]>): string {
  const wanted = autoscaling_enabled ? `${replicas}, chosen by Berth from ${min} to ${max}` : String(replicas);
  return scale_problem === null ? wanted : `${wanted}. ${scale_problem}`;
}

/** What a build reads, by build pack. */
const BUILT_FROM: Readonly<Record<Outputs["applications"]["get"]["build_pack"], string>> = {
  nixpacks: "what its files are recognised as",
  railpack: "what its files are recognised as",
  static: "static files",
  dockerfile: "its Dockerfile",
  dockercompose: "its compose file",
  dockerimage: "an image, without a build",
};

const serverText = ({ name, engine }: Outputs["servers"]["get"]) => (name === engine ? name : `${name}, ${engine}`);

function ServerLink({ uuid }: { readonly uuid: string }) {
  const { data } = useQuery(trpc.servers.get.queryOptions({ uuid }));
  return (
    <TextLink to="/servers/$uuid/{-$tab}" params={{ uuid }} size="sm">
      {data === undefined ? uuid : serverText(data)}
    </TextLink>
  );
}

function Connection({ database }: { readonly database: NonNullable<ShownResource["database"]> }) {
  const { internal_db_url: internal, external_db_url: external } = database;
  return (
    <Section
      title="Connect"
      about="Applications on the same server use the internal URL. Attach it below, and theirs stays right."
    >
      <Stack gap="xs">
        {internal === undefined && <HiddenSecret />}
        {typeof internal === "string" && (
          <div>
            <Text size="sm" c="dimmed">
              Internal
            </Text>
            <CopyText text={internal} isSecret />
          </div>
        )}
        {typeof external === "string" && (
          <div>
            <Text size="sm" c="dimmed">
              Public
            </Text>
            <CopyText text={external} isSecret />
          </div>
        )}
        {external === null && (
          <Text size="sm" c="dimmed">
            Not reachable from outside its server. Settings → Public opens a port.
          </Text>
        )}
      </Stack>
    </Section>
  );
}
