import { AppShell, Burger, Button, Group, Menu, NavLink, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { statusOf, trpc } from "../api/client.ts";
import { useLiveUpdates } from "../api/live.ts";
import { forgetSession } from "../api/session.ts";
import { NavigationLink } from "../parts/link.tsx";
import { ConnectionState } from "./connection-state.tsx";
import { BookIcon, NewIcon, OverviewIcon, ServerIcon, TeamIcon } from "./icons.tsx";
import { TeamMenu } from "./team-menu.tsx";
import { ThemeChoice } from "./theme-choice.tsx";

const Palette = lazy(() => import("./palette.tsx"));

const PLACES = [
  { to: "/", label: "Overview", Icon: OverviewIcon },
  { to: "/new/{-$source}", label: "New", Icon: NewIcon },
  { to: "/servers", label: "Servers", Icon: ServerIcon },
  { to: "/team/{-$tab}", label: "Team", Icon: TeamIcon },
] as const;

/** What stands around every page: where one is, what one can do anywhere, whether the page is up to date. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure();
  const [wantsPalette, setWantsPalette] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useLiveUpdates();
  useSignOutWhenRefused();
  // Another page closes the navigation of narrow screens.
  useEffect(close, [path]);
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
        {PLACES.map(({ to, label, Icon }) => (
          <NavigationLink
            key={to}
            to={to}
            label={label}
            leftSection={<Icon />}
            active={to === "/" ? path === "/" : path.startsWith(to.replace(/\/\{.*$/, ""))}
          />
        ))}
        <NavLink href="/docs" label="API" leftSection={<BookIcon />} />
      </AppShell.Navbar>
      <AppShell.Main id="content">
        <Outlet />
      </AppShell.Main>
      {wantsPalette && (
        <Suspense>
          <Palette onClose={() => setWantsPalette(false)} />
        </Suspense>
      )}
    </AppShell>
  );
}

/** A session that has ended, or a token that was revoked. */
function useSignOutWhenRefused(): void {
  const router = useRouter();
  const { error } = useQuery(trpc.teams.current.queryOptions());
  const isRefused = error !== null && statusOf(error) === 401;
  useEffect(() => {
    if (!isRefused) return;
    forgetSession();
    void router.navigate({ to: "/sign-in", search: { to: location.pathname } });
  }, [isRefused, router]);
}

function AccountMenu() {
  const router = useRouter();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default">Account</Button>
      </Menu.Target>
      <Menu.Dropdown>
        <ThemeChoice />
        <Menu.Divider />
        <Menu.Item
          onClick={() => {
            forgetSession();
            void router.navigate({ to: "/sign-in" });
          }}
        >
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
