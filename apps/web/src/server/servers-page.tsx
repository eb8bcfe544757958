import { ServerCreate } from "@berth/core/server";
import { Paper, Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { AllowedButton } from "../parts/allowed.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { TextLink } from "../parts/link.tsx";
import { Empty, Loaded, PageTitle } from "../parts/page.tsx";
import { State } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { serverState } from "./server-state.ts";

const RentServer = lazy(() => import("./rent-server.tsx"));

type Server = Outputs["servers"]["list"][number];

const COLUMNS: readonly Column<Server>[] = [
  {
    header: "Name",
    cell: ({ uuid, name }) => (
      <TextLink to="/servers/$uuid/{-$tab}" params={{ uuid }} size="sm">
        {name}
      </TextLink>
    ),
  },
  { header: "State", cell: (server) => <State state={serverState(server)} withReason /> },
  { header: "Runs on it", isExtra: true, cell: ({ engine }) => ENGINES[engine] },
  {
    header: "Address",
    isExtra: true,
    // Its own machine is reached without SSH, and the address that the contract has for it is one for containers.
    cell: ({ ip, port, user, is_coolify_host }) =>
      is_coolify_host ? "–" : <span className="mono">{`${user}@${ip}:${port}`}</span>,
  },
];

const ENGINES = { process: "Processes", docker: "Docker containers", swarm: "A Docker Swarm" } as const;

const FIELDS: readonly FieldGroup[] = [
  { fields: ["ip", "private_key_uuid", "name", "user", "port", "proxy_type", "is_build_server", "host_key"] },
];

export function ServersPage() {
  const [opened, setOpened] = useState<"add" | "rent">();
  const close = () => setOpened(undefined);
  const navigate = useNavigate();
  const query = useQuery(trpc.servers.list.queryOptions({}));
  const keys = useQuery(trpc.privateKeys.list.queryOptions({})).data ?? [];
  return (
    <>
      <PageTitle
        title="Servers"
        actions={
          <>
            <AllowedButton variant="default" onClick={() => setOpened("rent")}>
              Rent a server
            </AllowedButton>
            <AllowedButton onClick={() => setOpened("add")}>Add a server</AllowedButton>
          </>
        }
      />
      <Paper withBorder px="xs">
        <Loaded query={query}>
          {(servers) => (
            <DataTable
              label="Servers"
              rows={servers}
              columns={COLUMNS}
              keyOf={({ uuid }) => uuid}
              textOf={({ name, ip }) => `${name} ${ip}`}
              empty={
                <Empty title="No servers">
                  A server is a machine that runs what you deploy. Berth reaches it by SSH.
                </Empty>
              }
            />
          )}
        </Loaded>
      </Paper>
      <Dialog opened={opened === "rent"} onClose={close} title="Rent a server at Hetzner Cloud" size="lg">
        <Suspense fallback={<Skeleton h={240} />}>
          <RentServer />
        </Suspense>
      </Dialog>
      <Dialog opened={opened === "add"} onClose={close} title="Add a server" size="lg">
        <Text size="sm" mb="sm">
          Berth connects by SSH with one of the team's keys: put its public key into the machine's authorized_keys
          first. Then it checks the system, Docker and the disk, and can install Docker on Debian and Ubuntu.{" "}
          <TextLink to="/team/{-$tab}" params={{ tab: "keys" }} size="sm">
            Keys
          </TextLink>
        </Text>
        <SchemaForm
          schema={ServerCreate}
          groups={FIELDS}
          values={{ proxy_type: "caddy" }}
          fixed={{ instant_validate: true }}
          isNew
          choices={{ private_key_uuid: keys.map(({ uuid, name }) => ({ value: uuid, label: name })) }}
          submitLabel="Add and check it"
          submit={(sent) => client.servers.create.mutate(sent)}
          after={({ uuid }) => navigate({ to: "/servers/$uuid/{-$tab}", params: { uuid } })}
        />
      </Dialog>
    </>
  );
}
