import {
  ApplicationCreateDeployKey,
  ApplicationCreateGithubApp,
  ApplicationCreatePublic,
} from "@berth/core/application";
import { SegmentedControl, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, trpc } from "../api/client.ts";
import { useOpenCreated } from "../deployment/open-deployment.ts";
import { type FieldGroup, SchemaForm, type Values } from "../parts/form.tsx";
import { Empty, Section } from "../parts/page.tsx";
import type { SourceProps } from "./place.tsx";

const WAYS = [
  { value: "public", label: "Public URL" },
  { value: "key", label: "With a key" },
  { value: "github", label: "GitHub app" },
] as const;
type Way = (typeof WAYS)[number]["value"];
const isWay = (text: string): text is Way => WAYS.some(({ value }) => value === text);

const REST: readonly FieldGroup[] = [
  { title: "Settings", fields: ["name", "build_pack", "domains"] },
  {
    title: "Build and run",
    fields: ["base_directory", "install_command", "build_command", "start_command", "ports_exposes"],
  },
];
const GROUPS: Readonly<Record<Way, readonly FieldGroup[]>> = {
  public: [{ fields: ["git_repository", "git_branch"] }, ...REST],
  key: [{ fields: ["git_repository", "git_branch", "private_key_uuid"] }, ...REST],
  github: [{ fields: ["github_app_uuid", "git_repository", "git_branch"] }, ...REST],
};
const OPERATIONS = {
  public: { schema: ApplicationCreatePublic, operation: "applications.createPublic" },
  key: { schema: ApplicationCreateDeployKey, operation: "applications.createDeployKey" },
  github: { schema: ApplicationCreateGithubApp, operation: "applications.createGithubApp" },
} as const;
const PROPOSED = { build_pack: "nixpacks", git_branch: "main", base_directory: "/" };

export default function GitForm({ place, resolvePlace }: SourceProps) {
  const [way, setWay] = useState<Way>("public");
  const [entered, setEntered] = useState<Values>({});
  const open = useOpenCreated("application");
  const keys = useQuery(trpc.privateKeys.list.queryOptions({})).data ?? [];
  const github = useGithub(way, entered);
  const { schema, operation } = OPERATIONS[way];
  const create = async (sent: Record<string, unknown>) => {
    const input = { ...sent, ...(await resolvePlace()) };
    if (way === "key") return client.applications.createDeployKey.mutate(ApplicationCreateDeployKey.parse(input));
    if (way === "github") return client.applications.createGithubApp.mutate(ApplicationCreateGithubApp.parse(input));
    return client.applications.createPublic.mutate(ApplicationCreatePublic.parse(input));
  };
  return (
    <Section title="Repository">
      <Stack>
        <SegmentedControl
          aria-label="How the repository is read"
          data={WAYS.map((each) => ({ ...each }))}
          value={way}
          onChange={(chosen) => isWay(chosen) && setWay(chosen)}
        />
        {way === "github" && github.apps.length === 0 ? (
          <Empty title="No GitHub app yet" command="berth api POST /github-apps">
            A GitHub app reads private repositories and tells Berth of pushes and pull requests.
          </Empty>
        ) : (
          <SchemaForm
            key={way}
            schema={schema}
            groups={GROUPS[way]}
            values={PROPOSED}
            fixed={{ ...place, instant_deploy: true }}
            isNew
            choices={{
              private_key_uuid: keys.map(({ uuid, name }) => ({ value: uuid, label: name })),
              ...(way === "github" && github.choices),
            }}
            operation={operation}
            submitLabel="Deploy"
            onValues={setEntered}
            submit={create}
            after={open}
          />
        )}
      </Stack>
    </Section>
  );
}

/** Choices: apps, then repositories of the chosen app, then branches of the chosen repository. */
function useGithub(way: Way, entered: Values) {
  const isAsked = way === "github";
  const apps = useQuery({ ...trpc.githubApps.list.queryOptions({}), enabled: isAsked }).data ?? [];
  const id = apps.find(({ uuid }) => uuid === entered.github_app_uuid)?.id;
  const repositories = useQuery({
    ...trpc.githubApps.repositories.queryOptions({ github_app_id: id ?? 0 }),
    enabled: isAsked && id !== undefined,
  }).data?.repositories;
  const [owner = "", repo = ""] = String(entered.git_repository ?? "").split("/");
  const branches = useQuery({
    ...trpc.githubApps.branches.queryOptions({ github_app_id: id ?? 0, owner, repo }),
    enabled: isAsked && id !== undefined && repo !== "",
  }).data?.branches;
  const named = (values: readonly string[]) => values.map((value) => ({ value, label: value }));
  return {
    apps,
    choices: {
      github_app_uuid: apps.map(({ uuid, name }) => ({ value: uuid, label: name })),
      ...(repositories && { git_repository: named(repositories.map(({ full_name }) => full_name)) }),
      ...(branches && { git_branch: named(branches.map(({ name }) => name)) }),
    },
  };
}
