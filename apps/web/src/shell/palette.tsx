import { createSpotlight, Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type Outputs, trpc } from "../api/client.ts";
import { setCodeMode } from "../api/code-mode.ts";
import { deploy, useOpenDeployment } from "../deployment/open-deployment.ts";
import { shortCommit } from "../deployment/short-commit.ts";
import { notifyProblem } from "../parts/action.tsx";
import { useRefusal } from "../parts/allowed.tsx";
import { kindOf, plurals } from "../resource/kinds.ts";
import { TEAM_TABS } from "../team/tabs.ts";

type LastDeployment = NonNullable<Outputs["resources"]["summaries"][number]["last_deployment"]>;

const [store, actions] = createSpotlight();

/** Search dialog for all pages and resources, newest deployments, tokens and templates. */
export default function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const resources = useQuery(trpc.resources.summaries.queryOptions({}));
  const servers = useQuery(trpc.servers.list.queryOptions({}));
  const projects = useQuery(trpc.projects.list.queryOptions({}));
  const tokens = useQuery(trpc.tokens.list.queryOptions({}));
  const [query, setQuery] = useState("");
  const templates = useQuery({
    ...trpc.services.templates.queryOptions({}),
    staleTime: Number.POSITIVE_INFINITY,
    // The list is long, and none of it is shown before something was typed.
    enabled: query !== "",
  });
  const mayDeploy = useRefusal("deploy") === undefined;
  useEffect(() => actions.open(), []);
  const openDeployment = useOpenDeployment();
  const newestDeployment = (name: string, { deployment_uuid: uuid, ...of }: LastDeployment) => ({
    id: uuid,
    label: `${name}: newest deployment`,
    description: [shortCommit(of), of.commit_message].filter(Boolean).join(" ") || of.status,
    keywords: [uuid, of.commit],
    onClick: () => openDeployment({ deployment_uuid: uuid }),
  });
  const found: SpotlightActionData[] = [
    {
      id: "new",
      label: "New …",
      description: "Deploy an application, a database or a service",
      onClick: () => navigate({ to: "/new/{-$source}" }),
    },
    { id: "overview", label: "Overview", onClick: () => navigate({ to: "/" }) },
    { id: "servers", label: "Servers", onClick: () => navigate({ to: "/servers" }) },
    {
      id: "account",
      label: "Account",
      description: "Sessions, password, second factor, passkeys, theme",
      onClick: () => navigate({ to: "/account" }),
    },
    {
      id: "code",
      label: "Buttons as code",
      description: "Each button shows its command for berth, curl and TypeScript",
      onClick: () => setCodeMode(true),
    },
    ...TEAM_TABS.map(({ name, title }) => ({
      id: `team-${name}`,
      label: title,
      description: "Team",
      onClick: () => navigate({ to: "/team/{-$tab}", params: { tab: name } }),
    })),
    ...(projects.data ?? []).map(({ uuid, name }) => ({
      id: uuid,
      label: name,
      description: "project",
      onClick: () => navigate({ to: "/projects/$uuid", params: { uuid } }),
    })),
    ...(resources.data ?? []).flatMap(({ uuid, name, type, environment_name, last_deployment }) => {
      const kind = kindOf(type);
      const description = `${kind}, ${environment_name}`;
      const open = (tab?: string) => () => navigate({ to: `/${plurals[kind]}/$uuid/{-$tab}`, params: { uuid, tab } });
      return [
        { id: uuid, label: name, description, onClick: open() },
        { id: `${uuid}-deployments`, label: `${name}: deployments`, description, onClick: open("deployments") },
        { id: `${uuid}-logs`, label: `${name}: logs`, description, onClick: open("logs") },
        { id: `${uuid}-variables`, label: `${name}: variables`, description, onClick: open("variables") },
        { id: `${uuid}-settings`, label: `${name}: settings`, description, onClick: open("settings") },
        ...(last_deployment === null ? [] : [newestDeployment(name, last_deployment)]),
        ...(kind === "application" && mayDeploy
          ? [
              {
                id: `${uuid}-deploy`,
                label: `Deploy ${name}`,
                description: `Replaces what runs in ${environment_name}`,
                onClick: () => void deploy(uuid).then(openDeployment).catch(notifyProblem),
              },
            ]
          : []),
      ];
    }),
    ...(servers.data ?? []).map(({ uuid, name, ip }) => ({
      id: uuid,
      label: name,
      description: `server, ${ip}`,
      onClick: () => navigate({ to: "/servers/$uuid/{-$tab}", params: { uuid } }),
    })),
    ...(tokens.data ?? []).map(({ id, name }) => ({
      id: `token-${id}`,
      label: name,
      description: "token",
      onClick: () => navigate({ to: "/team/{-$tab}", params: { tab: "tokens" } }),
    })),
    ...(templates.data ?? []).map(({ type, aliases }) => ({
      id: `template-${type}`,
      label: `New ${type}`,
      description: "template",
      keywords: aliases,
      onClick: () => navigate({ to: "/new/{-$source}", params: { source: "template" }, search: { template: type } }),
    })),
  ];
  return (
    <Spotlight
      store={store}
      actions={found}
      onSpotlightClose={onClose}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      limit={12}
      nothingFound="Nothing has this name"
      searchProps={{ placeholder: "Search or do …", "aria-label": "Search or do" }}
      attributes={{ content: { "aria-label": "Search" } }}
      styles={{ actionDescription: { color: "inherit", opacity: 1 } }}
      transitionProps={{ duration: 0 }}
    />
  );
}
