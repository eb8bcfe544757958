import { AppShell, Burger, Button, Group, Menu, NavLink, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { client, statusOf, trpc } from "../api/client.ts";
import { setCodeMode, useCodeMode } from "../api/code-mode.ts";
import { useLiveUpdates } from "../api/live.ts";
import { forgetSession, reloadAt, signInFor } from "../api/session.ts";
import { notifyProblem } from "../parts/action.tsx";
import { PasswordDialog } from "../parts/confirmation.tsx";
import { InSlices } from "../parts/in-slices.tsx";
import { NavigationLink } from "../parts/link.tsx";
import { ConnectionState } from "./connection-state.tsx";
import { BookIcon, NewIcon, OverviewIcon, ServerIcon, TeamIcon } from "./icons.tsx";
import { TeamMenu } from "./team-menu.tsx";
import { ThemeChoice } from "./theme-choice.tsx";

const Palette = lazy(() => import("./palette.tsx"));

const SecondFactorNeeded = lazy(() => import("../account/second-factor-needed.tsx"));

const PLACES = [
  { to: "/", label: "Overview", Icon: OverviewIcon },
  { to: "/new/{-$source}", label: "New", Icon: NewIcon },
  { to: "/servers", label: "Servers", Icon: ServerIcon },
  { to: "/team/{-$tab}", label: "Team", Icon: TeamIcon },
] as const;

/** Frame of every page: navigation, search, and the state of the live updates. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure();
  const [wantsPalette, setWantsPalette] = useState(false);
  const { team, needsSecondFactor } = useCurrent();
  // Of a team that waits for a second factor nothing may be read.
  useLiveUpdates(needsSecondFactor ? undefined : team);
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setWantsPalette(true);
    };
    window.addEventListener("keydown", open);
    return () => window.removeEventListener("keydown", open);
  }, []);

  return (
    <InSlices>
      <AppShell
        header={{ height: 48 }}
        navbar={{ width: 190, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
        padding="md"
      >
        <a className="skip" href="#content">
          To the content
        </a>
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
            <Group gap="xs" wrap="nowrap" style={{ minWidth: 0 }}>
              <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
              <Text fw={700} visibleFrom="xs">
                Berth
              </Text>
              <TeamMenu />
            </Group>
            <Group gap="xs" wrap="nowrap">
              <Button variant="default" onClick={() => setWantsPalette(true)} aria-keyshortcuts="Control+K">
                Search
                <Text span size="xs" c="dimmed" ml={6} visibleFrom="sm">
                  Ctrl K
                </Text>
              </Button>
              <ConnectionState />
              <AccountMenu />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="xs" aria-label="Main">
          <Places close={close} />
          <NavLink href="/docs" label="API" leftSection={<BookIcon />} />
        </AppShell.Navbar>
        <AppShell.Main id="content">
          <CodeModeBar />
          {needsSecondFactor ? (
            <Suspense>
              <SecondFactorNeeded />
            </Suspense>
          ) : (
            <Outlet />
          )}
        </AppShell.Main>
        <PasswordDialog />
        {wantsPalette && (
          <Suspense>
            <Palette onClose={() => setWantsPalette(false)} />
          </Suspense>
        )}
      </AppShell>
    </InSlices>
  );
}

/** Links to the main pages. Another page closes the navigation of narrow screens. */
function Places({ close }: { readonly close: () => void }) {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(close, [path]);
  return PLACES.map(({ to, label, Icon }) => (
    <NavigationLink
      key={to}
      to={to}
      label={label}
      leftSection={<Icon />}
      active={to === "/" ? path === "/" : path.startsWith(to.replace(/\/\{.*$/, ""))}
    />
  ));
}

/** The team of the session, and what it waits for. One that has ended leads to the sign-in. */
function useCurrent(): { readonly team: number | undefined; readonly needsSecondFactor: boolean } {
  const { data, error } = useQuery(trpc.auth.current.queryOptions());
  const isRefused = error !== null && statusOf(error) === 401;
  useEffect(() => {
    if (!isRefused) return;
    forgetSession();
    reloadAt(signInFor(location.pathname));
  }, [isRefused]);
  // It stays until its last step, the recovery codes, when the team waits for nothing any more.
  const [needsSecondFactor, setNeeded] = useState(false);
  const isNeeded = data?.needs_second_factor === true;
  useEffect(() => {
    if (isNeeded) setNeeded(true);
  }, [isNeeded]);
  return { team: data?.team.id, needsSecondFactor };
}

/** Says that buttons show their code only, and ends that. */
function CodeModeBar() {
  if (!useCodeMode()) return null;
  return (
    <Paper withBorder px="sm" py={6} mb="md" role="status">
      <Group justify="space-between" gap="xs">
        <Text size="sm">Each button shows its command for berth, curl and TypeScript. Nothing is done.</Text>
        <Button variant="default" size="compact-sm" onClick={() => setCodeMode(false)}>
          Back to doing
        </Button>
      </Group>
    </Paper>
  );
}

function AccountMenu() {
  const router = useRouter();
  const { data } = useQuery(trpc.auth.current.queryOptions());
  const signOut = async () => {
    setCodeMode(false);
    await client.auth.signOut.mutate({}).catch(notifyProblem);
    forgetSession();
    reloadAt("/sign-in");
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" maw={140}>
          {data?.user.name ?? "Account"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <ThemeChoice />
        <Menu.Divider />
        <Menu.Item onClick={() => setCodeMode(true)}>Buttons as code</Menu.Item>
        <Menu.Item onClick={() => void router.navigate({ to: "/account" })}>Sessions and password</Menu.Item>
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
