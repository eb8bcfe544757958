import { DATABASE_CREATES, DATABASE_ENGINES, type DatabaseEngine } from "@berth/core/database";
import { Select, Stack } from "@mantine/core";
import { useMemo, useState } from "react";
import { client } from "../api/client.ts";
import { useOpenCreated } from "../deployment/open-deployment.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import type { SourceProps } from "./place.tsx";

const COMMON = new Set(["name", "description", "is_public", "public_port", "image"]);
const OF_ENGINE = /^(postgres|mysql|mariadb|mongo|redis|keydb|dragonfly|clickhouse)_/;
const isEngine = (text: string | null): text is DatabaseEngine => text !== null && text in DATABASE_ENGINES;

export default function DatabaseForm({ place, resolvePlace }: SourceProps) {
  const [engine, setEngine] = useState<DatabaseEngine>("postgresql");
  const open = useOpenCreated("database");
  const schema = DATABASE_CREATES[engine];
  const groups = useMemo((): readonly FieldGroup[] => {
    const own = Object.keys(schema.shape).filter((name) => !COMMON.has(name) && OF_ENGINE.test(name));
    return [
      { fields: ["name", "image"] },
      { title: "Login", fields: own.filter((name) => !name.endsWith("_conf")) },
      { title: "Public", fields: ["is_public", "public_port"] },
    ];
  }, [schema]);
  const create = async (sent: Record<string, unknown>) => {
    // The engine's own schema has parsed the input, and the operation belongs to the same engine.
    const input = schema.parse({ ...sent, ...(await resolvePlace()) }) as never;
    return client.databases.create[engine].mutate(input);
  };
  return (
    <Section
      title="Database"
      about="Berth generates the passwords that are left out. The first start pulls the image and may take a minute."
    >
      <Stack>
        <Select
          label="Engine"
          maw={320}
          data={Object.entries(DATABASE_ENGINES).map(([value, { title }]) => ({ value, label: title }))}
          value={engine}
          allowDeselect={false}
          onChange={(chosen) => isEngine(chosen) && setEngine(chosen)}
        />
        <SchemaForm
          key={engine}
          schema={schema}
          groups={groups}
          values={{}}
          fixed={{ ...place, instant_deploy: true }}
          isNew
          operation={`databases.create.${engine}`}
          submitLabel="Create and start"
          submit={create}
          after={open}
        />
      </Stack>
    </Section>
  );
}
