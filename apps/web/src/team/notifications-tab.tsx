import {
  CHANNEL_KINDS,
  CHANNEL_UPDATES,
  type ChannelKind,
  channelFlag,
  NOTIFICATION_EVENTS,
} from "@berth/core/notification";
import { Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { type FieldGroup, SchemaForm, type Values } from "../parts/form.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { RunStatus } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";

type Delivery = Outputs["notifications"]["deliveries"][number];

const TITLES: Record<ChannelKind, string> = {
  email: "E-mail",
  discord: "Discord",
  slack: "Slack",
  telegram: "Telegram",
  pushover: "Pushover",
  webhook: "Webhook",
};

const CHOICES = CHANNEL_KINDS.map((value) => ({ value, label: TITLES[value] }));

export default function NotificationsTab() {
  const [kind, setKind] = useState<ChannelKind>("email");
  return (
    <Stack>
      <Section title="Notifications" about="Where this team is told what happens, and what of it.">
        <Select
          label="Channel"
          mb="md"
          maw={320}
          allowDeselect={false}
          data={CHOICES}
          value={kind}
          // The choices are the kinds.
          onChange={(chosen) => chosen !== null && setKind(chosen as ChannelKind)}
        />
        <Channel key={kind} kind={kind} />
      </Section>
      <Deliveries />
    </Stack>
  );
}

function Channel({ kind }: { readonly kind: ChannelKind }) {
  const query = useQuery<Values>({
    queryKey: trpc.notifications[kind].get.queryKey({}),
    queryFn: () => client.notifications[kind].get.query({}),
  });
  const update = (sent: object) => client.notifications[kind].update.mutate(CHANNEL_UPDATES[kind].parse(sent));
  return (
    <Loaded query={query}>
      {(values) => (
        <>
          <SchemaForm
            schema={CHANNEL_UPDATES[kind]}
            groups={groupsOf(kind)}
            values={values}
            nameOf={(name) => channelFlag(kind, name)}
            submitLabel={`Save ${TITLES[kind]}`}
            submit={update}
            after={({ message }) => message !== undefined && notify(message)}
          />
          <ActionButton
            mt="md"
            work={() => client.notifications[kind].test.mutate({})}
            after={({ message }) => notify(message)}
          >
            Send a test
          </ActionButton>
        </>
      )}
    </Loaded>
  );
}

/** The channel's own fields, what it reports, and for Telegram where each goes. */
function groupsOf(kind: ChannelKind): readonly FieldGroup[] {
  const all = Object.keys(CHANNEL_UPDATES[kind].shape);
  const reported = all.filter((name) => channelFlag(kind, name) in NOTIFICATION_EVENTS);
  const topics = all.filter((name) => name.endsWith("_thread_id"));
  const own = all.filter((name) => !reported.includes(name) && !topics.includes(name));
  return [
    { title: "Where", fields: own },
    { title: "What", fields: reported },
    ...(topics.length === 0 ? [] : [{ title: "Topics", fields: topics }]),
  ];
}

const COLUMNS: readonly Column<Delivery>[] = [
  { header: "When", cell: ({ created_at }) => <Age at={created_at} /> },
  { header: "What", cell: ({ title }) => <span dir="auto">{title}</span> },
  { header: "Channel", isExtra: true, cell: ({ channel }) => TITLES[channel] },
  {
    header: "Result",
    cell: ({ state, error, next_attempt_at }) => (
      <>
        <RunStatus status={RUN_STATES[state]} />
        {error !== null && (
          <Text size="xs" c="dimmed" className="break">
            {error}
          </Text>
        )}
        {error !== null && next_attempt_at !== null && (
          <Text size="xs" c="dimmed">
            Next try: <Age at={next_attempt_at} />
          </Text>
        )}
      </>
    ),
  },
];

/** The state of a run that is drawn like it. */
const RUN_STATES: Record<Delivery["state"], string> = {
  pending: "queued",
  delivered: "finished",
  failed: "failed",
};

function Deliveries() {
  const query = useQuery(trpc.notifications.deliveries.queryOptions({ take: 50 }));
  return (
    <Section title="Sent lately" about="The newest 50, for 30 days after they ended.">
      <Loaded query={query}>
        {(deliveries) => (
          <DataTable
            label="Deliveries"
            rows={deliveries}
            columns={COLUMNS}
            keyOf={({ uuid }) => uuid}
            empty={
              <Empty title="Nothing was sent yet" command="berth notifications list">
                A channel that is turned on reports what happens from then on.
              </Empty>
            }
          />
        )}
      </Loaded>
    </Section>
  );
}
