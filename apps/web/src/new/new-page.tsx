import { Paper, SimpleGrid, Skeleton, Stack, Text, UnstyledButton } from "@mantine/core";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ComponentType, type LazyExoticComponent, lazy, Suspense } from "react";
import { TextLink } from "../parts/link.tsx";
import { PageTitle, Section } from "../parts/page.tsx";
import { type SourceProps, usePlace } from "./place.tsx";

interface Source {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly Form: LazyExoticComponent<ComponentType<SourceProps>>;
}

const SOURCES: readonly Source[] = [
  {
    name: "folder",
    title: "A folder",
    about: "Drop it here. Berth finds out how to build and start it.",
    Form: lazy(() => import("./folder-form.tsx")),
  },
  {
    name: "git",
    title: "A git repository",
    about: "Deployed again with each push.",
    Form: lazy(() => import("./git-form.tsx")),
  },
  {
    name: "template",
    title: "A template",
    about: "Ready-made services: wikis, analytics, chat, and many more.",
    Form: lazy(() => import("./template-form.tsx")),
  },
  {
    name: "database",
    title: "A database",
    about: "PostgreSQL, MySQL, MongoDB, Redis and others, with backups.",
    Form: lazy(() => import("./database-form.tsx")),
  },
  {
    name: "image",
    title: "An image",
    about: "From a registry, without a build.",
    Form: lazy(() => import("./image-form.tsx")),
  },
  {
    name: "compose",
    title: "A compose file",
    about: "Several containers in one compose file.",
    Form: lazy(() => import("./compose-form.tsx")),
  },
];

/** Creates a resource: source, place, settings, and the live deployment. */
export function NewPage() {
  const { source } = useParams({ from: "/shell/new/{-$source}" });
  const search = useSearch({ from: "/shell/new/{-$source}" });
  const navigate = useNavigate();
  const place = usePlace(search);
  const chosen = SOURCES.find(({ name }) => name === source);
  if (chosen === undefined) {
    return (
      <>
        <PageTitle title="New" />
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
          {SOURCES.map(({ name, title, about }) => (
            <UnstyledButton
              key={name}
              onClick={() => navigate({ to: "/new/{-$source}", params: { source: name }, search })}
            >
              <Paper withBorder p="md" h="100%" className="table-row-link">
                <Text fw={600}>{title}</Text>
                <Text size="sm" c="dimmed">
                  {about}
                </Text>
              </Paper>
            </UnstyledButton>
          ))}
        </SimpleGrid>
      </>
    );
  }
  const { Form, title } = chosen;
  return (
    <>
      <PageTitle title={`New: ${title.toLowerCase()}`}>
        <TextLink to="/new/{-$source}" params={{ source: undefined }} search={search} size="sm">
          Something else
        </TextLink>
      </PageTitle>
      <Stack>
        <Section title="Where">{place.fields}</Section>
        <Suspense fallback={<Skeleton h={200} />}>
          <Form place={place.shown} resolvePlace={place.resolve} />
        </Suspense>
      </Stack>
    </>
  );
}
