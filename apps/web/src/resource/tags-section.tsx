import { TagAttach } from "@berth/core/resource";
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Outputs } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { plurals } from "./kinds.ts";
import { callsOf, queriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";

type Tag = Outputs["applications"]["tags"]["list"][number];

/** The words that group the resource with others. */
export function TagsSection({ resource: { kind, uuid } }: PanelProps) {
  const query = useQuery(queriesOf(kind).tags.list.queryOptions({ uuid }));
  const calls = callsOf(kind).tags;
  const columns: readonly Column<Tag>[] = [
    {
      header: "Tag",
      cell: ({ name }) => (
        <Text size="sm" className="break" dir="auto">
          {name}
        </Text>
      ),
    },
    {
      header: "Action",
      cell: ({ uuid: tag_uuid, name }) => (
        <ActionButton
          size="compact-xs"
          aria-label={`Remove ${name}`}
          work={() => calls.detach.mutate({ uuid, tag_uuid })}
        >
          Remove
        </ActionButton>
      ),
    },
  ];
  return (
    <Collection
      title="Tags"
      about="Words that group resources of the team. The API deploys all resources of a tag at once: GET /deploy with tag."
      query={query}
      columns={columns}
      keyOf={(tag) => tag.uuid}
      textOf={({ name }) => name}
      empty={<Empty title="No tags" command={`berth ${plurals[kind]} tags attach ${uuid} --tag-name frontend`} />}
      create={{
        label: "Add tag",
        schema: TagAttach,
        groups: FIELDS,
        submit: (sent) => calls.attach.mutate({ uuid, ...sent }),
      }}
    />
  );
}

const FIELDS = [{ fields: ["tag_name"] }];
