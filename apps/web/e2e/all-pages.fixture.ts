import type { Page } from "playwright-core";
import { expect } from "vitest";
import { TEAM_TABS } from "../src/team/tabs.ts";
import { settled } from "./browser.fixture.ts";
import { byLink, type Opening } from "./navigation.fixture.ts";

/** Objects that have pages, by their uuids. */
export interface PagedObjects {
  readonly project: string;
  /** From a git repository, the only source with previews. */
  readonly application: string;
  readonly database: string;
  readonly service: string;
  /** With a container engine: only those can be in a cluster. */
  readonly server: string;
  /** Berth's own. */
  readonly machine: string;
  readonly deployment: string;
}

const OF_RESOURCES = ["deployments", "logs", "terminal", "variables", "storage", "metrics", "settings"];
const OF_SERVERS = ["proxy", "variables", "cleanup", "jobs", "metrics", "terminal", "settings"];
const TABS = {
  application: [...OF_RESOURCES, "domains", "tasks", "previews"],
  database: [...OF_RESOURCES, "backups"],
  service: [...OF_RESOURCES, "containers", "compose", "domains", "tasks"],
  server: [...OF_SERVERS, "nodes"],
  machine: OF_SERVERS,
  new: ["folder", "git", "template", "database", "image", "compose"],
};

/** Pages of these objects, by name. */
export function pagesOfObjects({ project, deployment, ...tabbed }: PagedObjects): Readonly<Record<string, string>> {
  return {
    project: `/projects/${project}`,
    "project/map": `/projects/${project}?view=map`,
    "project/variables": `/projects/${project}?view=variables`,
    deployment: `/deployments/${deployment}`,
    ...tabsOf("application", `/applications/${tabbed.application}`),
    ...tabsOf("database", `/databases/${tabbed.database}`),
    ...tabsOf("service", `/services/${tabbed.service}`),
    ...tabsOf("server", `/servers/${tabbed.server}`),
    ...tabsOf("machine", `/servers/${tabbed.machine}`),
  };
}

/** Pages that every team has, by name. */
export const PAGES_OF_TEAM: Readonly<Record<string, string>> = {
  overview: "/",
  servers: "/servers",
  account: "/account",
  ...tabsOf("new", "/new"),
  ...Object.fromEntries(TEAM_TABS.map(({ name }) => [`team/${name}`, `/team/${name}`])),
};

/** Every page behind the sign-in, by name. */
export const allPages = (objects: PagedObjects) => ({ ...PAGES_OF_TEAM, ...pagesOfObjects(objects) });

function tabsOf(name: keyof typeof TABS, path: string): Readonly<Record<string, string>> {
  return { [name]: path, ...Object.fromEntries(TABS[name].map((tab) => [`${name}/${tab}`, `${path}/${tab}`])) };
}

/**
 * Opens each page, and reads something of it.
 * @param open Default: by a link, from an open page of the signed-in user.
 * @returns What was read, by page, without empty lists.
 */
export async function readPages<Found extends readonly unknown[]>(
  page: Page,
  paths: Readonly<Record<string, string>>,
  read: (name: string) => Promise<Found>,
  open: Opening = byLink,
): Promise<Readonly<Record<string, Found>>> {
  const found: Record<string, Found> = {};
  for (const [name, path] of Object.entries(paths)) {
    await open(page, path);
    await settled(page);
    await expectWhole(page, name, paths);
    const one = await read(name);
    if (one.length > 0) found[name] = one;
  }
  return found;
}

/** The page is the one that is meant, it is drawn without an error, and the list has all of its tabs. */
async function expectWhole(page: Page, name: string, paths: Readonly<Record<string, string>>): Promise<void> {
  const broken = page.getByText(/Something went wrong|This page does not exist/);
  expect([name, await broken.allTextContents()]).toEqual([name, []]);
  const tabs = await tabsOn(page);
  if (tabs.length === 0) return;
  const [of = "", tab = "overview"] = name.split("/");
  expect([name, tabs.find(({ isOpen }) => isOpen)?.name]).toEqual([name, tab]);
  expect(
    tabs.map((one) => (one.name === "overview" ? of : `${of}/${one.name}`)).filter((one) => !(one in paths)),
  ).toEqual([]);
}

const tabsOn = async (page: Page): Promise<readonly { readonly name: string; readonly isOpen: boolean }[]> =>
  await page.locator("main [role=tab]").evaluateAll((tabs) =>
    tabs.map((tab) => ({
      name: tab.id.replace(/^.*-tab-/, ""),
      isOpen: tab.getAttribute("aria-selected") === "true",
    })),
  );
