import type { Page } from "playwright-core";
import { undisturbed } from "./network-change.fixture.ts";

/**
 * Shows another page of the signed-in user as a link does: through the page's router, without loading the application
 * again. Resolves when the router has drawn the new page, of which data may still be missing (`settled`).
 */
export async function moveTo(page: Page, path: string): Promise<void> {
  await undisturbed(page, async (attempt) => {
    // A page of which a part failed to load reloads itself.
    if (attempt > 1) await page.goto(path);
    else await page.evaluate(`${MOVE}(${JSON.stringify(path)})`);
  });
}

/** A function of the page. The router reports a page as rendered after React has replaced the earlier one by it. */
const MOVE = `((path) => new Promise((resolve, reject) => {
  const router = window.__TSR_ROUTER__;
  const shown = () => location.pathname + location.search;
  if (shown() === path) return reject(new Error("Already at " + path));
  const late = setTimeout(() => reject(new Error("Not drawn within two minutes: " + path)), 120_000);
  const end = router.subscribe("onRendered", ({ toLocation }) => {
    if (toLocation.href !== path) return;
    clearTimeout(late);
    end();
    resolve();
  });
  router.history.push(path);
}))`;

/** How a page is opened: by its address, which loads the application anew, or by a link within the application. */
export type Opening = (page: Page, path: string) => Promise<unknown>;

export const byAddress: Opening = (page, path) => page.goto(path);

/** From another page of the signed-in user. */
export const byLink: Opening = async (page, path) => {
  if (page.url() !== new URL(path, page.url()).href) await moveTo(page, path);
};
