import { ServiceCreateOneClick } from "@berth/core/service";
import { Anchor, Button, Group, Paper, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { useOpenCreated } from "../deployment/open-deployment.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Loaded, Section } from "../parts/page.tsx";
import type { SourceProps } from "./place.tsx";
import { TemplateIcon } from "./template-icon.tsx";

type Template = Outputs["services"]["templates"][number];
const FIELDS: readonly FieldGroup[] = [{ fields: ["name", "description"] }];
const SHOWN_MAX = 60;

export default function TemplateForm(props: SourceProps) {
  const { template: chosen } = useSearch({ from: "/shell/new/{-$source}" });
  const query = useQuery({ ...trpc.services.templates.queryOptions({}), staleTime: Number.POSITIVE_INFINITY });
  return (
    <Loaded query={query}>
      {(templates) => {
        const template = templates.find(({ type }) => type === chosen);
        return template === undefined ? <Gallery templates={templates} /> : <Chosen template={template} {...props} />;
      }}
    </Loaded>
  );
}

function Gallery({ templates }: { readonly templates: readonly Template[] }) {
  const navigate = useNavigate();
  const search = useSearch({ from: "/shell/new/{-$source}" });
  const [text, setText] = useState("");
  const [category, setCategory] = useState<string | null>(null);
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const categories = [...new Set(templates.flatMap((each) => each.category ?? []))].sort();
  const found = templates.filter(
    (each) =>
      (category === null || each.category === category) &&
      `${each.type} ${each.slogan ?? ""} ${each.tags.join(" ")}`.toLowerCase().includes(wanted),
  );
  return (
    <Section title="Templates">
      <Group mb="sm">
        <TextInput
          aria-label="Search templates"
          placeholder="Search …"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Select
          aria-label="Category"
          placeholder="Every category"
          data={categories}
          value={category}
          onChange={setCategory}
          clearable
          clearButtonProps={{ "aria-label": "Every category" }}
        />
        <Text size="sm" c="dimmed" role="status">
          {found.length} of {templates.length}
        </Text>
      </Group>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        {found.slice(0, SHOWN_MAX).map(({ type, slogan, category: kind }) => (
          <Paper key={type} withBorder p="sm">
            <Group justify="space-between" wrap="nowrap" align="flex-start">
              <Group gap="xs" wrap="nowrap" style={{ minWidth: 0 }}>
                <TemplateIcon type={type} />
                <div style={{ minWidth: 0 }}>
                  <Text fw={600} size="sm" className="break">
                    {type}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {kind}
                  </Text>
                </div>
              </Group>
              <Button
                variant="default"
                size="compact-xs"
                aria-label={`Choose ${type}`}
                onClick={() =>
                  navigate({
                    to: "/new/{-$source}",
                    params: { source: "template" },
                    search: { ...search, template: type },
                  })
                }
              >
                Choose
              </Button>
            </Group>
            <Text size="sm" lineClamp={2}>
              {slogan}
            </Text>
          </Paper>
        ))}
      </SimpleGrid>
      {found.length > SHOWN_MAX && (
        <Text size="sm" c="dimmed" mt="sm">
          The first {SHOWN_MAX} are shown. Search for more.
        </Text>
      )}
    </Section>
  );
}

function Chosen({ template, place, resolvePlace }: SourceProps & { readonly template: Template }) {
  const navigate = useNavigate();
  const open = useOpenCreated("service");
  const { type, slogan, documentation, containers } = template;
  return (
    <Section
      title={type}
      actions={
        <Button variant="default" onClick={() => navigate({ to: "/new/{-$source}", params: { source: "template" } })}>
          Another template
        </Button>
      }
    >
      <Stack>
        <Text size="sm">
          {slogan}{" "}
          {documentation !== null && (
            <Anchor href={documentation} target="_blank" rel="noreferrer" size="sm">
              Its documentation ↗
            </Anchor>
          )}
        </Text>
        <Text size="sm" c="dimmed" className="break">
          Starts {containers.map(({ name, image }) => `${name} (${image ?? "built"})`).join(", ")}.
        </Text>
        <SchemaForm
          schema={ServiceCreateOneClick}
          groups={FIELDS}
          values={{}}
          fixed={{ ...place, type, instant_deploy: true }}
          isNew
          operation="services.createOneClick"
          submitLabel="Create and start"
          submit={async (sent) =>
            client.services.createOneClick.mutate(ServiceCreateOneClick.parse({ ...sent, ...(await resolvePlace()) }))
          }
          after={open}
        />
      </Stack>
    </Section>
  );
}
