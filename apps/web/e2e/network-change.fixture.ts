import { until } from "@berth/testing";
import type { Page } from "playwright-core";

/** Pages with failed requests, and pages of which a part failed to load. */
const disturbed = new WeakSet<Page>();
const incomplete = new WeakSet<Page>();

export function recordDisturbance(page: Page, resource: string): void {
  disturbed.add(page);
  if (["stylesheet", "script"].includes(resource)) incomplete.add(page);
}

/** Whether a part of the page failed to load since the last question. */
export const isIncomplete = (page: Page): boolean => incomplete.delete(page);

/**
 * Chromium aborts requests when a network interface appears or disappears, such as those of containers. The page that
 * it shows then may interrupt the next navigation.
 */
export const isNetworkChange = (text: string): boolean =>
  text.includes("net::ERR_NETWORK_CHANGED") || text.includes("chrome-error://chromewebdata");

export const persistent =
  (page: Page, goto: Page["goto"]): Page["goto"] =>
  async (...args) => {
    for (let attempt = 1; ; attempt++) {
      try {
        incomplete.delete(page);
        const response = await goto(...args);
        if (attempt === GOTO_ATTEMPTS || !incomplete.has(page)) return response;
      } catch (error) {
        if (attempt === GOTO_ATTEMPTS || !isNetworkChange(String(error))) throw error;
      }
    }
  };
const GOTO_ATTEMPTS = 10;

/**
 * Repeats work on a page that had failed requests, when it fails or its result is not what it should be. Earlier
 * failures of the page count too: it may have been loaded without a part.
 */
export async function undisturbed<T>(
  page: Page,
  work: (attempt: number) => Promise<T>,
  isGood: (result: T) => boolean = () => true,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const mayRepeat = () => attempt < GOTO_ATTEMPTS && disturbed.delete(page);
    try {
      const result = await work(attempt);
      if (isGood(result) || !mayRepeat()) return result;
    } catch (error) {
      if (!mayRepeat()) throw error;
    }
  }
}

/**
 * Waits for something on the page, and for a shorter time where a request of the page failed.
 * @param what For the message.
 */
export async function shown(page: Page, what: string, isShown: () => Promise<boolean>): Promise<void> {
  const beganMs = performance.now();
  const isLost = () => disturbed.has(page) && performance.now() - beganMs > DISTURBED_MS;
  // Asked once: what was shown may be replaced in the next moment.
  let wasShown = false;
  const end = async () => {
    wasShown = await isShown().catch((error: unknown) => {
      // The page loads itself again, such as after an update.
      if (/Execution context was destroyed/.test(String(error))) return false;
      throw error;
    });
    return wasShown || isLost();
  };
  await until(end, { seconds: 120, what });
  if (!wasShown) throw new Error(`Not shown after a failed request: ${what}`);
}
const DISTURBED_MS = 15_000;
