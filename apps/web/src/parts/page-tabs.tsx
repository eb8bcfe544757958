import { Skeleton, Tabs } from "@mantine/core";
import { type ReactNode, Suspense, useEffect } from "react";

interface PageTab {
  readonly name: string;
  readonly title: string;
}

interface PageTabsProps<Tab extends PageTab> {
  readonly tabs: readonly Tab[];
  /** Name of the open tab; without one, or with an unknown one, the first is open. */
  readonly open: string | undefined;
  /** @param name `undefined`: the first tab, which the page's address does not name. */
  readonly onOpen: (name: string | undefined) => unknown;
  readonly panelOf: (tab: Tab) => ReactNode;
}

/** The tabs of a page, whose panels may be loaded when they are opened. */
export function PageTabs<Tab extends PageTab>({ tabs, open, onOpen, panelOf }: PageTabsProps<Tab>) {
  const [first] = tabs;
  const shown = tabs.find(({ name }) => name === open) ?? first;
  // On narrow screens the open tab may be scrolled out of view. It is looked for once per tab and with the next frame,
  // since the browser has to lay the page out for it.
  useEffect(() => {
    const frame = requestAnimationFrame(() =>
      document.querySelector("[role=tab][aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    );
    return () => cancelAnimationFrame(frame);
  }, [shown?.name]);
  return (
    <Tabs
      value={shown?.name ?? null}
      keepMounted={false}
      onChange={(name) => onOpen(name === null || name === first?.name ? undefined : name)}
    >
      <Tabs.List className="tabs-list" mb="md">
        {tabs.map(({ name, title }) => (
          <Tabs.Tab key={name} value={name}>
            {title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((tab) => (
        <Tabs.Panel key={tab.name} value={tab.name}>
          {/* Panels are not kept mounted, so only that of the open tab is made. */}
          {tab === shown && <Suspense fallback={<Skeleton h={120} />}>{panelOf(tab)}</Suspense>}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
